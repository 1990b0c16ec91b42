"""Families: the decorators that make an op, with the facts that ops of one kind share."""

from collections.abc import Callable
from typing import Any, Protocol

from ..core.op import Arguments, OpFunction, define
from ..dtypes import float_of
from ._arrays import arrays
from ._samples import uniform


class Decorator(Protocol):
    """Makes an op of a forward pass and keeps its signature."""

    def __call__(self, kernel: Callable[Arguments, Any], /) -> OpFunction[Arguments]: ...


def _family(name, **shared) -> Callable[..., Decorator]:
    """A decorator factory for the family `name`; the facts of an op stand over the shared ones."""

    def decorator(**facts) -> Decorator:
        return lambda kernel: define(kernel, family=name, algebra=arrays, **{**shared, **facts})

    decorator.__doc__ = f"Define an op of the {name} family from its forward pass on arrays."
    return decorator


#: One result element per element, operands broadcast: the walk sums cotangents back to the operands' shapes.
elementwise = _family("elementwise", broadcasts=True, samples=uniform(-3, 3))
#: Elementwise with a boolean result, and so without a derivative.
comparison = _family("comparison", broadcasts=True, is_differentiable=False, samples=uniform(-3, 3))
#: Axes are folded into one number each.
reduction = _family("reduction", keeps_sizes=True)
#: The same elements in another place; the result may be a view.
movement = _family("movement", makes_views=True)
#: Several arrays put together into one.
joining = _family("joining", is_variadic=True)
#: Sums of products.
contraction = _family("contraction")
#: Of matrices in the last two axes; leading axes are batches. What is computed of integers is a float.
matrix = _family("matrix", keeps_sizes=True, result_dtype=float_of)
#: Discrete Fourier transforms.
transform = _family("transform", keeps_sizes=True)
#: Elements chosen or written by index.
indexing = _family("indexing", makes_views=True)
#: Where something is: integers or booleans, without a derivative.
search = _family("search", keeps_sizes=True, is_differentiable=False)
#: The same numbers in another type or place.
conversion = _family("conversion", keeps_sizes=True)
#: Made of other ops: needs no rule, may have one.
composite = _family("composite", is_composite=True)
#: Composites that compare predictions with targets.
loss = _family("loss", keeps_sizes=True, is_composite=True)
#: Random numbers with a derivative in the parameters of their distribution.
sampling = _family("sampling")
#: Made from nothing, and so without a derivative.
creation = _family("creation", is_differentiable=False)
#: What several processes compute together: an effect, which all of them call in the same order.
collective = _family("collective", has_effect=True, is_public=False)
