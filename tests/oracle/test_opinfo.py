"""PyTorch's own samples (its OpInfo), run through ours: values, and gradients under uneven cotangents, real and complex."""

import warnings

import numpy as np
import pytest
from functional_map import completed
from opinfo_map import PICKS, UnmappedError, ours_for

import retrograde as rg
import sweeping

torch = pytest.importorskip("torch")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    invocations = pytest.importorskip("torch.testing._internal.common_methods_invocations")

INFOS = [op for op in invocations.op_db if ours_for(op)]


def converted(x, leaves):
    """A sample's argument as ours; `leaves` gathers (theirs, ours) of those that need a gradient."""
    if isinstance(x, torch.Tensor):
        made = rg.tensor(x.detach().resolve_conj().resolve_neg().numpy())
        if x.requires_grad:
            leaves.append((x, made.requires_grad_()))
        return made
    if isinstance(x, (list, tuple)) and not isinstance(x, torch.Size):
        return type(x)(converted(a, leaves) for a in x)
    if isinstance(x, torch.dtype):
        return np.dtype(str(x).split(".")[1])
    if isinstance(x, torch.nn.Module):
        return getattr(rg.nn, type(x).__name__)()
    return getattr(rg.nn.functional, x.__name__) if callable(x) else x


def uses_what_numpy_refuses(name, sample):
    """Axes of a single number, joining with a vector of nothing, broadcasting inside a contraction."""
    first = sample.input[0] if isinstance(sample.input, (list, tuple)) else sample.input
    if isinstance(sample.input, torch.Tensor):
        return first.ndim == 0 and (len(sample.args) > 0 or "dim" in sample.kwargs or name in ("sort", "diff", "argsort", "topk")) and name in AXES \
            or name == "tensordot" and 1 in first.shape
    return name == "cat" and any(x.shape == (0,) for x in sample.input) or name == "einsum" and "...ik, ...j -> ij" in sample.args


#: Gradients in Hermitian matrices, of which the other part means nothing.
HERMITIAN = dict.fromkeys(("linalg.cholesky", "cholesky", "linalg.eigh", "linalg.eigvalsh"),
                          lambda g, _: (g + np.conj(np.swapaxes(g, -1, -2))) / 2)
#: What gradients mean, from (the gradient, the input). PyTorch's of CTC are those in the logits of the input.
FORMS = {**HERMITIAN, "nn.functional.ctc_loss": lambda g, x: g - np.exp(x) * g.sum(-1, keepdims=True)}
AXES = {"cumsum", "cumprod", "diff", "sort", "logsumexp", "amax", "amin", "mean", "prod", "sum", "std", "var", "linalg.vector_norm", "quantile",
        "argmax", "argmin", "all", "any", "max", "min", "aminmax", "topk", "index_select", "unfold", "unfold_copy", "transpose",
        "transpose_copy", "norm", "argsort"}


def flat(found):
    return list(found) if isinstance(found, (list, tuple)) else [found]


def agrees(a, b, dtype):
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape:
        return False
    width = np.dtype(dtype).itemsize // (2 if np.dtype(dtype).kind == "c" else 1)
    return np.allclose(a, b, rtol=2e-3 if width == 4 else 1e-7, atol=2e-3 if width == 4 else 1e-7, equal_nan=True)


def compared(op, sample, dtype):
    """Whether ours agrees with PyTorch on a sample; UnmappedError where it cannot be asked."""
    leaves = []
    if uses_what_numpy_refuses(op.name, sample):
        raise UnmappedError
    given = completed(op, sample)
    args = [converted(a, leaves) for a in (sample.input, *sample.args)]
    kwargs = {k: converted(v, leaves) for k, v in given.items()}
    theirs = flat(op(sample.input, *sample.args, **given))[PICKS.get(op.name, slice(None))]
    ours = flat(ours_for(op)(*args, **kwargs))
    if not all(agrees(o.detach().data if isinstance(o, rg.Tensor) else o, t.detach().resolve_conj().numpy(), dtype) for o, t in zip(ours, theirs, strict=True)):
        return False
    rng = np.random.default_rng(0)
    seeds = [sweeping.uneven(rng, tuple(t.shape), t.detach().resolve_conj().numpy().dtype) for t in theirs]
    live = [(o, t, s) for o, t, s in zip(ours, theirs, seeds, strict=True) if t.requires_grad]
    if not live or not leaves:
        return True
    wanted = torch.autograd.grad([t for _, t, _ in live], [x for x, _ in leaves], [torch.as_tensor(s) for *_, s in live], allow_unused=True)
    mine = [(o, s) for o, _, s in live if o.requires_grad]
    if mine:
        with np.errstate(all="ignore"):
            rg.core.gradient.backward([o for o, _ in mine], [s for _, s in mine])
    form = FORMS.get(op.name, lambda g, _: g)
    pairs = [(np.zeros(tuple(x.shape)) if t.grad is None else t.grad.data, np.zeros(tuple(x.shape)) if w is None else w.resolve_conj().numpy(force=True))
             for (x, t), w in zip(leaves, wanted, strict=True)]
    return all(agrees(form(a, t.detach().data), form(b, t.detach().data), dtype) for (a, b), (_, t) in zip(pairs, leaves, strict=True))


NO_COMPLEX = {"logaddexp": "NumPy has none of complex numbers"}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128], ids=str)
@pytest.mark.parametrize("op", INFOS, ids=lambda op: f"{op.name}-{op.variant_test_name}".rstrip("-"))
def test_samples_of_torch_agree(op, dtype):
    if dtype.is_complex and op.name in NO_COMPLEX:
        pytest.skip(NO_COMPLEX[op.name])
    if dtype not in op.dtypes:
        pytest.skip("PyTorch has no such samples")
    agreed, wrong = 0, []
    for sample in op.sample_inputs("cpu", dtype, requires_grad=op.supports_autograd):
        try:
            found = compared(op, sample, np.dtype(str(dtype).split(".")[1]))
        except UnmappedError:
            continue
        agreed += found
        if not found:
            wrong.append(sample.summary())
    assert not wrong, f"{len(wrong)} of {agreed + len(wrong)} samples: {wrong[:3]}"
    if not agreed:
        pytest.skip("no sample maps")
