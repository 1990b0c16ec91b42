"""Sums over processes that see each other's memory, as steps of compiled code: one writes the operands for the others and goes on,
another waits for theirs and adds up.
"""

import numpy as np

from ...core.symbol import Symbol
from ..graph.effects import LAST, has_effect
from ..graph.recorder import PICK
from ..run.failures import FLAG
from .kernel import Kernel, Scratch, launch, source


class _Exchange(Kernel):
    """A step of a sum."""

    may_wait = is_alone = False

    def matches(self, node, facts):
        if not has_effect(node) or node.named["group"].shared is None or node.named["order"] != "ranks":
            return False
        arrays = self._arrays(node)
        adds, dtype = node.named["group"].shared.adds, np.dtype(arrays[0].dtype)
        return adds(dtype) and all([isinstance(a, Symbol) and a.size > 0 and a.dtype == dtype for a in arrays])

    def maker(self, node):
        return source(node)

    def may_fail_in(self, step, schedule, fragile):
        return True

    @staticmethod
    def _arrays(node):
        raise NotImplementedError

    def _head(self, step, assembler):
        """(buffers of a step before its arrays, the place of each result that is wanted, whether the token is)."""
        node = source(step.roots[0])
        found = {root.args[1]: assembler.storage(root) for root in step.roots if root.op is PICK}
        text = node.named["group"].text_of_means(self._arrays(node), node.named["name"])
        return (node.named["group"].shared.words, text), found, LAST in found


class Begun(_Exchange):
    """The beginning of a sum: operands are written for the others."""

    name = "begin a sum"

    def memory(self, node, facts):
        return [source(node).named["token"], *[facts.memory(a) for a in self._arrays(source(node))]]

    @staticmethod
    def _arrays(node):
        return node.named["xs"]

    def launches(self, step, assembler):
        node, code = source(step.roots[0]), assembler.code("exchange")
        arrays, (head, found, has_token) = self._arrays(node), self._head(step, assembler)
        number = found[0] if 0 in found else Scratch(8)
        plan = code.BeginPlan(tuple([a.nbytes for a in arrays]), has_token)
        failed = node.named["group"].text_of_failure(node.named["name"])
        buffers = (*head, number, FLAG, found.get(LAST, FLAG), *[assembler.layout(step, a)[0] for a in arrays], failed)
        return launch(step, plan, code.write_begin, buffers, 0.0, assembler)


class Finished(_Exchange):
    """The end of a sum: those of all are added up, and divided."""

    name = "finish a sum"

    def memory(self, node, facts):
        # The operands are where the others read them since the sum was begun. The token is read for the order of calls alone.
        return [source(node).named["token"], source(node).named["xs"][0]]

    @staticmethod
    def _arrays(node):
        return node.named["xs"][1:]

    def launches(self, step, assembler):
        node, code = source(step.roots[0]), assembler.code("exchange")
        arrays, (head, found, has_token) = self._arrays(node), self._head(step, assembler)
        plan = code.FinishPlan(tuple([a.size for a in arrays]), has_token, node.named["group"].size, arrays[0].dtype.itemsize == 8)
        number = assembler.layout(step, node.named["xs"][0])[0]
        results = [found[i] if i in found else Scratch(a.nbytes) for i, a in enumerate(arrays)]
        buffers = *head, number, FLAG, found.get(LAST, FLAG), *results
        return launch(step, plan, code.write_finish, buffers, 0.0, assembler)
