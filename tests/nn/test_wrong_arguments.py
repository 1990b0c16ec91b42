"""What is wrong in a call is said by an error of ours: what must hold, and what was got."""

import numpy as np
import pytest

import retrograde as rg
from retrograde import nn, optim
from retrograde.errors import ArgumentError, DTypeError, ShapeError


def parameters():
    return [nn.Parameter(rg.ones(3))]


def sgd():
    return optim.SGD(parameters(), lr=0.1)


WRONG = {
    "a list given to a layer": (lambda: nn.Linear(3, 2)([1, 2, 3]), DTypeError, r"array or a tensor is needed, got \[1, 2, 3\] of type list"),
    "None given to a convolution": (lambda: nn.Conv2d(3, 2, 1)(None), DTypeError, "conv2d needs an array or a tensor, got None"),
    "a list given to a norm": (lambda: nn.BatchNorm1d(2)([[1.0, 2.0]]), DTypeError, r"BatchNorm1d: an array or a tensor is needed, got \[\[1.0"),
    "a word given to a pool": (lambda: nn.MaxPool2d(2)("abc"), DTypeError, "array or a tensor is needed, got 'abc' of type str"),
    "a list given to a model": (lambda: nn.Sequential(nn.Flatten())([1]), DTypeError, r"Flatten: an array or a tensor is needed, got \[1\]"),
    "no logits": (lambda: rg.cross_entropy(None, rg.tensor([1])), DTypeError, "array or a tensor is needed, got None of type NoneType"),
    "an axis before the indices": (lambda: rg.ones(2, 2).gather(1, rg.tensor([[0], [1]])), DTypeError, r"in this order: x.gather\(indices, axis\)"),
    "a list of parameters for a call": (lambda: nn.functional_call([1], {}, ()), DTypeError, r"functional_call needs a Module, got \[1\]"),
    "a list in place of names": (lambda: nn.functional_call(nn.Linear(1, 1), [1], ()), DTypeError, r"needs a dictionary .* got \[1\]"),
    "a number that int8 cannot hold": (lambda: rg.stack([rg.ones(2, dtype="int8")[0], 300]), ArgumentError, r"stack\(.*300.* out of bounds"),
    "nothing to stack": (lambda: rg.stack(3), DTypeError, "stack takes a list of arrays, got 3 of type int"),
    "a negative size": (lambda: nn.Linear(-1, 2), ShapeError, r"sizes of a shape must be at least 0, got \(2, -1\)"),
    "half a size": (lambda: rg.zeros(2.5), DTypeError, "sizes of a shape must be integers, got 2.5"),
    "a word as a size": (lambda: rg.randn(2, "a"), DTypeError, r"sizes of a shape must be integers, got \(2, 'a'\)"),
    "no groups": (lambda: nn.Conv1d(2, 2, 1, groups=0), ArgumentError, "Conv1d needs groups to be an integer of at least 1, got 0"),
    "no channels": (lambda: nn.Conv1d(None, 2, 1), ArgumentError, "Conv1d needs in_channels to be an integer of at least 1, got None"),
    "a word as a probability": (lambda: nn.Dropout("a"), ArgumentError, "must lie between 0 and 1, got 'a'"),
    "several truths": (lambda: bool(rg.ones(2, 3)), ShapeError, r"of shape \(2, 3\) is ambiguous.* use x.any\(\) or x.all\(\)"),
    "several numbers": (lambda: float(rg.ones(3)), ShapeError, r"only a tensor of one element is a number, got shape \(3,\)"),
    "a float as an index": (lambda: [1, 2][rg.ones(())], DTypeError, r"only an integer tensor .* got float32 of shape \(\)"),
    "NaN as a learning rate": (lambda: optim.SGD(parameters(), lr=float("nan")), ArgumentError, "lr must be a number of at least 0, got nan"),
    "no learning rate": (lambda: optim.Adam(parameters(), lr=None), ArgumentError, "lr must be a number of at least 0, got None"),
    "one beta": (lambda: optim.AdamW(parameters(), betas=0.9), ArgumentError, r"betas must be two numbers in \[0, 1\), got 0.9"),
    "a group without parameters": (lambda: optim.SGD([{"lr": 1}], lr=0.1), DTypeError, 'must be a dictionary with "params"'),
    "no optimizer": (lambda: optim.StepLR(None, 2), DTypeError, "takes the optimizer whose learning rate it sets, got NoneType"),
    "a word as an epoch": (lambda: optim.ExponentialLR(sgd(), 0.9, last_epoch="a"), ArgumentError, "last_epoch must be an integer, got 'a'"),
    "NaN as a factor": (lambda: optim.ReduceLROnPlateau(sgd(), factor=float("nan")), ArgumentError, "factor must be a number below 1, got nan"),
    "what has no gradient": (lambda: nn.utils.clip_grad_norm_(None, 1.0), DTypeError, "of a list of parameters, .* got NoneType"),
    "no function": (lambda: rg.grad(3), DTypeError, r"a transform takes a function, got int; write grad\(f\)\(x\)"),
    "no function for vjp": (lambda: rg.vjp(None, 1.0), DTypeError, "a transform takes a function, got NoneType"),
    "a word as a position": (lambda: rg.grad(np.sum, argnums="x")(1.0), DTypeError, "argnums must be an integer or a tuple of integers, got 'x'"),
    "nothing beside the result": (lambda: rg.grad(np.sum, has_aux=True)(1.0), ArgumentError, r"must return \(result, anything\), got"),
}


@pytest.mark.parametrize("case", WRONG)
def test_an_error_of_ours_says_what_is_wrong(case):
    call, kind, words = WRONG[case]
    with pytest.raises(kind, match=words):
        call()


def test_an_attribute_that_a_users_module_lacks_is_still_an_attribute_error():
    class Wrong(nn.Module):
        def forward(self, x):
            return x.shapes

    with pytest.raises(AttributeError, match="shapes"):
        Wrong()(rg.ones(1))
    with pytest.raises(AttributeError, match="shapes"):
        Wrong()([1])
