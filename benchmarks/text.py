"""The text suite: prompts tuned by retrograde and by its rivals, calls that fail, calls at once, and the cost of a node.

The `tune` cases need the extra `tune`, and for each rival `--python RIVAL=PATH` unless it is installed here (extra
`bench-text`). A round takes some minutes a task and has a seed of its own; `--seed` names the first. A folder named by
BENCHMARK_ANSWERS keeps the model's answers, so that a run that was stopped is soon where it was; the minutes then say nothing, the
accuracies are the same.
"""

import asyncio
import importlib
import os
import tempfile
import time
from dataclasses import replace
from functools import partial

from .case import Counts, Durations, Figures, Tuning
from .workloads import endpoint, fault_server, prompt_tasks, tuners

#: How many calls of the model a rival has to find its prompt, held-out tests not counted.
CALLS = 240
# A seventh of all attempts fail, in every way that a server can.
FAULTS = {"429": 0.03, "429 seconds": 0.03, "429 date": 0.01, "500": 0.03, "503": 0.01, "cut": 0.01, "cut body": 0.01,
          "malformed": 0.01, "empty": 0.01}
CHARGED = ("500", "cut", "cut body", "malformed", "empty")


def local(name):
    """The local model and a task: serves the model to rivals, and scores the prompts that they come back with."""
    rg, models = importlib.import_module("retrograde"), importlib.import_module("retrograde.text.models")
    model = rg.text.Cached(_bounded(rg.text.LocalModel(threads=1)), os.environ.get("BENCHMARK_ANSWERS") or tempfile.mkdtemp())
    task = prompt_tasks.prompt_task(name)
    told = task.told()

    def complete(body):
        labels = body.get("guided_choice")
        bound = min(body.get("max_tokens") or endpoint.LONGEST, endpoint.LONGEST)
        written = {"temperature": body.get("temperature"), "max_tokens": bound, "stop": body.get("stop") or ()}
        request = models.Request.of([(message["role"], message["content"]) for message in body["messages"]],
                                    **({"labels": labels} if labels else written))
        answer = model.complete(request)
        return answer.text, answer.logprobs

    served = endpoint.serve(complete)

    def answer(request):
        if "begin" in request:
            served.begin(request["begin"])
            return {"url": served.url, "task": told}
        calls, predictor = served.calls, tuners.predictor_of(rg.text, model, told)
        predictor.load_state_dict(request["prompt"])
        hits = [int(score) for score in tuners.accuracies(predictor, task.test)]
        return {"score": sum(hits) / len(hits), "calls": calls, "hits": hits}

    return answer


def _bounded(model):
    """`model`, whose answers are whole at their bound, so that a cache keeps them: a prompt that makes it babble is asked once."""
    class Bounded(importlib.import_module("retrograde.text.models.base").Wrapper):
        def steps(self, request):
            return replace((yield request), finish_reason="stop")

    return Bounded(model)


def faulty():
    """A thousand calls to a server that fails: how many are lost or doubled, and how many pass a budget."""
    models = importlib.import_module("retrograde.text.models")
    prompts = [f"question {i}" for i in range(1000)]

    def measured(_):
        lost, doubled = _all_answered(models, prompts)
        return {"lost": lost, "doubled": doubled, "charged above the budget": _above_budget(models, prompts, 600)}

    return measured


def _all_answered(models, prompts):
    with fault_server.serving(fault_server.drawn(1, FAULTS)) as server, _client(models, server.url) as model:
        answers = models.complete_all(model, prompts)
    wrong = sum(getattr(answer, "text", "") != f"answer to {prompt}" for answer, prompt in zip(answers, prompts, strict=True))
    return wrong, sum(count - 1 for count in server.answers.values())


def _above_budget(models, prompts, limit):
    with fault_server.serving(fault_server.drawn(2, FAULTS)) as server, _client(models, server.url) as model:
        models.complete_all(models.Budgeted(model, calls=limit), prompts)
    return max(0, sum(server.answers.values()) + sum(server.faults[fault] for fault in CHARGED) - limit)


def _client(models, url):
    return models.HTTPModel("small", base_url=url, timeout=10.0, retry=models.Retry(12, 0.001, 0.01))


def at_once():
    """64 calls that take 100 ms each, 16 at once, of a server in another process: in threads, and as tasks of an event loop."""
    models = importlib.import_module("retrograde.text.models")

    def measured(_):
        return {"threads": _seconds(models.complete_all, models),
                "tasks": _seconds(lambda *call: asyncio.run(models.acomplete_all(*call)), models)}

    return measured


def _seconds(run, models):
    with fault_server.serving_apart(delay=0.1) as url, _client(models, url) as model:
        start = time.perf_counter()
        answers = run(model, [f"question {i}" for i in range(64)])
        taken = time.perf_counter() - start
    if not all(answer.text.startswith("answer to") for answer in answers):
        raise ValueError("a call was not answered")
    return taken


def nodes():
    """What the engine itself costs for each node of a graph of text, forward and back."""
    text = importlib.import_module("retrograde.text")
    leaf = text.Variable("a", role="leaf", requires_grad=True)
    other = text.Variable("b", role="other")

    def chain(length):
        y = leaf
        for _ in range(length):
            y = y + other
        return y

    def measured(count):
        length = 20  # Texts stay short: what is measured is the graph, not the copying of long texts.
        forward = back = 0.0
        for _ in range(count // length):
            start = time.perf_counter()
            y = chain(length)
            middle = time.perf_counter()
            with text.feedback_style("plain"):
                y.backward("shorter")
            forward, back = forward + middle - start, back + time.perf_counter() - middle
            leaf.zero_grad()
        made = count // length * length
        return {"forward": forward / made, "backward": back / made, "both": (forward + back) / made}

    return measured


def _tuning(name):
    rivals = {"retrograde": tuners.retrograde, "retrograde, few-shot": tuners.few_shot, "plain prompt": tuners.plain,
              "textgrad": tuners.textgrad, "dspy": tuners.dspy, "gepa": tuners.gepa}
    rivals = {rival: partial(tuners.given_exercises, prepare) for rival, prepare in rivals.items()}
    return Tuning(f"tune-{name}", f"accuracy on 200 held-out items of a prompt for the task {name!r}, found with at most {CALLS} "
                  "calls of one local model", rivals, {}, host=partial(local, name), calls=CALLS)


CASES = [
    *map(_tuning, prompt_tasks.NAMES),
    Counts("faults", "1,000 calls to a server of which a seventh of the attempts fail", {"retrograde": faulty},
           goals=dict.fromkeys(("lost", "doubled", "charged above the budget"), 0)),
    Durations("at-once", "64 calls of 100 ms each, 16 at once, over HTTP", {"retrograde": at_once},
              goals={"threads": 500, "tasks": 500}),
    Figures("nodes", "one node of a graph of text, without any call of a model", {"retrograde": nodes}, goals={"both": 20}),
]
