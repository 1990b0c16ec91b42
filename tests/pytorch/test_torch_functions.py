"""Functions that are composed of others, beside NumPy, SciPy and finite differences; modules that programs import; what modules keep."""

import importlib

import numpy as np
import pytest
import scipy.linalg
import scipy.signal
import scipy.special

import retrograde
from retrograde import torch
from retrograde.errors import ArgumentError, GraphError, MissingRuleError, TraceError

DRAW = np.random.default_rng


def drawn(*shape, seed=0):
    return torch.tensor(DRAW(seed).normal(size=shape), requires_grad=True)


@pytest.mark.parametrize("shape", [(4, 4), (3, 5), (5, 3), (2, 4, 4), (2, 3, 5)])
def test_lu_gives_back_the_matrix_and_has_its_derivative(shape):
    x = drawn(*shape)
    P, L, U = torch.linalg.lu(x)
    np.testing.assert_allclose((P @ L @ U).tolist(), x.tolist(), atol=1e-12)
    assert torch.autograd.gradcheck(lambda x: torch.linalg.lu(x)[1:], x)
    for mine, one in zip(P @ L, x, strict=True) if len(shape) == 3 else [(P @ L, x)]:
        np.testing.assert_allclose(mine.tolist(), scipy.linalg.lu(one.detach().numpy(), permute_l=True)[0], atol=1e-12)


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("adjoint", [True, False])
def test_equations_are_solved_by_factors(left, adjoint):
    A, B = drawn(4, 4), drawn(4, 4, seed=1)
    found = torch.linalg.lu_solve(*torch.linalg.lu_factor(A), B, left=left, adjoint=adjoint)
    whole = A.mT if adjoint else A
    np.testing.assert_allclose((whole @ found if left else found @ whole).tolist(), B.tolist(), atol=1e-10)
    assert torch.equal(torch.lu_unpack(*torch.linalg.lu_factor(A)).P, torch.linalg.lu(A).P)


def test_reflections_make_the_factor_of_qr():
    x = drawn(5, 3)
    packed, tau = torch.geqrf(x)
    q = torch.linalg.householder_product(packed, tau)
    np.testing.assert_allclose(q.tolist(), np.linalg.qr(x.detach().numpy())[0], atol=1e-12)
    other = drawn(5, 2, seed=1)
    whole = torch.linalg.qr(x, mode="complete").Q
    np.testing.assert_allclose(torch.ormqr(packed, tau, other).tolist(), (whole @ other).tolist(), atol=1e-12)
    np.testing.assert_allclose(torch.ormqr(packed, tau, other, transpose=True).tolist(), (whole.mT @ other).tolist(), atol=1e-12)


def test_one_triangle_of_a_symmetric_matrix_is_read():
    x = DRAW(0).normal(size=(4, 4))
    for part in "LU":
        np.testing.assert_allclose(torch.linalg.eigvalsh(torch.tensor(x), part).tolist(), np.linalg.eigvalsh(x, part), atol=1e-12)
    with pytest.raises(ArgumentError, match="UPLO must be"):
        torch.linalg.eigvalsh(torch.tensor(x), "X")


def test_vectors_that_full_matrices_adds_have_no_derivative():
    x = drawn(3, 5)
    U, S, Vh = torch.linalg.svd(x)
    np.testing.assert_allclose((U @ torch.diag(S) @ Vh[:3]).tolist(), x.tolist(), atol=1e-12)
    (S.sum() + Vh[:3].abs().sum()).backward()
    wanted, x.grad = x.grad, None
    U, S, Vh = torch.linalg.svd(x, full_matrices=False)
    (S.sum() + Vh.abs().sum()).backward()
    np.testing.assert_allclose(x.grad.tolist(), wanted.tolist(), atol=1e-10)
    with pytest.raises(MissingRuleError, match="full_matrices=True adds have no derivative"):
        torch.linalg.svd(x).Vh.sum().backward()


@pytest.mark.parametrize("center", [True, False])
def test_a_signal_comes_back_from_its_spectra(center):
    x, window = drawn(2, 64), torch.hann_window(16, dtype=torch.float64)
    found = torch.stft(x, 16, 4, window=window, center=center, return_complex=True)
    if not center:
        x = x[:, 4:-4]  # what only windows of no weight see is lost
        window = window + 0.1
        found = torch.stft(x, 16, 4, window=window, center=center, return_complex=True)
    np.testing.assert_allclose(torch.istft(found, 16, 4, window=window, center=center).tolist(), x.tolist(), atol=1e-10)
    frames = np.lib.stride_tricks.sliding_window_view(np.pad(x.detach().numpy(), ((0, 0), (8, 8)), "reflect") if center else
                                                      x.detach().numpy(), 16, 1)[:, ::4]
    np.testing.assert_allclose(found.detach().numpy(), np.fft.rfft(frames * window.numpy()).swapaxes(1, 2), atol=1e-10)
    with pytest.raises(ArgumentError, match="return_complex=True"):
        torch.stft(x, 16)


@pytest.mark.parametrize("name", ["sum", "prod", "amax", "amin", "mean", "var", "std"])
def test_masked_reductions_are_those_of_numpys_masked_arrays(name):
    x, mask = drawn(4, 5), torch.tensor(DRAW(1).uniform(size=(4, 5)) > 0.4)
    given = {"ddof": 1} if name in ("var", "std") else {}
    wanted = getattr(np.ma.array(x.detach().numpy(), mask=~mask.numpy()), {"amax": "max", "amin": "min"}.get(name, name))(1, **given)
    found = getattr(torch.masked, name)(x, 1, mask=mask)
    np.testing.assert_allclose(found.detach().numpy(), wanted, atol=1e-12)
    found.sum().backward()
    assert not x.grad[~mask].any()


@pytest.mark.parametrize("name", ["bartlett", "blackman", "cosine", "hamming", "hann", "nuttall", "gaussian", "kaiser"])
def test_windows_are_those_of_scipy(name):
    given = {"gaussian": {"std": 2.0}, "kaiser": {"beta": 5.0}}.get(name, {})
    for sym in (True, False):
        wanted = getattr(scipy.signal.windows, name)(9, *given.values(), sym=sym)
        found = getattr(torch.signal.windows, name)(9, **given, sym=sym, dtype=torch.float64)
        np.testing.assert_allclose(found.numpy(), wanted, atol=1e-7)


@pytest.mark.parametrize(("name", "theirs"), [
    ("chebyshev_polynomial_t", scipy.special.eval_chebyt), ("chebyshev_polynomial_u", scipy.special.eval_chebyu),
    ("hermite_polynomial_h", scipy.special.eval_hermite), ("hermite_polynomial_he", scipy.special.eval_hermitenorm),
    ("laguerre_polynomial_l", scipy.special.eval_laguerre), ("legendre_polynomial_p", scipy.special.eval_legendre),
    ("shifted_chebyshev_polynomial_t", scipy.special.eval_sh_chebyt), ("shifted_chebyshev_polynomial_u", scipy.special.eval_sh_chebyu)])
def test_polynomials_are_those_of_scipy(name, theirs):
    x, n = DRAW(0).uniform(0, 1, 6), np.arange(6)
    np.testing.assert_allclose(getattr(torch.special, name)(torch.tensor(x), torch.tensor(n)).numpy(), theirs(n, x), atol=1e-10)
    assert getattr(torch.special, name)(torch.tensor(x), -1).tolist() == [0.0] * 6
    with pytest.raises(GraphError, match="has no derivative"):
        getattr(torch.special, name)(torch.tensor(x, requires_grad=True), 2)


def test_pieces_of_an_axis_are_reduced():
    x = torch.tensor([1.0, 2.0, 3.0, 4.0])
    lengths = torch.tensor([1, 0, 3])
    assert torch.segment_reduce(x, "sum", lengths=lengths).tolist() == [1.0, 0.0, 9.0]
    assert torch.segment_reduce(x, "max", lengths=lengths, initial=3.5).tolist() == [3.5, 3.5, 4.0]
    assert torch.segment_reduce(x, "prod", offsets=torch.tensor([0, 2, 4])).tolist() == [2.0, 12.0]


def test_slopes_are_those_of_numpy():
    x, places = DRAW(0).normal(size=(4, 5)), np.array([0.0, 1.0, 1.5, 3.0, 3.5])
    for order in (1, 2):
        for mine, wanted in zip(torch.gradient(torch.tensor(x), edge_order=order), np.gradient(x, edge_order=order), strict=True):
            np.testing.assert_allclose(mine.numpy(), wanted, atol=1e-12)
        mine, = torch.gradient(torch.tensor(x), spacing=(torch.tensor(places),), dim=1, edge_order=order)
        np.testing.assert_allclose(mine.numpy(), np.gradient(x, places, axis=1, edge_order=order), atol=1e-12)


def test_a_median_of_what_is_known_and_rows_that_differ():
    x = torch.tensor([[1.0, float("nan"), 3.0], [float("nan")] * 3])
    values, _ = torch.nanmedian(x, 1)
    assert values[0] == 1 and values[1].isnan() and torch.nanmedian(x) == 1
    rows = torch.tensor([[1, 2], [1, 2], [3, 4], [1, 2]])
    assert torch.unique(rows, dim=0).tolist() == [[1, 2], [3, 4]]
    assert torch.unique_consecutive(rows, return_counts=True, dim=0)[1].tolist() == [2, 1, 1]


def test_memory_is_read_with_strides_where_it_is_the_tensors_own():
    x = torch.arange(6.0)
    assert torch.as_strided(x, (2, 2), (1, 2), 1).tolist() == [[2 - 1.0, 3.0], [2.0, 4.0]]
    with pytest.raises(ArgumentError, match="reaches from number"):
        torch.as_strided(x, (3, 3), (3, 1))
    with pytest.raises(ArgumentError, match="no view of a part"):
        torch.as_strided(x[1:], (2,), (1,))
    assert torch.as_strided_scatter(x, torch.zeros(2), (2,), (2,)).tolist() == [0, 1, 0, 3, 4, 5]


@pytest.mark.parametrize("name", ["nn.init", "nn.parallel", "nn.utils.rnn", "nn.utils.parametrizations", "optim.lr_scheduler", "optim.optimizer",
                                  "backends.cudnn", "cuda", "utils.checkpoint", "utils.data", "autograd.functional", "signal.windows", "onnx",
                                  "nn.modules", "accelerator"])
def test_modules_can_be_imported(name):
    found = importlib.import_module(f"retrograde.torch.{name}")
    assert all(hasattr(found, part) for part in found.__all__)
    with pytest.raises(AttributeError):
        found.nothing_of_that_name  # noqa: B018


def test_a_checkpoint_gives_the_same_gradients():
    layers = torch.nn.Sequential(*[torch.nn.Linear(3, 3) for _ in range(4)])
    x = torch.ones(2, 3, requires_grad=True)
    layers(x).sum().backward()
    wanted, x.grad = x.grad, None
    torch.utils.checkpoint.checkpoint_sequential(layers, 2, x, use_reentrant=False).sum().backward()
    assert torch.allclose(x.grad, wanted)


class Masked(torch.nn.Module):
    """Keeps its mask for the next call, as the language model of PyTorch's examples does."""

    def __init__(self):
        super().__init__()
        self.mask, self.made = None, 0

    def forward(self, x):
        if self.mask is None or self.mask.size(0) != len(x):
            self.mask = torch.triu(torch.ones(len(x), len(x)), diagonal=1).bool().to(x.device)
        return x.masked_fill(self.mask, 0.0).sum()


def test_a_compiled_module_may_keep_a_mask_of_constants():
    module = Masked()
    compiled = torch.compile(module, fullgraph=True)
    for n in (3, 3, 4, 3):
        x = drawn(n, n)
        assert compiled(x).item() == pytest.approx(np.tril(x.detach().numpy()).sum())
        assert module.mask.shape == (n, n) and not module.mask.is_traced
        assert module(x).item() == pytest.approx(np.tril(x.detach().numpy()).sum())


def test_what_depends_on_an_argument_is_not_kept():
    class Keeps(torch.nn.Module):
        def forward(self, x):
            self.last = x * 2
            return self.last.sum()

    module = Keeps()
    torch.compile(module)(torch.ones(2))
    with pytest.raises(TraceError):
        module.last.tolist()


def test_a_trace_that_fails_leaves_nothing_behind():
    seen, module = [], Masked()

    def step(x):
        seen.append(x * 2)
        module.made += 1
        return x.sum() if x.sum() > 0 else -x.sum()

    with pytest.warns(torch.CompileWarning):
        assert torch.compile(step)(torch.ones(2)).item() == 2
    assert module.made == 1 and len(seen) == 1 and seen[0].tolist() == [2.0, 2.0]


def test_the_number_of_threads_is_that_of_the_engine():
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        assert torch.get_num_threads() == retrograde.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize(("shape", "wrap"), [((3, 3), False), ((7, 3), False), ((7, 3), True), ((8, 3), True), ((2, 5), True), ((3, 3, 3), False)])
def test_a_diagonal_is_filled_as_by_numpy(shape, wrap):
    x, wanted = torch.arange(float(np.prod(shape))).view(shape), np.arange(float(np.prod(shape)), dtype=np.float32).reshape(shape)
    np.fill_diagonal(wanted, 7, wrap)
    assert x.fill_diagonal_(7, wrap=wrap) is x
    np.testing.assert_array_equal(x.numpy(), wanted)


def test_elements_are_put_and_replaced_in_place():
    x, wanted = torch.arange(6.0).view(2, 3), np.arange(6, dtype=np.float32).reshape(2, 3)
    np.put(wanted, [1, 4], [7, 8])
    np.testing.assert_array_equal(x.put_(torch.tensor([1, 4]), torch.tensor([7.0, 8.0])).numpy(), wanted)
    np.testing.assert_array_equal(x.apply_(lambda v: 2 * v + 1).numpy(), 2 * wanted + 1)
    with pytest.raises(MissingRuleError, match="apply_"):
        torch.ones(2, requires_grad=True).apply_(abs)


@pytest.mark.parametrize(("name", "args"), [
    ("clamp_max", (1.0,)), ("clamp_min", (1.0,)), ("deg2rad", ()), ("rad2deg", ()), ("nan_to_num", (0.0,)), ("i0", ()), ("renorm", (2, 0, 1.0)),
    ("heaviside", (torch.ones(3, 2),)), ("igamma", (torch.ones(3, 2),)), ("ldexp", (torch.ones(3, 2),))])
def test_a_method_in_place_writes_what_the_other_gives(name, args):
    x = torch.tensor([[0.5, 2.0], [1.0, 3.5], [0.1, 7.0]])
    wanted = getattr(x, name)(*args)
    assert getattr(x, f"{name}_")(*args) is x and torch.equal(x, wanted)
