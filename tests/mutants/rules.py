"""Mutants of one source text: a condition that is dropped or decided, a bound that is moved, an entry of a list that is left out."""

import ast
from typing import NamedTuple

#: A bound is moved by one, from "below" to "at most" and back.
_MOVED = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">"}
#: Lists of which each entry is a stage: without it something must fail.
_LISTS = ("PASSES", "KINDS", "RULES")


class Mutant(NamedTuple):
    """One change: what stands from byte `start` to `end` becomes `text`. `function` is the qualified name of the function or the method
    around it, empty in the body of a module.
    """

    path: str
    function: str
    line: int
    rule: str
    start: int
    end: int
    old: str
    text: str

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
        """The mutants below a node in a scope of these names; what is defined inside of a function counts as this."""
        for child in ast.iter_child_nodes(node):
            is_function = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef))
            inner = (*names, child.name) if (is_function or isinstance(child, ast.ClassDef)) and not is_inside else names
            function = ".".join(inner) if is_inside or is_function else ""
            yield from (self._mutant(function, *change) for change in _changes(child, self._text))
            yield from self._below(child, inner, is_inside or is_function)

    def _text(self, node):
        return ast.get_source_segment(self.source, node)

    def _mutant(self, function, rule, part, text):
        start, end = self._at(part.lineno, part.col_offset), self._at(part.end_lineno, part.end_col_offset)
        old = self.source.encode()[start:end].decode()
        return Mutant(self.path, function, part.lineno, rule, start, end, old, text)

    def _at(self, line, column):
        return self.starts[line - 1] + column


def _changes(node, text):
    """(rule, the part that is replaced, by what) for one node."""
    if isinstance(node, ast.BoolOp):
        word = " and " if isinstance(node.op, ast.And) else " or "
        for dropped in range(len(node.values)):
            rest = [f"({text(value)})" for i, value in enumerate(node.values) if i != dropped]
            yield "condition dropped", node, f"({word.join(rest)})"
    if isinstance(node, (ast.If, ast.IfExp)) and not isinstance(node.test, (ast.Constant, ast.NamedExpr)):
        walrus = any(isinstance(part, ast.NamedExpr) for part in ast.walk(node.test))
        yield from (("condition decided", node.test, word) for word in (() if walrus else ("True", "False")))
    if isinstance(node, ast.comprehension):
        for condition in node.ifs:
            if not any(isinstance(part, ast.NamedExpr) for part in ast.walk(condition)):
                yield "filter dropped", condition, "True"
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and node.ops[0].__class__ in _MOVED:
        sides = text(node.left), text(node.comparators[0])
        yield "bound moved", node, f"({sides[0]} {_MOVED[node.ops[0].__class__]} {sides[1]})"
    if _is_bound(node):
        yield from (("bound dropped", node, f"({text(a)})") for a in node.args)
    if isinstance(node, ast.Assign) and isinstance(node.value, (ast.Tuple, ast.List)) and _is_stages(node):
        for entry in node.value.elts:
            rest = [text(other) for other in node.value.elts if other is not entry]
            yield "stage left out", node.value, f"({', '.join(rest)},)"


def _is_bound(node):
    """Whether a node is the greater or the lesser of two numbers."""
    is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("min", "max")
    return is_call and len(node.args) == 2 and not node.keywords and not any(isinstance(a, ast.Starred) for a in node.args)


def _is_stages(node):
    return any(isinstance(target, ast.Name) and target.id in _LISTS for target in node.targets)


def _short(text):
    text = " ".join(text.split())
    return text if len(text) <= 60 else f"{text[:57]}..."
