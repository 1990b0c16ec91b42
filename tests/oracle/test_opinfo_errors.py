"""PyTorch's own error inputs (its OpInfo), given to ours: each must raise an error of ours that says what is wrong."""

import numpy as np
import pytest

import retrograde as rg

pytest.importorskip("torch")
test_opinfo = pytest.importorskip("test_opinfo")
import opinfo_map  # noqa: E402 - it needs PyTorch's OpInfo

#: Error inputs that are fine for ours, by op, with what PyTorch complains of.
ACCEPTED = {
    **dict.fromkeys(("complex", "masked_fill", "scatter", "scatter_add", *(f"nn.functional.conv{d}d" for d in (1, 2, 3))),
                    "operands of two types meet in the wider one"),
    **dict.fromkeys(("mean", "trace", "t", "t_copy", "roll", "linalg.cross", "index_add"), "NumPy takes them, and so do ours"),
    **{f"nn.functional.{kind}_pool{d}d": "any number of axes may stand in front, and they may be of length 0"
       for kind in ("max", "adaptive_avg", "adaptive_max") for d in (1, 2, 3)},
}


def verdict(op, error):
    """What ours makes of an error input: None if it cannot be asked, else the error raised or the result."""
    sample = error.sample_input
    try:
        args = [test_opinfo.converted(a, []) for a in (sample.input, *sample.args)]
        kwargs = {k: test_opinfo.converted(v, []) for k, v in sample.kwargs.items()}
    except (TypeError, RuntimeError, ValueError):
        return None  # tensors that NumPy cannot hold
    try:
        with np.errstate(all="ignore"):
            return opinfo_map.ours_for(op)(*args, **kwargs)
    except opinfo_map.UnmappedError:
        return None
    except Exception as found:  # noqa: BLE001 - the class is what is looked at
        return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("op", [op for op in test_opinfo.INFOS if op.error_inputs_func], ids=lambda op: f"{op.name}-{op.variant_test_name}".rstrip("-"))
def test_error_inputs_of_torch_raise_errors_of_ours(op):
    for error in op.error_inputs("cpu"):
        found = verdict(op, error)
        if isinstance(found, Exception):
            assert isinstance(found, rg.errors.RetrogradeError), f"{error.sample_input.summary()}: {type(found).__name__}: {found}"
            assert len(str(found)) > 20
        elif found is not None and error.error_regex:  # without one, a number stands where PyTorch wants a tensor: ours take it
            assert op.name in ACCEPTED, f"{error.sample_input.summary()} raises nothing; PyTorch: {error.error_regex}"
