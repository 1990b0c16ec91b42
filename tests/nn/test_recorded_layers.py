"""Every layer against what PyTorch gave for it, which is recorded, and compiled against eager."""

import numpy as np
import pytest

import retrograde as rg
from layer_cases import CASES, Ours, assert_agree, recorded, run
from retrograde import nn
from tiers import tiered


@pytest.fixture(scope="module")
def record():
    return recorded()


def test_each_case_is_recorded_once(record):
    assert len({repr(case) for case in CASES}) == len(CASES)
    assert set(record) == {repr(case) for case in CASES}, "run tests/oracle/record_layers.py"


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_layer_gives_what_torch_gave(case, record):
    assert_agree(run(case, Ours()), record[repr(case)])


@pytest.mark.sampled(2)
@pytest.mark.parametrize("case", list(tiered([(repr(case), case) for case in CASES], key=lambda case: case.name)))
def test_compiled_layer_gives_what_the_eager_one_gives(case):
    assert_agree(run(case, Ours(compiles=True)), run(case, Ours()))


def test_a_number_that_is_off_is_found(record):
    found = run(CASES[0], Ours())
    found["result 0"][0, 0, 0] += 1e-3
    with pytest.raises(AssertionError, match="result 0"):
        assert_agree(found, record[repr(CASES[0])])


@pytest.mark.parametrize("name", ["TransformerEncoderLayer", "BatchNorm2d", "Conv2d", "MultiheadAttention"])
def test_weights_in_a_file_under_the_names_of_torch_load_unchanged(name, record, tmp_path):
    safetensors = pytest.importorskip("safetensors.numpy")
    case = next(case for case in CASES if case.name == name)
    layer = Ours().layer(case)
    shapes = {name: x.shape for name, x in layer.state_dict().items()}
    weights = {name: case.weights(shapes)[name] for name in record[repr(case)]["names"].tolist()}
    safetensors.save_file(weights, tmp_path / "weights.safetensors")
    again = getattr(nn, name)(*case.args, **case.kwargs)
    again.load_state_dict(rg.load(tmp_path / "weights.safetensors"))
    for key, x in again.state_dict().items():
        np.testing.assert_array_equal(x.numpy(), weights[key], err_msg=key)
