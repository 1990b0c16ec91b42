"""Options of the commands."""

from dataclasses import dataclass, field
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
    """What `tune` is to do: `task` is the name of one that comes along, or a file of the user's own items."""

    task: str = "question"
    prompt: str | None = None
    layout: str | None = None
    inputs: list | None = None
    answer: str | None = None
    metric: str | None = None
    criteria: str | None = None
    judge: str | None = None
    model: str | None = None
    base_url: str | None = None
    key_env: str | None = None
    headers: dict = field(default_factory=dict)
    header_env: dict = field(default_factory=dict)
    query: dict = field(default_factory=dict)
    labels_by: str = "json_schema"
    price: tuple | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    writer: str | None = None
    proposals: int = 6
    steps: int = 2
    width: int | None = None
    demonstrations: int = 8
    calls: int = 1000
    tokens: int | None = None
    cost: float | None = None
    level: float = 0.05
    strict: bool = False
    seed: int = 0
    engine: str | None = None
    threads: int | None = None
    output: Path = Path("runs/tune")
    resume: bool = False
    report: bool = True
    quiet: bool = False
    json: bool = False


@dataclass(frozen=True)
class RunOptions:
    """What `run` is to start: `count` processes of a program, with arguments of its own."""

    count: int
    module: bool
    program: str
    words: list = field(default_factory=list)


@dataclass(frozen=True)
class FinetuneOptions:
    """What `finetune` is to do."""

    model: Path
    data: Path
    out: Path
    rank: int = 8
    alpha: float = 16.0
    dropout: float = 0.0
    targets: list | None = None
    quantised: str | None = None
    epochs: int = 3
    batch_size: int = 4
    length: int | None = None
    accumulate: int = 1
    lr: float = 2e-4
    held_out: float = 0.05
    save_every: int = 50
    checkpoint_layers: bool = False
    seed: int = 0
    quiet: bool = False


@dataclass(frozen=True)
class WritingOptions:
    """How `generate` and `chat` write; None stands for what the model's own settings say."""

    model: Path
    adapter: Path | None = None
    prompt: str | None = None
    system: str | None = None
    context: int | None = None
    activations: str | None = None
    max_tokens: int = 256
    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    repetition_penalty: float | None = None
    stop: list | None = None
    seed: int = 0
    ignore_end: bool = False


@dataclass(frozen=True)
class ServingOptions:
    """What `serve` is to do; `name` None stands for that of the file."""

    model: Path
    name: str | None = None
    host: str = "127.0.0.1"
    port: int = 8000
    context: int | None = None
    activations: str | None = None
    waiting: int = 128
    key_env: str | None = None
    adapter: Path | None = None
