"""The Array API standard: what its namespace tells, and libraries that are written against it."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import retrograde as rg
from retrograde.errors import ArgumentError, DTypeError, GraphError


def test_a_tensor_leads_to_the_namespace():
    assert rg.ones(2).__array_namespace__() is rg
    assert rg.ones(2).__array_namespace__(api_version="2023.12") is rg
    with pytest.raises(ArgumentError, match=r"2024\.12"):
        rg.ones(2).__array_namespace__(api_version="1999.12")


def test_limits_of_types_are_those_of_numpy():
    for dtype in (np.float16, np.float32, np.float64, np.complex64):
        found, expected = rg.finfo(np.dtype(dtype)), np.finfo(dtype)
        assert (found.bits, found.eps, found.max, found.smallest_normal) == (expected.bits, expected.eps, expected.max, expected.smallest_normal)
        assert type(found.eps) is float
    assert rg.finfo(rg.bfloat16).eps == 2.0**-7
    assert rg.finfo(rg.ones(1)).dtype == rg.float32
    assert (rg.iinfo(rg.uint8).max, rg.iinfo(rg.tensor([1])).min) == (255, -(2**63))
    with pytest.raises(DTypeError, match="iinfo"):
        rg.finfo(rg.int8)
    with pytest.raises(DTypeError, match="finfo"):
        rg.iinfo(rg.float32)


def test_kinds_of_types():
    assert rg.isdtype(rg.float32, "real floating") and rg.isdtype(rg.bfloat16, "real floating")
    assert rg.isdtype(rg.uint8, "integral") and not rg.isdtype(rg.bool, "numeric")
    assert rg.isdtype(rg.complex64, (rg.float32, "complex floating"))
    with pytest.raises(ArgumentError, match="kind"):
        rg.isdtype(rg.float32, "real")


def test_promotion_and_casts():
    assert rg.result_type(rg.int8, rg.ones(1), 2.5) == rg.float32
    assert rg.result_type(rg.bfloat16, 2.5) == rg.result_type(rg.ones(1, dtype=rg.bfloat16), 1) == rg.bfloat16
    assert rg.result_type(rg.tensor([1], dtype=rg.int8), rg.int16) == rg.int16
    assert rg.can_cast(rg.int8, rg.int16) and not rg.can_cast(rg.ones(1), rg.int64)
    with pytest.raises(ArgumentError, match="tensor or a type"):
        rg.result_type(1, 2.0)


def test_the_namespace_describes_itself():
    info = rg.__array_namespace_info__()
    assert rg.__array_api_version__ == "2024.12"
    assert info.default_dtypes()["real floating"] == rg.float32
    assert info.dtypes(kind=("bool", "unsigned integer")).keys() == {"bool", "uint8", "uint16", "uint32", "uint64"}
    assert info.default_device() in info.devices()
    assert info.capabilities()["data-dependent shapes"]


def test_memory_is_exchanged_by_dlpack():
    x = np.arange(3.0)
    t = rg.from_dlpack(x)
    t[0] = 7.0
    assert x[0] == 7.0
    np.testing.assert_array_equal(np.from_dlpack(t), x)
    assert t.__dlpack_device__() == (1, 0)
    with pytest.raises(GraphError, match="detach"):
        np.from_dlpack(rg.ones(2, requires_grad=True))
    assert not rg.from_dlpack(rg.ones(2, requires_grad=True)).requires_grad


def test_astype_shares_memory_if_it_is_let():
    x = rg.ones(3)
    assert np.shares_memory(rg.astype(x, rg.float32, copy=False).data, x.data)
    assert not np.shares_memory(rg.astype(x, rg.float32).data, x.data)
    y = x.clone().requires_grad_() * 1
    view = rg.astype(y, rg.float32, copy=False)
    view *= 2
    assert y.tolist() == [2.0, 2.0, 2.0]


def test_reshape_copies_as_it_is_told():
    x = rg.ones(2, 3)
    assert not np.shares_memory(rg.reshape(x, (3, 2), copy=True).data, x.data)
    with pytest.raises(ValueError, match="copy"):
        rg.reshape(x.T, -1, copy=False)


def test_different_values_hand_their_gradient_to_the_first_of_each():
    x = rg.tensor([3.0, 1.0, 3.0, 2.0], requires_grad=True)
    found = rg.unique_all(x)
    (found.values * rg.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert (found.values.tolist(), found.indices.tolist()) == ([1, 2, 3], [1, 3, 0])
    assert (found.inverse_indices.tolist(), found.counts.tolist()) == ([2, 0, 2, 1], [1, 1, 2])
    assert x.grad.tolist() == [100, 1, 0, 10]
    assert rg.unique_values(rg.tensor([np.nan, np.nan])).shape == (2,)
    np.testing.assert_array_equal(rg.unique_counts(np.array([2, 2])).counts, [2])
    assert rg.unique_inverse(rg.tensor([[2], [1]])).inverse_indices.shape == (2, 1)


def test_grids_and_parts():
    rows, columns = rg.meshgrid(rg.arange(2), rg.arange(3))
    assert rows.shape == columns.shape == (3, 2)
    x = rg.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    first, second = rg.unstack(x, axis=1)
    (first * second).sum().backward()
    assert x.grad.tolist() == [[2.0, 1.0], [4.0, 3.0]]
    assert [a.shape for a in rg.broadcast_arrays(rg.ones(3), rg.ones(2, 1))] == [(2, 3), (2, 3)]
    assert [p.tolist() for p in rg.nonzero(rg.tensor([[0, 1], [2, 0]]))] == [[0, 1], [1, 0]]
    with pytest.raises(ValueError, match="one axis"):
        rg.nonzero(rg.tensor(1.0))


def test_einops_rearranges_tensors_with_gradients():
    einops = pytest.importorskip("einops.array_api")
    x = rg.tensor(np.arange(24.0).reshape(6, 4), requires_grad=True)
    y = einops.reduce(einops.rearrange(x, "(a b) c -> a (b c)", a=2), "a b -> a", "sum")
    (y * rg.tensor([1.0, 2.0])).sum().backward()
    np.testing.assert_array_equal(x.grad.data, np.repeat([1.0, 2.0], 3)[:, None] * np.ones((6, 4)))


CONSUMERS = {
    "scipy.special.logsumexp": ("from scipy.special import logsumexp", "logsumexp(x, axis=1)"),
    "scipy.stats.skew": ("from scipy.stats import skew", "skew(x, axis=0)"),
    "scipy.stats.pearsonr": ("from scipy.stats import pearsonr", "pearsonr(x[:, 0], x[:, 1]).statistic"),
    "scipy.fft.rfft": ("from scipy.fft import rfft", "abs(rfft(x).real) + rfft(x).imag"),
    "scipy.signal.fftconvolve": ("from scipy.signal import fftconvolve", "fftconvolve(x[:, 0], x[:, 1])"),
    "scipy.integrate.trapezoid": ("from scipy.integrate import trapezoid", "trapezoid(x, axis=0) ** 2"),
    "sklearn.euclidean_distances": ("from sklearn.metrics.pairwise import euclidean_distances", "euclidean_distances(x, x + 1)"),
}
PROGRAM = """
import json, traceback, numpy as np, retrograde as rg, sklearn
from retrograde.testing import check_gradients
start, faults = np.random.default_rng(0).standard_normal((6, 4)), {}
for name, (setup, call) in CONSUMERS.items():
    scope = {}
    try:
        exec(setup, scope)
        with sklearn.config_context(array_api_dispatch=True):
            function = eval(f"lambda x: {call}", scope)
            assert isinstance(function(rg.tensor(start)), rg.Tensor)
            check_gradients(function, start, order=1, rtol=1e-4)
        faults[name] = ""
    except Exception:
        faults[name] = traceback.format_exc()
print(json.dumps(faults))
"""


@pytest.fixture(scope="module")
def faults_of_consumers():
    """What went wrong with each consumer, in one process: SciPy reads its setting when it is loaded, which takes longest."""
    pytest.importorskip("sklearn")
    done = subprocess.run([sys.executable, "-c", f"CONSUMERS = {CONSUMERS}{PROGRAM}"], capture_output=True, text=True, check=False,
                          env={**os.environ, "SCIPY_ARRAY_API": "1"})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("name", CONSUMERS)
def test_a_consumer_of_the_standard_works_on_tensors_with_gradients(name, faults_of_consumers):
    assert faults_of_consumers[name] == ""


def test_our_scipy_works_where_scipy_looks_for_array_namespaces():
    program = ("import retrograde as rg\nfrom retrograde.scipy.special import gammaln\nfrom retrograde.scipy.stats import norm\n"
               "assert abs(rg.grad(gammaln)(2.0) - 0.4227843351) < 1e-9")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False,
                          env={**os.environ, "SCIPY_ARRAY_API": "1"})
    assert done.returncode == 0, done.stderr
