"""NumPy's and SciPy's own functions, called on tensors, have NumPy's values and gradients, or refuse in words."""

import numpy as np
import pytest

import retrograde as rg
from retrograde.errors import DTypeError, MissingRuleError
from retrograde.testing import check_gradients

X = np.random.default_rng(0).uniform(0.2, 0.9, (3, 4))
V = np.random.default_rng(1).uniform(0.2, 0.9, 5)
CALLS = {
    "reductions": [
        lambda x: np.sum(x, 0), lambda x: np.sum(x, axis=1, keepdims=True, initial=2.0), lambda x: np.sum(x, where=X > 0.5),
        lambda x: np.prod(x, 1, initial=3.0), lambda x: np.mean(x, 0, where=X < 0.8), lambda x: np.std(x, 1, ddof=1), lambda x: np.ptp(x, 0),
        lambda x: np.max(x, 0, initial=0.5), lambda x: np.max(x, where=X < 0.7, initial=0.0), lambda x: np.average(x, 1, np.arange(4.0)),
        lambda x: np.median(x, axis=1), lambda x: np.percentile(x, [20, 70], axis=0), lambda x: np.quantile(x, 0.3), lambda x: np.cov(x),
        lambda x: np.corrcoef(x), lambda x: np.nansum(x, 0), lambda x: np.nanmean(x, axis=1), lambda x: np.nanmax(x, 1),
        lambda x: np.cumulative_sum(x, axis=1), lambda x: np.cumsum(x, 1), lambda x: np.count_nonzero(x > 0.5, axis=0),
    ],
    "ufunc methods": [
        lambda x: np.add.reduce(x), lambda x: np.add.reduce(x, axis=1, keepdims=True), lambda x: np.multiply.accumulate(x, axis=1),
        lambda x: np.maximum.reduce(x, axis=0), lambda x: np.multiply.outer(x, V), lambda x: np.subtract.outer(V, x),
        lambda x: np.add(x, 1, dtype=np.float64), lambda x: np.multiply(x, x, where=X > 0.5, out=x * 0),
    ],
    "ufuncs": [
        lambda x: np.fmax(x, 0.5), lambda x: np.fmin(x, x.T[0, 0]), lambda x: np.fmod(x, 2.0), lambda x: np.logaddexp2(x, 1.0),
        lambda x: np.degrees(x), lambda x: np.heaviside(x - 0.55, 0.5), lambda x: np.modf(x)[0], lambda x: np.ldexp(x, 3),
        lambda x: np.divmod(x, 2.0)[1], lambda x: np.matvec(x, np.ones(4)), lambda x: np.vecmat(np.ones(3), x), lambda x: np.float_power(x, 2),
    ],
    "shapes": [
        lambda x: np.vstack([x, x]), lambda x: np.dstack([x, x]), lambda x: np.block([[x, x], [x, x]]), lambda x: np.append(x, x),
        lambda x: np.array_split(x, 3, axis=1)[1], lambda x: np.rot90(x, -1), lambda x: np.rollaxis(x, 1), lambda x: np.expand_dims(x, (0, 2)),
        lambda x: np.delete(x, 1, axis=1), lambda x: np.compress([True, False, True], x, axis=0), lambda x: np.extract(X > 0.5, x),
        lambda x: np.take(x, [5, 1], axis=1, mode="wrap"), lambda x: np.diagflat(x[0]), lambda x: np.reshape(x, (4, 3), order="F"),
        lambda x: np.ravel(x, "F"), lambda x: np.resize(x, (5, 5)), lambda x: np.select([X > 0.5], [x], 0.0), lambda x: np.where(X > 0.5, x, 0),
        lambda x: np.pad(x, 1, "reflect"), lambda x: np.apply_along_axis(lambda v: v * v[0], 1, x),
        lambda x: np.piecewise(x, [X > 0.5], [lambda t: t * t, lambda t: -t]), lambda x: np.full_like(x, 2.0) * x,
    ],
    "calculus": [
        lambda x: np.dot(x, x.T), lambda x: np.inner(x, x), lambda x: np.vdot(x, x), lambda x: np.diff(x, 2), lambda x: np.ediff1d(x),
        lambda x: np.gradient(x)[0], lambda x: np.gradient(x, np.array([0.0, 1.0, 3.0]), axis=0), lambda x: np.trapezoid(x, dx=0.5),
        lambda x: np.interp(x[0], np.arange(4.0) / 3, x[1]), lambda x: np.convolve(x[0], x[1]), lambda x: np.convolve(x[0], x[1, :3], "same"),
        lambda x: np.correlate(x[0], x[1, :2]), lambda x: np.vander(x[0], 3), lambda x: np.polyval(x[0], x[1]), lambda x: np.linspace(x[0], x[1], 3),
        lambda x: np.cross(x[:, :3], x[:, 1:]), lambda x: np.round(x, 1) + x, lambda x: np.sort(x * np.arange(1.0, 13.0).reshape(3, 4) ** 2, None), lambda x: np.angle(x + 1j, deg=True),
    ],
    "linalg": [
        lambda x: np.linalg.norm(x, axis=1), lambda x: np.linalg.svd(x, compute_uv=False), lambda x: np.linalg.pinv(x),
        lambda x: np.linalg.eigvalsh(x @ x.T + np.eye(3), UPLO="U"), lambda x: np.linalg.multi_dot([x, x.T, x]),
        lambda x: np.linalg.lstsq(x.T, V[:4])[0], lambda x: np.linalg.tensorinv((x[:, :3] + np.eye(3)).reshape(3, 3), 1),
        lambda x: np.linalg.cholesky(x @ x.T + np.eye(3)), lambda x: np.linalg.slogdet(x @ x.T + np.eye(3))[1],
    ],
    "fft": [lambda x: np.real(np.fft.fft(x)), lambda x: np.fft.rfft(x, norm="ortho").real, lambda x: np.fft.fftshift(x), lambda x: np.fft.ifft2(x).imag],
}


@pytest.mark.parametrize(("group", "number"), [(group, i) for group, calls in CALLS.items() for i in range(len(calls))])
def test_a_function_of_numpy_has_its_own_values_and_right_gradients(group, number):
    call = CALLS[group][number]
    found, expected = call(rg.tensor(X)), call(X.copy())
    assert isinstance(found, rg.Tensor)
    np.testing.assert_allclose(found.data, expected, rtol=1e-12, atol=1e-14)
    assert found.dtype == expected.dtype or group == "linalg"
    if np.asarray(expected).dtype.kind == "f":
        check_gradients(call, X, order=1)


SCIPY = ["expit", "log_expit", "gammaln", "psi", "erf", "erfc", "erfinv", "ndtr", "log_ndtr", "ndtri", "logit", "entr", "i0", "i1e", "j0", "y1", "gamma",
         "rgamma", "expm1", "exp2", "exp10", "cbrt", "sindg", "digamma", "erfcx"]


@pytest.mark.parametrize("name", SCIPY)
def test_a_ufunc_of_scipy_gives_tensors_with_gradients(name):
    function = getattr(pytest.importorskip("scipy.special"), name)
    np.testing.assert_allclose(function(rg.tensor(X)).data, function(X), rtol=1e-12)
    check_gradients(function, X, order=2)


@pytest.mark.parametrize(("name", "args"), [
    ("xlogy", (0.5,)), ("xlog1py", (0.5,)), ("jv", (2,)), ("iv", (1,)), ("betainc", (2.0, 1.5)), ("gammainc", (1.5,)), ("gammaincc", (1.5,)),
    ("rel_entr", (0.4,)), ("kl_div", (0.4,)), ("huber", (0.5,)), ("pseudo_huber", (0.5,)), ("beta", (1.5,)), ("betaln", (1.5,))])
def test_a_ufunc_of_scipy_with_parameters_gives_tensors_with_gradients(name, args):
    function = getattr(pytest.importorskip("scipy.special"), name)
    np.testing.assert_allclose(function(*args, rg.tensor(X)).data, function(*args, X), rtol=1e-12)
    check_gradients(lambda x: function(*args, x), X, order=1)


def test_parameters_without_a_derivative_refuse_to_lose_it():
    special = pytest.importorskip("scipy.special")
    order = rg.tensor(2.0, requires_grad=True)
    with pytest.raises(MissingRuleError, match="order of jv"):
        special.jv(order, X)


def test_what_has_no_derivative_works_on_the_data():
    x = rg.tensor(X, requires_grad=True)
    assert np.allclose(x, X) and np.array_equal(x, X)
    np.testing.assert_array_equal(np.argwhere(x > 0.5), np.argwhere(X > 0.5))
    np.testing.assert_array_equal(np.histogram(x.detach(), 3)[0], np.histogram(X, 3)[0])  # whose edges have no gradient
    assert np.iscomplexobj(x) is False and np.isclose(x, X).all()


@pytest.mark.parametrize("call", [
    lambda x: np.sum(x, 0, out=np.empty(4)), lambda x: np.fft.fft(x, out=x), lambda x: np.cov(x, x), lambda x: np.unwrap(x), lambda x: np.sum(x, dtype=str)])
def test_what_cannot_be_differentiated_is_refused_in_words(call):
    with pytest.raises((DTypeError, rg.errors.RetrogradeError, TypeError)):
        call(rg.tensor(X, requires_grad=True))


def test_where_and_out_of_a_ufunc_are_differentiated():
    x, out = rg.tensor(X, requires_grad=True), rg.tensor(X * 0)
    np.square(x, out=out)
    out.sum().backward()
    np.testing.assert_allclose(x.grad.data, 2 * X)
