"""Mutants of one source text: a condition that is dropped or decided, a bound that is moved, an entry of a list that is left out.

Some changes are not drawn, since they tell nothing of the tests. A part that binds a name (`:=`) is not dropped, and what binds one is
not decided: the next line would fail for want of it. A bound on a guess of cost (`cost.TAPS`, the size of a cache) is not moved by one:
the numbers are the same on both sides of it, and no measurement tells them apart. It is decided, though, like any other condition.
"""

import ast
from typing import NamedTuple

from .places import MOVED, binds, is_bound, is_moved, names_below, place

#: Lists of which each entry is a stage: without it something must fail.
_LISTS = ("PASSES", "KINDS", "RULES", "PATTERNS")
#: What names a guess of cost: a constant of `cost.py`, and the caches of a processor.
_COSTS = ("cost.", "first_cache", "second_cache")
#: What asks for nothing but the truth of a condition.
_ASKING = (ast.If, ast.IfExp, ast.While, ast.comprehension, ast.BoolOp, ast.UnaryOp)


class Mutant(NamedTuple):
    """One change: what stands from byte `start` to `end` becomes `text`. `function` is the qualified name of the function or the method
    around it, empty in the body of a module. `places` are those of `places.py` where it differs.
    """

    path: str
    function: str
    line: int
    rule: str
    start: int
    end: int
    old: str
    text: str
    places: tuple

    def applied(self, source):
        """The source with the change."""
        raw = source.encode()
        return (raw[:self.start] + self.text.encode() + raw[self.end:]).decode()

    def __str__(self):
        return f"{self.path}:{self.line} {self.function or '(module)'}: {self.rule}: {_short(self.old)} → {_short(self.text)}"


def mutants(path, source):
    """All mutants of a file."""
    return list(_Reading(path, source).found())


class _Reading:
    def __init__(self, path, source):
        self.path, self.source, self.tree = path, source, ast.parse(source)
        lines = source.splitlines(keepends=True)
        self.starts = [0]
        for line in lines:
            self.starts.append(self.starts[-1] + len(line.encode()))

    def found(self):
        yield from self._below(self.tree, (), is_inside=False)

    def _below(self, node, names, is_inside):
        """The mutants below a node in a scope of these names."""
        for child in ast.iter_child_nodes(node):
            inner, is_function = names_below(child, names, is_inside)
            yield from (self._mutant(inner if is_inside or is_function else (), *change) for change in _changes(child, node, self._text))
            yield from self._below(child, inner, is_inside or is_function)

    def _text(self, node):
        return ast.get_source_segment(self.source, node)

    def _mutant(self, names, rule, part, text, where):
        start, end = self._at(part.lineno, part.col_offset), self._at(part.end_lineno, part.end_col_offset)
        old = self.source.encode()[start:end].decode()
        places = tuple([place(self.path, names, *at) for at in where])
        return Mutant(self.path, ".".join(names), part.lineno, rule, start, end, old, text, places)

    def _at(self, line, column):
        return self.starts[line - 1] + column


def _changes(node, parent, text):
    """(rule, the part that is replaced, by what, where both differ) for one node."""
    if isinstance(node, ast.BoolOp):
        is_and, is_value = isinstance(node.op, ast.And), not isinstance(parent, _ASKING)
        for dropped, value in enumerate(node.values):
            rest = [f"({text(other)})" for i, other in enumerate(node.values) if i != dropped]
            # The last part of `a or b` counts as it is where the value is used, not only its truth.
            outcomes = (True, False) if is_value and value is node.values[-1] else (not is_and,)
            if not binds(value):
                yield ("condition dropped", node, f"({(' and ' if is_and else ' or ').join(rest)})",
                       [(value, outcome) for outcome in outcomes])
    if isinstance(node, (ast.If, ast.IfExp)) and not isinstance(node.test, ast.Constant) and not binds(node.test):
        for word in (True, False):
            yield "condition decided", node.test, str(word), [(node.test, not word)]
    if isinstance(node, ast.comprehension):
        for condition in node.ifs:
            if not binds(condition):
                yield "filter dropped", condition, "True", [(condition, False)]
    if is_moved(node) and not any(cost in text(node) for cost in _COSTS):
        sides = text(node.left), text(node.comparators[0])
        yield "bound moved", node, f"({sides[0]} {MOVED[node.ops[0].__class__]} {sides[1]})", [(node, "equal")]
    if is_bound(node):
        yield from (("bound dropped", node, f"({text(a)})", [(node, i)]) for i, a in enumerate(node.args))
    if isinstance(node, ast.Assign) and isinstance(node.value, (ast.Tuple, ast.List)) and _is_stages(node):
        for stage in node.value.elts:
            rest = [text(other) for other in node.value.elts if other is not stage]
            yield "stage left out", node.value, f"({', '.join(rest)},)", []


def _is_stages(node):
    return any(isinstance(target, ast.Name) and target.id in _LISTS for target in node.targets)


def _short(text):
    text = " ".join(text.split())
    return text if len(text) <= 60 else f"{text[:57]}..."
