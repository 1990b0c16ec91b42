"""Language models for tests: rules in place of weights, and a list of what they were asked."""

import re
import threading
from typing import ClassVar

from retrograde.errors import ModelError
from retrograde.text.models.base import LanguageModel
from retrograde.text.models.request import Completion


class Ruled(LanguageModel):
    """Answers by a function of the request's messages; an answer that is an error is raised."""

    def __init__(self, rule, name="ruled", max_concurrency=4):
        self.rule, self.name, self.max_concurrency = rule, name, max_concurrency
        self.asked, self._lock = [], threading.Lock()

    def complete(self, request):
        with self._lock:
            self.asked.append(request)
        answer = self.rule(request)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, Completion):
            return answer
        return Completion(answer, len(request.prompt.split()), len(answer.split()))


def last(request):
    """The content of the last message."""
    return request.messages[-1].content


class Sentiment(Ruled):
    """A model that is right more often the better it is told what to do; a real one in miniature.

    It knows the words of its lexicon. Unless it is told "one word", it babbles; unless it is told of "negative", it says
    positive; demonstrations teach it the words that stand in them.
    """

    LEXICON: ClassVar = {"great": "positive", "awful": "negative", "fine": "positive", "bad": "negative"}

    def __init__(self):
        super().__init__(self._answer, "sentiment")

    def _answer(self, request):
        told = request.messages[0].content.lower()
        known = dict(self.LEXICON)
        turns = request.messages[1:]
        for said, answer in zip(turns[::2], turns[1::2], strict=False):
            known.update(dict.fromkeys(re.findall(r"\w+", said.content.lower()), answer.content))
        found = [known[word] for word in re.findall(r"\w+", last(request).lower()) if word in known]
        label = found[-1] if found else "positive"
        label = label if "negative" in told else "positive"
        return label if "one word" in told else f"I think it is {label}"


def failing(message="cut"):
    """An error as models raise it."""
    return ModelError(message)
