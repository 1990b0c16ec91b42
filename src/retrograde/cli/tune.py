"""Tune the prompt of a task on a language model: in this process and offline, or behind an OpenAI-compatible server.

A task is one that comes along, or a file of your own: JSON lines such as {"input": ..., "label": ...} for a choice among labels, or
{"input": ..., "output": ...} for a free answer; or CSV with such columns. Wordings, layouts and demonstrations are chosen by a
search; a change is kept only if it does better on validation items, and the score that counts is measured on items that no step
has seen. Shows score and calls while it runs, then every edit as a diff; writes the prompt, a checkpoint to go on from after an
interruption, and a report that opens in any browser.
"""

import json
import sys
import time
from contextlib import ExitStack
from pathlib import Path

from .. import text
from ..data import TASKS, text_task
from ..errors import ArgumentError, CheckpointError
from ..extras import optional
from ..text.report.terminal import progress, show
from .models import opened, require

#: How many candidates a step compares: the tasks that come along have more to choose from.
_WIDTH, _OWN_WIDTH = 16, 8
#: The options that say what the items in a file are.
_OWN = ("layout", "inputs", "answer")


def run(options, model=None):
    """Tune, report and save, as `options` say, by default on the model that they name; returns the exit code."""
    arguments, about = _task(options)
    if model is None:
        require(options)
    console = optional("rich.console", "tune").Console(quiet=options.quiet or options.json, highlight=False)
    _begin(options)
    if model is not None:
        return _run(options, arguments, about, (model, None, None), console)
    with opened(options) as models:
        return _run(options, arguments, about, models, console)


def _run(options, arguments, about, models, console):
    model, judge, writer = models
    writer = {} if writer is None else {"writer": writer}
    started = time.perf_counter()
    with ExitStack() as stack:
        shown = []

        def begin(plan):
            console.print(str(plan), markup=False)
            shown.append(stack.enter_context(progress(options.steps, console)))

        def step(run):
            shown[0](run)

        tuned = text.tune(**{**arguments, **writer}, model=model, judge=judge, folder=options.output, on_plan=begin, on_step=step)
    show(tuned.run, console)
    _told(options, tuned, about, time.perf_counter() - started, console)
    return 0 if tuned.gain is not None else 1


def _task(options):
    """(arguments of `text.tune`, what the task is about) for the task that the options name."""
    names = ("prompt", "metric", "criteria", "demonstrations", "steps", "calls", "tokens", "cost", "level", "strict", "seed")
    arguments = {name: getattr(options, name) for name in names}
    calls = {name: getattr(options, name) for name in ("temperature", "max_tokens") if getattr(options, name) is not None}
    if options.task not in TASKS:
        if not Path(options.task).suffix:
            raise ArgumentError(f"a task is {', '.join(TASKS)}, or a file such as items.jsonl; got {options.task!r}")
        Path(options.task).stat()  # that a file is missing is told before what else is
        own = {name: getattr(options, name) for name in (*_OWN, "proposals")}
        return {**arguments, **own, **calls, "data": options.task, "width": options.width or _OWN_WIDTH}, "Your own items."
    needless = [f"--{name}" for name in _OWN if getattr(options, name) is not None]
    if needless:
        raise ArgumentError(f"{', '.join(needless)} goes with a file of your own items, named with --task; {options.task!r} comes "
                            "along with its own")
    task = text_task(options.task)
    rows = lambda part: [{"text": sample, "label": label} for sample, label in part]
    sets = text.Sets(rows(task.demonstrations), rows(task.validation), rows(task.test))
    made = {"instructions": task.instructions, "layout": task.layout, "layouts": task.layouts}
    return {**arguments, **made, **calls, "data": sets, "prompt": options.prompt or task.instruction,
            "width": options.width or _WIDTH}, task.about


def _begin(options):
    """Make the folder ready to begin anew, or check that there is a run to resume; which one it is, `text.tune` looks at."""
    if not options.resume:
        for old in ("checkpoint.json", "ledger.jsonl"):
            (options.output / old).unlink(missing_ok=True)
    elif not (options.output / "settings.json").exists():
        raise CheckpointError(f"there is no run to resume in {options.output}; leave --resume out to begin one")


def _told(options, tuned, about, seconds, console):
    """What came out, on the console or as JSON, and the report."""
    prompt, report = options.output / "prompt.json", options.output / "report.html"
    subtitle = (f"{about} Tuned by retrograde on {tuned.predictor.model.name} in {seconds:.0f} s with seed {options.seed}; tested "
                f"on {len(tuned.plan.sets.test)} items that no step has seen.")
    if options.report:
        tuned.save_report(report, Path(options.task).stem.replace("_", " ").capitalize(), subtitle)
    else:
        report.unlink(missing_ok=True)
    if options.json:
        files = {"prompt": str(prompt), **({"report": str(report)} if options.report else {})}
        print(json.dumps({**tuned.to_dict(), "seconds": round(seconds, 1), "files": files}))
    elif options.quiet and tuned.gain is not None:
        print(" ".join(f"{found.value:.3f}" for found in (tuned.before, tuned.after)))
    if tuned.gain is None and (options.json or options.quiet):
        print(f"retrograde: no test was made: {tuned.run.ending}", file=sys.stderr)
    console.print(_result(tuned, seconds))
    console.print(f"Prompt: [bold]{prompt}")
    if options.report:
        console.print(f"Report: [bold]{report}")


def _result(tuned, seconds):
    if tuned.gain is None:
        return f"\nNo test was made: {tuned.run.ending}."
    before, after, gain = tuned.before, tuned.after, tuned.gain
    found = f"[bold green]{before.value:.1%} → {after.value:.1%}[/] on {len(tuned.plan.sets.test)} items, after {seconds:.0f} s"
    return (f"\nTest {tuned.metric.name} {found}. With 95 % confidence it lies between {after.low:.1%} and {after.high:.1%}, and "
            f"the gain between {gain.low:+.1%} and {gain.high:+.1%}.")
