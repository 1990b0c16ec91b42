"""By rules: the derivative around a vmap of an op that is computed in parts for all examples. It is by the rules of the op, which
know corners that its parts do not, such as a length of 0.
"""

from ..core.function import Function
from ..core.mode import enable_grad, is_recording
from ..core.symbol import replaced, symbols_in
from ..core.value import Value
from ..ops._arrays import arrays
from ..ops.axes.reductions import sum as summed
from .batched_loop import walked_back


class ByRules(Function):
    """A call of an op, which was made for all examples."""

    @classmethod
    def of(cls, op, args, given, new_batch, found):
        """The results `found` with a history. `given` are (value, whether it differs between examples) for each symbol of `args`,
        in order, and `new_batch` makes a batch of as many examples, for the way back.
        """
        return cls.apply(op, args, [differs for _, differs in given], new_batch, found, *[value for value, _ in given])

    @staticmethod
    def forward(ctx, op, args, differs, new_batch, found, *values):
        ctx.op, ctx.args, ctx.differs, ctx.new_batch = op, args, differs, new_batch
        ctx.save_for_backward(*values)
        return found

    @staticmethod
    def backward(ctx, *grad_outputs):
        batch, needs, is_again = ctx.new_batch(), ctx.needs_input_grad[5:], is_recording()
        # The walk pairs cotangents without conjugation, a Function is handed those that users see.
        seed = arrays.conjugated(grad_outputs[0])
        with batch.running():
            leaves = [batch.standing(value, differs) for value, differs in zip(ctx.saved_tensors, ctx.differs, strict=True)]
            for leaf, needed in zip(leaves, needs, strict=True):
                leaf.requires_grad_(needed)
            places = dict(zip(map(id, symbols_in(ctx.args)), leaves, strict=True))
            with enable_grad():
                result = ctx.op.call(*replaced(ctx.args, lambda symbol: places[id(symbol)]))
            targets = [leaf for leaf, needed in zip(leaves, needs, strict=True) if needed]
            found = iter([arrays.conjugated(g) for g in walked_back([result], targets, [batch.standing(seed, True)], is_again)])
        return None, None, None, None, None, *[_whole(batch, next(found), differs) if needed else None
                                               for needed, differs in zip(needs, ctx.differs, strict=True)]


def _whole(batch, gradient, differs):
    """A gradient for all examples: of an argument that is the same for all, their sum."""
    if gradient is None or differs:
        return None if gradient is None else batch.results(gradient)
    return summed(batch.results(gradient), axis=0) if isinstance(gradient, Value) else gradient * batch.count
