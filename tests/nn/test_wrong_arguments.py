"""What is wrong in a call is said by an error of ours: what must hold, and what was got."""

import numpy as np
import pytest

import retrograde as rg
from retrograde import nn, optim
from retrograde.errors import ArgumentError, CheckpointError, DTypeError, OutOfRangeError, ShapeError
from retrograde.nn import functional


def parameters():
    return [nn.Parameter(rg.ones(3))]


def sgd():
    return optim.SGD(parameters(), lr=0.1)


WRONG = {
    "a list given to a layer": (lambda: nn.Linear(3, 2)([1, 2, 3]), DTypeError, r"array or a tensor is needed, got \[1, 2, 3\] of type list"),
    "None given to a convolution": (lambda: nn.Conv2d(3, 2, 1)(None), DTypeError, "conv2d needs an array or a tensor, got None"),
    "a list given to a norm": (lambda: nn.BatchNorm1d(2)([[1.0, 2.0]]), DTypeError, r"BatchNorm1d: an array or a tensor is needed, got \[\[1.0"),
    "a word given to a pool": (lambda: nn.MaxPool2d(2)("abc"), DTypeError, "array or a tensor is needed, got 'abc' of type str"),
    "a list given to a model": (lambda: nn.Sequential(nn.Flatten())([1]), DTypeError, r"Flatten: an array or a tensor is needed, got \[1\]"),
    "no logits": (lambda: rg.cross_entropy(None, rg.tensor([1])), DTypeError, "array or a tensor is needed, got None of type NoneType"),
    "an axis before the indices": (lambda: rg.ones(2, 2).gather(1, rg.tensor([[0], [1]])), DTypeError, r"in this order: x.gather\(indices, axis\)"),
    "a list of parameters for a call": (lambda: nn.functional_call([1], {}, ()), DTypeError, r"functional_call needs a Module, got \[1\]"),
    "a list in place of names": (lambda: nn.functional_call(nn.Linear(1, 1), [1], ()), DTypeError, r"needs a dictionary .* got \[1\]"),
    "a number that int8 cannot hold": (lambda: rg.stack([rg.ones(2, dtype="int8")[0], 300]), ArgumentError, r"stack\(.*300.* out of bounds"),
    "nothing to stack": (lambda: rg.stack(3), DTypeError, "stack takes a list of arrays, got 3 of type int"),
    "rows of unequal length": (lambda: rg.tensor([[1, 2], [3]]), ShapeError, "rows of equal length, got length 2 and length 1"),
    "numbers beside rows": (lambda: rg.tensor([1, [2]]), ShapeError, "rows of equal length, got a number and length 1"),
    "half a place": (lambda: rg.roll(rg.ones(3), 1.5), DTypeError, r"roll\(.*shift must be an integer, .*got 1.5"),
    "too many of the greatest": (lambda: rg.topk(rg.ones(3), 4), ArgumentError, r"^topk\(float32\[3\], 4\): k must lie between 0 and"),
    "a list in place of a state": (lambda: nn.Linear(1, 1).load_state_dict([1]), DTypeError, "a state is a dictionary of tensors by name, .*got list"),
    "names of a wrapped model": (
        lambda: nn.Linear(1, 1).load_state_dict({"module.weight": rg.ones(1, 1), "module.bias": rg.ones(1)}), CheckpointError,
        r"begin with 'module\.', take that away"),
    "one-hot rows of integers": (
        lambda: functional.cross_entropy(normal(2, 3), functional.one_hot(numbers(2), 3)), ShapeError, "one-hot rows, must be floats"),
    "arrays of unequal shapes": (lambda: rg.stack([rg.ones(2), rg.ones(3)]), ShapeError, r"one shape, got \(2,\) and \(3,\)"),
    "output and state of an LSTM": (
        lambda: nn.Sequential(nn.LSTM(3, 4), nn.Linear(4, 1))(normal(5, 2, 3)), ShapeError, r"^linear\(.*one shape, got \(5, 2, 4\) and"),
    "a set of parameters": (lambda: optim.SGD(set(parameters()), lr=0.1), DTypeError, "must be a list of tensors .*got set"),
    "a negative size": (lambda: nn.Linear(-1, 2), ShapeError, r"sizes of a shape must be at least 0, got \(2, -1\)"),
    "half a size": (lambda: rg.zeros(2.5), DTypeError, "sizes of a shape must be integers, got 2.5"),
    "a word as a size": (lambda: rg.randn(2, "a"), DTypeError, r"sizes of a shape must be integers, got \(2, 'a'\)"),
    "no groups": (lambda: nn.Conv1d(2, 2, 1, groups=0), ArgumentError, "Conv1d needs groups to be an integer of at least 1, got 0"),
    "no channels": (lambda: nn.Conv1d(None, 2, 1), ArgumentError, "Conv1d needs in_channels to be an integer of at least 1, got None"),
    "a word as a probability": (lambda: nn.Dropout("a"), ArgumentError, "must lie between 0 and 1, got 'a'"),
    "several truths": (lambda: bool(rg.ones(2, 3)), ShapeError, r"of shape \(2, 3\) is ambiguous.* use x.any\(\) or x.all\(\)"),
    "several numbers": (lambda: float(rg.ones(3)), ShapeError, r"only a tensor of one element is a number, got shape \(3,\)"),
    "a float as an index": (lambda: [1, 2][rg.ones(())], DTypeError, r"only an integer tensor .* got float32 of shape \(\)"),
    "NaN as a learning rate": (lambda: optim.SGD(parameters(), lr=float("nan")), ArgumentError, "lr must be a number of at least 0, got nan"),
    "no learning rate": (lambda: optim.Adam(parameters(), lr=None), ArgumentError, "lr must be a number of at least 0, got None"),
    "one beta": (lambda: optim.AdamW(parameters(), betas=0.9), ArgumentError, r"betas must be two numbers in \[0, 1\), got 0.9"),
    "a group without parameters": (lambda: optim.SGD([{"lr": 1}], lr=0.1), DTypeError, 'must be a dictionary with "params"'),
    "no optimizer": (lambda: optim.StepLR(None, 2), DTypeError, "takes the optimizer whose learning rate it sets, got NoneType"),
    "a word as an epoch": (lambda: optim.ExponentialLR(sgd(), 0.9, last_epoch="a"), ArgumentError, "last_epoch must be an integer, got 'a'"),
    "NaN as a factor": (lambda: optim.ReduceLROnPlateau(sgd(), factor=float("nan")), ArgumentError, "factor must be a number below 1, got nan"),
    "what has no gradient": (lambda: nn.utils.clip_grad_norm_(None, 1.0), DTypeError, "of a list of parameters, .* got NoneType"),
    "no function": (lambda: rg.grad(3), DTypeError, r"a transform takes a function, got int; write grad\(f\)\(x\)"),
    "no function for vjp": (lambda: rg.vjp(None, 1.0), DTypeError, "a transform takes a function, got NoneType"),
    "a word as a position": (lambda: rg.grad(np.sum, argnums="x")(1.0), DTypeError, "argnums must be an integer or a tuple of integers, got 'x'"),
    "nothing beside the result": (lambda: rg.grad(np.sum, has_aux=True)(1.0), ArgumentError, r"must return \(result, anything\), got"),
}


def normal(*shape):
    return rg.tensor(np.random.default_rng(0).standard_normal(shape), dtype=rg.float32)


def numbers(*shape, start=0):
    return rg.arange(start, start + int(np.prod(shape))).reshape(shape) % 3 + start


def layer(made):
    return lambda *inputs: made(*inputs)


def attend(**masks):
    def call(x):
        return nn.MultiheadAttention(4, 2, batch_first=True)(x, x, x, **masks)

    return call


#: What does not fit a layer or a loss: the call, its arguments, the error and words of it, eagerly and under jit.
UNFIT = {
    "channels of lines": (layer(nn.Conv1d(3, 4, 3)), [normal(2, 5, 8)], ShapeError, r"^conv1d\(float32\[2, 5, 8\].*needs 3 channels .*got 5"),
    "channels of images": (layer(nn.Conv2d(4, 4, 3, groups=2)), [normal(2, 6, 8, 8)], ShapeError, r"^conv2d.*4 channels \(groups=2 times"),
    "channels of volumes": (layer(nn.Conv3d(3, 4, 2)), [normal(2, 5, 4, 4, 4)], ShapeError, r"^conv3d\(.*needs 3 channels .*got 5"),
    "axes of lines": (layer(nn.Conv1d(3, 4, 3)), [normal(8)], ShapeError, r"^conv1d\(.*must be \(batch, channels, length\).*got shapes \(8,\)"),
    "axes of images": (layer(nn.Conv2d(3, 4, 3)), [normal(8, 8)], ShapeError, r"^conv2d\(.*must be \(batch, channels, height, width\)"),
    "transposed lines": (layer(nn.ConvTranspose1d(3, 4, 3)), [normal(2, 5, 8)], ShapeError, r"^conv_transpose1d\(.*needs 3 channels .*got 5"),
    "transposed volumes": (layer(nn.ConvTranspose3d(3, 4, 2)), [normal(2, 5, 4, 4, 4)], ShapeError, r"^conv_transpose3d\(.*needs 3 channels"),
    "a bias of a transpose": (functional.conv_transpose2d, [normal(2, 3, 4, 4), normal(3, 4, 2, 2), normal(5)], ShapeError, "one number for each of the 4"),
    "a bias": (functional.conv2d, [normal(2, 3, 4, 4), normal(4, 3, 2, 2), normal(5)], ShapeError, r"^conv2d\(.*one number for each of the 4 output"),
    "batch norm's channels": (layer(nn.BatchNorm2d(3)), [normal(2, 5, 4, 4)], ShapeError, "^BatchNorm2d needs .*num_features=3 channels in axis 1, got 5"),
    "batch norm's channels after training": (layer(nn.BatchNorm1d(3).eval()), [normal(2, 5)], ShapeError, "^BatchNorm1d needs .*got 5"),
    "instance norm's channels of one": (layer(nn.InstanceNorm1d(3, affine=True)), [normal(5, 4)], ShapeError, "num_features=3 channels in axis 0, got 5"),
    "integers for batch norm": (layer(nn.BatchNorm1d(3)), [numbers(2, 3)], DTypeError, r"^batch_norm\(int64\[2, 3\].*floats are needed, got int64"),
    "integers for layer norm": (layer(nn.LayerNorm(3)), [numbers(2, 3)], DTypeError, r"^layer_norm\(.*floats are needed, got int64"),
    "integers for rms norm": (layer(nn.RMSNorm(3)), [numbers(2, 3)], DTypeError, r"^rms_norm\(.*floats are needed, got int64"),
    "group norm's channels": (layer(nn.GroupNorm(2, 4)), [normal(2, 6, 3)], ShapeError, r"^group_norm\(.*weight must have one number for each channel"),
    "running statistics": (functional.batch_norm, [normal(2, 3), normal(4), normal(4)], ShapeError, r"^batch_norm\(.*running_mean must have one number"),
    "response norm of a vector": (layer(nn.LocalResponseNorm(2)), [normal(4)], ShapeError, "^local_response_norm needs an input"),
    "integers for an LSTM": (layer(nn.LSTM(3, 4)), [numbers(5, 2, 3)], DTypeError, "^LSTM needs floats, got int64"),
    "the state of a cell": (layer(nn.GRUCell(3, 4)), [normal(2, 3), normal(5, 4)], ShapeError, r"^GRUCell needs a state of shape \(2, 4\), got \(5, 4\)"),
    "one state of two": (layer(nn.LSTMCell(3, 4)), [normal(2, 3), normal(2, 4)], ShapeError, r"^LSTMCell needs \(h, c\), each of shape \(2, 4\)"),
    "features of attention": (attend(), [normal(2, 3, 6)], ShapeError, r"^MultiheadAttention needs .*\(4, 4, 4\), got shapes \(2, 3, 6\)"),
    "batches of attention": (layer(nn.MultiheadAttention(4, 2)), [normal(3, 2, 4)] + [normal(3, 5, 4)] * 2, ShapeError, "batch_first=False"),
    "a mask of attention": (attend(attn_mask=normal(4, 4)), [normal(2, 3, 4)], ShapeError, r"^attn_mask must have the shape \(3, 3\) or \(4, 3, 3\), got"),
    "a mask of integers": (attend(key_padding_mask=numbers(2, 3)), [normal(2, 3, 4)], DTypeError, "^key_padding_mask must be of booleans .*got int64"),
    "a mask of products": (functional.scaled_dot_product_attention, [normal(2, 3, 4)] * 3 + [normal(5, 5)], ShapeError, r"here \(..., 3, 3\), got \(5, 5\)"),
    "a mask that is too long": (functional.scaled_dot_product_attention, [normal(1, 4)] * 3 + [normal(1, 5)], ShapeError, r"attn_mask must broadcast to \(..., L, S\)"),
    "batches of products": (functional.scaled_dot_product_attention, [normal(2, 3, 4)] + [normal(3, 3, 4)] * 2, ShapeError, r"\(2,\) and \(3,\) do not broadcast"),
    "a memory of another batch": (layer(nn.TransformerDecoderLayer(4, 2, 8)), [normal(3, 2, 4), normal(3, 4, 4)], ShapeError, "^MultiheadAttention needs"),
    "a vector for a pool": (layer(nn.MaxPool2d(2)), [normal(4)], ShapeError, r"^max_pool2d\(.*at least 2 axes, got shape \(4,\)"),
    "a vector for a pool of volumes": (layer(nn.AvgPool3d(2)), [normal(4)], ShapeError, r"^avg_pool3d\(.*at least 3 axes, got shape \(4,\)"),
    "a vector for an adaptive pool": (layer(nn.AdaptiveMaxPool2d(2)), [normal(4)], ShapeError, r"^adaptive_max_pool2d\(.*at least 2 axes"),
    "features of a bilinear layer": (layer(nn.Bilinear(3, 4, 5)), [normal(2, 3), normal(2, 5)], ShapeError, r"^bilinear\("),
    "vectors of other lengths": (functional.cosine_similarity, [normal(2, 3), normal(2, 4)], ShapeError, r"^cosine_similarity\(.*do not broadcast"),
    "labels that are floats": (functional.cross_entropy, [normal(4, 3), normal(4)], ShapeError, r"must be integers, not float32: write target.astype\(rg.int64\)"),
    "labels in a column": (functional.cross_entropy, [normal(4, 3), numbers(4, 1)], ShapeError, r"got \(4, 1\); drop the last axis, as in target.squeeze"),
    "too many labels": (functional.nll_loss, [normal(4, 3), numbers(5)], ShapeError, r"one class number for each example, shape \(4,\) .*got \(5,\)"),
    "labels of nll_loss that are floats": (functional.nll_loss, [normal(4, 3), normal(4)], DTypeError, "class numbers must be integers, got float32"),
    "weights of classes": (layer(nn.CrossEntropyLoss(weight=rg.ones(5))), [normal(4, 3), numbers(4)], ShapeError, "each of the 3 classes, got"),
    "weights of classes with chances": (layer(nn.CrossEntropyLoss(weight=rg.ones(5))), [normal(4, 3), normal(4, 3)], ShapeError, "each of the 3 classes"),
    "labels of a margin that are floats": (functional.multi_margin_loss, [normal(4, 3), normal(4)], DTypeError, r"^multi_margin_loss\(.*must be integers"),
    "labels of labels": (functional.multilabel_margin_loss, [normal(4, 3), numbers(4, 5)], ShapeError, r"^multilabel_margin_loss\(.*must both be"),
    "a target of another size": (functional.kl_div, [normal(4, 3), rg.ones(5, 3)], ShapeError, r"^kl_div\(float32\[4, 3\], float32\[5, 3\]\): shapes"),
    "anchors of another size": (functional.triplet_margin_loss, [normal(4, 3), normal(4, 5), normal(4, 3)], ShapeError, r"^triplet_margin_loss\("),
    "sequences that are floats": (functional.ctc_loss, [normal(5, 2, 3), normal(2, 3), numbers(2), numbers(2)], DTypeError, r"^ctc_loss\(.*must be integers"),
    "lengths of more sequences": (functional.ctc_loss, [normal(5, 2, 3), numbers(2, 3), numbers(3), numbers(2)], ShapeError, "of the 2 examples"),
}


@pytest.mark.parametrize("wrap", [lambda f: f, rg.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("case", UNFIT)
def test_what_does_not_fit_is_said_in_the_name_of_what_was_called(case, wrap):
    call, inputs, kind, words = UNFIT[case]
    with pytest.raises(kind, match=words):
        wrap(lambda *given: call(*given))(*inputs)


@pytest.mark.parametrize(("call", "words"), [
    (lambda: functional.cross_entropy(normal(4, 3), numbers(4, start=3)), r"^cross_entropy\(.*between 0 and 2, or be ignore_index=-100, got [345]$"),
    (lambda: functional.nll_loss(normal(4, 3), numbers(4, start=3), weight=rg.ones(3)), "class numbers must lie between 0 and 2"),
    (lambda: functional.multi_margin_loss(normal(4, 3), numbers(4, start=3)), "^multi_margin_loss.* class numbers must lie between 0 and 2"),
    (lambda: nn.Embedding(3, 2)(numbers(4, start=3)), r"^embedding\(.*between 0 and 2, got 5"),
    (lambda: functional.one_hot(numbers(4, start=3), 3), r"^one_hot\(.*between 0 and 2, got 5"),
], ids=["cross_entropy", "nll_loss", "multi_margin_loss", "embedding", "one_hot"])
def test_a_class_that_there_is_not_is_named(call, words):
    with pytest.raises(OutOfRangeError, match=words):
        call()


def test_the_layer_in_which_an_error_was_raised_is_noted():
    model = nn.Sequential(nn.Linear(3, 4), nn.Sequential(nn.ReLU(), nn.Linear(5, 2)))
    with pytest.raises(ShapeError) as caught:
        model(normal(2, 3))
    assert caught.value.__notes__ == ["raised in Linear(in_features=5, out_features=2, bias=True)"]


@pytest.mark.parametrize("case", WRONG)
def test_an_error_of_ours_says_what_is_wrong(case):
    call, kind, words = WRONG[case]
    with pytest.raises(kind, match=words):
        call()


def test_an_attribute_that_a_users_module_lacks_is_still_an_attribute_error():
    class Wrong(nn.Module):
        def forward(self, x):
            return x.shapes

    with pytest.raises(AttributeError, match="shapes"):
        Wrong()(rg.ones(1))
    with pytest.raises(AttributeError, match="shapes"):
        Wrong()([1])
