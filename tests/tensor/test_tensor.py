import copy
import pickle
import re
from unittest import mock

import numpy as np
import pytest

import retrograde as rg
from retrograde.errors import DTypeError, GraphError
from retrograde.tensor import elsewhere
from retrograde.testing import assert_close


@pytest.mark.parametrize(("made", "dtype"), [
    (lambda: rg.tensor(1.5), "float32"), (lambda: rg.tensor(3), "int64"), (lambda: rg.tensor(True), "bool"),
    (lambda: rg.tensor([1.0, 2]), "float32"), (lambda: rg.tensor(np.ones(2)), "float64"), (lambda: rg.tensor([np.float64(1)]), "float64"),
    (lambda: rg.tensor([rg.tensor(1.0), rg.tensor(2.0)]), "float32"), (lambda: rg.tensor(1.0, dtype=float), "float32"),
    (lambda: rg.tensor([1, 2], dtype="bfloat16"), "bfloat16"), (lambda: rg.tensor(rg.ones(2), dtype=rg.float16), "float16"),
    (lambda: rg.tensor(np.float16(1)), "float16"), (lambda: rg.tensor(1j), "complex128")])
def test_the_dtype_of_a_new_tensor(made, dtype):
    if dtype == "complex128":
        assert made().dtype.kind == "c"
    else:
        assert made().dtype == dtype


def test_tensor_copies_and_asarray_does_not():
    a = np.ones(3)
    assert not np.shares_memory(rg.tensor(a).data, a)
    assert np.shares_memory(rg.asarray(a).data, a)
    t = rg.ones(2)
    assert rg.asarray(t) is t
    assert rg.asarray(t, copy=True) is not t


@pytest.mark.parametrize("nonsense", ["text", [1, "a"], object(), [[1, 2], [3]], None])
def test_what_is_no_number_is_refused(nonsense):
    with pytest.raises((TypeError, ValueError)):
        rg.tensor(nonsense)


def test_the_text_of_a_tensor_says_what_is_not_ordinary():
    x = rg.tensor([1.0, 2.0], requires_grad=True)
    assert repr(x) == "tensor([1., 2.], requires_grad=True)"
    assert repr(x * 2) == "tensor([2., 4.], made by multiply)"
    assert repr(rg.tensor(np.ones(1))) == "tensor([1.], dtype=float64)"
    assert repr(rg.tensor([[1, 2], [3, 4]])) == "tensor([[1, 2],\n        [3, 4]])"
    assert repr(rg.tensor(2.0)) == "tensor(2.)"
    assert repr(rg.zeros(0, 3)).startswith("tensor([]")
    assert repr(rg.ones(2, dtype="bfloat16")) == "tensor([1, 1], dtype=bfloat16)"
    assert f"{rg.tensor(3.14159):.2f}" == "3.14"
    assert len(repr(rg.zeros(100, 100))) < 1000


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int64", "bool"])
def test_pickles_and_deep_copies_keep_data_and_requires_grad(dtype):
    x = rg.ones(2, 3, dtype=dtype)
    if dtype in ("float32", "float64", "bfloat16"):
        x.requires_grad = True
    for made in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x), copy.deepcopy([x])[0]):
        assert made.requires_grad == x.requires_grad
        assert_close(made.detach(), x.detach())
        assert made.dtype == x.dtype
        assert not np.shares_memory(made.data, x.data)


def test_a_deep_copy_has_its_own_gradient():
    x = rg.ones(2, requires_grad=True)
    (x * 2).sum().backward()
    y = copy.deepcopy(x)
    y.grad.zero_()
    assert x.grad.tolist() == [2.0, 2.0]
    (y * 3).sum().backward()
    assert (x.grad.tolist(), y.grad.tolist()) == ([2.0, 2.0], [3.0, 3.0])


def test_deep_copies_share_what_was_shared():
    x = rg.ones(2, requires_grad=True)
    a, b = copy.deepcopy([x, x])
    assert a is b


def test_inner_values_are_neither_pickled_nor_deep_copied():
    y = rg.ones(2, requires_grad=True) * 2
    with pytest.raises(GraphError, match="detach"):
        copy.deepcopy(y)
    with pytest.raises(GraphError, match="detach"):
        pickle.dumps(y)


def test_numpy_refuses_to_lose_a_gradient():
    x = rg.ones(2, requires_grad=True)
    with pytest.raises(GraphError, match="detach"):
        x.numpy()
    assert x.detach().numpy().tolist() == [1.0, 1.0]


def test_tensors_become_arrays():
    x = rg.tensor([1.0, 2.0])
    assert np.shares_memory(np.asarray(x), x.data)
    assert np.asarray(x, np.float64).dtype == np.float64
    assert not np.shares_memory(np.array(x), x.data)
    assert x.tolist() == [1.0, 2.0]
    assert rg.tensor(2.5).item() == 2.5
    with pytest.raises(ValueError, match="one element is a number, got shape"):
        x.item()


def test_notebooks_show_a_table_with_what_is_not_ordinary():
    html = rg.tensor([[1.5, 2.0], [0.25, -1.0]], requires_grad=True)._repr_html_()
    assert "shape (2, 2), float32, requires_grad=True" in html
    assert [html.count(tag) for tag in ("<tr>", "<td>1.5</td>", "<td>-1</td>")] == [2, 1, 1]
    assert "made by multiply" in (rg.ones(3, requires_grad=True) * 2)._repr_html_()
    long = rg.arange(4000).reshape(40, 100)._repr_html_()
    assert (long.count("<tr>"), long.count("<td>"), "<td>3999</td>" in long) == (11, 121, True)
    assert rg.ones(2, 2, 2)._repr_html_().startswith("<pre>tensor(")
    assert "<td>True</td>" in rg.tensor([True])._repr_html_()
    with rg.lazy():
        assert "<td>2</td>" in (rg.ones(2) * 2)._repr_html_()


def test_names_of_other_libraries_are_told_what_to_write_here():
    x = rg.ones(2)
    with pytest.raises(AttributeError, match=r"'float'; write x\.astype\(rg\.float32\)"):
        x.float()
    with pytest.raises(AttributeError, match=r"'cat'; it is rg\.concat here"):
        rg.cat([x, x])
    with pytest.raises(AttributeError, match=r"'flaot'$"):
        x.flaot()
    with pytest.raises(AttributeError, match=r"'PRNGKey'; it is a Generator\(seed\)"):
        rg.random.PRNGKey(0)
    assert not [name for name in elsewhere.OF_TENSORS if hasattr(x, name)]
    assert not [name for name in elsewhere.OF_PACKAGE if hasattr(rg, name)]
    assert not [name for module, hints in elsewhere.OF_MODULES.items() for name in hints if hasattr(getattr(rg, module), name)]
    written = [word for hints in (elsewhere.OF_TENSORS, elsewhere.OF_PACKAGE, *elsewhere.OF_MODULES.values()) for hint in hints.values() for word in re.findall(r"\b(rg|x)\.(\w+)", hint)]
    assert not [(owner, name) for owner, name in written if not hasattr({"rg": rg, "x": x}[owner], name)]


def _unreadable(x):
    found = []
    for name in dir(x):
        try:
            getattr(x, name)
        except Exception:  # noqa: BLE001 - any is one too many
            found.append(name)
    return found


def test_what_a_tensor_lists_can_be_read():
    assert {"mT", "sum", "grad"} < set(dir(rg.ones(2, 3)))
    lazy_module = rg.nn.LazyBatchNorm1d()
    for x in (rg.ones(2, 3), rg.ones(3), rg.nn.Parameter(rg.ones(2)), lazy_module.weight, lazy_module.running_mean):
        assert _unreadable(x) == []
    found = []
    rg.jit(lambda x: (found.extend((_unreadable(x), _unreadable(x[0]))), x * 2)[1])(rg.ones(2, 3))
    with rg.lazy():
        found.append(_unreadable(rg.ones(2, 3) * 2))
    assert found == [[], [], []]


def test_an_attribute_of_the_users_own_is_listed():
    x = rg.nn.Parameter(rg.ones(2))
    x.owner = "me"
    assert "owner" in dir(x)


def _error(call, *args):
    try:
        return call(*args)
    except DTypeError as error:
        return error


#: Reads `size` by an instruction with an operand of two bytes: it is the name of a number above 255.
_late_name = eval("lambda x: (" + ", ".join(f"f.n{i}" for i in range(300)) + ", x.size(0))", {"f": mock.MagicMock()})


def test_size_called_as_a_method_is_told_what_to_write():
    x = rg.ones(2, 3)
    found = []
    for call in (lambda x: x.size(), lambda x: x.size(0), lambda x: x.size(dim=0), _late_name):
        with pytest.raises(DTypeError, match=r"number of elements here.*x\.shape.*x\.shape\[0\]"):
            call(x)
        with rg.lazy(), pytest.raises(DTypeError, match="number of elements here"):
            call(rg.ones(2, 3) * 2)
        rg.jit(lambda x, call=call: (found.append(_error(call, x)), x)[1])(x)
    assert [type(error) for error in found] == [DTypeError] * 4


def test_size_is_an_int_that_does_not_promote():
    x = rg.ones(2, 3)
    assert type(x.size) is type(getattr(x, "size")) is int  # noqa: B009 - read by a call as well
    assert (x.numpy() / x.size).dtype == np.float32
    assert abs(x.size) + max(x.size, 3) == len(range(x.size)) * 2
    sizes = []
    rg.jit(lambda x: (sizes.append(x.size), x / x.size)[1])(x)
    with rg.lazy():
        sizes.append((x * 2).size)
    assert sizes == [6, 6]


def test_a_tensor_made_by_its_class_holds_an_array_of_numbers_or_is_an_error():
    made = rg.Tensor(np.arange(3.0))
    assert (made + 1).tolist() == [1.0, 2.0, 3.0]
    assert isinstance(rg.Tensor(np.float32(2)).data, np.ndarray)
    for call in (lambda: rg.Tensor([1.0]), lambda: rg.Tensor(2, 3), lambda: rg.Tensor(2.0), lambda: rg.Tensor(None), lambda: rg.Tensor(made),
                 lambda: rg.Tensor(np.ones(2), 3), lambda: rg.Tensor(np.ones(2), np.ones(2))):
        with pytest.raises(DTypeError, match=r"takes one array, got .*; write rg\.tensor\(data\)"):
            call()
    for data in (np.array(["a"]), np.array([None]), np.zeros(2, "M8[s]"), np.zeros(2, [("a", float)])):
        with pytest.raises(DTypeError, match="takes an array of numbers"):
            rg.Tensor(data)


def test_quotient_and_remainder_come_together_as_in_python():
    quotient, remainder = divmod(rg.tensor([7.0, -7.0]), 2)
    assert (quotient.tolist(), remainder.tolist()) == ([3.0, -4.0], [1.0, 1.0])
    assert [t.tolist() for t in divmod(7, rg.tensor([2, 3]))] == [[3, 2], [1, 1]]


def test_tensors_are_sequences():
    x = rg.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert len(x) == 2
    assert [row.tolist() for row in x] == [[1.0, 2.0], [3.0, 4.0]]
    assert 3.0 in x
    assert 7.0 not in x
    _, b = x
    assert b.tolist() == [3.0, 4.0]
    with pytest.raises(TypeError):
        len(rg.tensor(1.0))
    with pytest.raises(TypeError):
        iter(rg.tensor(1.0)).__next__()


def test_tensors_are_keys_by_identity_and_compare_by_element():
    x, y = rg.ones(2), rg.ones(2)
    assert len({x, y, x}) == 2
    assert (x == y).tolist() == [True, True]
    assert (x != y).tolist() == [False, False]


def test_logic_and_bits():
    a, b = rg.tensor([True, False, True]), rg.tensor([True, True, False])
    assert (a & b).tolist() == [True, False, False]
    assert (a | b).tolist() == [True, True, True]
    assert (a ^ b).tolist() == [False, True, True]
    assert (~a).tolist() == [False, True, False]
    assert (6 & rg.tensor([3, 4])).tolist() == [2, 4]


def test_methods_are_the_ops():
    x = rg.tensor(np.random.default_rng(0).uniform(0.5, 2, (2, 3)))
    for name in ["exp", "log", "sin", "cos", "tanh", "sqrt", "abs", "sum", "mean", "max", "min", "std", "var", "prod", "relu", "sigmoid", "square",
                 "argmax", "softmax", "cumsum", "ravel", "flatten", "floor", "sort", "erf"]:
        assert_close(getattr(x, name)(), getattr(rg, name)(x))
    assert x.transpose().shape == (3, 2)
    assert x.permute(1, 0).shape == x.transpose(0, 1).shape == (3, 2)
    assert x.expand(4, -1, -1).shape == (4, 2, 3)
    assert x.view(3, 2).shape == x.reshape((3, 2)).shape == (3, 2)
    assert rg.ones(2, 3, 4).transpose(0, 2).shape == (4, 3, 2)


def test_to_takes_dtypes_and_devices():
    x = rg.ones(2)
    assert x.to(rg.float64).dtype == np.float64
    assert x.to("float16").dtype == np.float16
    assert x.to("cpu").device == x.cpu().device == "cpu"


def test_numpy_functions_that_we_lack_say_so():
    x = rg.ones(3)
    for call in (lambda: np.spacing(x), lambda: np.add.reduceat(x, [0]), lambda: np.add.at(x, 0, 1), lambda: np.unwrap(x), lambda: np.put(x, 0, 1)):
        with pytest.raises(DTypeError, match="np"):
            call()


def test_a_number_to_any_power_of_arrays_on_the_left_stays_a_tensor():
    for found in (np.float32(2) ** rg.ones(2), np.ones(2, np.float32) // rg.ones(2), np.ones((2, 2)) @ rg.ones(2), np.ones(2) == rg.ones(2)):
        assert isinstance(found, rg.Tensor)


def test_in_place_operators_on_an_array_take_a_tensor_without_a_graph_only():
    a = np.ones(2)
    with pytest.raises(TypeError):
        a += rg.ones(2, dtype=rg.float64, requires_grad=True)
