r"""Discrete Fourier transforms over chosen axes. `norm` says where the number of elements divides: "backward" (the inverse),
"forward" (the transform) or "ortho" (its root in both).

Transforms are symmetric matrices, so the cotangent of `fftn` is its transform once more, without conjugation.
"""

import numpy as np

from ..dtypes import is_float, parts_dtype
from ..errors import ArgumentError, ShapeError
from ..shapes import axis_tuple, one_axis
from ._families import transform
from ._samples import call, complex_uniform, of
from .complexes import conj, real
from .manipulation.movements import pad, shrink
from .manipulation.repetition import roll

_COMPLEX = {"dtypes": "the result of real numbers is complex, or the other way round"}
_FIELD = of((2, 3, 4), complex_uniform())
_CALLS = (call(_FIELD), call(_FIELD, axes=(0, 2), norm="ortho"), call((4, 3), axes=(-1,), norm="forward"))
_OPPOSITE = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


def _opposite(norm):
    norm = norm or "backward"
    if norm not in _OPPOSITE:
        raise ArgumentError(f'norm must be "backward", "forward" or "ortho", got {norm!r}')
    return _OPPOSITE[norm]


def _in_float(x):
    """`x` in a dtype that has a transform; narrow floats as float32."""
    return x.astype(np.float32) if is_float(x.dtype) and x.dtype.itemsize < 4 else x


def _over_axes(function, x, axes, norm, whole):
    """A transform along each of some axes, the last one first, as NumPy has it."""
    _opposite(norm)
    x = _in_float(x)
    for axis in reversed(axis_tuple(axes, x.ndim)):
        x = _scaled(function, x, x.shape[axis], axis, norm, whole)
    return x


def _scaled(function, x, size, axis, norm, whole):
    """A transform of `size` elements along `axis`, whose norm `whole` divides nothing.

    NumPy takes the 1 that such a one multiplies by for a double, and makes doubles of single precision: so it is let divide, and
    the result is multiplied again.
    """
    if (norm or "backward") != whole or x.dtype.itemsize > (8 if x.dtype.kind == "c" else 4) or x.dtype.kind in "biu":
        return function(x, size, axis=axis, norm=norm)
    found = function(x, size, axis=axis, norm=_opposite(whole))
    found *= size
    return found


def _spectrum_dtype(x, *_):
    """The dtype of the transform of an array of this dtype."""
    return np.result_type(np.float32 if is_float(x.dtype) and x.dtype.itemsize < 4 else x.dtype, 1j)


def _same_shape(x, axes, norm):
    """The shape of a transform that is plainly right."""
    axes = range(x.ndim) if axes is None else axes
    is_plain = norm in _OPPOSITE and all([-x.ndim <= axis < x.ndim and x.shape[axis] for axis in axes])
    return x.shape if is_plain else NotImplemented


def _half_shape(x, axis, norm):
    """As `_same_shape`, for one of real numbers."""
    found = _same_shape(x, (axis,), norm) if x.dtype.kind != "c" else NotImplemented
    return found if found is NotImplemented else _with_size(found, axis, x.shape[axis] // 2 + 1)


def _whole_shape(x, size, axis, norm):
    """As `_same_shape`, for the inverse of one of real numbers."""
    found = _same_shape(x, (axis,), norm)
    is_plain = found is not NotImplemented and size > 0 and x.shape[axis] == size // 2 + 1
    return _with_size(found, axis, size) if is_plain else NotImplemented


def _with_size(shape, axis, size):
    axis %= len(shape)
    return *shape[:axis], size, *shape[axis + 1 :]


def _axis_by_axis(one, x, axes, norm):
    """A transform over several axes as one after another of complex numbers; NotImplemented for one that is so already."""
    axes = axis_tuple(axes, x.ndim)
    if len(axes) == 1 and x.dtype.kind == "c":
        return NotImplemented
    x = x.astype(_spectrum_dtype(x))
    for axis in reversed(axes):
        x = one(x, (axis,), norm)
    return x


def _transformed_by_axis(x, axes, norm):
    return _axis_by_axis(transform_axes, x, axes, norm)


def _inverted_by_axis(x, axes, norm):
    return _axis_by_axis(inverse_transform_axes, x, axes, norm)


@transform(is_public=False, skips=_COMPLEX, samples=_CALLS, result_shape=_same_shape, result_dtype=_spectrum_dtype,
           expansion=_transformed_by_axis)
def transform_axes(x, /, axes=None, norm="backward"):
    r"""The Fourier transform of `x` over `axes`, of the size that they have: the inside of `fft`, `fft2` and `fftn`.

    $z_k = \sum_j x_j e^{-2 \pi i j k / n} \;\Rightarrow\; \bar x$ is the same transform of $\bar z$.
    """
    return _over_axes(np.fft.fft, x, axes, norm, "backward")


@transform(is_public=False, skips=_COMPLEX, samples=_CALLS, result_shape=_same_shape, result_dtype=_spectrum_dtype,
           expansion=_inverted_by_axis)
def inverse_transform_axes(x, /, axes=None, norm="backward"):
    r"""The inverse of `transform_axes`.

    $z_k = \tfrac1n \sum_j x_j e^{2 \pi i j k / n} \;\Rightarrow\; \bar x$ is the same transform of $\bar z$.
    """
    return _over_axes(np.fft.ifft, x, axes, norm, "forward")


transform_axes.defvjp(lambda g, x, axes, norm: _of_kind(transform_axes(g, axes, norm), x))
inverse_transform_axes.defvjp(lambda g, x, axes, norm: _of_kind(inverse_transform_axes(g, axes, norm), x))


def _of_kind(g, x):
    """The cotangent `g` for `x`: its real part for real numbers."""
    return g if x.dtype.kind == "c" else real(g)


@transform(is_public=False, keeps_sizes=False, skips=_COMPLEX, result_shape=_half_shape, result_dtype=_spectrum_dtype, samples=(
    call((5,)), call((2, 4), axis=0, norm="ortho"), call((2, 6), axis=1, norm="forward")))
def real_transform(x, /, axis=-1, norm="backward"):
    r"""The first half of the Fourier transform of real `x` along `axis`; the other half mirrors it.

    $\bar x$ is the real part of the transform of $\bar z$, filled up with zeros: the inverse real transform of the conjugate of
    $w_k \bar z_k$, without division, where $w_k$ is 1 for frequencies that have no mirror image and else 1/2.
    """
    if x.dtype.kind == "c":
        raise ArgumentError(f"a transform of real numbers needs a real array, got {x.dtype}; use fft")
    _opposite(norm)
    return _scaled(np.fft.rfft, _in_float(x), x.shape[axis], axis, norm, "backward")


def _real_rule(g, x_shape, axis, norm):
    size = x_shape[axis]
    halved = conj(g) * _frequency_weights(size, 0.5, g.dtype, axis, len(x_shape))
    return inverse_real_transform(halved, size, axis, _opposite(norm))


real_transform.defvjp(_real_rule)


@transform(is_public=False, keeps_sizes=False, skips=_COMPLEX, result_shape=_whole_shape,
           result_dtype=lambda x, *_: parts_dtype(_spectrum_dtype(x)), samples=(
    call(of((3,), complex_uniform()), size=5), call(of((3, 2), complex_uniform()), size=4, axis=0, norm="ortho"),
    call(of((2, 4), complex_uniform()), size=6, axis=1, norm="forward")))
def inverse_real_transform(x, /, size, axis=-1, norm="backward"):
    r"""The `size` real numbers along `axis` whose `real_transform` is `x`.

    $\bar x_k$ is $w_k$ times the conjugated transform of $\bar z$, where the weight $w_k$ is 1 for frequencies that have no
    mirror image (the first, and the last of an even number), else 2.
    """
    _opposite(norm)
    if x.shape[axis] != size // 2 + 1:
        raise ShapeError(f"{size} numbers have {size // 2 + 1} frequencies, got {x.shape[axis]} along axis {axis}")
    return _scaled(np.fft.irfft, _in_float(x), size, axis, norm, "forward")


def _inverse_real_rule(g, x, size, axis, norm):
    spectrum = conj(real_transform(g, axis, _opposite(norm)))
    return _of_kind(spectrum * _frequency_weights(size, 2, g.dtype, axis, len(x.shape)), x)


def _frequency_weights(size, weight, dtype, axis, ndim):
    """1 for the frequencies of `size` real numbers that have no mirror image, `weight` for the others, along `axis`."""
    weights = np.full(size // 2 + 1, weight, np.empty(0, dtype).real.dtype)
    weights[0] = 1
    if size % 2 == 0:
        weights[-1] = 1
    return weights.reshape([-1 if a == axis % ndim else 1 for a in range(ndim)])


inverse_real_transform.defvjp(_inverse_real_rule)


def resized(x, size, axis):
    """`x` cut, or filled up with zeros, to `size` elements along `axis`."""
    axis, now = one_axis(axis, x.ndim), x.shape[axis]
    if size == now:
        return x
    if size < 1:
        raise ArgumentError(f"a transform needs at least 1 element, got {size}")
    if size < now:
        return shrink(x, tuple((0, size) if a == axis else None for a in range(x.ndim)))
    return pad(x, tuple((0, size - now) if a == axis else (0, 0) for a in range(x.ndim)))


def _fitted(x, s, axes):
    """`x` resized to `s` over `axes`, and the axes: the last ones if `s` alone is given."""
    if axes is None:
        axes = tuple(range(x.ndim)) if s is None else tuple(range(x.ndim - len(s), x.ndim))
    axes = axis_tuple(axes, x.ndim)
    for size, axis in zip(s if s is not None else [x.shape[a] for a in axes], axes, strict=True):
        x = resized(x, x.shape[axis] if size in (None, -1) else size, axis)
    return x, axes


def fftn(x, /, s=None, axes=None, norm="backward"):
    """The Fourier transform of `x` over `axes` (all by default), which are cut or filled up with zeros to the sizes `s`."""
    return transform_axes(*_fitted(x, s, axes), norm)


def ifftn(x, /, s=None, axes=None, norm="backward"):
    """The inverse of `fftn`."""
    return inverse_transform_axes(*_fitted(x, s, axes), norm)


def rfftn(x, /, s=None, axes=None, norm="backward"):
    """The Fourier transform of real `x` over `axes`; of the last of them only the first half, which the other half mirrors."""
    x, axes = _fitted(x, s, axes)
    found = real_transform(x, axes[-1], norm)
    return transform_axes(found, axes[:-1], norm) if len(axes) > 1 else found


def irfftn(x, /, s=None, axes=None, norm="backward"):
    """The inverse of `rfftn`; the last of `s` is the number of real results, by default an even one."""
    if axes is None:
        axes = tuple(range(x.ndim)) if s is None else tuple(range(x.ndim - len(s), x.ndim))
    *others, last = axis_tuple(axes, x.ndim)
    s = [*[-1] * len(others), 2 * (x.shape[last] - 1)] if s is None else list(s)
    size = x.shape[last] if s[-1] in (None, -1) else s[-1]
    x, _ = _fitted(x, [*s[:-1], size // 2 + 1], (*others, last))
    if others:
        x = inverse_transform_axes(x, tuple(others), norm)
    return inverse_real_transform(x, size, last, norm)


def fft(x, /, n=None, axis=-1, norm="backward"):
    """The Fourier transform of `x` along `axis`, which is cut or filled up with zeros to `n` elements.

    >>> rg.fft.fft(rg.tensor([1.0, 0.0, 0.0, 0.0])).tolist()
    [(1+0j), (1+0j), (1+0j), (1+0j)]
    """
    return fftn(x, None if n is None else (n,), (axis,), norm)


def ifft(x, /, n=None, axis=-1, norm="backward"):
    """The inverse of `fft`."""
    return ifftn(x, None if n is None else (n,), (axis,), norm)


def rfft(x, /, n=None, axis=-1, norm="backward"):
    """The Fourier transform of real `x` along `axis`: its first `n // 2 + 1` elements, which the others mirror."""
    return rfftn(x, None if n is None else (n,), (axis,), norm)


def irfft(x, /, n=None, axis=-1, norm="backward"):
    """The inverse of `rfft`: `n` real numbers, by default an even number of them."""
    return irfftn(x, None if n is None else (n,), (axis,), norm)


def fft2(x, /, s=None, axes=(-2, -1), norm="backward"):
    """The Fourier transform of `x` over two axes."""
    return fftn(x, s, axes, norm)


def ifft2(x, /, s=None, axes=(-2, -1), norm="backward"):
    """The inverse of `fft2`."""
    return ifftn(x, s, axes, norm)


def rfft2(x, /, s=None, axes=(-2, -1), norm="backward"):
    """The Fourier transform of real `x` over two axes; of the last only the first half."""
    return rfftn(x, s, axes, norm)


def irfft2(x, /, s=None, axes=(-2, -1), norm="backward"):
    """The inverse of `rfft2`."""
    return irfftn(x, s, axes, norm)


def hfft(x, /, n=None, axis=-1, norm="backward"):
    """The transform, which is real, of numbers that are their own mirrored conjugates: the first half, `x`, is given."""
    return irfft(conj(x), n, axis, _opposite(norm))


def ihfft(x, /, n=None, axis=-1, norm="backward"):
    """The inverse of `hfft`."""
    return conj(rfft(x, n, axis, _opposite(norm)))


def fftshift(x, /, axes=None):
    """`x` with the frequency 0 in the middle of `axes`."""
    axes = axis_tuple(axes, x.ndim)
    return roll(x, tuple(x.shape[a] // 2 for a in axes), axes)


def ifftshift(x, /, axes=None):
    """The inverse of `fftshift`."""
    axes = axis_tuple(axes, x.ndim)
    return roll(x, tuple(-(x.shape[a] // 2) for a in axes), axes)
