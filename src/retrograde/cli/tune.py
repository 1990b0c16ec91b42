"""Tune the prompt of a task of text classification on a real language model, in this process and offline.

Wordings, layouts and demonstrations are chosen by a search; a change is kept only if it does better on validation items, and
the score that counts is measured on items that no step has seen. Shows score and calls while it runs, then every edit as a
diff; writes the prompt, a checkpoint to go on from after an interruption, and a report that opens in any browser.
"""

import json
import time
import zlib
from contextlib import contextmanager
from typing import Any

from .. import text
from ..data import read_task, text_task
from ..errors import ArgumentError, CheckpointError
from ..extras import optional
from ..text.models.weights import PACKAGE
from ..text.terminal import progress, show
from .tuning import Classifier, search


def run(options, model=None):
    """Tune, report and save, as `options` say, by default the local model; returns the exit code."""
    task = text_task(options.task) if options.data is None else read_task(options.data)
    task = task if options.prompt is None else task.starting_from(options.prompt)
    _require(model)
    console = optional("rich.console", "tune").Console(quiet=options.quiet, highlight=False)
    with _model(options, model) as found:
        return _run(options, task, found, console)


def _run(options, task, model, console):
    options.output.mkdir(parents=True, exist_ok=True)
    checkpoint = _checkpoint(options, task)
    seen = text.smallest_gain(len(task.validation), width=options.width, steps=options.steps)
    console.print(f"{task.title}: {len(task.labels)} labels, {len(task.demonstrations)} texts to choose demonstrations from, "
                  f"{len(task.validation)} to compare candidates on, {len(task.test)} held out. "
                  + ("These are too few for the gate to accept any gain in accuracy." if seen is None else
                     f"A gain in accuracy of {seen:.2f} is seen in 80 % of runs."), markup=False)
    searching, testing = _budgeted(options, task, model)
    classifier = Classifier(searching, task)
    optimizer, start = search(classifier, task, options), time.perf_counter()
    test = text.Validation(task.test, lambda items: classifier.scores(items, testing))
    with progress(options.steps, console) as told:
        done = text.train(classifier, optimizer, None, options.steps, checkpoint=checkpoint, test=test, target=1.0, on_step=told)
    show(done, console)
    _saved(options, task, classifier, done, time.perf_counter() - start, console)
    if options.quiet:
        print(f"{done.scores['test before']:.3f} {done.scores['test after']:.3f}")
    return 0


def _require(model):
    """Find missing libraries before anything is computed."""
    for module in ("rich.console", *(("xllamacpp", PACKAGE) if model is None else ())):
        optional(module, "tune")


@contextmanager
def _model(options, model):
    """The model, with every answer kept in the folder of the run: what an interrupted run has paid for is not paid again."""
    if model is not None:
        yield model
        return
    with text.LocalModel(threads=options.threads) as local:
        yield local


def _budgeted(options, task, model):
    """The model for the search and the one for the tests: their limits, over all interruptions, add up to the budget."""
    tests = 2 * len(task.test)
    limit = options.budget - tests
    least = len(task.validation) + 1
    if limit < least:
        raise ArgumentError(f"the budget must be at least {tests + least} calls here, for {tests} tests and a look at the "
                            f"validation items, got {options.budget}")
    ledger = options.output / "ledger.jsonl"
    budgets = [text.Budget(calls=limit, ledger=ledger, scope="search"), text.Budget(calls=tests, ledger=ledger, scope="test")]
    return [text.Cached(text.Budgeted(model, budget), options.output / "cache") for budget in budgets]


def _checkpoint(options, task):
    """The path of the checkpoint, made ready to begin or to resume."""
    path, settings_path = options.output / "checkpoint.json", options.output / "settings.json"
    settings = _settings(options, task)
    if not options.resume:
        for old in (path, options.output / "ledger.jsonl"):
            old.unlink(missing_ok=True)
        text.save(settings, settings_path)
        return path
    if not settings_path.exists():
        raise CheckpointError(f"there is no run to resume in {options.output}; leave --resume out to begin one")
    before: Any = text.load(settings_path)
    other = [f"{name} was {before.get(name)!r}, now {value!r}" for name, value in settings.items() if before.get(name) != value]
    if other:
        raise CheckpointError(f"the run in {options.output} had other settings: {'; '.join(other)}")
    return path


def _settings(options, task):
    """All that the steps of a run depend on."""
    return {
        "task": task.title, "items": zlib.crc32(json.dumps(task).encode()), "prompt": task.instruction, "seed": options.seed,
        "width": options.width, "demonstrations": options.demonstrations,
    }


def _saved(options, task, classifier, done, seconds, console):
    path = options.output / "prompt.json"
    text.save(classifier.state_dict(), path)
    _, after, gain = done.test.intervals()
    console.print(f"\nTest accuracy [bold green]{done.scores['test before']:.1%} → {done.scores['test after']:.1%}[/] on "
                  f"{len(task.test)} texts, after {seconds:.0f} s. With 95 % confidence it lies between {after.low:.1%} and "
                  f"{after.high:.1%}, and the gain between {gain.low:+.1%} and {gain.high:+.1%}.")
    console.print(f"Prompt: [bold]{path}")
    if options.report:
        report = options.output / "report.html"
        subtitle = (f"{task.about} The prompt of a local language model, tuned by retrograde in {seconds:.0f} s with seed "
                    f"{options.seed}; tested on {len(task.test)} texts that no step has seen.")
        report.write_text(text.page(done, task.title, subtitle, classifier.text_parameters()), encoding="utf-8")
        console.print(f"Report: [bold]{report}")
