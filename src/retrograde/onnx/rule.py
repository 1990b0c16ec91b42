"""Rules: what an ONNX operator means in ops of ours, one function for each, and from which version of the operators on.

A rule has the operator's inputs by position, None for one that is left out, and its attributes by name, with their defaults. It
returns the result, or a tuple of them. Values are tensors, or NumPy arrays where nothing of the model's inputs or parameters is
in them: those stay numbers, also while the model is traced.
"""

import inspect
from dataclasses import dataclass
from typing import Any

#: {(domain, operator): its rules, the newest first}.
RULES: dict = {}


@dataclass(frozen=True)
class Rule:
    """What an operator means.

    since     the first version of the domain's operators for which it holds
    function  computes the result; `context`, if it has such an argument, is what it knows of the node (see `running.Context`)
    numbers   the positions of inputs that are handed in as arrays with numbers, such as shapes; () for none, None for all
    defaults  {attribute: its default}; an attribute without one must be given
    required  the names of those
    arity     the most inputs that it takes; None where there is no bound
    """

    since: int
    function: Any
    numbers: Any
    defaults: dict
    required: tuple
    arity: Any
    wants_context: bool


def rule(*names, since=1, numbers=(), domain=""):
    """Let the decorated function be the meaning of the operators `names` from version `since` on."""
    def decorated(function):
        parameters = inspect.signature(function).parameters.values()
        named = [p for p in parameters if p.kind is p.KEYWORD_ONLY and p.name != "context"]
        positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        has_many = any(p.kind is p.VAR_POSITIONAL for p in parameters)
        made = Rule(since, function, numbers, {p.name: p.default for p in named if p.default is not p.empty},
                    tuple([p.name for p in named if p.default is p.empty]), None if has_many else len(positional),
                    any(p.name == "context" for p in parameters))
        for name in names:
            RULES.setdefault((domain, name), []).append(made)
            RULES[domain, name].sort(key=lambda each: -each.since)
        return function

    return decorated


def rule_for(domain, name, version):
    """The rule of an operator in a version of its domain; None if there is none."""
    return next((each for each in RULES.get((domain, name), ()) if each.since <= version), None)
