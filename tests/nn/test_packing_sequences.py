"""utils.rnn: packed sequences, made, filled up and taken apart."""

import numpy as np
import pytest

import retrograde as rg
from retrograde.errors import ArgumentError, DTypeError, ShapeError, TraceError
from retrograde.nn.utils import rnn

SEQUENCES = [np.arange(n * 2.0).reshape(n, 2) + 10 * n for n in (2, 4, 1, 3)]


def by_definition(sequences):
    """(data, batch sizes) of packed sequences, from what they are: the elements of all that are so long, time after time."""
    longest_first = sorted(sequences, key=len, reverse=True)
    steps = [[x[t] for x in longest_first if len(x) > t] for t in range(len(longest_first[0]))]
    return np.concatenate([np.stack(step) for step in steps]), [len(step) for step in steps]


def packed(**options):
    return rnn.pack_sequence([rg.tensor(x) for x in SEQUENCES], enforce_sorted=False, **options)


def test_packed_data_are_the_elements_time_after_time():
    found = packed()
    data, sizes = by_definition(SEQUENCES)
    np.testing.assert_array_equal(found.data, data)
    assert found.batch_sizes.tolist() == sizes == [4, 3, 2, 1]
    assert found.sorted_indices.tolist() == [1, 3, 0, 2]
    assert found.unsorted_indices.tolist() == [2, 0, 3, 1]
    assert rnn.PackedSequence(*found[:3]).unsorted_indices.tolist() == [2, 0, 3, 1]


@pytest.mark.parametrize("batch_first", [False, True])
def test_what_is_packed_is_filled_up_and_taken_apart_again(batch_first):
    padded, lengths = rnn.pad_packed_sequence(packed(), batch_first, -1.0, 6)
    assert lengths.tolist() == [2, 4, 1, 3]
    rows = padded if batch_first else padded.swapaxes(0, 1)
    assert rows.shape == (4, 6, 2)
    for row, x in zip(rows, SEQUENCES, strict=True):
        np.testing.assert_array_equal(row[: len(x)], x)
        assert (row[len(x) :].numpy() == -1).all()
    again = rnn.pack_padded_sequence(padded, lengths, batch_first, enforce_sorted=False)
    np.testing.assert_array_equal(again.data, packed().data)
    for found, x in zip(rnn.unpack_sequence(packed()), SEQUENCES, strict=True):
        np.testing.assert_array_equal(found, x)


def test_gradients_go_back_to_the_sequences_and_none_to_the_filling():
    x = rg.tensor(np.random.default_rng(0).standard_normal((4, 3)), requires_grad=True)
    found = rnn.pack_padded_sequence(x, [4, 2, 1])
    weights = np.arange(1.0, 8)
    (found.data * rg.tensor(weights)).sum().backward()
    np.testing.assert_array_equal(x.grad, [[1, 2, 3], [4, 5, 0], [6, 0, 0], [7, 0, 0]])
    rg.testing.check_gradients(lambda data: rnn.pad_packed_sequence(found._replace(data=data))[0], (weights,), order=2)


def test_integers_and_other_types_are_kept():
    found = rnn.pack_padded_sequence(rg.tensor([[1, 2], [3, 0]]), rg.tensor([2, 1]))
    assert found.data.dtype == rg.int64 and rnn.pad_packed_sequence(found)[0].tolist() == [[1, 2], [3, 0]]
    assert found.to(rg.float64).data.dtype == rg.float64
    assert rnn.pad_packed_sequence(found.to(rg.float16))[0].dtype == rg.float16


def test_lengths_known_to_the_trace_are_compiled_and_others_refused():
    x = rg.tensor([[1.0, 2.0], [3.0, 0.0]])
    found = rg.jit(lambda x: rnn.pack_padded_sequence(x * 2, [2, 1]).data)(x)
    assert found.tolist() == [2.0, 4.0, 6.0]
    with pytest.raises(TraceError, match="lengths must be numbers that are known"):
        rg.jit(lambda x, lengths: rnn.pack_padded_sequence(x, lengths).data)(x, rg.tensor([2, 1]))


def test_packed_sequences_go_in_and_out_of_a_compiled_model_and_other_lengths_are_compiled_anew():
    rg.manual_seed(0)
    model = rg.nn.LSTM(2, 3)
    compiled = rg.jit(model)
    for lengths, traces in (((3, 1, 2), 1), ((3, 1, 2), 1), ((2, 2, 3), 2)):
        packed = rnn.pack_sequence([rg.randn(n, 2) for n in lengths], enforce_sorted=False)
        (found, _), (wanted, _) = compiled(packed), model(packed)
        assert compiled.traces == traces
        assert found.batch_sizes.tolist() == wanted.batch_sizes.tolist()
        for one, other in zip(rnn.unpack_sequence(found), rnn.unpack_sequence(wanted), strict=True):
            np.testing.assert_allclose(one.detach().numpy(), other.detach().numpy(), rtol=1e-5, atol=1e-6)


def test_a_gradient_in_packed_sequences_is_packed_in_the_same_way():
    packed = rnn.pack_sequence([rg.tensor([1.0, 2.0]), rg.tensor([3.0])])
    for transform in (lambda f: f, rg.jit):
        found = transform(rg.grad(lambda p: (p.data**2).sum()))(packed)
        assert [x.tolist() for x in rnn.unpack_sequence(found)] == [[2.0, 4.0], [6.0]]


def test_packed_sequences_are_one_argument_of_a_functional_call():
    model = rg.nn.GRU(2, 3)
    packed = rnn.pack_sequence([rg.randn(3, 2), rg.randn(2, 2)])
    zeros = {name: p.detach() * 0 for name, p in model.named_parameters()}
    assert float(abs(rg.nn.functional_call(model, zeros, packed)[0].data).sum()) == 0


@pytest.mark.parametrize(("make", "error", "told"), [
    (lambda x: rnn.pack_padded_sequence(x, [2, 1, 1]), ShapeError, "one length for each of 2 sequences"),
    (lambda x: rnn.pack_padded_sequence(x, [1, 2]), ArgumentError, "must not grow"),
    (lambda x: rnn.pack_padded_sequence(x, [2, 0]), ArgumentError, "between 1 and 3"),
    (lambda x: rnn.pack_padded_sequence(x, [4, 1]), ArgumentError, "between 1 and 3"),
    (lambda x: rnn.pack_padded_sequence(x, np.float64([2, 1])), DTypeError, "lengths must be integers, got float64"),
    (lambda x: rnn.pad_packed_sequence(rnn.pack_padded_sequence(x, [2, 1]), total_length=1), ArgumentError, "at least 2"),
    (lambda x: rnn.PackedSequence(x), ArgumentError, "needs batch_sizes"),
])
def test_what_cannot_be_packed_is_named(make, error, told):
    with pytest.raises(error, match=told):
        make(rg.ones(3, 2))
