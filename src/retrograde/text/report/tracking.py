"""A run in MLflow: settings as parameters, scores and calls as metrics, the report and the prompt as files."""

from contextlib import nullcontext
from math import isfinite

from ...extras import optional
from .page import page

#: MLflow takes so many characters of a parameter.
_LONGEST = 500


def log_to_mlflow(run, parameters=(), title="Tuning"):
    """Log a Run to MLflow: to the run of MLflow that is active, or else to a new one; returns its id. Needs the extra `mlflow`.

    `parameters` are the text parameters as they are now, which go into the report and into prompt.json. Where it is logged, and in
    which experiment, is MLflow's to know: mlflow.set_tracking_uri, mlflow.set_experiment.
    """
    mlflow = optional("mlflow", "mlflow")
    active = mlflow.active_run()
    with nullcontext(active) if active else mlflow.start_run(run_name=title) as found:
        mlflow.log_params({name: value[:_LONGEST] for name, value in run.settings.items()})
        for step in run.steps:
            mlflow.log_metrics(_finite(_step(step)), step=step.number)
        mlflow.log_metrics(_finite(_final(run)))
        mlflow.set_tags({"retrograde.ending": run.ending[:_LONGEST]})
        mlflow.log_text(page(run, title, parameters=parameters), "report.html")
        if parameters:
            mlflow.log_dict({p.role: p.data for p in parameters}, "prompt.json")
        return found.info.run_id


def _step(step):
    """The figures of a step: what was kept, what was tried, and the evidence."""
    kept = step.after if step.is_accepted else step.before
    return {"validation score": kept, "candidate score": step.after, "p": step.p, "level spent": step.spent, "won": len(step.won),
            "lost": len(step.lost), "accepted": float(step.is_accepted)}


def _final(run):
    found = {**run.scores, "calls": run.usage.calls, "tokens": run.usage.tokens, "cost": run.usage.cost, "cached": run.cached}
    found.update({f"calls for {name}": totals.calls for name, totals in run.roles.items()})
    found.update({f"seconds for {name}": totals.seconds for name, totals in run.roles.items()})
    if run.test is not None and any(score is not None for score in run.test.after):
        gain = run.test.intervals()[2]
        found.update({"test gain": gain.value, "test gain low": gain.low, "test gain high": gain.high})
    return found


def _finite(metrics):
    """Metrics that are numbers, by names that MLflow takes."""
    kept = {name: float(value) for name, value in metrics.items() if value is not None and isfinite(value)}
    return {"".join(c if c.isalnum() or c in "_-. /" else "_" for c in name): value for name, value in kept.items()}
