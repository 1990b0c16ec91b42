"""Every layer against what PyTorch gave for it, which is recorded, and compiled against eager."""

import pytest

from layer_cases import CASES, Ours, assert_agree, recorded, run


@pytest.fixture(scope="module")
def record():
    return recorded()


def test_each_case_is_recorded_once(record):
    assert len({repr(case) for case in CASES}) == len(CASES)
    assert set(record) == {repr(case) for case in CASES}, "run tests/oracle/record_layers.py"


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_layer_gives_what_torch_gave(case, record):
    assert_agree(run(case, Ours()), record[repr(case)])


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_compiled_layer_gives_what_the_eager_one_gives(case):
    assert_agree(run(case, Ours(compiles=True)), run(case, Ours()))


def test_a_number_that_is_off_is_found(record):
    found = run(CASES[0], Ours())
    found["result 0"][0, 0, 0] += 1e-3
    with pytest.raises(AssertionError, match="result 0"):
        assert_agree(found, record[repr(CASES[0])])
