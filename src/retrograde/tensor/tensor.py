"""Tensor, an array with a place in the graph. Its operators and methods are the ops themselves."""

import sys

import numpy as np

from ..backend import device_of
from ..core.gradient import backward
from ..core.mode import current
from ..core.value import Record, Value
from ..errors import ArgumentError, DTypeError, GraphError, ShapeError, TraceError
from ..ops import complexes
from ..ops._arrays import arrays
from ..ops.axes import finding, products, rankings, reductions, running, searches, sorting, spreads
from ..ops.elementary import arithmetic, bits, comparisons, conversions, exponential, hyperbolic, rounding, trigonometric
from ..ops.linalg import contractions, matrices
from ..ops.manipulation import borders, gathering, grids, movements, repetition, scattering, selections
from ..ops.networks import activation
from ..ops.special import error_function, log_gamma, normal
from ..shapes import unpacked
from . import inplace
from .elsewhere import OF_TENSORS, Absent, array_of, number_of_elements
from .held import held
from .leaving import as_objects, check_copied, check_number, is_differentiated, told
from .protocols import array_function, array_ufunc, redirected
from .show import as_html, as_text


class Tensor(Value):
    """An array whose derivatives can be taken. Make one with `rg.tensor(...)`.

    >>> x = rg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4., 6.])
    """

    __slots__ = ()
    algebra = arrays
    __hash__ = object.__hash__

    def __init__(self, data, record=None):
        super().__init__(data if isinstance(record, Record) else held(data, record), record)

    def __dir__(self):
        """What can be read: not the names that raise errors with hints."""
        names = [name for name in super().__dir__() if name not in OF_TENSORS]
        return names if self.ndim > 1 else [name for name in names if name != "mT"]

    def __repr__(self):
        return as_text(self)

    def _repr_html_(self):
        """How notebooks show it."""
        return as_html(self)

    # What it is.
    data = property(array_of, vars(Value)["raw"].__set__, doc="The array that it holds, which is not checked when it is set.")
    shape = property(lambda self: self.raw.shape, doc="Sizes of the axes.")
    dtype = property(lambda self: self.raw.dtype, doc="Type of the elements, such as rg.float32.")
    ndim = property(lambda self: self.raw.ndim, doc="Number of axes.")
    size = number_of_elements(lambda self: self.raw.size)
    itemsize = property(lambda self: self.raw.dtype.itemsize, doc="Bytes of one element.")
    nbytes = property(lambda self: self.raw.nbytes, doc="Bytes of all elements.")
    device = property(lambda self: device_of(self.raw), doc='Where the elements are: "cpu" or "cuda:0".')
    T = property(lambda self: movements.permute_dims(self, tuple(range(self.ndim))[::-1]), doc="All axes reversed.")
    mT = property(movements.matrix_transpose, doc="The last two axes exchanged.")
    real = property(complexes.real, doc="The real parts.")
    imag = property(complexes.imag, doc="The imaginary parts.")

    def backward(self, gradient=None, retain_graph=False, create_graph=False, inputs=None):
        """Add the derivative of this tensor to the `.grad` of the leaves that it depends on.

        gradient      the derivative of the final result in this tensor; may be left out if it is a single number
        retain_graph  keep what the rules read, so that `backward` can be called again
        create_graph  make the gradients differentiable in turn
        inputs        the leaves whose `.grad` is wanted; default: all
        """
        backward(self, gradient, retain_graph, create_graph, inputs)

    def realize(self):
        """This tensor, computed if it was lazy; see `rg.lazy`."""
        return self

    # Numbers out of it.
    def item(self, *index):
        """The only element, or the one at `index`, as a Python number."""
        check_number(self)
        return self._read().item(*index) if index else self._number()

    def _read(self):
        """The array, which the program itself is about to read: a trace must know."""
        mode = current()
        if mode is not None and mode.tracer is not None:
            found = mode.tracer.note_read(self)
            if found is not None:
                return found
        return self.raw

    def _number(self):
        try:
            return self._read().item()
        except TraceError as error:
            raise told(error) from None
        except ValueError:
            raise ShapeError(f"only a tensor of one element is a number, got shape {self.shape}; sum it, or choose one, as in "
                             "x[0]") from None

    def tolist(self):
        """The elements as nested lists of Python numbers."""
        check_number(self)
        try:
            return self._read().tolist()
        except TraceError as error:
            raise told(error) from None

    def numpy(self):
        """The elements as a NumPy array that shares memory. Raises a GraphError if gradients are recorded, but not for what a
        jitted function has returned, which is ready to be read.
        """
        if self.record is not None and not self.record.lends_data:
            raise GraphError("numpy() on a tensor that requires gradients would lose them; use x.detach().numpy()")
        return np.asarray(self._read())

    def __float__(self):
        check_number(self)
        return float(self._number())

    def __int__(self):
        check_number(self)
        return int(self._number())

    def __complex__(self):
        check_number(self)
        return complex(self._number())

    def __bool__(self):
        try:
            return bool(self._read())
        except ValueError:
            raise ShapeError(f"the truth of a tensor of shape {self.shape} is ambiguous, it needs one element; use x.any() or "
                             "x.all()") from None

    def __index__(self):
        try:
            return self._read().__index__()
        except TraceError:
            raise
        except TypeError:
            raise DTypeError(f"only an integer tensor of one element is an index, got {self.dtype} of shape {self.shape}") from None

    def __len__(self):
        if not self.shape:
            raise DTypeError("len() needs at least one axis, got a tensor of shape ()")
        return self.shape[0]

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __contains__(self, element):
        return bool((self.detach().numpy() == (element.detach().numpy() if isinstance(element, Tensor) else element)).any())

    def __format__(self, spec):
        return format(self._number(), spec) if self.raw.ndim == 0 and spec else format(repr(self), spec)

    # The Array API standard.
    def __array_namespace__(self, api_version=None):
        if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
            raise ArgumentError(f"retrograde follows the Array API standard up to 2024.12, got api_version={api_version!r}")
        return sys.modules[__name__.partition(".")[0]]

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        return self.numpy().__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)

    def __dlpack_device__(self):
        return self.raw.__dlpack_device__()

    # NumPy's protocols.
    __array_ufunc__ = array_ufunc
    __array_function__ = array_function

    #: Operators of tables of pandas' leave the operation to us.
    __pandas_priority__ = 10_000

    def __array__(self, dtype=None, copy=None):
        found = as_objects(self, dtype)
        if found is not None:
            return found
        try:
            data = self._read()
            return np.asarray(data) if dtype is None and not copy else np.array(data, dtype, copy=copy)
        except TraceError as error:
            raise told(error) from None

    # Copies and pickles keep data and requires_grad; the graph stays behind.
    def clone(self):
        """A copy in fresh memory that stays in the graph."""
        return conversions.contiguous(self)

    def __copy__(self):
        if not self.is_leaf or is_differentiated(self):
            return self.clone()
        make, parts, *_ = self.__reduce__()
        return make(*parts)

    def __deepcopy__(self, memo):
        if is_differentiated(self):
            return memo.setdefault(id(self), self.clone())
        if not self.is_leaf:
            raise GraphError("only leaves can be deep-copied; use x.detach() or x.clone()")
        made = type(self)(self.raw.copy())
        made.requires_grad = self.requires_grad
        made.grad = None if self.grad is None else self.grad.detach().clone()
        memo[id(self)] = made
        return made

    def __reduce__(self):
        if not self.is_leaf:
            raise GraphError("only leaves can be pickled; use x.detach()")
        check_copied(self)
        return _unpickled, (type(self), self.raw, self.requires_grad)

    def to(self, *targets, device=None, dtype=None):
        """This tensor with another dtype, or on another device, such as "cuda:0", or both.

        >>> rg.ones(1).to("cpu", rg.float64).dtype
        dtype('float64')
        """
        found = self
        for target in (*targets, device, dtype):
            if target is not None:
                found = _brought(found, target)
        return found

    def to_device(self, device, /, *, stream=None):
        """This tensor in the memory of `device`; there is no `stream` to choose."""
        if stream is not None:
            raise ArgumentError(f"stream must be None, got {stream!r}")
        return self.to(device)

    def cpu(self):
        """This tensor in the memory of the CPU."""
        return self.to("cpu")

    # Operators.
    __add__, __radd__ = arithmetic.add, lambda x, y: arithmetic.add(y, x)
    __sub__, __rsub__ = arithmetic.subtract, lambda x, y: arithmetic.subtract(y, x)
    __mul__, __rmul__ = arithmetic.multiply, lambda x, y: arithmetic.multiply(y, x)
    __truediv__, __rtruediv__ = arithmetic.divide, lambda x, y: arithmetic.divide(y, x)
    __floordiv__, __rfloordiv__ = arithmetic.floor_divide, lambda x, y: arithmetic.floor_divide(y, x)
    __mod__, __rmod__ = arithmetic.remainder, lambda x, y: arithmetic.remainder(y, x)
    __divmod__, __rdivmod__ = lambda x, y: (x // y, x % y), lambda x, y: (y // x, y % x)
    __pow__, __rpow__ = arithmetic.power, lambda x, y: arithmetic.power(y, x)
    __matmul__, __rmatmul__ = contractions.matmul, lambda x, y: contractions.matmul(y, x)
    __neg__, __pos__, __abs__ = arithmetic.negative, arithmetic.positive, arithmetic.abs
    __eq__, __ne__ = comparisons.equal, comparisons.not_equal
    __lt__, __le__ = comparisons.less, comparisons.less_equal
    __gt__, __ge__ = comparisons.greater, comparisons.greater_equal
    __and__, __rand__ = comparisons.bitwise_and, lambda x, y: comparisons.bitwise_and(y, x)
    __or__, __ror__ = comparisons.bitwise_or, lambda x, y: comparisons.bitwise_or(y, x)
    __xor__, __rxor__ = comparisons.bitwise_xor, lambda x, y: comparisons.bitwise_xor(y, x)
    __invert__ = comparisons.bitwise_invert
    __lshift__, __rlshift__ = bits.bitwise_left_shift, lambda x, y: bits.bitwise_left_shift(y, x)
    __rshift__, __rrshift__ = bits.bitwise_right_shift, lambda x, y: bits.bitwise_right_shift(y, x)
    __getitem__, __setitem__ = selections.getitem, inplace.set_item
    __iadd__, __isub__ = inplace.assigning(arithmetic.add), inplace.assigning(arithmetic.subtract)
    __imul__, __itruediv__ = inplace.assigning(arithmetic.multiply), inplace.assigning(arithmetic.divide)
    __ipow__, __imatmul__ = inplace.assigning(arithmetic.power), inplace.assigning(contractions.matmul)
    __iand__, __ior__ = inplace.assigning(comparisons.bitwise_and), inplace.assigning(comparisons.bitwise_or)
    __ixor__, __ilshift__ = inplace.assigning(comparisons.bitwise_xor), inplace.assigning(bits.bitwise_left_shift)
    __irshift__ = inplace.assigning(bits.bitwise_right_shift)
    __ifloordiv__, __imod__ = inplace.assigning(arithmetic.floor_divide), inplace.assigning(arithmetic.remainder)

    # Methods: the ops that NumPy's and PyTorch's users expect on an array.
    abs, sign, square, sqrt, pow = (arithmetic.abs, arithmetic.sign, arithmetic.square, arithmetic.sqrt, arithmetic.power)
    add, sub, mul, div, neg = (arithmetic.add, arithmetic.subtract, arithmetic.multiply, arithmetic.divide, arithmetic.negative)
    reciprocal = arithmetic.reciprocal
    exp, exp2, expm1 = exponential.exp, exponential.exp2, exponential.expm1
    log, log2, log10, log1p = exponential.log, exponential.log2, exponential.log10, exponential.log1p
    sin, cos, tan, tanh = trigonometric.sin, trigonometric.cos, trigonometric.tan, trigonometric.tanh
    asin, acos, atan = trigonometric.asin, trigonometric.acos, trigonometric.atan
    sinh, cosh, erf, erfc = hyperbolic.sinh, hyperbolic.cosh, error_function.erf, error_function.erfc
    asinh, acosh, atanh = hyperbolic.asinh, hyperbolic.acosh, hyperbolic.atanh
    floor, ceil, trunc, round = rounding.floor, rounding.ceil, rounding.trunc, rounding.round
    relu, sigmoid = activation.relu, activation.sigmoid
    softmax, log_softmax = activation.softmax, activation.log_softmax
    sum, mean, max, min = reductions.sum, reductions.mean, reductions.max, reductions.min
    logsumexp, norm = reductions.logsumexp, reductions.norm
    prod, cumsum, cumprod = products.prod, products.cumsum, products.cumprod
    matmul, dot, outer = contractions.matmul, contractions.matmul, contractions.outer
    astype, bitcast, contiguous = conversions.astype, conversions.bitcast, conversions.contiguous
    ravel, flatten, flip, pad, shrink = movements.ravel, movements.flatten, movements.flip, borders.pad, movements.shrink
    expand_dims, squeeze, swapaxes = movements.expand_dims, movements.squeeze, movements.transpose
    unsqueeze, moveaxis, broadcast_to = movements.expand_dims, movements.moveaxis, movements.broadcast_to
    clip, conj = comparisons.clip, complexes.conj
    var, std, sort, argsort = spreads.var, spreads.std, sorting.sort, sorting.argsort
    take, take_along_axis = gathering.take, gathering.take_along_axis
    diagonal, trace, tril, triu = matrices.diagonal, matrices.trace, matrices.tril, matrices.triu
    repeat, tile, roll, split = repetition.repeat, repetition.tile, repetition.roll, repetition.split
    median, quantile, topk, diff = rankings.median, rankings.quantile, rankings.topk, running.diff
    gather, scatter, masked_fill = scattering.gather, scattering.scatter, grids.masked_fill
    lgamma, digamma, erfinv, angle = log_gamma.lgamma, log_gamma.digamma, normal.erfinv, complexes.angle
    nonzero, unbind = finding.nonzero, grids.unstack
    # NumPy's functions call these on the elements of an array of objects.
    arcsin, arccos, arctan, arctan2 = trigonometric.asin, trigonometric.acos, trigonometric.atan, trigonometric.atan2
    arcsinh, arccosh, arctanh = hyperbolic.asinh, hyperbolic.acosh, hyperbolic.atanh
    conjugate, rint, fabs = complexes.conj, rounding.round, arithmetic.abs
    argmax, argmin, all, any = searches.argmax, searches.argmin, searches.all, searches.any

    def __round__(self, ndigits=None):
        if not ndigits or ndigits > 0 and self.dtype.kind in "iub":
            return rounding.round(self)
        return (rounding.round(self * 10.0**ndigits) / 10.0**ndigits).astype(self.dtype)

    def reshape(self, *shape):
        """This tensor with another shape, given as one tuple or as several integers."""
        return movements.reshape(self, unpacked(shape))

    view = reshape

    def expand(self, *shape):
        """This tensor repeated, without a copy, to fill a shape; -1 keeps the size of an axis."""
        shape = unpacked(shape)
        lead = len(shape) - self.ndim
        sizes = tuple(self.shape[i - lead] if n == -1 and i >= lead else n for i, n in enumerate(shape))
        return movements.broadcast_to(self, sizes)

    def permute(self, *axes):
        """This tensor with its axes in another order."""
        return movements.permute_dims(self, unpacked(axes))

    def transpose(self, *axes):
        """Without arguments all axes reversed; with two integers those two exchanged; with more, or a tuple, permuted."""
        if len(axes) == 2:
            return movements.transpose(self, *axes)
        axes = unpacked(axes)
        return movements.permute_dims(self, axes or tuple(range(self.ndim))[::-1])

    def fill_(self, value):
        """Write `value` everywhere, in place."""
        inplace.set_item(self, ..., value)
        return self

    def zero_(self):
        """Write 0 everywhere, in place."""
        return self.fill_(0)

    def copy_(self, source):
        """Write the elements of `source` into this tensor, in place."""
        return self.fill_(source)


arrays.kind = Tensor.kind = Tensor
arrays.redirect = redirected
for _name, _instead in OF_TENSORS.items():
    setattr(Tensor, _name, Absent(_name, _instead))


def _brought(x, target):
    """`x` on a device, or with a dtype."""
    is_device = isinstance(target, str) and target.partition(":")[0] in ("cpu", "cuda")
    return conversions.copy_to_device(x, target) if is_device else conversions.astype(x, target)


def _unpickled(kind, data, requires_grad):
    made = kind(data)
    made.requires_grad = requires_grad
    return made
