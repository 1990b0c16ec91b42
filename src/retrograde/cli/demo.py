"""Train a network on real handwritten digits and say how well it reads digits that it has not seen.

Shows loss and accuracy while it learns, then the confusion matrix and the worst mistakes; writes the weights, reads them
back into a new network and compares its answers; writes a report that opens in any browser.
"""

import time

import numpy as np

from ..data import digits as load_digits
from ..extras import optional
from ..io.weights import load, save
from ..viz import Mistake, Report, confusion, curves, page, tile
from .terminal import Terminal
from .training import accuracy_of, build, confusion_of, predict, train, worst

_SHOWN_HERE, _SHOWN_IN_REPORT = 5, 10
_NAMES = {"mlp": "perceptron", "cnn": "convolutional network"}


def run(options):
    """Train, report, save, load and predict again, as `options` say; returns the exit code."""
    _require(options)
    with _on_one_thread():
        return _run(options)


def _run(options):
    terminal, digits = Terminal(options.quiet), load_digits()
    options.output.mkdir(parents=True, exist_ok=True)
    terminal.say(f"A {_NAMES[options.model]} learns from {len(digits.labels)} handwritten digits; "
                 f"{len(digits.held_out_labels)} are held out.")
    start = time.perf_counter()
    with terminal.progress(options.passes) as told:
        model, history = train(options, digits, told)
    seconds = time.perf_counter() - start
    chances = predict(model, digits.held_out_images)
    accuracy = _show(terminal, digits, chances, seconds)
    is_same = _saved_and_loaded(terminal, options, model, digits, chances)
    if options.report:
        path = options.output / "report.html"
        path.write_text(page(_report(options, model, history, digits, chances, seconds)), encoding="utf-8")
        terminal.say(f"Report: [bold]{path}")
    if options.quiet:
        print(f"{accuracy:.2%}")
    return 0 if is_same else 1


def _require(options):
    """Find missing libraries before anything is trained."""
    pictures = ["matplotlib.figure"] if options.report else []
    for module in ("rich.console", "sklearn.datasets", "threadpoolctl", *pictures):
        optional(module, "demo")


def _on_one_thread():
    """A context in which matrix products run on one thread: these are too small for more, and so they come out the same on
    machines with any number of cores, and quickly on busy ones.
    """
    return optional("threadpoolctl", "demo").threadpool_limits(1, user_api="blas")


def _show(terminal, digits, chances, seconds):
    """Accuracy, confusion matrix and worst mistakes; returns the accuracy."""
    labels = digits.held_out_labels
    accuracy, wrong = accuracy_of(chances, labels), int((chances.argmax(axis=1) != labels).sum())
    terminal.say(f"\nHeld-out accuracy [bold green]{accuracy:.2%}[/]: {len(labels) - wrong} of {len(labels)} read rightly, "
                 f"after {seconds:.1f} s.\n")
    terminal.confusion(confusion_of(chances, labels))
    terminal.say()
    mistakes, near = worst(chances, labels, _SHOWN_HERE)
    title, chosen = ("Worst mistakes", mistakes) if len(mistakes) else ("No mistakes; the least sure", near)
    terminal.pictures(title, [digits.held_out_images[i, 0] for i in chosen], [_caption(chances[i], labels[i]) for i in chosen])
    return accuracy


def _caption(chances, label):
    guess = int(chances.argmax())
    return f"{label}, read as {guess}\n{guess}: {chances[guess]:.0%}  {label}: {chances[label]:.0%}"


def _saved_and_loaded(terminal, options, model, digits, chances):
    """Write the weights, read them into a new network, and see whether it answers the same."""
    path = options.output / "weights.safetensors"
    # One entry, so that the file is the same each time.
    save(model, path, {"network": f"{options.model}, {options.hidden} hidden units"})
    fresh = build(options.model, options.hidden)
    fresh.load_state_dict(load(path))
    is_same = np.array_equal(predict(fresh, digits.held_out_images), chances)
    what = "the same predictions, to the last bit" if is_same else "[bold red]other predictions[/], which is a bug"
    terminal.say(f"Weights: [bold]{path}[/], read back into a new network: {what}.")
    return is_same


def _report(options, model, history, digits, chances, seconds):
    labels = digits.held_out_labels
    mistakes, near = worst(chances, labels, _SHOWN_IN_REPORT)
    wrong = int((chances.argmax(axis=1) != labels).sum())
    steps = options.passes * -(-len(digits.labels) // options.batch_size)
    return Report(
        title="Handwritten digits",
        subtitle=f"A {_NAMES[options.model]}, trained by retrograde on {len(digits.labels):,} images of 8×8 pixels (UCI, from "
                 f"scikit-learn), tested on {len(labels)} that it has not seen.",
        facts=[
            (f"{accuracy_of(chances, labels):.2%}", "held-out accuracy"), (f"{wrong} of {len(labels)}", "read wrongly"),
            (f"{seconds:.1f} s", "training time"), (f"{sum(p.size for p in model.parameters()):,}", "weights"),
        ],
        curves=curves(history.losses, history.held_out_losses, history.accuracies, history.held_out_accuracies),
        confusion=confusion(confusion_of(chances, labels)),
        mistakes=[_mistake(digits, chances, i) for i in mistakes],
        near_misses=[_mistake(digits, chances, i) for i in near[: _SHOWN_IN_REPORT // 2]],
        details=[
            ("Model", options.model), ("Hidden units", options.hidden), ("Epochs", options.passes),
            ("Batch size", options.batch_size), ("Steps", f"{steps:,}"), ("Optimizer", f"AdamW, lr {options.lr:g}, cosine"),
            ("Seed", options.seed), ("Training images", f"{len(digits.labels):,}"), ("Held-out images", f"{len(labels):,}"),
        ],
        model=repr(model),
    )


def _mistake(digits, chances, i):
    return Mistake(tile(digits.held_out_images[i, 0]), int(digits.held_out_labels[i]), chances[i].tolist())
