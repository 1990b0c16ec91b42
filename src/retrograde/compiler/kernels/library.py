"""Library calls: ops without a kernel here, which run their own in Python, and loops, whose body is planned for itself."""

from ..graph.effects import has_effect
from ..graph.loop_op import Loop
from ..run.library_call import InPlaceCall, LibraryCall
from ..run.loop_call import LoopCall
from .kernel import Kernel, source


class Library(Kernel):
    """An op as a call of its own kernel."""

    name, may_wait = "library", False

    def matches(self, node, facts):
        return True

    def may_fail_in(self, step, schedule, fragile):
        return True

    def launches(self, step, assembler):
        return [self.called(step, assembler.program)]

    def called(self, step, program):
        return LibraryCall(step.roots[0])


class InPlace(Library):
    """A call of an op with several results that can write them where they belong, with these results."""

    name = "in place"

    def matches(self, node, facts):
        return has_effect(node) and node.op.op.into is not None

    def maker(self, node):
        return source(node)

    def called(self, step, program):
        return InPlaceCall(step)


class Repeated(Library):
    """A loop, which is one node, and its results."""

    name = "repeat"

    def matches(self, node, facts):
        return isinstance(node.op, Loop)

    def maker(self, node):
        return source(node)

    def launches(self, step, assembler):
        return assembler.repeated(step)

    def called(self, step, program):
        return LoopCall(step, program)
