"""whole: sums of products of integers are exact or refused, in eager ops and in compiled code alike."""

import numpy as np
import pytest

import retrograde as rg
from retrograde.errors import DTypeError

INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
PRODUCTS = {
    "matmul": lambda x, y: x @ y.T, "vectors": lambda x, y: x[0] @ y[0], "one column": lambda x, y: x[:, :1] @ y[:1],
    "einsum": lambda x, y: rg.einsum("ij,kj->ik", x, y), "three": lambda x, y: rg.einsum("ij,kj,kl->il", x, y, y * 0 + 1),
    "tensordot": lambda x, y: rg.tensordot(x, y, 2), "vecdot": rg.vecdot, "power": lambda x, y: rg.linalg.matrix_power(x[:, :2], 2),
    "chain": lambda x, y: rg.linalg.multi_dot([x, y.T])}


def in_forms(product):
    return product, rg.jit(product), rg.vmap(product), rg.jit(rg.vmap(product))


@pytest.mark.filterwarnings("ignore::retrograde.errors.RetraceWarning")
@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("name", PRODUCTS)
def test_products_of_integers_are_exact_or_refused(name, dtype):
    root = int(np.iinfo(dtype).max ** 0.5)
    small, large = (np.full((2, 3), n, dtype) for n in (min(3, root // 3), root + 2))
    expected = np.asarray(PRODUCTS[name](*[rg.tensor(small.astype(np.int64))] * 2))
    for form, is_batched in zip(in_forms(PRODUCTS[name]), (False, False, True, True), strict=True):
        given = [rg.tensor(np.stack([x, x]) if is_batched else x) for x in (small, large)]
        found = form(given[0], given[0])
        assert found.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(found[0] if is_batched else found, expected)
        with pytest.raises(DTypeError, match="must fit its dtype"):
            form(given[1], given[1])


def test_products_that_cancel_on_the_way_are_exact():
    x = np.array([[100, 100, -100, 7]], np.int8)
    y = np.array([[100], [27], [127], [1]], np.int8)
    assert (rg.tensor(x) @ rg.tensor(y)).item() == 100 * 100 + 2700 - 12700 + 7
    wide = np.array([[2**40, -(2**40), 5]])
    assert (rg.tensor(wide) @ rg.tensor(np.array([[2**40], [2**40], [3]]))).item() == 15
    assert rg.einsum("i,i->", rg.tensor(wide[0]), rg.tensor(np.array([2**40, 2**40, 3]))).item() == 15


def test_dtypes_of_products_of_integers_are_numpys():
    for first in INTEGERS:
        for second in INTEGERS:
            x, y = np.ones((2, 2), first), np.ones((2, 2), second)
            assert (rg.tensor(x) @ rg.tensor(y)).dtype == (x @ y).dtype
            assert rg.einsum("ij,jk->ik", rg.tensor(x), rg.tensor(y)).dtype == np.einsum("ij,jk->ik", x, y).dtype
