"""Whether small models can criticise, rewrite and propose prompts: `python -m benchmarks.critics --weights FILE.gguf`.

Three jobs that an optimizer may give a model, on the tasks that come with retrograde, each reply judged by a rule:

* critic: what should change in the plain prompt, from cases that went wrong. Usable: it says something that is not copied from what
  the critic was shown, names every label of the task, and does not claim a label for a text, which is no critique of the prompt;
* writer: a new prompt from clear feedback. Usable: the reply has the form that TextualGradientDescent asks for, at once or after
  a complaint;
* proposer: instructions from examples. Usable: the form, and new. The accuracy that each leads to, on items that it was not made
  from, for the local model that comes with retrograde.

`--show` prints the replies. Takes a minute or two of processor time a model. Needs the extra `local`.
"""

import argparse
import re
from difflib import SequenceMatcher
from pathlib import Path
from statistics import mean

from retrograde import data, text
from retrograde.text.models.trace import tracing_apart

TASKS = ("sentiment", "topic", "question")
_GROUPS, _CASES, _PROPOSALS, _ITEMS, _LONGEST = 2, 3, 3, 24, 96


def main():
    """Print a row for each job and task, for one model."""
    options = _parser().parse_args()
    model, answerer = text.LocalModel(options.weights, threads=options.threads), text.LocalModel(threads=options.threads)
    model.max_tokens = _LONGEST
    for name in options.tasks:
        task = data.text_task(name)
        predictor = text.Predictor(answerer, task.instruction, task.layout, labels=task.labels)
        for job in (_critic, _writer, _proposer):
            with text.tracing() as trace:
                print(f"{name:<10} {job(model, predictor, task)}", flush=True)
            for call in trace if options.show else ():
                if call.completion and not call.request.labels:
                    print(f"    {call.node}: {call.completion.text!r}", flush=True)


def _critic(model, predictor, task):
    """How many of the critiques of wrong answers are usable."""
    wrong = [item for item in task.demonstrations if predictor(item[0]) != item[1]]
    replies = []
    for start in range(0, min(len(wrong), _GROUPS * _CASES), _CASES):
        group = wrong[start : start + _CASES]
        predictor.zero_grad()
        # The layout needs no feedback here: one call a group.
        messages = [("system", predictor.instruction), ("user", task.layout)]
        answers = text.chat(predictor.model, messages, {"text": [item[0] for item in group]}, labels=task.labels,
                            feedback_model=model)
        with tracing_apart() as trace:
            text.exact_match(answers, [item[1] for item in group]).backward()
        replies += [(call.request.prompt, call.completion.text if call.completion else "") for call in trace]
    usable = sum(_is_usable(said, shown, task.labels) for shown, said in replies)
    return f"critic: {usable} of {len(replies)} usable"


def _is_usable(said, shown, labels):
    copied = SequenceMatcher(None, shown, said, autojunk=False).find_longest_match().size
    claims = re.search(r"(label|answer) (is|should be)\b", said, re.IGNORECASE)
    return bool(said.strip()) and copied < len(said) / 2 and all(label in said.lower() for label in labels) and not claims


def _writer(model, _, task):
    """How many rewritten prompts have the form that was asked for."""
    usable = 0
    for labels in (task.labels, task.labels[::-1]):
        parameter = text.Parameter(task.instruction, role="instruction")
        said = f"Say that the answer must be one of these labels: {', '.join(labels)}."
        parameter.append_grad(text.Variable(said, role="feedback to instruction"))
        usable += text.TextualGradientDescent([parameter], model, retries=1).step().is_accepted
    return f"writer: {usable} of 2 usable"


def _proposer(model, predictor, task):
    """How many proposals are usable, and the accuracy that they lead to, beside the plain prompt's."""
    found = text.propose_instructions(model, task.demonstrations, inputs=("text",), instruction=task.instruction,
                                      labels=task.labels, count=_PROPOSALS)
    if not found.instructions:
        return f"proposer: 0 of {_PROPOSALS} usable"
    items, scores = task.validation[:_ITEMS], []
    for instruction in [task.instruction, *found.instructions]:
        predictor.instruction = instruction
        scores.append(mean(text.exact_match(predictor.forward(items), [label for _, label in items]).scores))
    predictor.instruction = task.instruction
    reached = ", ".join(f"{score:.2f}" for score in scores[1:])
    return f"proposer: {len(found.instructions)} of {_PROPOSALS} usable, accuracy {reached}; plain prompt {scores[0]:.2f}"


def _parser():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.critics", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", type=Path, metavar="FILE", help="a GGUF file (default: the local model's)")
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=TASKS, metavar="TASK", help="by name (default: all)")
    parser.add_argument("--show", action="store_true", help="print the replies too")
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="threads of the models (default: %(default)s)")
    return parser


if __name__ == "__main__":
    main()
