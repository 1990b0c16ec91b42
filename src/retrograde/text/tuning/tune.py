"""From data to a tuned prompt in one call."""

from ...errors import ArgumentError, DTypeError
from ..data import places
from ..evidence.validation import Validation
from ..models.base import check_model
from ..models.budget import Budget, Budgeted
from ..models.cached import Cached
from ..models.default import default_model
from ..search import DiscreteSearch
from ..spaces import Demonstrations, Options
from ..training import train
from .metrics import Metric
from .plan import first_of, plan
from .predictor import Predictor
from .proposals import plain, propose_instructions
from .rows import read
from .settings import digest_of, folder_of, same_run
from .templates import instruction_of, instructions_of, layout_of, layouts_of
from .tuned import Tuned

#: How many items are asked for before all others.
_FIRST = 2


def tune(data, model=None, *, metric=None, prompt=None, layout=None, inputs=None, answer=None, instructions=None, layouts=None,
         writer=None, proposals=6, judge=None, criteria=None, demonstrations=8, steps=2, width=8, calls=1000, tokens=None,
         cost=None, level=0.05, strict=False, seed=0, folder=None, on_plan=None, on_step=None, **options):
    """Tune the prompt of a task on its data, and return it with its evidence: a Tuned.

    data            a file (.jsonl, .csv, .tsv), or dictionaries or (input, output) pairs; in text.Sets, or with a column "split"
                    (train, validation, test), if you have sets of your own
    model           by default the one that the environment names, or else the local one, offline
    metric          "labels" (a choice among the answers that occur), "exact", "f1", "judge", or a function of (answer, right
                    answer); by default "labels" where the answer's column is "label", and else "exact"
    prompt, layout  what to start from: an instruction, and the user's message with {places} for the inputs. A prompt that has
                    places itself is that message
    inputs, answer  the columns, by default "input" (or all the others) and "label", "output", "answer" or "target"
    instructions, layouts  what to choose from, in place of what is made from the data
    writer          who proposes further instructions, as many as `proposals`; by default `model`, if it was tuned to follow
                    instructions, and nobody where it was not, or where you give `instructions`. False: nobody
    judge           the model that judges by `criteria`, for metric="judge"
    demonstrations  the most examples in the prompt
    steps, width    of the search: see text.DiscreteSearch; `level` and `strict` are its gate's: see text.Gate
    calls, tokens, cost  limits, which are never passed. A part of each is kept for the test
    folder          where prompt, report, checkpoint, ledger and the answers of models are kept. The same call goes on from there
    on_plan, on_step  called with the Plan before the first call of a model, and with the Run after each step
    options         of the calls of the model, such as temperature or max_tokens

    Demonstrations and proposals come from training items, candidates are compared on validation items, and what is reported was
    measured at the end on test items, under the first and the last prompt.

    >>> model = rg.text.ScriptedLM(lambda request: "5" if "number" in request.messages[0].content else "five")
    >>> tuned = tune([(f"2 + 3 = ? ({i})", 5) for i in range(100)], model, demonstrations=1, writer=False)
    >>> tuned.prompt["instruction"], tuned.after.value
    ('Answer with a number and nothing else.', 1.0)
    """
    model = default_model() if model is None else model
    folder = folder_of(folder)
    check_model(model)
    _check(prompt=prompt, layout=layout, instructions=instructions, layouts=layouts, steps=(steps, 1), width=(width, 1),
           calls=(calls, 1), demonstrations=(demonstrations, 0), proposals=(proposals, 0))
    hint = "" if inputs is not None else "; write {{name}} in the prompt for a name in braces that is no input"
    rows = read(data, _wanted(inputs, prompt, layout), answer, is_answered=criteria is None, hint=hint)
    scoring = Metric(metric, rows, judge, criteria)
    start = _Start(rows, scoring.labels, prompt, layout, instructions, layouts)
    writer = _writer(writer, model, is_wanted=proposals > 0 and instructions is None)
    planned = plan(rows, calls=calls, calls_each=scoring.calls, steps=steps, width=width, level=level, strict=strict,
                   proposals=proposals + 1 if writer else 0, labels=scoring.labels)
    if on_plan is not None:
        on_plan(planned)
    if folder is not None:
        told = {"metric": scoring.kind if isinstance(scoring.kind, str) else scoring.name, "prompt": prompt, "layout": layout,
                "inputs": rows.inputs, "answer": rows.answer,
                "instructions": instructions, "layouts": layouts, "criteria": criteria, "demonstrations": demonstrations,
                "steps": steps, "width": width, "level": level, "seed": seed, "proposals": proposals if writer else 0, "items":
                digest_of(rows.all), **{name: m.name for name, m in (("judge", judge), ("writer", writer)) if m},
                **({"strict": True} if strict else {}), **options}
        same_run(folder, told)
    search, test = _models(planned, {"calls": calls, "tokens": tokens, "cost": cost}, folder)
    predictor = Predictor(search(model), start.instruction, start.layout, inputs=rows.inputs, labels=scoring.labels, **options)
    wordings = _Wordings(start, planned.sets.train, search(writer), proposals, seed)
    judges = search(judge), test(judge)
    validation = Validation(planned.sets.validation, _careful(lambda items: scoring.finer(predictor, items, judges[0])))
    optimizer = DiscreteSearch(_groups(predictor, start, wordings, planned.sets.train, demonstrations), validate=validation,
                               width=width, first=first_of(len(planned.sets.validation)), level=level, strict=strict,
                               seed=seed)
    tested = test(model)
    run = train(predictor, optimizer, None, steps, target=1.0, on_step=on_step,
                checkpoint=None if folder is None else folder / "checkpoint.json",
                test=Validation(planned.sets.test, lambda items: scoring.scores(predictor, items, tested, judges[1])))
    run.settings = {**run.settings, **_told(scoring, judge, writer, wordings.proposals, calls, tokens, cost)}
    predictor.model = model  # without limits from now on
    tuned = Tuned(predictor, run, planned, scoring, wordings.proposals)
    if folder is not None:
        tuned.save(folder / "prompt.json")
        tuned.save_report(folder / "report.html")
    return tuned


def _check(*, prompt, layout, instructions, layouts, **numbers):
    """Raise an error unless these arguments of `tune` are of their kinds; of a number the least is given with it."""
    for name, found in (("prompt", prompt), ("layout", layout)):
        if found is not None and not isinstance(found, str):
            raise DTypeError(f"{name} must be a text, got {type(found).__name__}")
    for name, found in (("instructions", instructions), ("layouts", layouts)):
        if found is not None and (isinstance(found, str) or not all(isinstance(text, str) for text in found)):
            raise DTypeError(f"{name} must be a list of texts, got {found!r:.60}")
    for name, (found, least) in numbers.items():
        if not isinstance(found, int) or isinstance(found, bool) or found < least:
            raise ArgumentError(f"{name} must be a whole number of at least {least}, got {found!r:.60}")


def _wanted(inputs, prompt, layout):
    """The names of the inputs, as far as they are given; those with a place in the prompt are."""
    return inputs or [*dict.fromkeys([*places(layout or ""), *places(prompt or "")])] or None


def _writer(writer, model, is_wanted):
    """Who proposes instructions, or None."""
    if writer is None:
        return model if is_wanted and model.follows_instructions else None
    if writer is False:
        return None
    check_model(writer)
    return writer


class _Start:
    """What a search begins with, and what it chooses from."""

    def __init__(self, rows, labels, prompt, layout, instructions, layouts):
        is_whole = bool(places(prompt or ""))
        if is_whole and layout is not None:
            raise ArgumentError("give a prompt with places for the inputs, or an instruction without any and a layout with them")
        self.inputs, self.labels = rows.inputs, labels
        self.instruction = "" if is_whole else instruction_of(labels) if prompt is None else prompt
        self.layout = prompt if is_whole else layout_of(rows.inputs, rows.answer) if layout is None else layout
        self._instructions = instructions
        made = [] if is_whole or layout is not None else layouts_of(rows.inputs, rows.answer)
        self.layouts = [self.layout, *(made if layouts is None else layouts)]

    def instructions(self, train):
        """The instructions to choose from, those made from the training items among them."""
        made = self._instructions
        if made is None:
            made = [plain(text) for text in instructions_of([item[-1] for item in train], self.labels)]
        return [self.instruction, *made]


class _Wordings(Options):
    """Instructions, to which a writer adds its proposals when the first candidate is drawn, within the run and its limits."""

    def __init__(self, start, train, writer, count, seed):
        self.proposals = None

        def propose():
            self.proposals = propose_instructions(writer, train, inputs=start.inputs, instruction=start.instruction,
                                                  labels=start.labels, count=count, seed=seed)
            return self.proposals.instructions

        super().__init__(start.instructions(train), None if writer is None or not train else propose)


def _careful(score):
    """`score`, which asks for two items first, and for the rest if one of them has an answer.

    A server that is not there, or cannot do what it is asked, shows after seconds.
    """
    is_answered = False

    def scores(items):
        nonlocal is_answered
        if is_answered or len(items) <= _FIRST:
            return score(items)
        first = score(items[:_FIRST])
        is_answered = True
        return [*first, *score(items[_FIRST:])]

    return scores


def _models(planned, limits, folder):
    """Two functions that put a model under limits, and keep its answers: for the search, and for the test."""
    share = planned.testing / (planned.searching + planned.testing)
    ledger = None if folder is None else folder / "ledger.jsonl"

    def limited(scope, calls, part):
        rest = {name: limit * part for name, limit in limits.items() if name != "calls" and limit is not None}
        budget = Budget(calls=calls, **rest, ledger=ledger, scope=scope)

        def under(model):
            if model is None:
                return None
            bounded = Budgeted(model, budget)
            return bounded if folder is None else Cached(bounded, folder / "cache")

        return under

    return limited("search", planned.searching, 1 - share), limited("test", planned.testing, share)


def _told(scoring, judge, writer, proposals, calls, tokens, cost):
    """Settings that the run does not know, for its report."""
    limits = {"calls": calls, "tokens": tokens, "cost": cost}
    told = [f"{limit:,} {name}" for name, limit in limits.items() if limit is not None]
    found = {"metric": scoring.name, "limits": ", ".join(told)}
    found.update({name: model.name for name, model in (("judge", judge), ("writer", writer)) if model is not None})
    if proposals is not None:
        faults = f"; others could not be used: {'; '.join(proposals.faults)}" if proposals.faults else ""
        found["proposed instructions"] = f"{len(proposals.instructions)} were new and usable{faults}"
    return found


def _groups(predictor, start, wordings, train, most):
    """The parameters of a predictor with their spaces, for a search."""
    layouts = Options(start.layouts)
    groups = [{"params": [predictor.instruction], "space": wordings}, {"params": [predictor.layout], "space": layouts}]
    if train and most:
        groups.append({"params": [predictor.demonstrations], "space": Demonstrations(train, max(most, len(start.labels)))})
    return groups
