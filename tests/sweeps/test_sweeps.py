"""Sweeps: grids, random points, processes, failures, and going on."""

import json

import numpy as np
import pytest

import retrograde as rg
from retrograde.errors import ArgumentError, CheckpointError
from retrograde.sweeps import between

GRID = {"lr": [0.1, 0.2, 0.4], "width": range(1, 3)}


def product(point):
    return point["lr"] * point["width"]


def quiet(function, space, backend=None, **options):
    return rg.sweep(function, space, backend=backend, progress=False, **options)


def test_a_grid_is_tried_at_each_point_once():
    found = quiet(product, GRID)
    assert [t.point for t in found] == [{"lr": a, "width": b} for a in (0.1, 0.2, 0.4) for b in (1, 2)]
    assert [t.value for t in found] == [product(t.point) for t in found]
    assert found.best.point == {"lr": 0.1, "width": 1}
    assert quiet(product, GRID, mode="max").best.value == 0.8


def test_random_points_depend_on_seed_and_number_alone_and_spread_as_asked():
    space = {"lr": between(1e-4, 1e-1, log=True), "x": between(2.0, 3.0), "kind": ["a", "b"]}
    many = quiet(lambda p: 0.0, space, trials=400)
    few = quiet(lambda p: 0.0, space, trials=5)
    assert [t.point for t in few] == [t.point for t in many[:5]]
    assert [t.point for t in quiet(lambda p: 0.0, space, trials=5, seed=1)] != [t.point for t in few]
    rates, xs = np.log10([t.point["lr"] for t in many]), np.array([t.point["x"] for t in many])
    assert rates.min() >= -4 and rates.max() <= -1 and abs(np.median(rates) + 2.5) < 0.25
    assert xs.min() >= 2 and xs.max() <= 3 and abs(xs.mean() - 2.5) < 0.1
    assert 150 < sum(t.point["kind"] == "a" for t in many) < 250


@pytest.mark.parametrize("backend", ["joblib", "dask"])
def test_processes_give_what_one_gives(backend):
    pytest.importorskip({"dask": "distributed.client"}.get(backend, backend))
    found = quiet(product, GRID, backend, workers=2)
    assert [(t.number, t.point, t.value) for t in found] == [(t.number, t.point, t.value) for t in quiet(product, GRID)]


def test_a_trial_that_fails_is_told_and_the_others_go_on():
    def function(point):
        if point["x"] == 1:
            raise ValueError("one is not allowed")
        return float("nan") if point["x"] == 2 else point["x"]

    found = quiet(function, {"x": [1, 2, 3, 4]})
    assert [t.error for t in found] == ["ValueError: one is not allowed", None, None, None]
    assert [t.number for t in found.failures] == [0] and found.best.value == 3.0
    with pytest.raises(ArgumentError, match=r"no trial has a value.*one is not allowed"):
        _ = quiet(function, {"x": [1]}).best


def test_a_sweep_that_was_ended_goes_on_with_what_is_missing(tmp_path):
    calls = []

    def function(point):
        calls.append(point["lr"])
        if len(calls) == 4:
            raise KeyboardInterrupt
        return product(point)

    with pytest.raises(KeyboardInterrupt):
        quiet(function, GRID, folder=tmp_path)
    with (tmp_path / "trials.jsonl").open("a") as file:
        file.write('{"number": 3, "poi')  # as a process that is killed leaves it
    found = quiet(function, GRID, folder=tmp_path)
    assert len(calls) == 4 + 3 and [t.value for t in found] == [t.value for t in quiet(product, GRID)]
    assert quiet(function, GRID, folder=tmp_path) == found and len(calls) == 7
    with pytest.raises(CheckpointError, match="another space, seed, mode or sampler"):
        quiet(function, {"lr": [1.0], "width": [1]}, folder=tmp_path)


def test_progress_tells_each_trial_and_the_best(capsys):
    rg.sweep(product, {"lr": [0.5, 0.25], "width": [1]}, backend=None)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "trial 0, 1 of 2: 0.5 at {'lr': 0.5, 'width': 1}; best 0.5 of trial 0"
    assert lines[1] == "trial 1, 2 of 2: 0.25 at {'lr': 0.25, 'width': 1}; best 0.25 of trial 1"


def test_samplers_and_pruners_of_optuna_choose_and_give_up(tmp_path):
    optuna = pytest.importorskip("optuna")
    ended = []

    def function(point):
        for step in range(5):
            point.report(abs(point["x"] - 0.3) + 1 / (step + 1))
        ended.append(point["x"])
        return abs(point["x"] - 0.3)

    options = {"sampler": optuna.samplers.TPESampler(seed=0, n_startup_trials=8), "pruner": optuna.pruners.MedianPruner(5, 0)}
    found = quiet(function, {"x": between(0.0, 1.0), "unused": [1, 2, 3]}, trials=30, folder=tmp_path, **options)
    assert len(found) == 30 and found.best.value < 0.1
    pruned = [t for t in found if t.value is None and t.error is None]
    assert pruned and len(ended) == 30 - len(pruned)
    assert np.mean([abs(t.point["x"] - 0.3) for t in found[15:]]) < np.mean([abs(t.point["x"] - 0.3) for t in found[:8]])
    more = quiet(function, {"x": between(0.0, 1.0), "unused": [1, 2, 3]}, trials=33, folder=tmp_path, **options)
    assert more[:30] == list(found) and len(more) == 33


def test_what_is_kept_of_a_trial_is_plain(tmp_path):
    quiet(product, {"lr": [0.5], "width": [2]}, folder=tmp_path)
    kept = json.loads((tmp_path / "trials.jsonl").read_text())
    assert kept.pop("seconds") >= 0
    assert kept == {"number": 0, "point": {"lr": 0.5, "width": 2}, "value": 1.0, "error": None}


@pytest.mark.parametrize(("options", "text"), [
    ({"space": {"x": between(0, 1)}}, "trials must be the number of points"),
    ({"space": {}}, "a space is a dictionary"),
    ({"space": {"x": []}}, "x must be a list of choices"),
    ({"space": {"x": 3}}, "x must be a list of choices"),
    ({"trials": 0}, "trials must be an integer"),
    ({"mode": "least"}, 'mode must be "min" or "max"'),
    ({"backend": "threads"}, "backend must be None, 'joblib' or 'dask', got 'threads'"),
    ({"workers": 0}, "the number of workers"),
])
def test_what_is_wrong_is_said(options, text):
    with pytest.raises(ArgumentError, match=text):
        quiet(product, **{"space": GRID, **options})


@pytest.mark.parametrize("ends", [(1, 0), (0, float("inf")), (2, 2)])
def test_ends_that_are_none_are_refused(ends):
    with pytest.raises(ArgumentError, match="low < high"):
        between(*ends)
