"""Random numbers, made from the state of a generator on."""

from ...core.symbol import Symbol
from ...dtypes import name_of
from ...ops.random._streams import MOST_CHOICES
from ...ops.random.draws import mask_threshold
from .. import cost
from ..index.row_dependences import Met, row_counts
from .kernel import Kernel
from .random_plan import WORDS, RandomPlan, has_kernel


class Random(Kernel):
    """Numbers of one distribution."""

    name = "random"
    fewest_rows = WORDS  # each block of rows begins with a whole block of words

    def matches(self, node, facts):
        if node.shape is None or not node.size or not has_kernel(node.op.name, name_of(node.dtype)):
            return False
        # Of more choices one product, which is what the kernel takes, does not make all equally likely.
        is_narrow = node.op.name != "random_integers" or node.args[3] - node.args[2] <= MOST_CHOICES
        return is_narrow and isinstance(node.args[0], Symbol)

    def rows(self, step, accesses):
        return row_counts(step.roots[0].shape)

    def met(self, step, rows, accesses):
        node = step.roots[0]
        state = id(accesses.layout(step, node.args[0])[0])
        # The state belongs to no row: whoever changes it must be over before.
        return Met({state}, {state}, set()) if node.size % rows == 0 else None

    def is_worth_tiling(self, step):
        return step.roots[0].size >= cost.TILED_NUMBERS

    def launches(self, step, assembler):
        return [self._launch(step, assembler, _plan_of(step.roots[0]))]

    def rows_launches(self, step, nest, assembler, panels):
        node, plan = step.roots[0], _plan_of(step.roots[0])
        moves = (nest.frame, nest.block_bytes(node), nest.local[node]) if node in nest.local else (0, 0, 0)
        return [self._launch(step, assembler, plan._replace(block=node.size // nest.rows * nest.block, moves=moves))]

    @staticmethod
    def _launch(step, assembler, plan):
        node = step.roots[0]
        state = assembler.layout(step, node.args[0])[0]
        return plan.launch(step, state, assembler.storage(node), assembler, assembler.lasts(step))


def _plan_of(node):
    name, parameters = node.op.name, ()
    if name == "random_mask":
        parameters = (mask_threshold(node.args[2]),)
    elif name == "random_integers":
        low, high = node.args[2:4]
        parameters = int(low), int(high) - int(low)
    return RandomPlan(name, name_of(node.dtype), node.size, node.args[-1], parameters)
