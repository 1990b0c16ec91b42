"""What collectives give on each of several processes, compared with NumPy's answer from the operands of all of them."""

import sys
from dataclasses import astuple

import numpy as np

import retrograde as rg
from retrograde import distributed

RANK, SIZE = distributed.rank(), distributed.size()


def drawn(shape, dtype=np.float64, seed=0):
    """The operands of all processes, drawn alike on each; none is 0, and none is near another."""
    rng = np.random.default_rng(seed)
    numbers = rng.permutation(np.arange(1, SIZE * int(np.prod(shape)) + 1)) / 7
    return [x.astype(dtype) for x in (numbers * rng.choice([-1, 1], numbers.shape)).reshape(SIZE, *shape)]


def functions():
    """(name, function, what it gives at each process from the operands of all, shape of an operand) of each collective."""
    n, nxt, last = SIZE, (RANK + 1) % SIZE, (RANK - 1) % SIZE
    stacked = lambda xs: np.stack(xs)
    everywhere = lambda z: [z] * n
    yield "sum", distributed.all_reduce, lambda xs: everywhere(sum(xs)), (3, 2)
    yield "mean", lambda x: distributed.all_reduce(x, "mean"), lambda xs: everywhere(sum(xs) / n), (3,)
    yield "max", lambda x: distributed.all_reduce(x, "max"), lambda xs: everywhere(stacked(xs).max(0)), (3,)
    yield "min", lambda x: distributed.all_reduce(x, "min"), lambda xs: everywhere(stacked(xs).min(0)), ()
    yield "product", lambda x: distributed.all_reduce(x, "product"), lambda xs: everywhere(stacked(xs).prod(0)), (3,)
    yield "gather", distributed.all_gather, lambda xs: everywhere(np.concatenate(xs)), (3, 2)
    yield "gather 1", lambda x: distributed.all_gather(x, -1), lambda xs: everywhere(np.concatenate(xs, -1)), (3, 2)
    yield "gather numbers", distributed.all_gather, lambda xs: everywhere(stacked(xs)), ()
    yield "scatter", distributed.reduce_scatter, lambda xs: np.split(sum(xs), n), (2 * n, 3)
    yield ("scatter mean 1", lambda x: distributed.reduce_scatter(x, "mean", axis=1), lambda xs: np.split(sum(xs) / n, n, axis=1),
           (3, 2 * n))
    yield "broadcast", lambda x: distributed.broadcast(x, n - 1), lambda xs: everywhere(xs[-1]), (3,)
    yield ("all to all", distributed.all_to_all,
           lambda xs: [np.concatenate([np.split(x, n)[r] for x in xs]) for r in range(n)], (2 * n, 3))
    yield ("all to all across", lambda x: distributed.all_to_all(x, 0, 1),
           lambda xs: [np.concatenate([np.split(x, n)[r] for x in xs], 1) for r in range(n)], (n, 3))
    yield "shift", lambda x: distributed.send_recv(x, to=nxt, source=last), lambda xs: [xs[r - 1] for r in range(n)], (3,)


def linearly(function, shape, xs, wanted):
    """Values, first and second derivatives, batches and compiled code of one collective."""
    cotangents = drawn(np.shape(wanted[0]), seed=1)
    mine = rg.tensor(xs[RANK])

    def loss(x):
        return (function(x) * cotangents[RANK]).sum()

    # The derivative of the sum of all losses in one direction, by differences, against the sum of products with the gradients.
    gradient = rg.grad(loss)(mine)
    direction = drawn(shape, seed=2)[RANK]
    slope = distributed.all_reduce(rg.tensor((gradient.numpy() * direction).sum())).numpy()
    step = 1e-6
    ends = [distributed.all_reduce(loss(rg.tensor(xs[RANK] + s * direction))).numpy() for s in (step, -step)]
    np.testing.assert_allclose(slope, (ends[0] - ends[1]) / (2 * step), rtol=1e-6, atol=1e-7)

    # The second one: of the gradient's product with the direction.
    def along(x):
        return (rg.grad(lambda y: (function(y) ** 2 * cotangents[RANK]).sum())(x) * direction).sum()

    second = rg.grad(along)(mine).numpy()
    first = lambda s: rg.grad(lambda y: (function(y) ** 2 * cotangents[RANK]).sum())(rg.tensor(xs[RANK] + s * direction)).numpy()
    np.testing.assert_allclose(second, (first(step) - first(-step)) / (2 * step), rtol=1e-5, atol=1e-5)

    compiled = rg.jit(rg.value_and_grad(loss))
    for _ in range(2):
        value, found = compiled(mine)
        np.testing.assert_allclose(found.numpy(), gradient.numpy(), rtol=1e-14, atol=1e-12)
    np.testing.assert_allclose(value.numpy(), loss(mine).numpy(), rtol=1e-14, atol=1e-12)

    examples = rg.tensor(np.stack([xs[RANK], 2 * xs[RANK], -xs[RANK]]))
    alone = [function(examples[i]).numpy() for i in range(3)]
    np.testing.assert_allclose(rg.vmap(function)(examples).numpy(), np.stack(alone), rtol=1e-14, atol=1e-12)
    each = [rg.grad(loss)(examples[i]).numpy() for i in range(3)]
    np.testing.assert_allclose(rg.vmap(rg.grad(loss))(examples).numpy(), np.stack(each), rtol=1e-13, atol=1e-12)


def messages():
    """A number that goes from process 0 through all others and back, each of which squares it and adds its own."""
    x = rg.tensor(1.5, requires_grad=True)
    own = rg.tensor(0.1 * (RANK + 1), requires_grad=True)
    if RANK == 0:
        sent = distributed.send(x, 1)
        loss = distributed.recv(SIZE - 1, ()) * own + sent
    else:
        y = distributed.recv(RANK - 1, ())
        loss = distributed.send(y**2 + own, (RANK + 1) % SIZE) + own * 0
    loss.backward()
    values = [1.5]
    for r in range(1, SIZE):
        values.append(values[-1] ** 2 + 0.1 * (r + 1))
    slopes = {SIZE - 1: 0.1}
    for r in range(SIZE - 2, -1, -1):
        slopes[r] = slopes[r + 1] * 2 * values[r]
    np.testing.assert_allclose(own.grad.numpy(), values[-1] if RANK == 0 else slopes[RANK], rtol=1e-5)
    if RANK == 0:
        np.testing.assert_allclose(x.grad.numpy(), slopes[0], rtol=1e-5)


def in_order_of_ranks():
    """Sums have the bits of a sum in the order of ranks, short and long, of each dtype."""
    for dtype in ("float32", "float64", "float16", "bfloat16", "complex64", "int64"):
        for count in (5, 20_011):
            rows = [rg.tensor(x).astype(dtype) for x in drawn((count,), seed=count)]
            wide = [r.numpy().astype(np.float32) if r.dtype.itemsize == 2 else r.numpy() for r in rows]
            total = wide[0].copy()
            for row in wide[1:]:
                total += row
            found = distributed.all_reduce(rows[RANK])
            np.testing.assert_array_equal(found.numpy(), total.astype(rows[0].numpy().dtype), err_msg=f"{dtype} {count}")
    with distributed.sums("any"):
        x = drawn((20_011,), np.float32)
        np.testing.assert_allclose(distributed.all_reduce(rg.tensor(x[RANK])).numpy(), sum(x), rtol=1e-4, atol=1e-3)
        distributed.all_reduce(rg.tensor(x[RANK]).astype("bfloat16"))


def means_in_shared_memory():
    """Means of several arrays have the bits of a sum in the order of ranks, for sizes that grow and shrink from call to call."""
    group, rng = distributed.world(), np.random.default_rng(5)
    for count in (50_000, 7_000, 90_000, 5_001, 12, 64_000) * 3:
        rows = [[rng.normal(size=shape).astype(np.float32) for shape in ((count,), (), (3, 17))] for _ in range(SIZE)]
        number = group.begin_means(rows[RANK], "ranks", "begun")
        found = group.means(rows[RANK], "ranks", "means"), group.finish_means(number, rows[RANK], "ranks", "begun", [np.empty_like(x) for x in rows[RANK]])
        for means in found:
            for mean, *parts in zip(means, *rows, strict=True):
                total = parts[0].copy()
                for part in parts[1:]:
                    total = total + part
                np.testing.assert_array_equal(mean, total / np.float32(SIZE), err_msg=str(count))


def links():
    """A link is measured alike by all, and apart from a delay that is put in."""
    with distributed.link_delay(0.02):
        link = distributed.measure_link()
    assert link.latency > 0 and min(link.overhead, link.call) >= 0, link
    assert 0 < link.bandwidth < np.inf and 0 < link.copying < np.inf, link
    assert link.delay == 0.02 and link.is_shared == distributed.world().shares_memory(), link
    everywhere = distributed.all_gather(rg.tensor(np.array(astuple(link), float))).numpy().reshape(SIZE, -1)
    assert (everywhere == everywhere[0]).all(), everywhere
    step = distributed.TrainingStep(0.1, buckets=[(0.1, 2**20)])
    assert distributed.predict(step, link, SIZE).seconds > 0.12  # the delay is in it


def loops():
    """A collective in each iteration of a loop that is compiled."""
    xs = drawn((3,))

    def step(c, _):
        return distributed.all_reduce(c, "mean") + 1, None

    found = rg.jit(lambda x: rg.scan(step, x, rg.tensor(np.zeros(4)))[0])(rg.tensor(xs[RANK])).numpy()
    np.testing.assert_allclose(found, sum(xs) / SIZE + 4, rtol=1e-12)


def disagreements():
    """What differs is told with both sides, at all processes."""
    def message(function):
        try:
            function()
        except rg.errors.DistributedError as error:
            return str(error)
        raise AssertionError("no error")

    both = message(lambda: distributed.all_reduce(rg.zeros(3 + (RANK == 1))))
    assert "process 1: call " in both and "all_reduce(sum) of float32[4]" in both and "of float32[3]" in both, both
    both = message(lambda: distributed.all_reduce(rg.zeros(3, dtype="float64" if RANK else "float32")))
    assert "process 0: call" in both and "float64[3]" in both and "float32[3]" in both, both
    both = message(lambda: distributed.barrier() if RANK else distributed.all_gather(rg.zeros(2)))
    assert "all_gather of float32[2]" in both and "barrier of float32[]" in both, both
    if SIZE > 1 and RANK < 2:
        try:
            if RANK == 0:
                distributed.send(rg.zeros(2), 1)
            else:
                distributed.recv(0, (3,))
        except rg.errors.DistributedError as error:
            assert "has sent float32[2]" in str(error) and "waits for float32[3]" in str(error), error
        else:
            assert RANK == 0
    distributed.barrier()


def main():
    for name, function, wanted, shape in functions():
        xs = drawn(shape)
        answer = wanted(xs)
        np.testing.assert_allclose(function(rg.tensor(xs[RANK])).numpy(), answer[RANK], rtol=1e-13, err_msg=name)
        linearly(function, shape, xs, answer)
    for check in (messages, in_order_of_ranks, means_in_shared_memory, links, loops, disagreements) if SIZE > 1 else (in_order_of_ranks, loops):
        check()
    print(f"process {RANK} of {SIZE} is done", flush=True)


if __name__ == "__main__":
    sys.exit(main())
