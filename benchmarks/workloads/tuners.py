"""Who tunes a prompt: retrograde and its rivals, each in its own way, all by the same endpoint.

A rival takes an Exercise and returns the prompt that it found: a dictionary of an instruction, a layout with a place {text},
and demonstrations. All are given the same items and the same plain prompt, and nothing else. A library is imported only in the
process that runs it.
"""

import importlib
import os
import random
import tempfile
from typing import NamedTuple

from .endpoint import SpentError, ask
from .prompt_tasks import is_right

SHOTS = 8
# One step of as many candidates as the calls allow; more steps of fewer would share the level of the gate.
STEPS_OF_OURS = 1
# On 48 items the default of 0.05 refused one true gain of twelve; what is accepted by chance is seldom worse, and is tested.
LEVEL = 0.2
# The steps of TextGrad's own experiments with prompts.
STEPS = 12
# What keeps a library below TextGrad and DSPy from asking the network for prices.
OFFLINE = {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}


class Exercise(NamedTuple):
    """What a rival is given: a PromptTask without its test as a dictionary, where the model is, calls, and a seed."""

    task: dict
    url: str
    calls: int
    seed: int

    @property
    def start(self):
        """The plain prompt that all begin with."""
        return {"instruction": self.task["instruction"], "layout": self.task["layout"], "demonstrations": []}

    @property
    def options(self):
        """What is added to a request, so that the model chooses a label or writes an answer."""
        return {"guided_choice": self.task["labels"]} if self.task["labels"] else self.task["options"]

    def answer(self, text, **prompt):
        """What the model answers to a text after the starting prompt, with other parts in their place."""
        return ask(self.url, messages_of(text, **{**self.start, **prompt}), temperature=0.0, **self.options)[0]

    def score(self, items, **prompt):
        """The share of (text, right answer) items that the model gets right."""
        return sum(is_right(self.answer(text, **prompt), label) for text, label in items) / len(items)


def messages_of(text, instruction, layout, demonstrations):
    """The conversation that asks for the label of a text; the same for all rivals."""
    turns = [("system", instruction)]
    for shown, label in demonstrations:
        turns += [("user", layout.replace("{text}", shown)), ("assistant", label)]
    turns.append(("user", layout.replace("{text}", text)))
    return [{"role": role, "content": content} for role, content in turns]


def given_exercises(prepare):
    """What `prepare` returns, to be called with an Exercise as a dictionary, as it comes from another process."""
    tuned = prepare()
    return lambda fields: tuned(Exercise(**fields))


def plain():
    """What nobody has tuned."""
    return lambda exercise: exercise.start


def retrograde():
    """What `text.tune` searches: instructions and layouts made from labels, answers and columns, and demonstrations."""
    rg = importlib.import_module("retrograde")
    made = importlib.import_module("retrograde.text.tuning.templates")

    def spaces(task):
        answers = [answer for _, answer in task["demonstrations"]]
        instructions = made.instructions_of(answers, task["labels"])
        layouts = made.layouts_of(("text",), "label" if task["labels"] else "output")
        return {"instruction": rg.text.Options([task["instruction"], *instructions]),
                "layout": rg.text.Options([task["layout"], *layouts]),
                "demonstrations": rg.text.Demonstrations(task["demonstrations"], SHOTS)}

    return lambda exercise: _searched(rg, exercise, spaces(exercise.task))


def few_shot():
    """Demonstrations under the plain prompt: what DSPy's few-shot search has to choose from."""
    rg = importlib.import_module("retrograde")
    space_of = lambda task: {"demonstrations": rg.text.Demonstrations(task["demonstrations"], SHOTS)}
    return lambda exercise: _searched(rg, exercise, space_of(exercise.task))


def accuracies(predictor, items):
    """For each (text, right answer) 1 if the model finds it, and else 0."""
    return [float(is_right(answer, label)) for (_, label), answer in zip(items, predictor.forward(items).data, strict=True)]


def predictor_of(text, model, task):
    """The program that a task, a dictionary, starts with."""
    options = {} if task["labels"] else {"temperature": 0.0, **task["options"]}
    return text.Predictor(model, task["instruction"], task["layout"], labels=task["labels"], **options)


def _searched(rg, exercise, spaces):
    """What a DiscreteSearch finds in `spaces`, by name of a parameter."""
    task = exercise.task
    predictor = predictor_of(rg.text, rg.text.Budgeted(_model(rg.text, exercise.url), calls=exercise.calls), task)
    score = predictor.certainty if task["labels"] else lambda items: accuracies(predictor, items)
    optimizer = rg.text.DiscreteSearch(
        [{"params": [getattr(predictor, name)], "space": space} for name, space in spaces.items()],
        validate=rg.text.Validation(task["validation"], score), seed=exercise.seed, width=_width(task, exercise.calls),
        level=LEVEL)
    rg.text.train(predictor, optimizer, None, STEPS_OF_OURS, target=1.0)
    return predictor.state_dict()


def _width(task, calls):
    """The most candidates of a step that the calls are enough for."""
    searched = importlib.import_module("retrograde.text.tuning.plan").searched
    count = len(task["validation"])
    return max(width for width in range(1, 65) if count + STEPS_OF_OURS * searched(count, width) <= calls)


def _model(text, url):
    """The endpoint as a LanguageModel that knows labels."""
    completion = text.models.Completion

    class Remote(text.LanguageModel):
        name, max_concurrency, keeps_prefixes, tells_logprobs = "endpoint", 1, True, True

        def complete(self, request):
            messages = [{"role": message.role, "content": message.content} for message in request.messages]
            written = {"temperature": request.temperature, "max_tokens": request.max_tokens, "stop": list(request.stop)}
            options = {"guided_choice": list(request.labels)} if request.labels else written
            answer, logprobs = ask(url, messages, **options)
            return completion(answer, 1, 1, logprobs=tuple(logprobs))

    return Remote()


def textgrad():
    """As in its tutorial on prompts: 12 steps on three items each, a new prompt kept if validation does not fall."""
    os.environ["XDG_CACHE_HOME"] = os.environ["TEXTGRAD_LOG_DIR"] = tempfile.mkdtemp()
    os.environ.update(OFFLINE)
    library, openai = importlib.import_module("textgrad"), importlib.import_module("openai")
    engines = importlib.import_module("textgrad.engine.local_model_openai_api")
    functions = importlib.import_module("textgrad.autograd.string_based_ops")
    calls = importlib.import_module("textgrad.autograd.llm_ops")

    def tuned(exercise):
        client = openai.OpenAI(base_url=exercise.url, api_key="none", max_retries=0)
        engine = engines.ChatExternalClient(client=client, model_string="local")
        library.set_backward_engine(engine, override=True)
        system = library.Variable(exercise.start["instruction"], requires_grad=True,
                                  role_description="system prompt of a classifier of texts")
        model = calls.LLMCall(_chooser(library.EngineLM, exercise), system_prompt=system)
        equal = functions.StringBasedFunction(lambda prediction, answer: int(prediction.value == answer.value),
                                              "whether the predicted label is the right one")
        optimizer = library.TextualGradientDescent(engine=engine, parameters=[system])
        return _descended(library, exercise, system, model, equal, optimizer)

    return tuned


def _descended(library, exercise, system, model, equal, optimizer):
    """TextGrad's loop; the best prompt so far, when the calls are spent."""
    draw, best, task = random.Random(exercise.seed), exercise.start, exercise.task
    fixed = lambda value, role: library.Variable(value, requires_grad=False, role_description=role)
    try:
        reached = exercise.score(task["validation"])
        for _ in range(STEPS):
            optimizer.zero_grad()
            losses = []
            for text, label in draw.sample(task["demonstrations"], 3):
                prediction = model(fixed(text, "text to classify"))
                losses.append(equal(inputs={"prediction": prediction, "answer": fixed(label, "right label")}))
            library.sum(losses).backward()
            try:
                optimizer.step()
            except IndexError:  # The model's reply had no new prompt between the tags.
                continue
            found = exercise.score(task["validation"], instruction=system.value)
            if found < reached:
                system.set_value(best["instruction"])
            else:
                reached, best = found, {**best, "instruction": system.value}
    except Exception as error:
        if not _is_spent(error):
            raise
    return best


def _chooser(base, exercise):
    class Chooser(base):
        model_string = "local"

        def generate(self, prompt, system_prompt=None, **_):
            return exercise.answer(prompt, instruction=system_prompt)

        __call__ = generate

    return Chooser()


def _is_spent(error):
    """Whether an error, or one behind it, says that no call is left."""
    seen = error
    while seen is not None:
        if isinstance(seen, SpentError) or "the calls of this rival are spent" in str(seen):
            return True
        seen = seen.__cause__ or seen.__context__
    return False


def dspy():
    """BootstrapFewShotWithRandomSearch over as many candidates as the calls allow."""
    os.environ["DSPY_CACHEDIR"] = tempfile.mkdtemp()
    os.environ.update(OFFLINE)
    library = importlib.import_module("dspy")

    def tuned(exercise):
        task = exercise.task
        options = {"extra_body": exercise.options} if task["labels"] else exercise.options
        model = library.LM("openai/local", api_base=exercise.url, api_key="none", cache=False, num_retries=0, temperature=0.0,
                           **options)
        library.configure(lm=model, adapter=_adapter(library, exercise))
        student = library.Predict(library.Signature("text -> label", exercise.start["instruction"]))
        parts = [[library.Example(text=text, label=label).with_inputs("text") for text, label in task[part]]
                 for part in ("demonstrations", "validation")]
        random.Random(exercise.seed).shuffle(parts[0])
        # It always tries three candidates; one costs the validation items, and a few calls for demonstrations that it makes. An
        # item that comes after the last call counts as wrong.
        candidates = max(0, exercise.calls // (len(task["validation"]) + SHOTS // 2) - 3)
        search = library.BootstrapFewShotWithRandomSearch(
            metric=lambda example, found, _=None: is_right(found.label, example.label), max_bootstrapped_demos=SHOTS // 2,
            max_labeled_demos=SHOTS, num_candidate_programs=candidates, num_threads=1, max_errors=10**6)
        shown = search.compile(student, trainset=parts[0], valset=parts[1]).demos
        return {**exercise.start, "demonstrations": [[demo["text"], demo["label"]] for demo in shown]}

    return tuned


def _adapter(library, exercise):
    """The form in which DSPy puts a prompt: that of all rivals, which suits the model far better than its own."""
    class Plain(library.Adapter):
        def format(self, signature, demos, inputs):
            shown = [(demo["text"], demo["label"]) for demo in demos]
            return messages_of(inputs["text"], signature.instructions, exercise.start["layout"], shown)

        def parse(self, signature, completion):
            return {"label": completion}

    return Plain()


def gepa():
    """GEPA on the instruction, with its own prompt for reflection, and the calls as the limit of its rollouts."""
    library = importlib.import_module("gepa")
    batch_of = importlib.import_module("gepa.core.adapter").EvaluationBatch

    def tuned(exercise):
        reflect = lambda prompt: ask(exercise.url, [{"role": "user", "content": prompt}], max_tokens=256)[0]
        task = exercise.task
        # What a rollout costs beside its reflection: at most one reflection for every three rollouts.
        done = library.optimize(
            {"instruction": exercise.start["instruction"]}, task["demonstrations"], task["validation"],
            adapter=_GEPAAdapter(exercise, batch_of), reflection_lm=reflect, max_metric_calls=exercise.calls * 3 // 4,
            seed=exercise.seed, raise_on_exception=False)
        return {**exercise.start, "instruction": done.best_candidate["instruction"]}

    return tuned


class _GEPAAdapter:
    """How GEPA runs a candidate, and what it shows of that for reflection."""

    propose_new_texts = None

    def __init__(self, exercise, batch_of):
        self.exercise, self.batch_of = exercise, batch_of

    def evaluate(self, batch, candidate, capture_traces=False):
        """A score for each item."""
        found = [self.exercise.answer(text, **candidate) for text, _ in batch]
        scores = [float(is_right(answer, label)) for answer, (_, label) in zip(found, batch, strict=True)]
        return self.batch_of(outputs=found, scores=scores, trajectories=list(batch) if capture_traces else None)

    def make_reflective_dataset(self, candidate, eval_batch, components_to_update):
        """Text, answer and what was right."""
        rows = [{"Inputs": {"text": text}, "Generated Outputs": answer, "Feedback": f"The right answer is {label}."}
                for (text, label), answer in zip(eval_batch.trajectories, eval_batch.outputs, strict=True)]
        return dict.fromkeys(components_to_update, rows)
