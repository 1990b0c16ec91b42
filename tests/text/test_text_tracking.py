"""A run in MLflow: settings, scores by step, calls by role, and files."""

import sys

import pytest

from retrograde import text

STEPS = [
    text.Step(1, "accepted", "better", [text.Edit("system prompt", "Be brief.", "Be kind.")], 0.5, 0.75, 0.01, 0.02, [1, 2], [3], 0.02),
    text.Step(2, "rejected", "worse", [], 0.75, 0.25, 0.9, 0.04, [], [1], 0.04),
    text.Step(3, "unchanged", "nothing new"),
]
RUN = text.Run(STEPS, text.models.Usage(120, 4567, 0.0125), 30, {"validation before": 0.5, "test before": float("nan")}, "all steps made",
               text.training.Tested([0, 0, 1, 1], [1, 1, 1, None]), roles={"feedback to <x>": text.models.Totals(7, seconds=1.5)},
               settings={"optimizer": "DiscreteSearch", "model": "m" * 900})


@pytest.fixture
def mlflow(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    library = pytest.importorskip("mlflow", reason="the extra `mlflow` brings it")
    library.set_tracking_uri(f"file:{tmp_path / 'runs'}")
    yield library
    library.end_run()
    library.set_tracking_uri(None)


def test_settings_scores_calls_and_files_are_logged(mlflow, tmp_path):
    found = mlflow.get_run(text.log_to_mlflow(RUN, [text.Parameter("Be kind.", role="system prompt")], "Greeting"))
    assert found.info.status == "FINISHED" and found.info.run_name == "Greeting"
    assert found.data.params["optimizer"] == "DiscreteSearch" and len(found.data.params["model"]) == 500
    assert found.data.metrics.items() >= {"validation score": 0.75, "calls": 120, "tokens": 4567, "test gain": 2 / 3, "validation before": 0.5,
                                          "calls for feedback to _x_": 7, "seconds for feedback to _x_": 1.5}.items()
    assert "test before" not in found.data.metrics  # which is no number
    client = mlflow.MlflowClient()
    history = [(m.step, m.value) for m in client.get_metric_history(found.info.run_id, "candidate score")]
    assert history == [(1, 0.75), (2, 0.25)]
    folder = tmp_path / "files"
    mlflow.artifacts.download_artifacts(run_id=found.info.run_id, dst_path=str(folder))
    assert "<h1>Greeting</h1>" in (folder / "report.html").read_text(encoding="utf-8")
    assert "Be kind." in (folder / "prompt.json").read_text(encoding="utf-8")


def test_a_run_of_mlflow_that_is_active_is_used_and_stays_so(mlflow):
    with mlflow.start_run() as active:
        assert text.log_to_mlflow(RUN) == active.info.run_id
        assert mlflow.active_run().info.run_id == active.info.run_id


def test_without_the_library_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(text.MissingExtraError, match=r"needs mlflow; install it with: pip install 'retrograde\[mlflow\]'"):
        text.log_to_mlflow(RUN)
