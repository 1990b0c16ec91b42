"""Whether small models can criticise, rewrite and propose prompts: `python -m benchmarks.critics --weights FILE.gguf`.

Three jobs that an optimizer may give a model, on the tasks that come with retrograde, each reply judged by a rule:

* critic: what should change in the plain prompt, from cases that went wrong. Usable: it says something, less than half of it is
  copied from what the critic was shown, and it names a label;
* writer: a new prompt from clear feedback. Usable: the reply has the form that TextualGradientDescent asks for, at once or after
  two complaints;
* proposer: instructions from examples. Usable: the form; and the gain of a proposal, on items that it was not made from, for the
  local model that comes with retrograde.

Takes two to four minutes of processor time a model. Needs the extra `local`.
"""

import argparse
from difflib import SequenceMatcher
from pathlib import Path
from statistics import mean

from retrograde import data, text

TASKS = ("sentiment", "topic", "question")
_GROUPS, _CASES, _PROPOSALS, _ITEMS = 3, 3, 4, 24


def main():
    """Print a row for each task, for one model."""
    options = _parser().parse_args()
    model = text.LocalModel(options.weights, threads=options.threads)
    answerer = text.LocalModel(threads=options.threads)
    for name in TASKS:
        task = data.text_task(name)
        program = _program(answerer, task)
        for job in (_critic, _writer, _proposer):
            print(f"{name:<10} {job(model, program, task)}", flush=True)


def _program(model, task):
    return text.Predictor(model, task.instruction, task.layout, labels=task.labels)


def _critic(model, program, task):
    """How many of the critiques of wrong answers are usable."""
    wrong = [item for item in task.demonstrations if program(item[0]) != item[1]]
    replies = []
    for start in range(0, min(len(wrong), _GROUPS * _CASES), _CASES):
        group = wrong[start : start + _CASES]
        program.zero_grad()
        answers = text.chat(program.model, program.messages(), {"text": [item[0] for item in group]}, labels=task.labels,
                            feedback_model=model)
        with text.tracing() as trace:
            text.exact_match(answers, [item[1] for item in group]).backward()
        replies += [(call.request.prompt, call.completion.text if call.completion else "") for call in trace
                    if call.node == "feedback to instruction"]
    usable = sum(_is_usable(said, shown, task.labels) for shown, said in replies)
    return f"critic {usable} of {len(replies)} usable"


def _is_usable(said, shown, labels):
    copied = SequenceMatcher(None, shown, said, autojunk=False).find_longest_match().size
    return bool(said.strip()) and copied < len(said) / 2 and any(label in said.lower() for label in labels)


def _writer(model, _, task):
    """How many rewritten prompts have the form that was asked for."""
    usable = 0
    for i in range(_GROUPS):
        parameter = text.Parameter(task.instruction, role="instruction")
        labels = task.labels if i % 2 else task.labels[::-1]
        said = f"Say that the answer must be one of these{' labels' * (i < 2)}: {', '.join(labels)}."
        parameter.append_grad(text.Variable(said, role="feedback to instruction"))
        usable += text.TextualGradientDescent([parameter], model).step().is_accepted
    return f"writer {usable} of {_GROUPS} usable"


def _proposer(model, program, task):
    """How many proposals are usable, and the accuracy of the best and of all, beside the plain prompt's."""
    found = text.propose_instructions(model, task.demonstrations, inputs=("text",), instruction=task.instruction,
                                      labels=task.labels, count=_PROPOSALS)
    items, scores = task.validation[:_ITEMS], []
    for instruction in [task.instruction, *found.instructions]:
        program.instruction = instruction
        scores.append(mean(text.exact_match(program.forward(items), [label for _, label in items]).scores))
    program.instruction = task.instruction
    reached = f"with accuracies {', '.join(f'{score:.2f}' for score in scores[1:])}" if scores[1:] else "none to try"
    return f"proposer {len(found.instructions)} of {_PROPOSALS} usable, {reached}; plain prompt {scores[0]:.2f}"


def _parser():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.critics", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", type=Path, metavar="FILE", help="a GGUF file (default: the local model's)")
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="threads of the models (default: %(default)s)")
    return parser


if __name__ == "__main__":
    main()
