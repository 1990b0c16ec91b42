"""finetune: adapters of a model learn a file of texts, by a Trainer, whose run goes on after it was killed."""

import hashlib
import json
from typing import Any, NamedTuple

import numpy as np

from ... import optim
from ...atomic import writing
from ...data.loader import Loader
from ...errors import ArgumentError, DataError
from ...io.bounded import opened, refused
from ...ops.axes.reductions import sum as summed
from ...ops.elementary.comparisons import maximum, not_equal
from ...ops.random.draws import manual_seed
from ...train.metrics import Metric
from ...train.trainer import Trainer
from ..checks import check_model, check_seed, path_of
from ..files import json_of
from .adapter_file import save_adapter
from .examples import read_examples
from .lora import LoRA
from .loss import next_token_loss
from .packing import IGNORED, packed_rows
from .settings import Settings

_SETTINGS, _RUN = "finetune.json", "run"
#: The tokens of a row, unless the model was made for less.
_USUAL_LENGTH = 512
#: Of all steps so many hundredths have a rate that rises.
_WARM_UP = 0.03


class Finetuned(NamedTuple):
    """The adapters `lora`, and the logs of each epoch, `history`, among them "token_loss" and "validation_token_loss"."""

    lora: LoRA
    history: list


class TokenLoss(Metric):
    """The mean loss of all tokens that count, of whichever batch."""

    name = "token_loss"

    def batch(self, outputs, targets):
        """The sum of losses, and their number."""
        return outputs, targets

    def result(self, total):
        """Their mean."""
        return float(total[0]) / max(float(total[1]), 1)


def finetune(model, data, out, *, rank=8, alpha=16.0, dropout=0.0, targets: Any = "all-linear", epochs=3, batch_size=4, length=None,
             accumulate=1, learning_rate=2e-4, weight_decay=0.0, clip_norm=1.0, held_out=0.05, save_every=50, seed=0,
             is_checkpointed=False, base=None, progress=True, told=lambda line: None):
    """Train adapters of a `Model` on a file of JSON lines, and write them to the folder `out`, for `load_adapter` and for peft.

    data             a file with lines {"text": ...}, {"prompt": ..., "completion": ...} or {"messages": [...]}; of the last two the
                     completions alone are learned
    rank, alpha, dropout, targets   see `LoRA`
    batch_size, length              rows of a step and their tokens: 512, or what the model was made for if that is less; short
                     texts share a row, and do not see each other
    accumulate       batches that make one step; the mean loss of each counts alike, however many tokens it has
    learning_rate    of AdamW at its greatest; it rises in the first steps, and falls along a cosine
    held_out         the part of the texts that is only evaluated, after each epoch
    save_every       steps between checkpoints; a run that was killed and is started again ends with the same bits
    seed             what adapters, the order of texts and dropout are drawn from
    is_checkpointed  layers are computed again on the way back, which takes a third longer and less memory
    base             how the adapters' file names the model

    A run in the same folder goes on; if it had another setting, or another file, it is an error. After an error, and after Ctrl-C,
    the model has its own layers again.
    """
    check_model(model, "finetune")
    path = path_of(data, "data is the path of a file of JSON lines, one for each text")
    out = path_of(out, "out is the path of the folder that adapters are written to")
    adapters = Settings(rank, alpha, dropout, targets)
    length = min(_USUAL_LENGTH, model.network.config.max_position_embeddings) if length is None else length
    settings = {"rank": rank, "alpha": alpha, "dropout": dropout,
                "targets": targets if isinstance(targets, str) else list(adapters.targets),
                "epochs": epochs, "batch_size": batch_size, "length": length, "accumulate": accumulate, "seed": seed,
                "learning_rate": learning_rate, "weight_decay": weight_decay, "clip_norm": clip_norm, "held_out": held_out,
                "is_checkpointed": is_checkpointed}
    _check(settings, save_every, model.network.config)
    facts = {"data": _digest(path), "model": _told(model.network), "base": None if base is None else str(base), **settings}
    examples, cut = read_examples(path, model, length)
    _check_tokens(examples, model.network.config.vocab_size)
    learned, evaluated = _parted(examples, held_out, seed)
    manual_seed(seed)
    layers = model.network.get_submodule(model.network.body_path)
    lora = LoRA(model, rank=rank, alpha=alpha, dropout=dropout, targets=targets)
    before, layers.is_checkpointed = layers.is_checkpointed, is_checkpointed
    try:
        _settle(out, facts)
        loader = _loader(learned, length, batch_size, seed, is_shuffled=True)
        validation = _loader(evaluated, length, batch_size, seed, is_shuffled=False) if evaluated else None
        told(f"{len(learned)} texts to learn, {len(evaluated)} held out{f', {cut} cut at {length} tokens' if cut else ''}; "
             f"{len(loader)} batches of {batch_size} rows; {sum([p.size for p in lora.parameters()]):,} numbers are learned")
        trainer = _trainer(lora, settings, -(-len(loader) // accumulate), out / _RUN, save_every, progress)
        history = trainer.fit(loader, epochs, validation=validation)
        save_adapter(lora.eval(), out, base)
    except BaseException:
        lora.remove()  # the same model can be handed over once more, to go on
        raise
    finally:
        layers.is_checkpointed = before
    return Finetuned(lora, history)


def _trainer(lora, settings, steps, folder, save_every, progress):
    """A Trainer with AdamW; an epoch has so many `steps`."""
    optimizer = optim.AdamW(lora.parameters(), lr=settings["learning_rate"], weight_decay=settings["weight_decay"])
    schedule = _schedule(optimizer, settings["epochs"] * steps)
    return Trainer(lora, optimizer, forward=_forward, metrics=[TokenLoss()], schedule=schedule, accumulate=settings["accumulate"],
                   clip_norm=settings["clip_norm"], checkpoint=folder, save_every=save_every, progress=progress)


def _forward(model, batch):
    total = next_token_loss(model, batch["tokens"], batch["targets"], segments=batch["segments"], positions=batch["positions"],
                            reduction="sum")
    count = summed(not_equal(batch["targets"], IGNORED).astype(total.dtype))
    return total / maximum(count, 1), total.detach(), count


def _schedule(optimizer, steps):
    rising = min(max(round(steps * _WARM_UP), 1), max(steps - 1, 1))
    parts = [optim.lr_scheduler.LinearLR(optimizer, 1 / (rising + 1), total_iters=rising),
             optim.lr_scheduler.CosineAnnealingLR(optimizer, max(steps - rising, 1))]
    return optim.lr_scheduler.SequentialLR(optimizer, parts, [rising])


def _loader(examples, length, batch_size, seed, is_shuffled):
    """Batches of rows."""
    # Whole batches: each other size would be another program.
    rows = packed_rows(examples, length, batch_size)
    names = "tokens", "targets", "segments", "positions"
    return Loader(dict(zip(names, rows, strict=True)), batch_size, shuffle=is_shuffled, seed=seed)


def _parted(examples, held_out, seed):
    """(examples to learn, those that are held out), which the seed chooses."""
    count = min(max(round(len(examples) * held_out), 1), len(examples) - 1) if held_out else 0
    order = np.random.default_rng(seed).permutation(len(examples))
    chosen = {*order[:count].tolist()}
    return [x for i, x in enumerate(examples) if i not in chosen], [x for i, x in enumerate(examples) if i in chosen]


def _settle(out, facts):
    """Note what a run is made of in its folder, or raise an ArgumentError if another one is there."""
    path = out / _SETTINGS
    if path.exists():
        before = json_of(path)
        changed = [name for name in facts if before.get(name) != facts[name]]
        if changed:
            name = changed[0]
            others = {"data": "other texts in the file", "model": "another model, or weights of another format"}
            told = others.get(name, f"{name}={facts[name]!r}, and there it is {before.get(name)!r}")
            raise ArgumentError(f"{out} holds a run with other settings: this one has {told}; choose another folder, or delete it")
        return
    try:
        out.mkdir(parents=True, exist_ok=True)
        with writing(path) as part:
            part.write_text(json.dumps(facts, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    except OSError as error:
        raise refused(path, "written", error) from error


def _digest(path):
    with opened(path) as (file, _):
        return hashlib.file_digest(file, "sha256").hexdigest()


def _told(network):
    """What a network is, as far as another one in its place would show in the numbers."""
    formats = sorted({layer.format for layer in network.modules() if hasattr(layer, "format")})
    return f"{network.config}, {', '.join(formats) or 'floats'}"


def _check(settings, save_every, config):
    """Raise an ArgumentError unless counts are such, and rows are of a length that the model was made for."""
    counts = {name: settings[name] for name in ("rank", "epochs", "batch_size", "accumulate")}
    for name, count in {**counts, "save_every": save_every}.items():
        if type(count) is not int or count < 1:
            raise ArgumentError(f"{name} must be an integer of at least 1, got {count!r}")
    length, longest, held_out = settings["length"], config.max_position_embeddings, settings["held_out"]
    if type(length) is not int or not 2 <= length <= longest:
        raise ArgumentError(f"length must be from 2 to {longest}, which the model was made for, got {length!r}")
    check_seed(settings["seed"])
    if settings["alpha"] <= 0:
        raise ArgumentError(f"alpha must be above 0, or adapters that learn would change nothing, got {settings['alpha']!r}")
    if not isinstance(held_out, (int, float)) or not 0 <= held_out < 1:
        raise ArgumentError(f"held_out is the part of the texts that is not learned, at least 0 and less than 1, got {held_out!r}")


def _check_tokens(examples, size):
    greatest = max([max(example.tokens) for example in examples])
    if greatest >= size:
        raise DataError(f"the tokenizer makes the token {greatest}, and the model has {size}: they do not belong together")
