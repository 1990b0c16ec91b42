"""What the demo shows in the terminal, by rich."""

from contextlib import contextmanager

import numpy as np

from ..extras import optional

_SHADES = " ░▒▓█"


class Terminal:
    """Prints the parts of the demo; nothing at all if it is quiet."""

    def __init__(self, quiet):
        self._console = optional("rich.console", "demo").Console(quiet=quiet, highlight=False)

    def say(self, line=""):
        """Print a line; `[bold]` and the like are styles."""
        self._console.print(line)

    @contextmanager
    def progress(self, epochs):
        """A progress bar of that many epochs; gives a function that is called with the history after each."""
        bars = optional("rich.progress", "demo")
        columns = (
            bars.TextColumn("Training"), bars.BarColumn(bar_width=None), bars.MofNCompleteColumn(), bars.TextColumn("epochs"),
            bars.TextColumn("loss [bold]{task.fields[loss]:.4f}"), bars.TextColumn("accuracy [bold]{task.fields[accuracy]:.1%}"),
            bars.TimeElapsedColumn(),
        )
        with bars.Progress(*columns, console=self._console) as progress:
            task = progress.add_task("", total=epochs, loss=float("nan"), accuracy=0.0)

            def told(history):
                progress.update(task, advance=1, loss=history.losses[-1], accuracy=history.held_out_accuracies[-1])

            yield told

    def confusion(self, counts):
        """The confusion matrix, mistakes marked."""
        self.say("[bold]Confusion[/] (rows: what it is; columns: what it was read as)")
        table = optional("rich.table", "demo").Table(box=None, padding=(0, 1))
        table.add_column("")
        for number in range(len(counts)):
            table.add_column(str(number), justify="right", style="dim", header_style="bold cyan")
        for i, row in enumerate(counts):
            cells = ["·" if not n else f"[bold blue]{n}" if i == j else f"[bold white on red]{n}" for j, n in enumerate(row)]
            table.add_row(f"[bold cyan]{i}", *cells)
        self._console.print(table)

    def pictures(self, title, images, captions):
        """Small pictures beside each other, made of shades, each with a caption of several lines."""
        columns = optional("rich.columns", "demo").Columns
        text = optional("rich.text", "demo").Text
        self.say(f"[bold]{title}")
        self._console.print(columns([text(f"{_shaded(i)}\n{c}\n") for i, c in zip(images, captions, strict=True)],
                                    padding=(0, 3)))


def _shaded(image):
    """A picture (8, 8) from 0 to 1 as lines of shades; every element is two characters wide, as high as they are."""
    levels = np.minimum(np.asarray(image) * len(_SHADES), len(_SHADES) - 1).astype(int)
    return "\n".join("".join(_SHADES[n] * 2 for n in row) for row in levels)
