"""MLflow and Weights & Biases, whose libraries come with extras."""

from ...extras import optional
from ..callbacks import Callback


class MLflowLog(Callback):
    """Logs to MLflow: the results of each epoch, and the loss every `every` steps, to a run of `experiment`. Extra `mlflow`."""

    is_report = True

    def __init__(self, experiment=None, name=None, uri=None, every=10):
        self._mlflow = optional("mlflow", "mlflow")
        self.experiment, self.name, self.uri, self.every, self._run = experiment, name, uri, every, None

    def begin(self, trainer, data, epochs, steps):
        """Start a run, or go on with the one of the checkpoint."""
        if self.uri is not None:
            self._mlflow.set_tracking_uri(self.uri)
        if self.experiment is not None:
            self._mlflow.set_experiment(self.experiment)
        self._run = self._mlflow.start_run(run_id=self._run, run_name=None if self._run else self.name).info.run_id

    def after_step(self, trainer):
        """Log the loss."""
        if trainer.step % self.every == 0:
            self._mlflow.log_metric("step_loss", trainer.loss, step=trainer.step)

    def after_epoch(self, trainer, logs):
        """Log the results."""
        self._mlflow.log_metrics({name: value for name, value in logs.items() if name != "step"}, step=trainer.step)

    def end(self, trainer):
        """End the run."""
        self._mlflow.end_run()

    def state_dict(self):
        """Which run it is."""
        return {"run": self._run}

    def load_state_dict(self, state):
        """Go on with a run."""
        self._run = state["run"]


class WandbLog(Callback):
    """Logs to Weights & Biases: the results of each epoch, and the loss every `every` steps. Extra `wandb`.

    `options` are those of `wandb.init`, such as `project=`, `name=` and `mode="offline"`.
    """

    is_report = True

    def __init__(self, every=10, **options):
        self._wandb = optional("wandb", "wandb")
        self.every, self.options, self._id = every, options, None

    def begin(self, trainer, data, epochs, steps):
        """Start a run, or go on with the one of the checkpoint."""
        again = {} if self._id is None else {"id": self._id, "resume": "allow"}
        self._run = self._wandb.init(**self.options | again)
        self._id = self._run.id

    def after_step(self, trainer):
        """Log the loss."""
        if trainer.step % self.every == 0:
            self._run.log({"step_loss": trainer.loss}, step=trainer.step)

    def after_epoch(self, trainer, logs):
        """Log the results."""
        self._run.log({name: value for name, value in logs.items() if name != "step"}, step=trainer.step)

    def end(self, trainer):
        """End the run."""
        if hasattr(self, "_run"):
            self._run.finish()

    def state_dict(self):
        """Which run it is."""
        return {"id": self._id}

    def load_state_dict(self, state):
        """Go on with a run."""
        self._id = state["id"]
