"""Figures as `data:` addresses, so that a page that shows them is one file."""

import base64
import io

import numpy as np

from ..extras import optional

_INK, _MUTED, _LINE = "#1f2430", "#6b7280", "#e5e7eb"
_BLUE, _ORANGE = "#2f5fd0", "#e07a2f"
_STYLE = {
    "font.size": 10, "axes.edgecolor": _LINE, "axes.labelcolor": _MUTED, "axes.titlecolor": _INK, "axes.titlesize": 11,
    "axes.titleweight": "bold", "axes.titlelocation": "left", "axes.titlepad": 10, "axes.spines.top": False,
    "axes.spines.right": False, "axes.grid": True, "grid.color": _LINE, "grid.linewidth": 0.8, "axes.axisbelow": True,
    "xtick.color": _MUTED, "ytick.color": _MUTED, "xtick.major.size": 0, "ytick.major.size": 0, "legend.frameon": False,
    "lines.linewidth": 2, "lines.solid_capstyle": "round",
}


def curves(losses, held_out_losses, accuracies, held_out_accuracies):
    """Loss and accuracy from epoch to epoch, beside each other."""
    with _styled():
        figure = _figure(9.6, 3.4)
        left, right = figure.subplots(1, 2)
        epochs = np.arange(1, len(losses) + 1)
        for axes, title, pairs in (
            (left, "Loss", (losses, held_out_losses)), (right, "Accuracy", (accuracies, held_out_accuracies)),
        ):
            for numbers, name, colour in zip(pairs, ("training", "held out"), (_BLUE, _ORANGE), strict=True):
                axes.plot(epochs, numbers, color=colour, label=name)
                axes.plot(epochs[-1:], numbers[-1:], "o", color=colour, markersize=5)
            axes.set(title=title, xlabel="epoch")
            axes.xaxis.get_major_locator().set_params(integer=True)
            axes.margins(x=0.02)
        left.set_yscale("log")
        left.yaxis.get_major_locator().set_params(subs=(1, 2, 5))
        left.minorticks_off()
        left.yaxis.set_major_formatter("{x:g}")
        right.yaxis.set_major_formatter(lambda v, _: f"{v:.0%}" if round(v * 100, 6).is_integer() else f"{v:.1%}")
        low = min(*accuracies, *held_out_accuracies)
        right.set_ylim(max(0.0, low - 0.03 * (1 - low) - 0.01), 1.003)
        left.legend(labelcolor=_INK)
        return _address(figure)


def confusion(counts):
    """How often each class (row) was read as each class (column): `counts` as a matrix with numbers."""
    counts = np.asarray(counts)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    is_right = np.eye(len(counts), dtype=bool)
    with _styled():
        figure = _figure(5.2, 5.0)
        axes = figure.subplots()
        axes.imshow(_coloured(shares, is_right), aspect="equal")
        for (i, j), count in np.ndenumerate(counts):
            if count:
                colour = "white" if shares[i, j] > (0.45 if is_right[i, j] else 0.15) else _INK
                axes.text(j, i, str(count), ha="center", va="center", color=colour, fontsize=9.5,
                          fontweight="normal" if is_right[i, j] else "bold")
        ticks = range(len(counts))
        axes.set(xlabel="read as", ylabel="is", xticks=ticks, yticks=ticks)
        axes.set_xticks(np.arange(-0.5, len(counts)), minor=True)
        axes.set_yticks(np.arange(-0.5, len(counts)), minor=True)
        axes.grid(visible=False)
        axes.grid(which="minor", color="white", linewidth=2)
        axes.tick_params(which="minor", length=0)
        axes.spines[:].set_visible(False)
        return _address(figure)


def _coloured(shares, is_right):
    """Blue for what is right, orange for what is not, stronger where there is more; rare mistakes are still seen."""
    strength = np.where(is_right, shares, np.where(shares > 0, np.minimum(0.25 + 2 * shares, 1), 0))[..., None]
    ends = np.where(is_right[..., None], _rgb(_BLUE), _rgb(_ORANGE))
    return _rgb("#f3f4f6") * (1 - strength) + ends * strength


def _rgb(colour):
    return np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255


def tile(image):
    """A small picture (height, width) from 0 to 1, dark on light, one pixel an element."""
    buffer = io.BytesIO()
    optional("matplotlib.image", "demo").imsave(buffer, 1 - np.asarray(image), cmap="gray", vmin=0, vmax=1, format="png")
    return _encoded(buffer)


def _styled():
    return optional("matplotlib", "demo").rc_context(_STYLE)


def _figure(width, height):
    return optional("matplotlib.figure", "demo").Figure(figsize=(width, height), layout="constrained")


def _address(figure):
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=180)
    return _encoded(buffer)


def _encoded(buffer):
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()
