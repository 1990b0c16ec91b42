"""Language models: over HTTP, in this process, or scripted; and what goes around them."""

from .base import LanguageModel, Wrapper
from .batch import acomplete_all, complete_all, label_logprobs_all
from .budget import Budget, Budgeted
from .cached import Cached
from .default import default_model
from .http_model import HTTPModel
from .ledger import Ledger
from .listeners import Listener, listening
from .local import LocalModel
from .replay import Recorded, Replayed
from .request import Completion, Message, Price, Request
from .retry import Retry
from .scripted import ScriptedLM
from .trace import Call, Trace, calls_for, tracing
from .usage import Totals, Usage
