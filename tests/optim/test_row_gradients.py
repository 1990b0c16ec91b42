"""Gradients that are rows of a table: what they are to all others, and optimizers that update rows alone."""

import copy
import pickle

import numpy as np
import pytest

import retrograde as rg
from retrograde import nn, optim
from retrograde.errors import ArgumentError, InplaceError, OutOfRangeError
from retrograde.tensor.rows import RowGradient

ROWS, WIDTH = 40, 3
#: Optimizers, their options, and whether the whole gradient gives the same.
CASES = [
    ("SparseAdam", {"lr": 0.1}, False), ("SparseAdam", {"lr": 0.02, "betas": (0.7, 0.9), "eps": 1e-3, "maximize": True}, False),
    ("Adagrad", {"lr": 0.1}, True),
    ("Adagrad", {"lr": 0.2, "lr_decay": 0.1, "initial_accumulator_value": 0.5, "eps": 1e-3, "maximize": True}, True),
    ("SGD", {"lr": 0.1}, True), ("SGD", {"lr": 0.1, "maximize": True}, True), ("SGD", {"lr": 0.1, "momentum": 0.8}, True),
    ("SGD", {"lr": 0.1, "momentum": 0.8, "dampening": 0.3}, True), ("SGD", {"lr": 0.1, "momentum": 0.8, "nesterov": True}, True),
]


def table(sparse=True, width=WIDTH, **options):
    rng = np.random.default_rng(0)
    made = nn.Embedding(ROWS, width, sparse=sparse, **options)
    made.weight.data = rng.standard_normal((ROWS, width)).astype(np.float32)
    return made


def positions(steps, shape=(4, 3)):
    rng = np.random.default_rng(1)
    return [rng.integers(0, ROWS, shape) for _ in range(steps)]


def loss_of(embedding, i, library=rg):
    found = embedding(i)
    return 0.1 * (found * found).sum() + library.tanh(found).sum()


def trained(embedding, optimizer, batches, is_jitted=False):
    def step(i):
        optimizer.zero_grad()
        loss_of(embedding, i).backward()
        optimizer.step()

    run = rg.jit(step) if is_jitted else step
    for batch in batches:
        run(rg.tensor(batch))
    return embedding.weight.detach().numpy()


@pytest.mark.filterwarnings("ignore:Sparse invariant checks")
@pytest.mark.parametrize(("is_jitted", "width"), [(False, WIDTH), (True, WIDTH), (True, 24)])
@pytest.mark.parametrize(("name", "options", "is_exact"), CASES)
def test_steps_agree_with_pytorch_and_with_whole_gradients_where_these_do_the_same(name, options, is_exact, is_jitted, width):
    if is_jitted:
        pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")
    batches, ours = positions(8), table(width=width)
    found = trained(ours, getattr(optim, name)(ours.parameters(), **options), batches, is_jitted)
    if is_exact:
        other = table(sparse=False, width=width)
        wanted = trained(other, getattr(optim, name)(other.parameters(), **options), batches)
        np.testing.assert_allclose(found, wanted, rtol=2e-6, atol=2e-7)
    torch = pytest.importorskip("torch", reason="the oracle comes with the extra `oracle`")
    theirs = torch.nn.Embedding(ROWS, width, sparse=True)
    theirs.weight.data = torch.tensor(table(width=width).weight.detach().numpy())
    optimizer = getattr(torch.optim, name)(theirs.parameters(), **options)
    for batch in batches:
        optimizer.zero_grad()
        loss_of(theirs, torch.tensor(batch), torch).backward()
        optimizer.step()
    np.testing.assert_allclose(found, theirs.weight.detach().numpy(), rtol=1e-5, atol=1e-6)


def sparse_adam(p, batches, lr, betas=(0.9, 0.999), eps=1e-8):
    """Kingma and Ba's formula, row by row, in float64."""
    p = p.astype(np.float64)
    mean, square = np.zeros_like(p), np.zeros_like(p)
    for t, batch in enumerate(batches, 1):
        places, counts = np.unique(batch, return_counts=True)
        for row, count in zip(places, counts, strict=True):
            g = count * (0.2 * p[row] + 1 - np.tanh(p[row]) ** 2)
            mean[row] = betas[0] * mean[row] + (1 - betas[0]) * g
            square[row] = betas[1] * square[row] + (1 - betas[1]) * g * g
            p[row] -= lr * np.sqrt(1 - betas[1] ** t) / (1 - betas[0] ** t) * mean[row] / (np.sqrt(square[row]) + eps)
    return p


@pytest.mark.parametrize(("is_jitted", "width"), [(False, WIDTH), (True, WIDTH), (True, 24)])
def test_sparse_adam_is_adam_of_the_rows_that_are_read(is_jitted, width):
    ours, batches = table(width=width), positions(6)
    wanted = sparse_adam(ours.weight.detach().numpy(), batches, 0.1)
    found = trained(ours, optim.SparseAdam(ours.parameters(), lr=0.1), batches, is_jitted)
    np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize(("is_jitted", "width"), [(False, WIDTH), (True, WIDTH), (True, 24)])
def test_lazy_momentum_waits_in_rows_that_are_not_read(is_jitted, width):
    ours = table(width=width)
    optimizer = optim.SGD(ours.parameters(), lr=0.1, momentum=0.9, lazy=True)
    first, second = np.array([1, 2]), np.array([5, 5])
    trained(ours, optimizer, [first], is_jitted)
    held = ours.weight.detach().numpy().copy()
    found = trained(ours, optimizer, [second], is_jitted)
    np.testing.assert_array_equal(np.delete(found, 5, 0), np.delete(held, 5, 0))
    assert np.abs(optimizer.state[ours.weight]["momentum_buffer"].numpy()[[1, 2, 5]]).min() > 0


def gradients(*batches, **options):
    found = []
    for sparse in (True, False):
        made = table(sparse, **options)
        for batch in batches:
            loss_of(made, rg.tensor(batch)).backward()
        found.append(made.weight.grad)
    return found


def test_a_gradient_of_rows_is_the_whole_one_to_whoever_reads_it():
    found, wanted = gradients(*positions(2))
    assert isinstance(found, RowGradient)
    np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-6)
    np.testing.assert_allclose((found * 2).numpy(), 2 * wanted.numpy(), rtol=1e-6)
    np.testing.assert_allclose(found.coalesce().to_dense().numpy(), wanted.numpy(), rtol=1e-6)
    assert (found.shape, found.dtype, found.ndim) == (wanted.shape, wanted.dtype, 2)
    assert found.coalesce().indices().shape == (1, len(np.unique(positions(2))))
    assert "RowGradient" in repr(found)


def test_copies_and_pickles_of_rows_hold_the_same():
    found, _ = gradients(*positions(1))
    for other in (copy.copy(found), copy.deepcopy(found), pickle.loads(pickle.dumps(found)), found.clone()):
        assert isinstance(other, RowGradient)
        np.testing.assert_array_equal(other.numpy(), found.numpy())


def test_the_row_of_the_padding_has_no_gradient():
    found, wanted = gradients(np.array([[3, 4], [3, 7]]), padding_idx=3)
    assert found.coalesce().indices().tolist() == [[4, 7]]
    np.testing.assert_array_equal(found.numpy(), wanted.numpy())


def test_a_table_that_is_used_as_a_whole_too_has_a_whole_gradient():
    both = []
    for sparse in (True, False):
        made = table(sparse)
        (loss_of(made, rg.tensor([1, 2])) + (made.weight * made.weight).sum()).backward()
        assert not isinstance(made.weight.grad, RowGradient)
        both.append(made.weight.grad.numpy())
    np.testing.assert_allclose(*both, rtol=1e-6)


@pytest.mark.parametrize("order", [(True, False), (False, True)])
def test_rows_and_a_whole_gradient_add_up_from_one_walk_to_the_next(order):
    made, wanted = table(), table(sparse=False)
    for is_row in order:
        for embedding in (made, wanted):
            (loss_of(embedding, rg.tensor([1, 2, 1])) if is_row else (embedding.weight * 3).sum()).backward()
    np.testing.assert_allclose(made.weight.grad.numpy(), wanted.weight.grad.numpy(), rtol=1e-6)


def test_derivatives_that_functions_give_are_whole():
    w = table().weight
    value = lambda w: (nn.functional.embedding(rg.tensor([1, 1, 4]), w, sparse=True) ** 3).sum()
    found = rg.grad(value)(w)
    assert not isinstance(found, RowGradient)
    np.testing.assert_allclose(found[1], 6 * w.detach()[1] ** 2, rtol=1e-6)
    second = rg.grad(lambda w: rg.grad(value)(w).sum())(w)
    np.testing.assert_allclose(second[1], 12 * w.detach()[1], rtol=1e-6)
    value(w).backward(create_graph=True)
    assert w.grad.requires_grad


def test_a_hook_sees_the_whole_gradient_and_may_replace_it():
    made = table()
    made.weight.register_hook(lambda g: g * 2)
    loss_of(made, rg.tensor([1, 2])).backward()
    np.testing.assert_allclose(made.weight.grad.numpy(), 2 * gradients(np.array([1, 2]))[1].numpy(), rtol=1e-6)


@pytest.mark.parametrize("order", [2.0, 1.0, np.inf])
@pytest.mark.parametrize("is_jitted", [False, True])
def test_the_norm_is_that_of_summed_rows_and_clipping_scales_them(order, is_jitted):
    batch, norms = np.array([3, 3, 3, 8]), []
    tables = table(), table(sparse=False)
    for made in tables:
        def step(i, made=made):
            made.weight.grad = None
            loss_of(made, i).backward()
            return nn.utils.clip_grad_norm_(made.parameters(), 0.5, order)

        norms.append(float((rg.jit(step) if is_jitted else step)(rg.tensor(batch))))
    assert norms[0] == pytest.approx(norms[1], rel=1e-6)
    rows, whole = (made.weight.grad for made in tables)
    assert isinstance(rows, RowGradient)
    np.testing.assert_allclose(rows.numpy(), whole.numpy(), rtol=1e-5)


def test_values_are_clipped_after_rows_are_added_up():
    made = table()
    made(rg.tensor([3, 3, 8])).sum().backward()
    nn.utils.clip_grad_value_(made.parameters(), 1.5)
    assert made.weight.grad.numpy()[[3, 8], 0].tolist() == [1.5, 1.0]


@pytest.mark.parametrize("name", ["Adam", "AdamW", "RMSprop", "Adadelta", "Adamax", "NAdam", "RAdam", "Rprop", "ASGD", "Adafactor"])
def test_an_optimizer_that_needs_whole_gradients_says_what_to_do(name):
    made = table()
    optimizer = getattr(optim, name)(made.parameters())
    loss_of(made, rg.tensor([1])).backward()
    with pytest.raises(ArgumentError, match="use SparseAdam"):
        optimizer.step()


def test_what_would_move_all_rows_or_needs_rows_is_refused():
    made = table()
    loss_of(made, rg.tensor([1])).backward()
    for optimizer in (optim.SGD(made.parameters(), weight_decay=0.1), optim.Adagrad(made.parameters(), weight_decay=0.1)):
        with pytest.raises(ArgumentError, match="weight_decay"):
            optimizer.step()
    made.weight.grad = made.weight.grad.to_dense()
    with pytest.raises(ArgumentError, match="needs gradients of rows"):
        optim.SparseAdam(made.parameters()).step()


def test_a_gradient_of_rows_is_not_written_to_as_a_whole():
    found, _ = gradients(np.array([1]))
    with pytest.raises(InplaceError, match="to_dense"):
        found[0] = 1
    with pytest.raises(InplaceError, match="read-only"):
        found += 1
    with pytest.raises(ValueError, match="read-only"):
        found.numpy()[0] = 1


def test_gradients_can_be_set_to_zero_and_added_to_again():
    made = table()
    optimizer = optim.Adagrad(made.parameters())
    loss_of(made, rg.tensor([1, 2])).backward()
    optimizer.zero_grad(set_to_none=False)
    assert not made.weight.grad.numpy().any()
    loss_of(made, rg.tensor([5])).backward()
    np.testing.assert_allclose(made.weight.grad.numpy(), gradients(np.array([5]))[1].numpy(), rtol=1e-6)


def test_a_compiled_step_adds_to_gradients_that_it_finds():
    made, wanted = table(), table(sparse=False)
    for embedding in (made, wanted):
        step = rg.jit(lambda i, embedding=embedding: loss_of(embedding, i).backward())
        for number, batch in enumerate(positions(5)):
            (step if number != 3 else lambda i, embedding=embedding: loss_of(embedding, i).backward())(rg.tensor(batch))
    np.testing.assert_allclose(made.weight.grad.numpy(), wanted.weight.grad.numpy(), rtol=1e-5, atol=1e-6)


def test_a_position_out_of_range_leaves_table_and_state_as_they_were():
    made = table()
    optimizer = optim.SparseAdam(made.parameters())
    step = rg.jit(lambda i: (optimizer.zero_grad(), loss_of(made, i).backward(), optimizer.step())[0])
    step(rg.tensor([1, 2, 3]))
    held = [made.weight.detach().numpy().copy(), *[s.numpy().copy() for s in optimizer.state[made.weight].values()]]
    with pytest.raises(OutOfRangeError):
        step(rg.tensor([1, ROWS, 3]))
    for now, before in zip([made.weight.detach(), *optimizer.state[made.weight].values()], held, strict=True):
        np.testing.assert_array_equal(now.numpy(), before)


@pytest.mark.parametrize(("name", "options"), [("SparseAdam", {}), ("Adagrad", {}), ("SGD", {}), ("SGD", {"momentum": 0.9, "lazy": True})])
def test_a_compiled_step_neither_stores_nor_goes_over_anything_of_the_size_of_the_table(name, options):
    pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")
    sizes = []
    for rows in (1000, 50_000):
        made = nn.Embedding(rows, 8, sparse=True)
        optimizer = getattr(optim, name)(made.parameters(), **options)

        def step(i, made=made, optimizer=optimizer):
            optimizer.zero_grad()
            loss = loss_of(made, i)
            loss.backward()
            nn.utils.clip_grad_norm_(made.parameters(), 1.0)
            optimizer.step()
            return loss

        run = rg.jit(step)
        run(rg.tensor(positions(1)[0]))
        found = run.explain()
        sizes.append(found.arena_bytes)
        assert [k.kind for k in found.kernels if rows in k.domain] == []
        assert [k.kind for k in found.kernels].count("row update") == 1
    assert sizes[0] == sizes[1]


def test_bags_of_rows_have_gradients_of_rows():
    for mode in ("sum", "mean"):
        both = []
        for sparse in (True, False):
            bag = nn.EmbeddingBag(ROWS, WIDTH, mode=mode, sparse=sparse, _weight=table().weight.detach())
            (bag(rg.tensor([[1, 2, 1], [5, 1, 7]])) ** 2).sum().backward()
            both.append(bag.weight.grad)
        assert isinstance(both[0], RowGradient)
        np.testing.assert_allclose(both[0].numpy(), both[1].numpy(), rtol=1e-6)
