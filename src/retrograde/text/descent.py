"""Textual gradient descent: a model writes a new text from the feedback on the old one, and the gate decides."""

from ..errors import ArgumentError, BudgetError, DTypeError, ModelError, ParseError, ReplayError
from .conversation import shortened
from .data import as_text, places
from .edits import Rewrite
from .models.batch import complete_all
from .models.request import Request
from .models.trace import calls_for
from .optimizer import TextOptimizer, edit_of
from .tags import escaped, nonce
from .wording import prompt

#: How much of the feedback, and of earlier texts, is shown, in characters; how many rejected texts are.
SHOWN, REJECTED = 12_000, 4


class TextualGradientDescent(TextOptimizer):
    """Asks `lm` for a better text of each parameter that has feedback, and keeps it if it passes the gate.

    momentum     how many earlier texts, with their feedback, are shown to the model
    constraints  rules for the new text: sentences, which are told to the model, and functions of the text that return a
                 truth, or a sentence that says what is wrong, which are checked
    edits        `text.Rewrite` or `text.Patches`: whether the text is written anew or edited
    retries      how often a reply that cannot be used is sent back with what was wrong
    validate     scores of the validation items under the current parameters; `level`, `steps` and `strict` are those of
                 the gate: see TextOptimizer
    options      of the calls, such as temperature

    The {places} of a text stay, and no new ones come. Texts that the gate rejected are shown to the next proposal.

    >>> from retrograde.text.models import ScriptedLM
    >>> prompt = rg.text.Parameter("Answer.", role="system prompt")
    >>> optimizer = rg.text.TextualGradientDescent([prompt], ScriptedLM(["<NEW>Answer in one word.</NEW>"]))
    >>> prompt.append_grad(rg.text.Variable("too long", role="feedback to system prompt"))
    >>> print(optimizer.step())
    step 1: accepted (no validation was asked for)
    >>> prompt.data
    'Answer in one word.'
    """

    def __init__(self, params, lm, *, momentum=0, constraints=(), edits=Rewrite, retries=2, validate=None, level=0.05,
                 steps=None, strict=False, **options):
        self.lm, self.options = lm, options
        super().__init__(params, {"momentum": momentum, "constraints": constraints, "edits": edits, "retries": retries},
                         validate, level, steps, strict)

    def _check(self, options):
        for name in ("momentum", "retries"):
            if options[name] < 0:
                raise ArgumentError(f"{name} must be at least 0, got {options[name]}")
        for parameter in options["params"]:
            if not isinstance(parameter.data, str):
                raise DTypeError(f"{type(self).__name__} writes texts, and {parameter.role!r} holds "
                                 f"{type(parameter.data).__name__}; use FewShotSearch for demonstrations")

    def _propose(self):
        asked = [(parameter, group) for group in self.param_groups for parameter in group["params"] if feedback_of(parameter)]
        texts = self._written(asked)
        edits = [(p, edit_of(p, p.data if new is None else new)) for (p, _), new in zip(asked, texts, strict=True)]
        for parameter, group in asked:
            self._remember(parameter, group["momentum"])
        return edits

    def _written(self, asked):
        """A new text for each (parameter, group), None where the model gave none that can be used; asked all at once."""
        self._faults = []
        codes = [nonce(parameter.data, feedback_of(parameter)) for parameter, _ in asked]
        talks = [self._question(parameter, group, code) for (parameter, group), code in zip(asked, codes, strict=True)]
        found, open_places = [None] * len(asked), list(range(len(asked)))
        for attempt in range(1 + max([group["retries"] for _, group in asked], default=0)):
            with calls_for("optimizer"):
                answers = complete_all(self.lm, [Request.of(talks[i], **self.options) for i in open_places])
            still = []
            for i, answer in zip(open_places, answers, strict=True):
                (parameter, group), fault = asked[i], ""
                if isinstance(answer, (BudgetError, ReplayError)):
                    raise answer
                if isinstance(answer, ModelError):
                    self._faults.append(str(answer))
                    continue
                try:
                    found[i] = self._read(answer.text, parameter, group, codes[i])
                except ParseError as error:
                    fault = str(error)
                if fault and attempt == group["retries"]:
                    self._faults.append(fault)
                elif fault:
                    talks[i] = [*talks[i], ("assistant", answer.text or " "), ("user", prompt("complaint", fault=fault))]
                    still.append(i)
            open_places = still
            if not open_places:
                break
        return found

    def _question(self, parameter, group, code):
        state = self.remembered(parameter)
        # Each text is shortened by itself: of a whole, tags would be cut off.
        earlier, tried = state.get("momentum", ()), state.get("rejected", [])[-REJECTED:]
        fit = lambda text, count: escaped(shortened(text, SHOWN // count))
        tagged = lambda text, count: f"<TEXT-{code}>\n{fit(text, count)}\n</TEXT-{code}>"
        both = 2 * len(earlier)
        history = "\n\n".join(f"{tagged(text, both)}\nFeedback: {fit(said, both)}" for text, said in earlier)
        rejected = "\n".join(tagged(text, len(tried)) for text in tried)
        rules = [f"- {rule}" for rule in group["constraints"] if isinstance(rule, str)]
        rules += [f"- keep {{{name}}} as it is" for name in places(parameter.data)]
        return group["edits"].messages(
            role=parameter.role, value=escaped(parameter.data), nonce=code,
            feedback=escaped(shortened(feedback_of(parameter), SHOWN)),
            momentum=prompt("momentum", history=history) if history else "",
            rejected=prompt("rejected", rejected=rejected) if rejected else "",
            constraints=prompt("constraints", rules="\n".join(rules)) if rules else "",
        )

    def _read(self, reply, parameter, group, code):
        """The new text in a reply; a ParseError if it breaks a rule or was tried before."""
        new = group["edits"].read(reply, parameter.data, code)
        made = [name for name in places(new) if name not in places(parameter.data)]
        if made:
            # Nothing would fill them: every later call of the program would fail.
            raise ParseError(f"the new text must have no other words in single braces than the old one, and has "
                             f"{', '.join(f'{{{name}}}' for name in made)}; write them without braces")
        lost = [name for name in places(parameter.data) if name not in places(new)]
        if lost:
            raise ParseError(f"the new text must keep {', '.join(f'{{{name}}}' for name in lost)}")
        for rule in group["constraints"]:
            verdict = rule(new) if callable(rule) else True
            if isinstance(verdict, str) or not verdict:
                name = getattr(rule, "__doc__", None) or getattr(rule, "__name__", repr(rule))
                raise ParseError(f"the new text breaks a rule: {verdict or name}")
        if new in self.remembered(parameter).get("rejected", ()):
            raise ParseError("that text was tried and did worse")
        return new

    def _remember(self, parameter, window):
        state = self.remembered(parameter)
        if window:
            state["momentum"] = [*state.get("momentum", []), [parameter.data, shortened(feedback_of(parameter), SHOWN)]][-window:]


def feedback_of(parameter):
    """All feedback on a parameter in words, each piece once; "" if there is none."""
    said = [as_text(scalar).strip() for feedback in parameter.grad for scalar in _flat(feedback.data)]
    return "\n\n".join(dict.fromkeys(text for text in said if text))


def _flat(data):
    return [scalar for item in data for scalar in _flat(item)] if isinstance(data, list) else [data]
