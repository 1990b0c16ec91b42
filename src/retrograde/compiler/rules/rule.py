"""Rules and patterns: rows of tables, by which nodes are replaced one by one or several together; and how rules are applied."""

from collections.abc import Callable
from typing import NamedTuple

from ...core import registry
from ...core.symbol import Symbol


class Call(NamedTuple):
    """A node that is about to be made: `op` on `args`, which gives an array of `shape` and `dtype`."""

    op: object
    args: tuple
    shape: tuple
    dtype: object

    def by(self, name, *args):
        """The same node made by the op called `name`."""
        return Call(registry.get(name), args, self.shape, self.dtype)

    def as_is(self, node):
        """The same node made as a new one that stands for it is."""
        return Call(node.op, node.args, self.shape, self.dtype)


class Rule(NamedTuple):
    """A row of the table.

    name     what the row does, in a few words
    ops      the names of the ops whose nodes may be replaced
    replace  given a `Call`, another one of the same values, a node that has them already, or None where the pattern does not match
    why      what is gained
    """

    name: str
    ops: tuple
    replace: Callable
    why: str


class Pattern(NamedTuple):
    """A row of the table of patterns: nodes that are replaced together, where what reads them says that they may be.

    name  what the row does, in a few words
    ops   the names of ops; a graph without a node of them has no such pattern
    find  given the `Readers` of a graph, by node that is replaced what makes its replacement: `make(node, made)`, where `made`
          has what stands for each node before it. Where it gives None, the node is left
    why   what is gained
    """

    name: str
    ops: tuple
    find: Callable
    why: str


class Readers:
    """The `nodes` of a graph, arguments first, and what reads each."""

    def __init__(self, outputs):
        self.nodes = outputs.nodes
        #: What is given out is read by what is no node.
        self._readers = {output: [None] for output in outputs if isinstance(output, Symbol)}
        for node in self.nodes:
            for read in node.inputs:
                self._readers.setdefault(read, []).append(node)

    def of(self, node):
        """The nodes that read a node, once for each argument that it is; None among them if it is given out."""
        return self._readers.get(node, ())

    def is_given_out(self, node):
        """Whether a node is a result, or what state is to be."""
        return None in self.of(node)


def is_called(node, name):
    """Whether something is a node of the op called `name`."""
    return isinstance(node, Symbol) and node.op is not None and node.op.name == name


def by_op(rules):
    """For the name of each op, its rules in order."""
    found = {}
    for rule in rules:
        for name in rule.ops:
            found.setdefault(name, []).append(rule)
    return found


def applied(rules, call):
    """What a call becomes when no rule of `rules`, given by the name of an op, matches it any more: a `Call`, or a node."""
    while call.__class__ is Call:
        # From the first rule again after each change: the new call may be of another op, and match an earlier row.
        for rule in rules.get(call.op.name, ()):
            found = rule.replace(call)
            if found is not None:
                call = found
                break
        else:
            return call
    return call
