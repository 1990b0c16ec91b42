"""Operands of different dtypes: an op has one dtype, in eager code, in what a trace takes it for, and under vmap."""

import ml_dtypes
import numpy as np
import pytest

import retrograde as rg
from retrograde.core.value import Value
from retrograde.errors import RetrogradeError
from sweeping import cases, results

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def mixtures(count):
    """Dtypes of so many operands: all narrow, and each in turn wider than all others."""
    yield [BFLOAT16] * count
    for base, wide in (("float32", "float64"), (BFLOAT16, "float32")) if count > 1 else ():
        for k in range(count):
            yield [np.dtype(wide if i == k else base) for i in range(count)]


def dtypes_of(found):
    return [np.asarray(x.data if isinstance(x, Value) else x).dtype for x in results(found)]


@pytest.mark.parametrize("name", rg.ops.names())
def test_results_of_mixed_dtypes_have_the_same_dtype_in_every_form(name):
    op = rg.ops.get(name)
    for case in cases(op):
        args, kwargs = case.drawn(np.float32)
        operands = case.operands(args)
        for mixture in mixtures(len(operands)) if operands else ():
            given = [x.astype(dtype) for x, dtype in zip(operands, mixture, strict=True)]

            def run(*new, case=case, args=args, kwargs=kwargs):
                return op.call(*case.rebuilt(args, new), **kwargs)

            with np.errstate(all="ignore"):
                try:
                    eager = dtypes_of(run(*map(rg.asarray, given)))
                except RetrogradeError:  # an op that takes no such floats
                    continue
                assert dtypes_of(rg.vmap(run)(*[rg.asarray(np.stack([x, x])) for x in given])) == eager, mixture
                assert traced(run, given) == eager, mixture


def traced(run, given):
    """The dtypes that a trace takes the results for."""
    found = []

    def note(*new):
        found.extend(x.dtype for x in results(run(*new)))
        return 0.0

    rg.jit(note)(*map(rg.asarray, given))
    return found
