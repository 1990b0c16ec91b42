"""Real answers recorded once, and given again without a model: for tests in which nothing is asked by accident."""

import difflib
import json
import threading
from pathlib import Path

from ...errors import AnswerError, ArgumentError, ReplayError
from .base import LanguageModel, Wrapper
from .codec import completion_from_dict, completion_to_dict, request_to_dict
from .request import Price

#: How much of a prompt is compared to find the nearest one, and how much is shown, in characters.
_COMPARED, _SHOWN = 2000, 500


class Recorded(Wrapper):
    """`model` with every answer added to the file `path`, one line of JSON an answer, to be given again by `Replayed`."""

    def __init__(self, model, path):
        super().__init__(model)
        self.path, self._lock = Path(path), threading.Lock()

    def steps(self, request):
        completion = yield request
        line = json.dumps({"model": self.identity, "request": request_to_dict(request),
                           "completion": completion_to_dict(completion)}, ensure_ascii=False)
        with self._lock, self.path.open("a", encoding="utf-8", errors="surrogatepass") as file:
            file.write(line + "\n")
        return completion


class Replayed(LanguageModel):
    """Gives the answers of a recording. A request that was not recorded is a ReplayError, which names the nearest one.

    Equal requests get their recorded answers in order, and the last of them from then on.

    >>> import tempfile
    >>> from retrograde.text.models import ScriptedLM
    >>> path = tempfile.mkdtemp() + "/answers.jsonl"
    >>> Recorded(ScriptedLM(["Yes."]), path)("Is 89 prime?")
    'Yes.'
    >>> Replayed(path)("Is 89 prime?")
    'Yes.'
    """

    price = Price(0.0, 0.0)

    def __init__(self, path):
        self.path, self._lock, self._answers, self._prompts = Path(path), threading.Lock(), {}, {}
        self.name = f"replay of {self.path.name}"
        for number, line in enumerate(self.path.read_text("utf-8", "surrogatepass").split("\n")[:-1], 1):
            try:
                entry = json.loads(line)
                completion, key = completion_from_dict(entry["completion"]), _key(entry["request"])
                prompt = entry["request"]["messages"][-1]["content"]
            except (ValueError, LookupError, TypeError, AttributeError, RecursionError, AnswerError) as error:
                raise ArgumentError(f"line {number} of {self.path} is not a recorded answer: {error}") from None
            self._answers.setdefault(key, []).append(completion)
            self._prompts[key] = prompt

    def complete(self, request):
        key = _key(request_to_dict(request))
        with self._lock:
            answers = self._answers.get(key)
            if answers:
                return answers.pop(0) if len(answers) > 1 else answers[0]
        raise ReplayError(self._miss(request))

    def _miss(self, request):
        prompt = request.messages[-1].content
        # The time that it takes to compare grows with the product of the lengths.
        prompts = {prompt[:_COMPARED]: prompt for prompt in self._prompts.values()}
        near = [prompts[found] for found in difflib.get_close_matches(prompt[:_COMPARED], prompts, n=1, cutoff=0.0)]
        hint = f"the nearest that it has is {near[0]!r:.{_SHOWN}}" if near else "it is empty"
        if near and near[0] == prompt:
            hint = "it has this message with other options or other messages before it"
        return f"{self.path} has no answer to {prompt!r:.{_SHOWN}}; {hint}. Record it again with Recorded(model, path)"


def _key(request):
    return json.dumps(request, sort_keys=True)
