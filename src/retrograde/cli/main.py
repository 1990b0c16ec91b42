"""The command line: what can be asked for, and one clear line for what cannot."""

import argparse
import sys
from importlib.metadata import version
from pathlib import Path

from ..data import TASKS
from ..errors import RetrogradeError
from . import demo, tune
from .options import MODELS, Options, TuneOptions

_USAGE, _FAILED, _INTERRUPTED = 2, 1, 130
_COMMANDS = {"demo": (demo.run, Options), "tune": (tune.run, TuneOptions)}


def main(argv=None):
    """Run the command with the arguments `argv`, by default those of the process; returns the exit code."""
    arguments = _parser().parse_args(argv)
    if arguments.command is None:
        _parser().print_help()
        return 0
    fields = {name: value for name, value in vars(arguments).items() if name != "command"}
    run, options = _COMMANDS[arguments.command]
    try:
        return run(options(**fields))
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
    _add_tune(commands.add_parser(
        "tune", help="tune the prompt of a task on a local language model, offline", allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter, description=tune.__doc__,
        epilog="examples:\n  retrograde tune\n  retrograde tune --task sentiment --seed 1 --output runs/sentiment\n"
               "  retrograde tune --data mail.csv --prompt 'Sort the mail.'\n  retrograde tune --resume"))
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
    _add_results(parser, usual, "weights.safetensors and report.html", "the accuracy")


def _add_tune(parser):
    usual = TuneOptions()
    what = parser.add_argument_group("what is tuned")
    source = what.add_mutually_exclusive_group()
    source.add_argument("--task", choices=TASKS, default=usual.task, help="a task that comes along (default: %(default)s)")
    source.add_argument("--data", type=Path, metavar="FILE",
                        help="a task of your own: CSV with the columns text and label, or JSON lines with these keys")
    what.add_argument("--prompt", metavar="TEXT", help="the instruction to start from (default: a plain one)")
    how = parser.add_argument_group("search")
    how.add_argument("--steps", type=_whole(1, 10_000), default=usual.steps, metavar="N",
                     help="steps of the optimizer; it stops sooner if nothing is left to gain (default: %(default)s)")
    how.add_argument("--width", type=_whole(1, 1000), default=usual.width, metavar="N",
                     help="candidates that a step compares (default: %(default)s)")
    how.add_argument("--demonstrations", type=_whole(1, 64), default=usual.demonstrations, metavar="N",
                     help="the most demonstrations in the prompt (default: %(default)s)")
    how.add_argument("--budget", type=_whole(1, 10**9), default=usual.budget, metavar="CALLS",
                     help="the most calls of the model, those of the tests included (default: %(default)s)")
    how.add_argument("--seed", type=_whole(0, 2**63), default=usual.seed, metavar="N",
                     help="what the search draws from; the same seed finds the same prompt (default: %(default)s)")
    how.add_argument("--threads", type=_whole(1, 1024), metavar="N",
                     help="threads of the model; they change the speed alone (default: as many as there are idle processors)")
    how.add_argument("--resume", action="store_true", help="go on with the run in the folder, with the same settings")
    _add_results(parser, usual, "prompt.json, checkpoint.json and report.html", "the held-out accuracy before and after")


def _add_results(parser, usual, files, number):
    results = parser.add_argument_group("results")
    results.add_argument("--output", type=Path, default=usual.output, metavar="DIR",
                         help=f"folder for {files} (default: %(default)s)")
    results.add_argument("--no-report", dest="report", action="store_false", help="write no HTML report")
    results.add_argument("--quiet", action="store_true", help=f"print nothing but {number}")


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
