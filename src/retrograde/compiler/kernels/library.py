"""Library calls: ops without a kernel here, which run their own in Python, and loops, whose body is planned for itself."""

from ..graph.loop_op import Loop
from ..run.library_call import LibraryCall
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
