"""Text on the same graph as numbers: variables with roles, feedback as gradients, prompts trained like weights."""

from ..errors import (
    AnswerError,
    ArgumentError,
    BudgetError,
    CheckpointError,
    DTypeError,
    GraphError,
    InplaceError,
    MissingExtraError,
    ModelError,
    OutOfRangeError,
    ParseError,
    ReplayError,
    ShapeError,
    TransientModelError,
    UnsupportedError,
)
from .basics import Add, Split, Sum, add, split, sum
from .bridge import embed, logprobs, to_tensor
from .chat import Chat, chat
from .data import items
from .descent import TextualGradientDescent
from .edits import Patches, Rewrite
from .embedding import HashedWords
from .evaluate import Evaluation, evaluate
from .evaluators import exact_match, f1, fits_schema, matches
from .evidence.gate import Decision, Gate, compare
from .evidence.intervals import Interval, difference, mean_interval, wilson
from .evidence.power import items_needed, power, smallest_gain
from .evidence.validation import Sets, Validation, split_items
from .files import load, save
from .journal import Edit, Step
from .judge import VERDICT, judge
from .models import (
    Budget,
    Budgeted,
    Cached,
    Call,
    Completion,
    HTTPModel,
    LanguageModel,
    Ledger,
    Listener,
    LocalModel,
    Message,
    Price,
    Recorded,
    Replayed,
    Request,
    Retry,
    ScriptedLM,
    Trace,
    Usage,
    acomplete_all,
    complete_all,
    default_model,
    listening,
    tracing,
)
from .module import Module
from .optimizer import TextOptimizer
from .pareto import ParetoSearch
from .parsing import parse
from .preview import backward_cost
from .prompts import PROMPTS
from .report import terminal
from .report.page import page
from .report.spans import spans
from .report.tracking import log_to_mlflow
from .search import DiscreteSearch, FewShotSearch
from .shaping import branch, format, join, select, slice
from .spaces import Demonstrations, Options
from .training import Run, train
from .tuning.predictor import Predictor
from .tuning.proposals import Proposals, propose_instructions
from .tuning.tune import tune
from .tuning.tuned import Tuned
from .variable import Parameter, Variable
from .wording import feedback_style, using_prompts
