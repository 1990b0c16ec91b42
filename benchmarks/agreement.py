"""Agreement: whether rivals that started from the same numbers compute the same."""

import numpy as np

TOLERANCE = 1e-4
STEPS = 20


def dissenters(trails, tolerance=TOLERANCE):
    """The rivals that compute something else, by name with how far off they are.

    A trail is a list of arrays as `worker.trail` gives it. A rival is off by the greatest difference of an array from the
    median over all rivals, relative to the greatest number in that median.
    """
    trails = {name: [_numbers(leaf) for leaf in trail] for name, trail in trails.items()}
    with np.errstate(invalid="ignore"):
        medians = _medians(trails)
        off = {name: _deviation(trail, medians) for name, trail in trails.items()}
    return {name: deviation for name, deviation in off.items() if not deviation <= tolerance}


def _numbers(leaf):
    """The numbers, with those that are not numbers at infinity, so that they do not spoil the median of all."""
    return np.nan_to_num(np.asarray(leaf, np.float64), nan=np.inf, posinf=np.inf, neginf=-np.inf)


def _medians(trails):
    """The medians over the trails of the form that most of them have."""
    forms = [_form(trail) for trail in trails.values()]
    usual = max(forms, key=forms.count)
    members = [trail for trail in trails.values() if _form(trail) == usual]
    return [np.median(leaves, axis=0) for leaves in zip(*members, strict=True)]


def _form(trail):
    return [leaf.shape for leaf in trail]


def _deviation(trail, medians):
    if _form(trail) != _form(medians):
        return float("inf")
    return max((_relative(leaf, middle) for leaf, middle in zip(trail, medians, strict=True)), default=0.0)


def _relative(leaf, middle):
    distance, scale = np.abs(leaf - middle).max(initial=0.0), np.abs(middle).max(initial=0.0)
    return distance / scale if scale else distance
