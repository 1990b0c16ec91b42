"""Options of the commands."""

from dataclasses import dataclass
from pathlib import Path

#: The names of the networks, and how many epochs each is trained unless the user says otherwise.
MODELS = {"mlp": 25, "cnn": 10}


@dataclass(frozen=True)
class Options:
    """What the demo is to do; `epochs` None stands for the usual number of the model."""

    model: str = "mlp"
    hidden: int = 128
    epochs: int | None = None
    batch_size: int = 32
    lr: float = 3e-3
    seed: int = 0
    output: Path = Path("runs/demo")
    report: bool = True
    quiet: bool = False
    eager: bool = False

    @property
    def passes(self):
        """How many epochs are trained."""
        return self.epochs or MODELS[self.model]


@dataclass(frozen=True)
class TuneOptions:
    """What `tune` is to do: `data` is a file of the user's own rows in place of `task`; `prompt` what it starts from."""

    task: str = "question"
    data: Path | None = None
    prompt: str | None = None
    steps: int = 2
    width: int = 16
    demonstrations: int = 8
    budget: int = 1000
    seed: int = 0
    threads: int | None = None
    output: Path = Path("runs/tune")
    resume: bool = False
    report: bool = True
    quiet: bool = False
