"""The bridge: text to numbers forward, numeric gradients to feedback back. One graph holds both."""

import numpy as np

from ..errors import ArgumentError, DTypeError, ModelError, UnsupportedError
from ..tensor.tensor import Tensor
from .algebra import Feedback, Gathering, texts
from .basics import check_variables
from .chat import explained, used
from .conversation import Conversation, shortened
from .data import as_text, scalars, shape_of
from .embedding import HashedWords
from .models.batch import complete_all
from .models.request import in_order
from .models.trace import calls_for
from .wording import prompt

#: Samples with less than this share of the largest derivative have nothing to say.
_SILENT = 0.01


class ToTensor(Gathering):
    """Numbers of a text variable as a tensor: see `to_tensor`."""

    @staticmethod
    def forward(ctx, x, dtype):
        check_variables("to_tensor", (x,))
        strange = [scalar for scalar in scalars(x.data) if not isinstance(scalar, (int, float))]
        if None in strange:
            raise DTypeError(f"to_tensor needs every sample, and of {x.role!r} number {x.data.index(None)} is missing")
        if strange:
            raise DTypeError(f"to_tensor takes numbers, and {x.role!r} holds {strange[0]!r:.60}; convert it with x.to(float)")
        ctx.role = x.role
        return Tensor(np.array(x.data, dtype))

    @staticmethod
    def backward(ctx, g):
        return _numeric(ctx, g.data), None


class Embed(Gathering):
    """Texts as vectors: see `embed`."""

    @staticmethod
    def forward(ctx, x, embedding, dtype):
        check_variables("embed", (x,))
        ctx.role, ctx.embedding, ctx.is_batch = x.role, embedding, x.is_batch
        ctx.texts = [as_text(text) for text in x.data] if x.is_batch else [as_text(x.data)]
        rows = np.asarray(embedding(ctx.texts), dtype)
        if rows.ndim != 2 or len(rows) != len(ctx.texts):
            raise ArgumentError(f"an embedding must give one vector for each text, got shape {rows.shape} for {len(ctx.texts)} "
                                "texts")
        ctx.rows = rows
        return Tensor(rows if x.is_batch else rows[0])

    @staticmethod
    def backward(ctx, g):
        gradient = np.atleast_2d(g.data)
        sizes = np.abs(gradient).max(axis=1)
        said = [_embedded(ctx, *row) if size > _SILENT * sizes.max() else ""
                for row, size in zip(zip(ctx.texts, ctx.rows, gradient, strict=True), sizes, strict=True)]
        return Feedback((_said(ctx, said if ctx.is_batch else said[0]),)) if any(said) else None, None, None


class LabelLogprobs(Gathering):
    """The log-probabilities of labels after a conversation: see `logprobs`."""

    @staticmethod
    def forward(ctx, model, plan, labels, feedback_model, words, options, role, dtype, learned, *variables):
        if words and not model.has_gradients:
            raise UnsupportedError(f"{model.name} cannot tell which words count, since it has no gradients; "
                                   'text.LocalModel(path, engine="retrograde") has')
        if learned is not None or words:
            ctx.model = model
        if learned is not None:
            ctx.save_for_backward(learned)
        ctx.words = words
        ctx.feedback_model, ctx.role, ctx.used, ctx.demonstrations = feedback_model, role, used(variables), plan.demonstrations
        ctx.labels = labels
        ctx.requests = plan.requests([variable.data for variable in variables], labels=labels, **options)
        if None in ctx.requests:
            raise ArgumentError(f"logprobs needs every sample, and number {ctx.requests.index(None)} is missing")
        with calls_for(role):
            found = complete_all(model, ctx.requests)
        ctx.rows = np.array([_logprobs(answer) for answer in found], dtype)
        if ctx.rows.shape != (len(found), len(labels)):
            raise ArgumentError(f"{model.name} does not tell the probabilities of labels; use a LocalModel")
        ctx.answers = [labels[i] for i in ctx.rows.argmax(axis=1)]
        return Tensor(ctx.rows if plan.size is not None else ctx.rows[0])

    @staticmethod
    def backward(ctx, g):
        gradient = np.atleast_2d(g.data)
        sizes = np.abs(gradient).max(axis=1)
        is_heard = any(ctx.needs_input_grad[9:])
        said = [_labelled(ctx, *sample) if is_heard and size > _SILENT * sizes.max() else ""
                for size, *sample in zip(sizes, ctx.requests, ctx.rows, gradient, strict=True)]
        slopes = None
        if ctx.needs_input_grad[8]:
            (learned,) = ctx.saved_tensors
            slopes = ctx.model.label_gradient(ctx.requests, gradient, learned)
        return (*(None,) * 8, slopes, *explained(ctx, [_said(ctx, said)], ctx.needs_input_grad[9:]))


def to_tensor(x, dtype=np.float32):
    """The numbers of a text variable as a tensor in the same graph; its gradient comes back as numbers.

    >>> score = rg.text.Variable([0.5, 1.0], role="score", requires_grad=True)
    >>> (rg.text.to_tensor(score) * 2).sum().backward()
    >>> score.grad[0].data
    [2.0, 2.0]
    """
    return ToTensor.apply(x, dtype)


def embed(x, embedding=None, dtype=np.float32):
    """Texts as vectors, shape (samples, size); (size,) of a single text.

    `embedding` maps a list of texts to an array; the default is a HashedWords. Backward, each sample is told how the loss
    depends on it, and if the embedding can `explain`, which words raise and lower it.

    >>> x = rg.text.Variable(["good film", "bad film"], role="review", requires_grad=True)
    >>> rg.text.embed(x).shape
    (2, 256)
    """
    return Embed.apply(x, embedding or HashedWords(), dtype)


def logprobs(model, messages, labels, inputs=None, *, demonstrations=None, feedback_model=None, words=0, role="label",
             dtype=np.float32, **options):
    """The log-probability of each of `labels` as the answer to a conversation: shape (samples, labels).

    The other arguments are those of `chat`. Backward, the derivative of the loss says for each sample which label should be
    likelier and by how much the loss would fall, and that is handed on as feedback on an answer is. What the model has that is
    `learned`, a soft prompt, has its gradient from the same pass, in numbers. With `words` the feedback names so many words of the
    prompt that count most, by the gradient of the loss in their vectors: the model must run in the same graph, as a `LocalModel`
    of the engine retrograde does. If a call fails, its error is raised: a loss needs every sample.
    """
    labels = in_order("labels", labels)
    if len(labels) < 2:
        raise ArgumentError(f"logprobs needs at least two labels, got {list(labels)}")
    plan = Conversation.of(messages, inputs, demonstrations)
    if type(words) is not int or words < 0:
        raise ArgumentError(f"words is how many words are named, an integer of at least 0, got {words!r}")
    return LabelLogprobs.apply(model, plan, labels, feedback_model, words, options, role, dtype, getattr(model, "learned", None),
                               *plan.variables)


def _logprobs(answer):
    if isinstance(answer, ModelError):
        raise answer
    return answer.logprobs


def _labelled(ctx, request, logs, slopes):
    """What the derivatives of the loss in the log-probabilities of one sample say."""
    better, worse = int(slopes.argmin()), int(slopes.argmax())
    if slopes[better] >= 0:  # every label should be less likely: the best of them is the one that hurts least
        return ""
    chances = np.exp(logs)
    return prompt("label", better=ctx.labels[better], worse=ctx.labels[worse], p_better=f"{chances[better]:.2g}",
                  p_worse=f"{chances[worse]:.2g}", gain=f"{-slopes[better]:.2g}", words=_counting(ctx, request, slopes))


def _counting(ctx, request, slopes):
    """The words of a prompt that count most for the loss, and by how much to the first order; nothing unless they are asked for."""
    if not ctx.words:
        return ""
    found = sorted(ctx.model.attribution(request, slopes).words, key=lambda word: -abs(word[1]))[: ctx.words]
    return _verbs([(f"{word} ({effect:+.2g})", effect) for word, effect in found], "the loss", ctx.words)


def _verbs(found, what, most):
    """What words do by their slopes, of pairs (word, slope): the first few that raise it, and those that lower it."""
    parts = [("raise", [word for word, slope in found if slope > 0]), ("lower", [word for word, slope in found if slope < 0])]
    return "".join([f"; words that {verb} {what}: {', '.join(chosen[:most])}" for verb, chosen in parts if chosen])


def _embedded(ctx, text, row, slopes):
    """What the derivatives of the loss in one vector say about its text."""
    explain, words = getattr(ctx.embedding, "explain", None), ""
    if explain is not None:
        words = _verbs(explain(text, slopes), "it", most=5)
    return f'"{shortened(text, 200)}": ' + prompt("embedding", change=f"{float(row @ slopes):+.2g}", words=words)


def _said(ctx, data):
    return texts.kind.remade(f"feedback to {ctx.role}", data, path=(f"numbers of {ctx.role}",))


def _numeric(ctx, array):
    data = array.tolist()
    return Feedback((_said(ctx, data),)) if np.any(array) or shape_of(data) == () else None
