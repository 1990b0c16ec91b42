"""What goes by other names in PyTorch: errors say what to write."""

from unittest import mock

import numpy as np
import pytest

import retrograde as rg

#: Reads a method of `data` by an instruction with an operand of two bytes: it is the name of a number above 255.
_late_name = eval("lambda x: (" + ", ".join(f"f.n{i}" for i in range(300)) + ", x.data.add_(1))", {"f": mock.MagicMock()})


@pytest.mark.parametrize("make", [lambda: rg.ones(2, 2), lambda: rg.nn.Parameter(rg.ones(2, 2))])
@pytest.mark.parametrize(("call", "written"), [
    (lambda x: x.data.add_(1), r"x \+= y"), (lambda x: x.data.clamp_(0, 1), r"x\[...\] = x.clip"), (lambda x: x.data.zero_(), r"x.zero_\("),
    (lambda x: x.data.normal_(0, 1), r"rg.nn.init.normal_\(x\)"), (lambda x: x.data.clone(), r"x.clone\("), (_late_name, r"x \+= y")])
def test_a_method_of_tensors_called_on_data_is_told_what_to_write(make, call, written):
    with pytest.raises(AttributeError, match=rf"x.data is the array of x here, a numpy.ndarray.*rg.no_grad\(\), {written}"):
        call(make())


def test_what_arrays_have_is_read_of_data():
    x = rg.ones(2, 2)
    x.data[0] = 3.0
    assert type(x.data) is type(getattr(x, "data")) is np.ndarray  # noqa: B009 - read by a call as well
    assert x.data.sum() == 8 and x.data.copy().tolist() == [[3, 3], [1, 1]] and np.shares_memory(x.data, x.numpy())
    x.data = np.zeros((2, 2), np.float32)
    assert (x == 0).all()
    with pytest.raises(AttributeError, match=r"'numpy\.ndarray' object has no attribute 'nothing_of_ours'"):
        x.data.nothing_of_ours()


@pytest.mark.parametrize("name", ["zeros", "ones", "empty", "rand", "randn"])
def test_a_shape_given_as_size_is_told_what_to_write(name):
    with pytest.raises(TypeError, match=rf"{name}\(\) takes no size=; write rg.{name}\(shape\), as in rg.{name}\(\(2, 3\)\)"):
        getattr(rg, name)(size=(2, 3))
    with pytest.raises(TypeError, match=rf"{name}\(\) takes no shapes=$"):
        getattr(rg, name)(shapes=(2, 3))


@pytest.mark.parametrize("name", ["var", "std"])
def test_unbiased_is_told_what_to_write(name):
    x = rg.ones(2, 3)
    for call in (getattr(x, name), lambda **given: getattr(rg, name)(x, **given)):
        with pytest.raises(TypeError, match=rf"{name}\(\) takes correction=.*not unbiased="):
            call(unbiased=False)


def test_random_integers_count_from_zero_if_one_bound_is_given():
    assert set(rg.randint(5, size=(500,)).tolist()) == set(rg.randint(5, (500,)).tolist()) == {0, 1, 2, 3, 4}


def test_a_shape_and_a_list_given_to_the_class_are_told_what_to_write():
    for given in (([1.0],), (2, 3)):
        with pytest.raises(rg.errors.DTypeError, match=r"write rg.tensor\(data\).*rg.empty\(2, 3\)"):
            rg.Tensor(*given)
