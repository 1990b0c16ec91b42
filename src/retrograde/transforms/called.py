"""Called: a Function that is called in a vmap, as one around it whose derivative runs the Function's own rule for all examples."""

from .. import tree
from ..core.function import Context, Function
from ..core.value import Value
from ..ops._arrays import arrays
from ..ops.axes.reductions import sum as summed


def called(batch, kind, function, context, args, outputs):
    """The `outputs` of a call of `function` on one example of `batch`, with a history around the vmap as well, and the `context`
    that has them in the place of those. `kind` makes a new batch, for the way back.
    """
    call = _Call(batch, kind, function, context, args, outputs)
    with batch.around():
        found = _OfExamples.apply(call, *call.given)
    made = [batch.standing(value, call.differs) for value in found]
    news = {id(old): new for old, new in zip(outputs, made, strict=True)}
    context.saved_tensors = tuple([news.get(id(value), value) for value in context.saved_tensors])
    context.constants = tuple([news.get(id(value), value) for value in context.constants])
    return made


class _Call:
    """What is known of a call in a vmap: its arguments, results and what it keeps, as they are for all examples.

    `differs` says whether the results are others for each example; then all are, so that there is a cotangent for each.
    """

    def __init__(self, batch, kind, function, context, args, outputs):
        self._batch_of, self.function, self._count = kind, function, batch.count
        self.given = [batch.held(a)[0] if isinstance(a, Value) else a for a in args]
        self._specs = [(a.shape, a.dtype) if isinstance(a, Value) else None for a in args]
        self._own = [isinstance(a, Value) and batch.held(a)[1] for a in args]
        self.differs = any([batch.held(value)[1] for value in outputs])
        self.results = [batch.spread(value, self.differs) for value in outputs]
        self.constants = [r for r, value in zip(self.results, outputs, strict=True) if _is_among(value, context.constants)]
        self.materializes = context.materializes
        known = {id(value): (result, self.differs) for value, result in zip(outputs, self.results, strict=True)}
        left = {name: value for name, value in vars(context).items() if name not in ("constants", "needs_input_grad")}
        self._leaves, self._build = tree.flatten(left)
        self._places = [i for i, leaf in enumerate(self._leaves) if isinstance(leaf, Value)]
        kept = [known.get(id(self._leaves[i])) or batch.held(self._leaves[i]) for i in self._places]
        self.kept, self._kept_differs = [value for value, _ in kept], [differs for _, differs in kept]
        for i in self._places:
            self._leaves[i] = None

    def gradients(self, kept, cotangents, needs):
        """The gradients of all arguments, for all examples."""
        batch = self._batch_of(self._count)
        leaves = list(self._leaves)
        with batch.running():
            for i, value, differs in zip(self._places, kept, self._kept_differs, strict=True):
                leaves[i] = batch.leaf(value, differs)
            context = Context()
            vars(context).update(self._build(leaves))
            context.needs_input_grad = needs
            given = [None if c is None else batch.leaf(c, self.differs) for c in cotangents]
            found = self.function.backward(context, *given)
            found = found if isinstance(found, tuple) else (found,)
            name = self.function.__name__
            fits = enumerate(zip(found, self._specs, strict=False))
            found = [c if c is None or spec is None else arrays.fit_foreign(c, spec, name, i) for i, (c, spec) in fits]
        return [None if c is None else self._whole(batch, c, own) for c, own in zip(found, self._own, strict=False)]

    def _whole(self, batch, c, own):
        """A gradient for all examples: of an argument that is the same for all, their sum."""
        if own:
            return batch.results(c)
        if self.differs:
            return summed(batch.results(c), axis=0)
        return batch.held(c)[0] if isinstance(c, Value) else c


class _OfExamples(Function):
    """A call that has been made for all examples."""

    @staticmethod
    def forward(ctx, call, *_):
        ctx.call = call
        ctx.set_materialize_grads(call.materializes)
        ctx.mark_non_differentiable(*call.constants)
        ctx.save_for_backward(*call.kept)
        return tuple(call.results)

    @staticmethod
    def backward(ctx, *grad_outputs):
        return None, *ctx.call.gradients(ctx.saved_tensors, grad_outputs, ctx.needs_input_grad[1:])


def _is_among(value, values):
    return any([value is v for v in values])
