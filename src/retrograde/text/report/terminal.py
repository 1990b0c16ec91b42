"""A tuning run in the terminal, by rich: progress, and the report at the end."""

from contextlib import contextmanager

from ...extras import optional
from ..data import as_text
from .diff import pieces
from .page import facts, roles

_STYLES = {"same": "", "gone": "red strike", "new": "green"}
#: Where there are no colours, as in a file.
_SIGNS = {"same": "{}", "gone": "[-{}-]", "new": "{{+{}+}}"}
_OUTCOMES = {"accepted": "green", "rejected": "red"}


def show(run, console=None, feedback=1):
    """Print the report of a run: facts, and each step with its edits as coloured diffs and the first of the `feedback`."""
    console = console or optional("rich.console", "text").Console(highlight=False)
    table = optional("rich.table", "text").Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for value, name in facts(run):
        table.add_row(name, value, style=None)
    console.print(table)
    if run.roles:
        console.print(_roles(run))
    for step in run.steps:
        console.print(_line(step))
        for edit in step.edits:
            console.print(_edit(edit, is_coloured=console.color_system is not None))
            for said in edit.feedback[:feedback]:
                console.print(_quiet(as_text(said)))


@contextmanager
def progress(steps, console=None):
    """A progress bar with score, calls and cost; gives a function to pass to `train` as `on_step`."""
    bars = optional("rich.progress", "text")
    columns = (bars.TextColumn("Tuning"), bars.BarColumn(bar_width=None), bars.MofNCompleteColumn(),
               bars.TextColumn("score [bold]{task.fields[score]}"), bars.TextColumn("{task.fields[calls]} calls"),
               bars.TextColumn("{task.fields[cost]}"), bars.TimeElapsedColumn())
    with bars.Progress(*columns, console=console) as bar:
        task = bar.add_task("", total=steps, score="–", calls=0, cost="")

        def told(run):
            scored = [step for step in run.steps if step.after is not None]
            score = (scored[-1].after if scored[-1].is_accepted else scored[-1].before) if scored else None
            bar.update(task, completed=len(run.steps), calls=run.usage.calls, score="–" if score is None else f"{score:.3f}",
                       cost=f"{run.usage.cost:.4f}" if run.usage.cost else "")

        yield told


def _roles(run):
    """The calls by what they were made for."""
    table = optional("rich.table", "text").Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    head, *rows = roles(run.roles)
    for i, name in enumerate(head):
        table.add_column(name, justify="right" if i else "left")
    for row in rows:
        table.add_row(*row)
    return table


def _line(step):
    text = optional("rich.text", "text").Text
    return text.assemble("\n", (step.outcome, f"bold {_OUTCOMES.get(step.outcome, 'yellow')}"), f" {str(step).partition(': ')[0]}",
                         str(step).partition(step.outcome)[2])


def _edit(edit, is_coloured):
    text = optional("rich.text", "text").Text
    marked = [(piece.text if is_coloured else _SIGNS[piece.kind].format(piece.text), _STYLES[piece.kind])
              for piece in pieces(edit.before, edit.after)]
    return text.assemble((f"  {edit.role}\n", "dim"), *marked)


def _quiet(said, limit=400):
    text = optional("rich.text", "text").Text
    return text(said if len(said) <= limit else f"{said[:limit]} ...", style="dim italic")
