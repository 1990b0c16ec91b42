"""A model whose answers are given, for tests and examples."""

import threading
import time
from collections.abc import Callable, Mapping

from ...errors import ArgumentError, DTypeError, ModelError
from .base import LanguageModel
from .request import Completion, Price


class ScriptedLM(LanguageModel):
    """Answers from a script, and keeps what it was asked in `requests`.

    The script is a list (one answer a call, in order), a dict (the answer of the first key that occurs in the prompt), or a
    function of the request. An answer is a string, a Completion, or an exception, which is raised.

    >>> model = ScriptedLM({"capital of France": "Paris", "capital of Peru": "Lima"})
    >>> model("What is the capital of Peru?")
    'Lima'
    """

    price, tells_logprobs = Price(0.0, 0.0), True

    def __init__(self, answers, *, name="scripted", seconds=0.0):
        if not isinstance(answers, (list, tuple, Mapping, Callable)):
            raise DTypeError(f"a script must be a list, a dict or a function, got {type(answers).__name__}; for the same answer to "
                             "everything write lambda request: answer")
        self.answers, self.name, self.seconds = answers, name, seconds
        self.requests = []
        self._lock = threading.Lock()
        # Answers that come in order go to calls that come in order.
        self.max_concurrency = 1 if isinstance(answers, (list, tuple)) else LanguageModel.max_concurrency

    def complete(self, request):
        with self._lock:
            position = len(self.requests)
            self.requests.append(request)
        answer = self._answer(request, position)
        if self.seconds:
            time.sleep(self.seconds)
        if isinstance(answer, BaseException):
            raise answer
        return answer if isinstance(answer, Completion) else self._completion(request, answer)

    def _answer(self, request, position):
        if callable(self.answers):
            return self.answers(request)
        if isinstance(self.answers, Mapping):
            for part, answer in self.answers.items():
                if part in request.prompt:
                    return answer
            raise ModelError(f"the script has no answer to {request.prompt!r}; its keys are {sorted(self.answers)}")
        if position >= len(self.answers):
            raise ModelError(f"the script has {len(self.answers)} answers, and this is call {position + 1}: {request.prompt!r}")
        return self.answers[position]

    def _completion(self, request, text):
        """Words stand in for tokens; the label that is answered is certain, as far as floats go."""
        if not isinstance(text, str):
            raise DTypeError(f"a scripted answer must be a string, a Completion or an exception, got {type(text).__name__}")
        if request.labels and text not in request.labels:
            raise ArgumentError(f"the scripted answer {text!r} is none of the labels {list(request.labels)}")
        logprobs = tuple(0.0 if label == text else -30.0 for label in request.labels)
        return Completion(text, len(request.prompt.split()), len(text.split()), self.seconds, logprobs=logprobs)

    def __getstate__(self):
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state):
        vars(self).update(state, _lock=threading.Lock())
