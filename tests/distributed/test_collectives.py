"""Collectives: on one process without MPI here, on several by programs/collectives.py."""

import subprocess
import sys

import numpy as np
import pytest

import retrograde as rg
from launching import needs_mpi, passed
from retrograde import distributed
from retrograde.distributed.links import delayed
from retrograde.distributed.patience import seconds_of_patience
from retrograde.errors import ArgumentError, DistributedError, DTypeError, ShapeError


@needs_mpi
def test_three_processes_have_the_values_derivatives_batches_and_compiled_results_of_numpy():
    assert sorted(passed(3, "collectives.py").splitlines()) == [f"process {r} of 3 is done" for r in range(3)]


@needs_mpi
@pytest.mark.long
@pytest.mark.parametrize("count", [1, 2, 4, 8])
def test_so_have_others(count):
    assert passed(count, "collectives.py", seconds=400).count("is done") == count


def test_one_process_needs_no_mpi():
    text = ("import sys; import retrograde as rg; assert rg.distributed.size() == 1; rg.distributed.barrier()\n"
            "print(rg.distributed.all_reduce(rg.ones(2), 'mean'), 'mpi4py' in sys.modules)")
    found = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert found.stdout == "tensor([1., 1.]) False\n"


X = np.arange(1.0, 7.0).reshape(2, 3)


@pytest.mark.parametrize("function", [
    *[lambda x, kind=kind: distributed.all_reduce(x, kind) for kind in ("sum", "mean", "max", "min", "product")],
    distributed.all_gather, lambda x: distributed.all_gather(x, -1), distributed.reduce_scatter, distributed.all_to_all,
    distributed.broadcast, lambda x: distributed.send_recv(x, 0, 0)])
@pytest.mark.parametrize("dtype", ["float64", "int32", "bool"])
def test_one_process_is_the_identity_in_each_mode(function, dtype):
    x = rg.tensor(X).astype(dtype)
    np.testing.assert_array_equal(function(x).numpy(), x.numpy())
    np.testing.assert_array_equal(rg.jit(function)(x).numpy(), x.numpy())
    np.testing.assert_array_equal(rg.vmap(function)(rg.stack([x, x]))[1].numpy(), x.numpy())
    if dtype == "float64":
        loss = lambda x: (function(x) ** 3).sum()
        for gradient in (rg.grad(loss), rg.jit(rg.grad(loss))):
            np.testing.assert_allclose(gradient(x).numpy(), 3 * X**2)
        np.testing.assert_allclose(rg.jvp(loss, (x,), (x,))[1].numpy(), 3 * (X**3).sum())


def test_the_result_is_memory_of_its_own():
    x = rg.tensor(X)
    for function in (distributed.all_reduce, distributed.broadcast, distributed.all_gather):
        function(x)[...] = 0.0
    np.testing.assert_array_equal(x.numpy(), X)


def test_equal_calls_stay_as_many_in_compiled_code():
    step = rg.jit(lambda x: distributed.all_reduce(x) + distributed.all_reduce(x))
    step(rg.tensor(X))
    assert str(step.explain()).count("all_sum") == 2


@pytest.mark.parametrize(("call", "error", "text"), [
    (lambda: distributed.all_reduce(X, "median"), ArgumentError, "all_reduce has the kinds max, mean, min, product, sum"),
    (lambda: distributed.reduce_scatter(X, "max"), ArgumentError, '"sum" and "mean"'),
    (lambda: distributed.reduce_scatter(1.0), ShapeError, "into 1 equal parts"),
    (lambda: distributed.all_gather(X, 2), ShapeError, "no axis 2"),
    (lambda: distributed.broadcast(X, 1), ArgumentError, "processes have the numbers 0 to 0, got 1"),
    (lambda: distributed.send(X, 3), ArgumentError, "got 3"),
    (lambda: distributed.recv(True, ()), ArgumentError, "got True"),
    (lambda: distributed.patience(0).__enter__(), ArgumentError, "patience must be a number of seconds above 0, got 0"),
    (lambda: distributed.patience("long").__enter__(), ArgumentError, "above 0, got 'long'"),
    (lambda: distributed.link_delay(-1).__enter__(), ArgumentError, "a link delay must be a number of seconds of at least 0, and finite, got -1"),
    (lambda: distributed.link_delay(np.inf).__enter__(), ArgumentError, "got inf"),
    (lambda: distributed.sums("fast").__enter__(), ArgumentError, "fast"),
    (lambda: rg.ops.get("mean_of_each").call([np.ones(2), np.ones(2, np.float32)], distributed.world()), DTypeError, "float32, float64"),
])
def test_what_is_wrong_is_said(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_seconds_are_those_of_the_block_or_of_the_environment(monkeypatch):
    monkeypatch.delenv("RETROGRADE_PATIENCE", raising=False)
    assert seconds_of_patience() == 25
    monkeypatch.setenv("RETROGRADE_PATIENCE", "4")
    with distributed.patience(300):
        assert seconds_of_patience() == 300
    assert seconds_of_patience() == 4
    monkeypatch.setenv("RETROGRADE_LINK_DELAY", "nan")
    with pytest.raises(ArgumentError, match=r"a link delay must be .* got 'nan'"):
        delayed()


def test_an_error_between_processes_is_told_as_it_is():
    class Odd(type(distributed.world())):
        def sum(self, x, order, name):
            raise DistributedError("process 1 is gone")

    for function in (lambda x: distributed.all_reduce(x, group=Odd()), rg.jit(lambda x: distributed.all_reduce(x, group=Odd()))):
        with pytest.raises(DistributedError, match=r"^process 1 is gone$"):
            function(rg.ones(2))
