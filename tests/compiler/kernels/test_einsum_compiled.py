"""Contractions inside jit are products of matrices and loops, not calls of NumPy."""

from itertools import cycle

import numpy as np
import pytest

import retrograde as rg
from retrograde.testing import assert_close

SIZES = dict(zip("abcdefghijklmnopqrstuvwxyz", cycle([2, 3, 4, 5]), strict=False))
CASES = ["ij,jk->ik", "bd,edh->ebh", "ebh,ehd->ebd", "be,ebd->bd", "bhqd,bhkd->bhqk", "bhqk,bhkd->bqhd", "i,i->", "ij,ij->",
         "ij,ij->i", "i,j->ij", "...i,...i->...", "...ij,...jk->...ik", "ij->ji", "ij->j", "abc,cd->abd", "abc,bcd->ad",
         "ijk,kl->jil", "bij,bkj->ikb", "ab,cd->acbd", "ab,cb->", "ij,i", "ijk,jl->ilk", "abcd,cbe->aed", "ij,jk,kl->li"]


def drawn(subscripts, dtype=np.float64):
    rng = np.random.default_rng(0)
    parts = subscripts.partition("->")[0].split(",")
    shapes = [(2,) * s.startswith("...") + tuple(SIZES[c] for c in s.replace("...", "")) for s in parts]
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


@pytest.mark.parametrize("subscripts", CASES)
def test_contraction_is_native_and_equals_numpys(subscripts):
    arrays = drawn(subscripts)
    compiled = rg.jit(lambda *xs: rg.einsum(subscripts, *xs))
    assert_close(compiled(*map(rg.tensor, arrays)), np.einsum(subscripts, *arrays))
    assert "library" not in {kernel.kind for kernel in compiled.explain().kernels}


@pytest.mark.parametrize("subscripts", CASES)
def test_gradients_of_a_compiled_contraction_are_those_of_the_eager_one(subscripts):
    tensors = [rg.tensor(x) for x in drawn(subscripts)]
    slopes = rg.grad(lambda *xs: rg.sin(rg.einsum(subscripts, *xs)).sum(), tuple(range(len(tensors))))
    for found, expected in zip(rg.jit(slopes)(*tensors), slopes(*tensors), strict=True):
        assert_close(found, expected)


@pytest.mark.parametrize(("subscripts", "kind"), [("bixy,ioxy->boxy", "loop"), ("bixy,boxy->ioxy", "loop"), ("ijb,jkb->ikb", "loop"),
                                                  ("bij,bjk->bik", "matmul"), ("ijb,jkb->bik", "matmul")])
def test_small_matrices_that_lie_side_by_side_are_not_brought_together(subscripts, kind):
    sizes = dict(zip("bioxyjk", (9, 4, 5, 6, 8, 7, 3), strict=True))
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal([sizes[c] for c in labels]) for labels in subscripts.partition("->")[0].split(",")]
    compiled = rg.jit(lambda x, y: rg.einsum(subscripts, x, y))
    assert_close(compiled(*map(rg.tensor, arrays)), np.einsum(subscripts, *arrays))
    assert {kernel.kind for kernel in compiled.explain().kernels} == {kind}


def test_large_matrices_that_lie_side_by_side_are_products():
    compiled = rg.jit(lambda x, y: rg.einsum("ijb,jkb->ikb", x, y))
    compiled(rg.ones(64, 64, 8), rg.ones(64, 64, 8))
    assert "matmul" in {kernel.kind for kernel in compiled.explain().kernels}


def test_axes_of_one_stand_for_longer_ones():
    x, y = np.arange(3.0).reshape(3, 1), np.arange(8.0).reshape(4, 2)
    compiled = rg.jit(lambda x, y: rg.einsum("ij,jk->ik", x, y))
    assert_close(compiled(rg.tensor(x), rg.tensor(y)), np.einsum("ij,jk->ik", x, y))


@pytest.mark.parametrize("subscripts", ["ii->i", "ii,ij->j"])
def test_a_diagonal_is_left_to_numpy(subscripts):
    x, y = np.arange(9.0).reshape(3, 3), np.arange(6.0).reshape(3, 2)
    arrays = [x, y][: 1 + subscripts.count(",")]
    compiled = rg.jit(lambda *xs: rg.einsum(subscripts, *xs))
    assert_close(compiled(*map(rg.tensor, arrays)), np.einsum(subscripts, *arrays))


@pytest.mark.parametrize("run", [lambda f: f, rg.jit], ids=["eager", "compiled"])
def test_lengths_of_three_operands_that_do_not_fit_are_told_before_any_is_contracted(run):
    x = rg.ones(2, 3)
    with pytest.raises(rg.errors.ShapeError, match="one length for axis 'j', got 3 and 2"):
        run(lambda x: rg.einsum("ij,jk,kl->il", x, x, x))(x)
