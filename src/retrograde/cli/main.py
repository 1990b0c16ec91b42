"""The command line: what can be asked for, and one clear line for what cannot."""

import argparse
import os
import re
import sys
from importlib.metadata import version

from ..errors import RetrogradeError
from . import demo, finetuning, run, serving, tune, writing
from .arguments import add_chat, add_demo, add_finetune, add_generate, add_run, add_serve, add_tune
from .options import FinetuneOptions, Options, RunOptions, ServingOptions, TuneOptions, WritingOptions

#: Of the last two a shell says the same: what ended a process by an interrupt, and by a pipe that nobody reads.
_USAGE, _FAILED, _INTERRUPTED, _UNREAD = 2, 1, 130, 141
_COMMANDS = {"demo": (demo.run, Options), "tune": (tune.run, TuneOptions), "run": (run.run, RunOptions),
             "finetune": (finetuning.run, FinetuneOptions),
             "generate": (writing.generate, WritingOptions), "chat": (writing.chat, WritingOptions),
             "serve": (serving.serve, ServingOptions)}
#: Arguments that have no option, and those whose options are called otherwise.
_BY_PLACE, _OPTIONS = ("data", "prompt", "program", "words"), {"targets": "target", "learning_rate": "lr"}


def main(argv=None):
    """Run the command with the arguments `argv`, by default those of the process; returns the exit code."""
    for stream in (sys.stdout, sys.stderr):
        # What the encoding of a terminal or a pipe lacks is shown in another way, and ends no run.
        getattr(stream, "reconfigure", lambda **options: None)(errors="backslashreplace")
    arguments = _parser().parse_args(argv)
    if arguments.command is None:
        _parser().print_help()
        return 0
    fields = {name: value for name, value in vars(arguments).items() if name != "command"}
    command, options = _COMMANDS[arguments.command]
    try:
        return _flushed(command(options(**fields)))
    except RetrogradeError as error:
        return _said(f"retrograde: {by_option(str(error), fields)}", _FAILED)
    except BrokenPipeError:
        return _unread()
    except OSError as error:
        return _said(f"retrograde: {error.filename or fields.get('output')}: {error.strerror}", _FAILED)
    except KeyboardInterrupt:
        return _said("retrograde: interrupted", _INTERRUPTED)


def _flushed(code):
    """The code; what cannot be written to the output is an error here, and not while the process ends."""
    print(end="", flush=True)
    return code


def by_option(message, fields):
    """A message whose names of arguments in Python are those of options: `fields` are the names of what a command takes."""
    options = {name: f"--{str(_OPTIONS.get(name, name)).replace('_', '-')}" for name in fields if name not in _BY_PLACE}
    message = re.sub(r"`(\w+)` of load", lambda found: options.get(found[1], found[0]), message)
    message = re.sub(r"^(\w+)(?= must\b| is\b)", lambda found: options.get(found[1], found[0]), message)
    # Words with a line below them are names of arguments wherever they stand.
    return re.sub(r"(?<![\w'\"./-])[a-z]+(_[a-z]+)+(?![\w'\"/=])", lambda found: options.get(found[0], found[0]), message)


def _unread():
    """The exit code where nobody reads the output any more; what is still to be written goes nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            os.dup2(nowhere, stream.fileno())
        except (AttributeError, OSError, ValueError):  # it is no file, as in a notebook
            continue
    os.close(nowhere)
    return _UNREAD


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
    add_demo(commands.add_parser(
        "demo", help="train a network on handwritten digits and report on it", allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter, description=demo.__doc__,
        epilog="examples:\n  retrograde demo\n  retrograde demo --model cnn --epochs 12\n"
               "  retrograde demo --seed 7 --output runs/seven"))
    add_tune(commands.add_parser(
        "tune", help="tune the prompt of a task on a language model, offline or behind a server", allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter, description=tune.__doc__,
        epilog="examples:\n  retrograde tune\n  retrograde tune --task sentiment --seed 1 --output runs/sentiment\n"
               "  retrograde tune --task mail.csv --prompt 'Sort the mail.'\n  retrograde tune --resume\n"
               "  retrograde tune --task items.jsonl --model gpt-4.1-mini --calls 600 --json\n"
               "  retrograde tune --task items.jsonl --model small --base-url http://localhost:8000/v1 --labels-by guided_choice\n"
               "  retrograde tune --task items.jsonl --model small \\\n"
               "      --base-url https://mine.openai.azure.com/openai/deployments/small \\\n"
               "      --header-env api-key=AZURE_KEY --query api-version=2024-10-21"))
    add_run(commands.add_parser(
        "run", help="start a program as several processes that train together", allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter, description=run.__doc__,
        epilog="examples:\n  retrograde run -n 4 train.py --epochs 10\n  retrograde run -n 2 -m my_package.train"))
    add_finetune(commands.add_parser(
        "finetune", help="fine-tune a language model from a file on texts of your own", allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter, description=finetuning.__doc__,
        epilog="examples:\n  retrograde finetune --model smollm2.gguf mail.jsonl --out runs/mail\n"
               "  retrograde chat --model smollm2.gguf --adapter runs/mail"))
    for name, add, help_, example in (
            ("generate", add_generate, "continue a text by a language model from a file",
             'generate --model smollm2.gguf "The capital of France is"'),
            ("chat", add_chat, "answer messages by a language model from a file", "chat --model smollm2.gguf --temperature 0.7")):
        add(commands.add_parser(name, help=help_, allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter,
                                description=writing.__doc__, epilog=f"example:\n  retrograde {example}"))
    add_serve(commands.add_parser(
        "serve", help="serve a language model from a file as OpenAI's server does", allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter, description=serving.__doc__,
        epilog="example:\n  retrograde serve --model smollm2.gguf --port 8000"))
    return parser
