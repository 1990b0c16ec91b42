"""The arguments of the commands, and what their values may be."""

import argparse
from pathlib import Path

from ..data import TASKS
from ..extras import engines
from ..text.models.choices import KINDS
from ..text.tuning.metrics import METRICS
from .options import MODELS, FinetuneOptions, Options, ServingOptions, TuneOptions, WritingOptions


def add_demo(parser):
    """The arguments of `retrograde demo`."""
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
    training.add_argument("--seed", type=_seed, default=usual.seed, metavar="N",
                          help="what all random numbers come from; the same seed gives the same network (default: %(default)s)")
    training.add_argument("--eager", action="store_true", help="run ops one by one instead of compiling the training step")
    _add_results(parser, usual, "weights.safetensors and report.html", "the accuracy")


def add_finetune(parser):
    """The arguments of `retrograde finetune`."""
    usual = FinetuneOptions(Path(), Path(), Path())
    parser.add_argument("data", type=Path, metavar="DATA", help="a file of JSON lines")
    _add_model(parser)
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="where the adapter and checkpoints are written")
    adapters = parser.add_argument_group("adapters")
    adapters.add_argument("--rank", type=_whole(1, 4096), default=usual.rank, metavar="N",
                          help="numbers between the two matrices of an adapter (default: %(default)s)")
    adapters.add_argument("--alpha", type=_positive, default=usual.alpha, metavar="F",
                          help="adapters are multiplied by this, divided by the rank (default: %(default)s)")
    adapters.add_argument("--dropout", type=_part, default=usual.dropout, metavar="P",
                          help="the chance that an input of an adapter is dropped (default: %(default)s)")
    adapters.add_argument("--target", action="append", dest="targets", metavar="NAME",
                          help="a layer that is adapted, such as q_proj; may be repeated (default: all but the head)")
    adapters.add_argument("--quantised", choices=("int8", "q5", "q4"),
                          help="quantise the frozen weights; those of a GGUF file stay as they are anyway")
    training = parser.add_argument_group("training")
    training.add_argument("--epochs", type=_whole(1, 100_000), default=usual.epochs, metavar="N",
                          help="passes over the texts (default: %(default)s)")
    training.add_argument("--batch-size", type=_whole(1, 65536), default=usual.batch_size, metavar="N",
                          help="rows of a batch, each of several texts (default: %(default)s)")
    training.add_argument("--length", type=_whole(2, 10**7), metavar="N",
                          help="tokens of a row, and of the longest text (default: 512, or what the model was made for if that is "
                          "less)")
    training.add_argument("--accumulate", type=_whole(1, 65536), default=usual.accumulate, metavar="N",
                          help="batches that make one step (default: %(default)s)")
    training.add_argument("--lr", type=_positive, default=usual.lr, metavar="RATE",
                          help="the greatest learning rate of AdamW (default: %(default)s)")
    training.add_argument("--held-out", type=_part, default=usual.held_out, metavar="P",
                          help="the part of the texts that is evaluated and not learned (default: %(default)s)")
    training.add_argument("--save-every", type=_whole(1, 10**9), default=usual.save_every, metavar="N",
                          help="steps between checkpoints (default: %(default)s)")
    training.add_argument("--checkpoint-layers", action="store_true",
                          help="compute layers again on the way back: slower, and less memory")
    training.add_argument("--seed", type=_seed, default=usual.seed, metavar="N",
                          help="the same seed gives the same adapter (default: %(default)s)")
    parser.add_argument("--quiet", action="store_true", help="show nothing but errors")


def add_tune(parser):
    """The arguments of `retrograde tune`."""
    usual = TuneOptions()
    _add_what(parser.add_argument_group("what is tuned"), usual)
    _add_models(parser.add_argument_group("models"), usual)
    how = parser.add_argument_group("search")
    how.add_argument("--steps", type=_whole(1, 10_000), default=usual.steps, metavar="N",
                     help="steps of the optimizer; it stops sooner if nothing is left to gain (default: %(default)s)")
    how.add_argument("--width", type=_whole(1, 1000), metavar="N",
                     help="candidates that a step compares (default: 16 for a task that comes along, 8 for your own)")
    how.add_argument("--demonstrations", type=_whole(0, 64), default=usual.demonstrations, metavar="N",
                     help="the most demonstrations in the prompt (default: %(default)s)")
    how.add_argument("--level", type=_share, default=usual.level, metavar="P",
                     help="the probability that a run in which nothing is better changes anything (default: %(default)s)")
    how.add_argument("--strict", action="store_true",
                     help="keep to that for scores of any distribution from 0 to 1; larger gains are needed to be seen")
    how.add_argument("--seed", type=_seed, default=usual.seed, metavar="N",
                     help="what the search draws from; the same seed finds the same prompt (default: %(default)s)")
    how.add_argument("--resume", action="store_true", help="go on with the run in the folder, with the same settings")
    limits = parser.add_argument_group("limits, tests included, which are never passed")
    limits.add_argument("--calls", type=_whole(1, 10**9), default=usual.calls, metavar="N",
                        help="calls of models (default: %(default)s)")
    limits.add_argument("--tokens", type=_whole(1, 10**15), metavar="N", help="tokens read and written (default: no limit)")
    limits.add_argument("--cost", type=_positive, metavar="MONEY", help="money, by --price (default: no limit)")
    _add_results(parser, usual, "prompt.json, checkpoint.json and report.html", "the held-out accuracy before and after")
    parser.add_argument("--json", action="store_true", help="print the result as one JSON object, and nothing else")


def add_run(parser):
    """The arguments of `retrograde run`."""
    parser.add_argument("-n", dest="count", type=_whole(1, 100_000), required=True, metavar="N", help="how many processes")
    parser.add_argument("-m", dest="module", action="store_true", help="the program is the name of a module")
    parser.add_argument("program", help="a file of Python's, or a module with -m")
    parser.add_argument("words", nargs=argparse.REMAINDER, metavar="...", help="arguments of the program")


def add_generate(parser):
    """The arguments of `retrograde generate`."""
    parser.add_argument("prompt", metavar="TEXT", help='what is continued; "-" reads it from the standard input')
    _add_writing(parser)
    parser.add_argument("--ignore-end", action="store_true", help="write on after the token that ends a text")


def add_chat(parser):
    """The arguments of `retrograde chat`."""
    parser.add_argument("--system", metavar="TEXT", help="a message of the system, before all others")
    _add_writing(parser)


def add_serve(parser):
    """The arguments of `retrograde serve`."""
    usual = ServingOptions(Path())
    _add_writer(parser)
    parser.add_argument("--name", metavar="NAME", help="what requests call the model (default: the name of the file)")
    parser.add_argument("--host", default=usual.host, help="the address to listen at; others than this machine reach it only if it "
                        "is another one (default: %(default)s)")
    parser.add_argument("--port", type=_whole(1, 65535), default=usual.port, metavar="N", help="(default: %(default)s)")
    parser.add_argument("--waiting", type=_whole(1, 10**6), default=usual.waiting, metavar="N",
                        help="texts that wait while eight are written; more are refused (default: %(default)s)")
    parser.add_argument("--key-env", metavar="VARIABLE", help="the variable of the environment with the key that requests need")


def _add_model(parser):
    parser.add_argument("--model", type=Path, required=True, metavar="PATH", help="a GGUF file, or a folder of Hugging Face's")


def _add_writer(parser):
    """What a model that writes is loaded from."""
    _add_model(parser)
    parser.add_argument("--adapter", type=Path, metavar="FOLDER", help="what `retrograde finetune` or peft has written")
    parser.add_argument("--context", type=_whole(2, 10**7), metavar="N", help="the tokens that are read, of a prompt and of "
                        "what is written after it (default: at most 4096)")
    parser.add_argument("--activations", choices=["int8"], help="multiply quantised weights by activations that are rounded to 8 "
                        "bits, which is faster and a little less exact (default: floats)")


def _add_writing(parser):
    usual = WritingOptions(Path())
    _add_writer(parser)
    parser.add_argument("--max-tokens", type=_whole(1, 10**6), default=usual.max_tokens, metavar="N",
                        help="the most tokens that are written (default: %(default)s)")
    parser.add_argument("--temperature", type=_temperature, metavar="T",
                        help="0 takes the likeliest token (default: the model's own, or 0)")
    parser.add_argument("--top-k", type=_whole(0, 10**7), metavar="N", help="draw from so many of the likeliest tokens")
    parser.add_argument("--top-p", type=_share, metavar="P", help="draw from the likeliest tokens that together have this chance")
    parser.add_argument("--min-p", type=_min_p, metavar="P", help="draw from tokens with this part of the chance of the likeliest")
    parser.add_argument("--repetition-penalty", type=_positive, metavar="F", help="above 1, tokens that were there are less likely")
    parser.add_argument("--stop", action="append", metavar="TEXT", help="end before this text; may be repeated")
    parser.add_argument("--seed", type=_seed, default=usual.seed, metavar="N",
                        help="the same seed gives the same text (default: %(default)s)")


def _add_what(what, usual):
    what.add_argument("--task", default=usual.task, metavar="TASK",
                      help=f"{', '.join(TASKS)}, which come along, or a file: .jsonl, .csv or .tsv (default: %(default)s)")
    what.add_argument("--prompt", metavar="TEXT",
                      help="the instruction to start from, or a whole message with {places} for the inputs (default: a plain one)")
    what.add_argument("--layout", metavar="TEXT",
                      help="the message that holds the inputs, with {places} (default: made from the columns)")
    what.add_argument("--inputs", type=lambda text: text.split(","), metavar="A,B",
                      help='the columns of the inputs (default: "input", or all but the answer)')
    what.add_argument("--answer", metavar="COLUMN",
                      help='the column of the answer (default: "label", "output", "answer" or "target")')
    what.add_argument("--metric", choices=METRICS, help='how answers are scored (default: "labels" where the answer is a "label", '
                      'else "exact", or "judge" with --judge)')
    what.add_argument("--criteria", metavar="TEXT", help="what a judge looks for")


def _add_models(models, usual):
    models.add_argument("--model", metavar="NAME", help="a model's name at --base-url, or a .gguf file (default: the local model)")
    models.add_argument("--base-url", metavar="URL", help="an OpenAI-compatible server (default: OpenAI's own)")
    models.add_argument("--key-env", metavar="VARIABLE",
                        help="the variable of the environment that holds the key (default: RETROGRADE_API_KEY, or OpenAI's own)")
    models.add_argument("--header", dest="headers", action=_Pairs, default={}, metavar="NAME=VALUE",
                        help="a header; may be repeated")
    models.add_argument("--header-env", action=_Pairs, default={}, metavar="NAME=VARIABLE",
                        help="a header whose value is in the environment, such as api-key=AZURE_KEY; may be repeated")
    models.add_argument("--query", action=_Pairs, default={}, metavar="NAME=VALUE",
                        help="what follows the address; may be repeated")
    models.add_argument("--labels-by", choices=KINDS, default=usual.labels_by,
                        help="how the server is asked for one of several labels (default: %(default)s)")
    models.add_argument("--price", type=_price, metavar="READ,WRITTEN", help="what a million tokens cost")
    models.add_argument("--temperature", type=_temperature, metavar="T", help="of the calls (default: the model's own)")
    models.add_argument("--max-tokens", type=_whole(1, 10**6), metavar="N", help="the longest answer (default: the model's own)")
    models.add_argument("--judge", metavar="NAME", help="a model that judges answers, at the same server or a .gguf file")
    models.add_argument("--writer", metavar="NAME", help='a model that proposes instructions; "none" for nobody (default: '
                        "the model, if it was tuned to follow instructions)")
    models.add_argument("--proposals", type=_whole(0, 1000), default=usual.proposals, metavar="N",
                        help="how many instructions it proposes for a task of your own (default: %(default)s)")
    models.add_argument("--engine", choices=sorted(engines), help="what runs models of this machine: then --model is a .gguf file, "
                        'or for "retrograde" also a folder (default: llama.cpp)')
    models.add_argument("--threads", type=_whole(1, 1024), metavar="N",
                        help="threads of a local model; they change the speed alone (default: one for each idle processor)")


class _Pairs(argparse.Action):
    """Gathers NAME=VALUE pairs in a dictionary."""

    def __call__(self, parser, namespace, values, option_string=None):
        name, is_pair, value = str(values).partition("=")
        if not is_pair or not name:
            parser.error(f"argument {option_string}: must be NAME=VALUE, got {values!r}")
        setattr(namespace, self.dest, {**getattr(namespace, self.dest), name: value})


def _add_results(parser, usual, files, number):
    results = parser.add_argument_group("results")
    results.add_argument("--output", type=Path, default=usual.output, metavar="DIR",
                         help=f"folder for {files} (default: %(default)s)")
    results.add_argument("--no-report", dest="report", action="store_false", help="write no HTML report")
    results.add_argument("--quiet", action="store_true", help=f"print nothing but {number}")


def _whole(least, most):
    """A reader of integers from `least` to `most`."""

    def read(text):
        try:
            number = int(text)
        except ValueError:
            number = None
        if number is None or not least <= number <= most:
            raise argparse.ArgumentTypeError(f"must be a whole number from {least} to {most}, got {text!r}")
        return number

    return read


def _price(text):
    try:
        read, written = map(float, text.split(","))
    except ValueError:
        read = written = -1.0
    if not 0 <= min(read, written) < float("inf"):
        raise argparse.ArgumentTypeError(f"must be two numbers such as 0.5,1.5, got {text!r}")
    return read, written


def _number(holds, told):
    """A reader of numbers for which `holds`, which is `told` in words."""

    def read(text):
        try:
            number = float(text)
        except ValueError:
            number = float("nan")
        if not holds(number):
            raise argparse.ArgumentTypeError(f"must be a number {told}, got {text!r}")
        return number

    return read


_positive = _number(lambda x: 0 < x < float("inf"), "above 0, and finite")
_part = _number(lambda x: 0 <= x < 1, "of at least 0 and less than 1")
_share = _number(lambda x: 0 < x <= 1, "above 0 and at most 1")
_min_p = _number(lambda x: 0 <= x <= 1, "from 0 to 1")
_temperature = _number(lambda x: 0 <= x < float("inf"), "of at least 0, and finite")
_seed = _whole(0, 2**64 - 1)
