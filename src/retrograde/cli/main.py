"""The command line: what can be asked for, and one clear line for what cannot."""

import argparse
import sys
from importlib.metadata import version
from pathlib import Path

from ..errors import RetrogradeError
from . import demo
from .options import MODELS, Options

_USAGE, _FAILED, _INTERRUPTED = 2, 1, 130


def main(argv=None):
    """Run the command with the arguments `argv`, by default those of the process; returns the exit code."""
    arguments = _parser().parse_args(argv)
    if arguments.command is None:
        _parser().print_help()
        return 0
    fields = {name: value for name, value in vars(arguments).items() if name != "command"}
    try:
        return demo.run(Options(**fields))
    except RetrogradeError as error:
        return _said(f"retrograde: {error}", _FAILED)
    except OSError as error:
        return _said(f"retrograde: {error.filename or fields['output']}: {error.strerror}", _FAILED)
    except KeyboardInterrupt:
        return _said("retrograde: interrupted", _INTERRUPTED)


def _said(line, code):
    print(line, file=sys.stderr)
    return code


class _Parser(argparse.ArgumentParser):
    """Says in one line what is wrong with an argument."""

    def error(self, message):
        self.exit(_USAGE, f"{self.prog}: {message} (see {self.prog} --help)\n")


class _Command(_Parser):
    """Complains of unknown arguments itself, so that the line names its own help."""

    def parse_known_args(self, args=None, namespace=None):
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown


def _parser():
    parser = _Parser(prog="retrograde", description="Automatic differentiation for Python.", allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"retrograde {version('retrograde')}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands", parser_class=_Command)
    _add_demo(commands.add_parser(
        "demo", help="train a network on handwritten digits and report on it", allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter, description=demo.__doc__,
        epilog="examples:\n  retrograde demo\n  retrograde demo --model cnn --epochs 12\n"
               "  retrograde demo --seed 7 --output runs/seven"))
    return parser


def _add_demo(parser):
    usual = Options()
    training = parser.add_argument_group("training")
    training.add_argument("--model", choices=MODELS, default=usual.model,
                          help="a perceptron or a convolutional network (default: %(default)s)")
    training.add_argument("--hidden", type=_whole(1, 65536), default=usual.hidden, metavar="N",
                          help="units of the first hidden layer (default: %(default)s)")
    training.add_argument("--epochs", type=_whole(1, 100_000), metavar="N",
                          help="passes over the training images (default: 25 for mlp, 10 for cnn)")
    training.add_argument("--batch-size", type=_whole(1, 65536), default=usual.batch_size, metavar="N",
                          help="images per step (default: %(default)s)")
    training.add_argument("--lr", type=_positive, default=usual.lr, metavar="RATE",
                          help="learning rate of AdamW at the start; it falls along a cosine (default: %(default)s)")
    training.add_argument("--seed", type=_whole(0, 2**63), default=usual.seed, metavar="N",
                          help="what all random numbers come from; the same seed gives the same network (default: %(default)s)")
    training.add_argument("--eager", action="store_true", help="run ops one by one instead of compiling the training step")
    results = parser.add_argument_group("results")
    results.add_argument("--output", type=Path, default=usual.output, metavar="DIR",
                         help="folder for weights.safetensors and report.html (default: %(default)s)")
    results.add_argument("--no-report", dest="report", action="store_false", help="write no HTML report")
    results.add_argument("--quiet", action="store_true", help="print nothing but the accuracy")


def _whole(least, most):
    def whole(text):
        try:
            number = int(text)
        except ValueError:
            number = None
        if number is None or not least <= number <= most:
            raise argparse.ArgumentTypeError(f"must be a whole number from {least} to {most}, got {text!r}")
        return number

    return whole


def _positive(text):
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"must be a number above 0, got {text!r}")
    return number
