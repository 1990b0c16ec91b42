"""Spectra of windows of a signal, and the signal of such spectra."""

from typing import Any

from ...errors import ArgumentError
from ...ops.complexes import view_as_real
from ...ops.manipulation import movements, selections
from .. import creation, fft
from ..kinds import operand
from ..nn.functional import pad as padded

__all__ = ["istft", "stft"]


def _window(window, win_length, n_fft, dtype):
    """The weights of `n_fft` places: those of a window in the middle."""
    window = creation.ones(win_length, dtype=dtype) if window is None else operand(window, "window")
    if window.ndim != 1 or window.shape[0] != win_length:
        raise ArgumentError(f"the window must have win_length = {win_length} elements, got shape {tuple(window.shape)}")
    left = (n_fft - win_length) // 2
    return padded(window, (left, n_fft - win_length - left))


def stft(input, n_fft, hop_length=None, win_length=None, window=None, center=True, pad_mode="reflect", normalized=False,
         onesided=None, return_complex=None):
    """The spectra of windows of `n_fft` numbers, `hop_length` apart: frequencies, then windows, as the last axes."""
    x = operand(input)
    hop, win_length = hop_length or n_fft // 4, win_length or n_fft
    if return_complex is None and not (x.is_complex() or window is not None and window.is_complex()):
        raise ArgumentError("stft needs return_complex=True, or False for a last axis of real and imaginary parts")
    weights = _window(window, win_length, n_fft, x.dtype)
    if center:
        lines = movements.reshape(x, (1, 1, -1)) if x.ndim == 1 else movements.reshape(x, (x.shape[0], 1, -1))
        lines = padded(lines, (n_fft // 2, n_fft // 2), pad_mode)
        x = movements.reshape(lines, (*x.shape[:-1], -1))
    frames = x.unfold(-1, n_fft, hop) * weights
    onesided = not frames.is_complex() if onesided is None else onesided
    found = (fft.rfft if onesided else fft.fft)(frames, norm="ortho" if normalized else "backward").transpose(-1, -2)
    return found if return_complex is not False else view_as_real(found)


def istft(input, n_fft, hop_length=None, win_length=None, window=None, center=True, normalized=False, onesided=None, length=None,
          return_complex=False):
    """The signal whose `stft` is `input`: its windows, weighted once more, added up, over the sum of squares of the weights."""
    x = operand(input).transpose(-1, -2)
    hop, win_length = hop_length or n_fft // 4, win_length or n_fft
    onesided = x.shape[-1] != n_fft if onesided is None else onesided
    norm = "ortho" if normalized else "backward"
    frames = fft.irfft(x, n_fft, norm=norm) if onesided else fft.ifft(x, norm=norm)
    frames: Any = frames if return_complex or not frames.is_complex() else frames.real
    weights = _window(window, win_length, n_fft, frames.real.dtype if frames.is_complex() else frames.dtype)
    count = frames.shape[-2]
    size = n_fft + hop * (count - 1)
    places = creation.arange(count).unsqueeze(1) * hop + creation.arange(n_fft)
    total = selections.scatter_add(frames * weights, (*frames.shape[:-2], size), (..., places))
    squares = selections.scatter_add((weights * weights).expand(count, n_fft), (size,), (places,))
    start = n_fft // 2 if center else 0
    end = size - start if length is None else min(start + length, size)
    kept = squares[start:end]
    if not (kept.abs() > 1e-11).all():
        raise ArgumentError("istft needs windows that overlap: the squares of their weights add up to 0 somewhere")
    found = total[..., start:end] / kept
    return found if length is None or end - start >= length else padded(found, (0, length - (end - start)))
