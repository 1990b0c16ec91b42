"""Operands of integers: what an op computes of them is that of float64, in its precision; what wraps is what NumPy wraps too."""

from contextlib import nullcontext

import numpy as np
import pytest

import retrograde as rg
from retrograde.dtypes import is_float
from retrograde.errors import RetrogradeError
from sweeping import cases, plain, results

F = rg.nn.functional

#: Divided by zero integers are NumPy's 0; the sign of a byte without one wraps in what follows; and numbers that are drawn.
OTHERS = {"floor_divide", "remainder", "power", "bitcast", "random_binomial", "multinomial"}
GREATEST = {"int8": 120, "uint8": 250, "int64": 120}


def public_ops():
    return [name for name in rg.ops.names() if rg.ops.get(name).is_public and rg.ops.get(name).family != "creation" and name not in OTHERS]


def agrees(found, expected):
    """Whether a result on integers is that on float64: wrapped if it is integers, else in its precision."""
    if found.shape != expected.shape:
        return False
    if found.dtype.kind in "iub":
        with np.errstate(all="ignore"):
            whole = np.array([int(v) % 2**64 for v in expected.ravel()], np.uint64).reshape(expected.shape)
        return np.array_equal(whole.astype(found.dtype) if found.dtype.kind != "b" else expected != 0, found)
    tolerance = {2: 2e-2, 4: 1e-4, 8: 1e-9 if is_float(found.dtype) and found.dtype.kind == "f" else 1e-4, 16: 1e-9}[found.itemsize]
    return np.allclose(found, expected.astype(found.dtype), rtol=tolerance, atol=tolerance, equal_nan=True)


@pytest.mark.parametrize("name", public_ops())
def test_what_an_op_computes_of_integers_is_that_of_floats(name):
    op = rg.ops.get(name)
    for seed, case in enumerate(cases(op)):
        args, kwargs = case.drawn(np.float64)
        operands = case.operands(args)
        if not operands or any(x.dtype.kind == "c" for x in operands):
            continue

        def run(*new, case=case, args=args, kwargs=kwargs):
            return op.call(*case.rebuilt(args, new), **kwargs)

        for dtype, most in GREATEST.items():
            rng = np.random.default_rng(seed)
            drawn = [np.asarray(rng.integers(0, most, x.shape)) for x in operands]
            with np.errstate(all="ignore"):
                try:
                    expected = plain(results(run(*[rg.asarray(x.astype(np.float64)) for x in drawn])))
                    found = plain(results((rg.jit(run) if dtype == "uint8" else run)(*[rg.asarray(x.astype(dtype)) for x in drawn])))
                except RetrogradeError:  # an op that takes no such numbers, or sums that do not fit
                    continue
                for one, other in zip(found, expected, strict=True):
                    assert agrees(one, other), (case, dtype, drawn, one, other)


ROWS = np.array([[0, 3, 250, 7], [9, 1, 4, 200], [5, 5, 90, 0]])
CLASSES, SIGNS = np.array([1, 0, 3]), np.array([1, -1, 1])
FUNCTIONS = {
    "softmin": lambda x, y: F.softmin(x, 1), "log_softmax": lambda x, y: F.log_softmax(x, 1), "l1": F.l1_loss, "mse": F.mse_loss,
    "huber": F.huber_loss, "smooth": F.smooth_l1_loss, "divergence": lambda x, y: F.kl_div(x, y + 1), "cosine": F.cosine_similarity,
    "logits": lambda x, y: F.binary_cross_entropy_with_logits(x, y > 5), "distance": F.pairwise_distance, "pairs": rg.cdist,
    "normalize": lambda x, y: F.normalize(x), "response": lambda x, y: F.local_response_norm(x[None], 2), "norm": lambda x, y: rg.linalg.norm(x),
    "normal": lambda x, y: F.gaussian_nll_loss(x, y, y + 1), "poisson": lambda x, y: F.poisson_nll_loss(x, y, log_input=False),
    "classes": lambda x, y: F.cross_entropy(x, CLASSES), "weights": lambda x, y: F.cross_entropy(x, CLASSES, np.array([.5, .1, .9, .3])),
    "smoothed": lambda x, y: F.cross_entropy(x, CLASSES, label_smoothing=0.1), "likelihood": lambda x, y: F.nll_loss(x, CLASSES),
    "margins": lambda x, y: F.multi_margin_loss(x, CLASSES), "labels": lambda x, y: F.multilabel_margin_loss(x, np.array([[1, -1, 0, 0]] * 3)),
    "soft labels": lambda x, y: F.multilabel_soft_margin_loss(x, y > 5), "triplet": lambda x, y: F.triplet_margin_loss(x, y, x + 1),
    "ranks": lambda x, y: F.margin_ranking_loss(x, y, SIGNS[:, None]), "hinge": lambda x, y: F.hinge_embedding_loss(x, SIGNS[:, None], 300),
    "soft margin": lambda x, y: F.soft_margin_loss(x, SIGNS[:, None]), "embedding": lambda x, y: F.cosine_embedding_loss(x, y, SIGNS),
    "pool": lambda x, y: F.adaptive_avg_pool1d(x, 3), "linear sizes": lambda x, y: F.interpolate(x[None], 6, mode="linear"),
    "mean at": lambda x, y: rg.scatter_reduce(x, y, indices=np.zeros((3, 4), int), reduce="mean"),
    "segments": lambda x, y: rg.segment_sum(x, np.array([0, 0, 0]), 1), "products": lambda x, y: rg.segment_prod(x, np.array([0, 0, 0]), 1)}


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int64"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_losses_and_distances_of_integers_are_those_of_floats(name, dtype):
    function, pair = FUNCTIONS[name], (ROWS, ROWS[::-1] // 2)
    expected = np.asarray(function(*[rg.tensor(x.astype(np.float64)) for x in pair]))
    for form in (function, rg.jit(function)):
        found = np.asarray(form(*[rg.tensor(x.astype(dtype)) for x in pair]))
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64", "uint64"])
def test_convolutions_of_integers_are_exact_or_refused(dtype):
    x, w = (np.arange(1, n + 1).reshape(shape) % 3 for n, shape in ((50, (1, 2, 5, 5)), (24, (3, 2, 2, 2))))
    for form in (lambda f: f, rg.jit):
        for function in (F.conv2d, lambda x, w: F.conv_transpose2d(x, w.reshape(2, 3, 2, 2))):
            found = form(function)(rg.tensor(x.astype(dtype)), rg.tensor(w.astype(dtype)))
            assert found.dtype == np.dtype(dtype)
            np.testing.assert_array_equal(found, function(rg.tensor(x * 1.0), rg.tensor(w * 1.0)))
            large = np.full_like(x, 1 + int(np.iinfo(dtype).max ** 0.5)).astype(dtype)
            with pytest.raises(rg.errors.DTypeError, match="fit its dtype"):
                form(function)(rg.tensor(large), rg.tensor(large.ravel()[:24].reshape(3, 2, 2, 2)))
        with pytest.raises(rg.errors.DTypeError, match="in three dimensions") if np.dtype(dtype).itemsize < 8 else nullcontext():
            form(F.conv3d)(rg.tensor(x[..., None].astype(dtype)), rg.tensor(w[..., None].astype(dtype)))


def test_numbers_drawn_with_parameters_of_integers_are_floats():
    state, shape = np.array([7, 0], np.uint64), np.array([3, 4, 5])
    for name in ("random_gamma", "random_dirichlet"):
        draw = rg.ops.get(name).call
        np.testing.assert_array_equal(draw(state, rg.tensor(shape)), draw(state, rg.tensor(shape * 1.0, dtype="float64")))
