"""Bounds at a solution: which variables are held by them."""

import numpy as np

#: How near to its limit what is held by it may be, in a solution of methods that stay inside; by its size.
MAYBE = 1e-3
#: What is as near as this is at the limit, and what would not go farther if it were not there is not held.
_AT, _BEYOND = 1e-6, 1e-5


def decided(distances, pulls):
    """(what is held, what cannot be told) by limits so far away, beyond which it would go so far if they were not there."""
    held = (pulls > _BEYOND) & (distances <= MAYBE) & (distances <= pulls / 100)
    return held, ~held & (distances <= np.maximum(_AT, np.minimum(pulls, MAYBE)))


def limits(bounds, size):
    """(lower, upper) of bounds as SciPy takes them: None, an object with lb and ub, pairs, or two arrays."""
    if bounds is None:
        return np.full(size, -np.inf), np.full(size, np.inf)
    if hasattr(bounds, "lb"):
        lower, upper = bounds.lb, bounds.ub
    else:
        pairs = [(-np.inf if low is None else low, np.inf if high is None else high) for low, high in bounds]
        lower, upper = zip(*pairs, strict=True)
    return tuple(np.broadcast_to(np.asarray(limit, np.float64), (size,)) for limit in (lower, upper))


class Held:
    """The variables that bounds hold at `x`, where the gradient of what is minimized is `slopes`, and its curvatures `curvatures`.

    free   which variables move freely
    at     the values of the others
    fault  what is undecided: from a bound that a variable is at without being held it goes away in one direction only
    """

    def __init__(self, x, lower, upper, slopes, curvatures):
        scale = 1 + np.abs(x)
        wanted = -slopes / np.where(curvatures > 0, curvatures, np.finfo(float).tiny) / scale
        low, unclear_low = decided(np.abs(x - lower) / scale, -wanted)
        high, unclear_high = decided(np.abs(x - upper) / scale, wanted)
        is_fixed = lower == upper
        self.free = ~(low | high | is_fixed)
        self.at = np.where(low | is_fixed, lower, np.where(high, upper, 0.0))
        undecided = np.flatnonzero(self.free & (unclear_low | unclear_high))
        self.fault = None if not undecided.size else (
            f"variable {undecided[0]} is at its bound and is not held by it: its derivative is another one in each direction")
