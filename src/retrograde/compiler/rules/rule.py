"""A rule: a row of the table, which replaces a node; and how the rows for one op are applied."""

from collections.abc import Callable
from typing import NamedTuple

from ...core import registry


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
        for rule in rules.get(call.op.name, ()):
            found = rule.replace(call)
            if found is not None:
                call = found
                break
        else:
            return call
    return call
