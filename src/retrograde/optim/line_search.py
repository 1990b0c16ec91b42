"""A search along a line for a step that is long enough and not too long: the strong conditions of Wolfe."""

from math import sqrt
from typing import Any, NamedTuple

#: What a step must gain of what the slope promises, and to what share of it the slope must fall.
_GAIN, _FLATTER = 1e-4, 0.9
_MOST = 25


class Point(NamedTuple):
    """A point of the line: the length of the step, and there the value, the gradient, and the slope along the line."""

    step: float
    value: float
    gradient: Any
    slope: float


def strong_wolfe(point_at, start, first, width, tolerance):
    """(the point that was found, how often `point_at(step)` was asked) on a line from `start`, beginning with the step `first`.

    As Nocedal and Wright, Numerical Optimization (2006), algorithms 3.5 and 3.6, have it: steps grow until a stretch must hold a
    good one, which is then narrowed down. `width` is the greatest element of the direction: stretches that move no parameter by
    more than `tolerance` are not divided.
    """
    bracket, is_done, count = _bracketed(point_at, start, first)
    return (bracket[0], count) if is_done else _zoomed(point_at, start, bracket, width, tolerance, count)


def _is_poor(point, start):
    return point.value > start.value + _GAIN * point.step * start.slope


def _is_flat(point, start):
    return abs(point.slope) <= -_FLATTER * start.slope


def _bracketed(point_at, start, first):
    """(two points around a good one or the good one itself, whether it is that, how many were asked for)."""
    before, point, count = start, point_at(first), 1
    while count <= _MOST:
        if _is_poor(point, start) or (count > 2 and point.value >= before.value):
            return [before, point], False, count
        if _is_flat(point, start):
            return [point], True, count
        if point.slope >= 0:
            return [before, point], False, count
        bounds = point.step + 0.01 * (point.step - before.step), 10 * point.step
        before, point = point, point_at(_lowest(before, point, bounds))
        count += 1
    return [start, point], False, count


def _zoomed(point_at, start, bracket, width, tolerance, count):
    """The best point of a bracket that is narrowed down, and how many were asked for."""
    low, high = sorted(bracket, key=lambda point: point.value)
    is_stuck = False
    while count <= _MOST and abs(high.step - low.step) * width >= tolerance:
        step, is_stuck = _inner(low, high, is_stuck)
        point = point_at(step)
        count += 1
        if _is_poor(point, start) or point.value >= low.value:
            low, high = sorted((low, point), key=lambda p: p.value)
            continue
        if _is_flat(point, start):
            return point, count
        if point.slope * (high.step - low.step) >= 0:
            high = low
        low = point
    return low, count


def _inner(low, high, is_stuck):
    """(a step within a bracket, whether it was too near to an end once): two in a row are moved inwards."""
    left, right = sorted((low.step, high.step))
    step, margin = _lowest(*sorted((low, high)[:: 1 if low.step < high.step else -1], key=lambda p: p.step)), 0.1 * (right - left)
    if min(right - step, step - left) >= margin:
        return step, False
    if not is_stuck and left < step < right:
        return step, True
    return (right - margin if abs(step - right) < abs(step - left) else left + margin), False


def _lowest(a, b, bounds=None):
    """Where the cubic through two points, with their slopes, is lowest, within `bounds`."""
    a, b = (a, b) if a.step <= b.step else (b, a)
    left, right = bounds or (a.step, b.step)
    middle = a.slope + b.slope - 3 * (a.value - b.value) / (a.step - b.step)
    square = middle**2 - a.slope * b.slope
    if not square >= 0:
        return (left + right) / 2
    root = sqrt(square)
    step = b.step - (b.step - a.step) * ((b.slope + root - middle) / (b.slope - a.slope + 2 * root))
    return min(max(step, left), right)
