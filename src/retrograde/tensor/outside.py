"""Outside: functions of Python and of SciPy that take plain numbers only, and what to write in their place, for errors."""

from ..core import registry
from ..errors import RegistryError
from .counterparts.passing import NAMES

#: Functions of `math` that go by other names here.
_OF_MATH = {"pow": "x ** y", "fabs": "abs(x)", "fsum": "sum(x)", "prod": "rg.prod(rg.stack(x))", "dist": "rg.norm(x - y)",
            "degrees": "np.degrees(x)", "radians": "np.radians(x)", "hypot": "np.hypot(x, y)", "fmod": "np.fmod(x, y)",
            "gamma": "rg.exp(rg.lgamma(x))", "phase": "rg.angle(x)"}
#: Functions of SciPy that have counterparts, by their modules.
OF_SCIPY = {
    "scipy.linalg": ("block_diag", "cho_factor", "cho_solve", "cholesky", "det", "eig", "eigh", "eigvals", "eigvalsh",
                     "expm", "inv", "norm", "pinv", "solve", "solve_banded", "solve_sylvester", "solve_triangular", "sqrtm", "svd",
                     "svdvals"),
    "scipy.signal": ("convolve",),
    "scipy.integrate": ("odeint",),
    "scipy.special": ("comb", "factorial", "log_softmax", "logsumexp", "multigammaln", "polygamma", "sinc", "softmax"),
}
_TRANSFORMS = ("fft", "fft2", "fftn", "ifft", "ifft2", "ifftn", "rfft", "rfft2", "rfftn", "irfft", "irfft2", "irfftn", "hfft",
               "ihfft", "fftshift", "ifftshift")
_DISTRIBUTIONS = "retrograde.scipy.stats, which has beta, chi2, dirichlet, gamma, multivariate_normal, norm, poisson and t"


def instead_of(module, name):
    """What to write for a function of a module; None if nothing stands for it."""
    if module in ("math", "cmath"):
        return _OF_MATH.get(name) or _of_registry(name)
    if module == "statistics":
        return {"mean": "rg.mean(rg.stack(x))", "fmean": "rg.mean(rg.stack(x))", "stdev": "rg.std(rg.stack(x))"}.get(name)
    if module.partition(".")[0] == "numpy" and name in NAMES:
        return {"bincount": "rg.segment_sum(weights, positions, count)", "unique": "rg.sort(x)"}.get(name)
    if module.partition(".")[0] == "numpy":
        return f"{module.replace('numpy', 'np', 1)}.{name} of one tensor, such as rg.stack(values)"
    if module.startswith("scipy.stats"):
        return _DISTRIBUTIONS
    if module.startswith("scipy.fft") and name in _TRANSFORMS:
        return f"rg.fft.{name}"
    public = ".".join(module.split(".")[:2])
    if name in OF_SCIPY.get(public, ()):
        return f"retrograde.{public}.{name}"
    if module.startswith("scipy.sparse.linalg"):
        return "rg.linalg.solve, or a product with a sparse matrix"
    if module.startswith("scipy.sparse"):
        return "the product matrix @ x, or matrix.toarray()"
    if module.partition(".")[0] == "pandas":
        return "the array behind the table, table.to_numpy(), with tensors"
    return None


def _of_registry(name):
    try:
        registry.get(name)
    except RegistryError:
        return None
    return f"rg.{name}(x)"
