"""Training on several processes, compared at process 0 with that of one process on the whole batches."""

import sys

import numpy as np

import retrograde as rg
from retrograde import distributed, nn

RANK, SIZE = distributed.rank(), distributed.size()
ROWS, STEPS = 72, 3


class Words(nn.Module):
    """A small GPT."""

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(11, 16), nn.Embedding(6, 16)
        self.block = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True, norm_first=True)
        self.norm, self.unused = nn.LayerNorm(16), nn.Linear(3, 3)

    def forward(self, x):
        mask = np.triu(np.full((6, 6), -np.inf), 1)
        hidden = self.block(self.words(x) + self.places(np.arange(6)), src_mask=rg.tensor(mask))
        return (self.norm(hidden) @ self.words.weight.T).reshape(-1, 11)  # tied weights


def models():
    """(model, the rows of each step with their targets, loss) by name."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(STEPS, ROWS, 8))
    yield ("mlp", lambda: nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.Tanh(), nn.Linear(16, 3)), x,
           rng.integers(0, 3, (STEPS, ROWS)), nn.functional.cross_entropy)
    yield ("conv", lambda: nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 16, 3)),
           rng.normal(size=(STEPS, ROWS, 1, 6, 6)), rng.integers(0, 3, (STEPS, ROWS)), nn.functional.cross_entropy)
    words = rng.integers(0, 11, (STEPS, ROWS, 7))
    yield ("gpt", Words, words[..., :-1], words[..., 1:],
           lambda outputs, targets: nn.functional.cross_entropy(outputs, targets.reshape(-1)))


def trained(model, optimizer, xs, ys, loss, compiled, mine=slice(None), micro=1):
    """The losses of all steps. With `micro` > 1, gradients of as many parts of a batch are added up."""
    def step(*parts):
        optimizer.zero_grad()
        total = 0.0
        def each():
            nonlocal total
            for x, y in zip(parts[::2], parts[1::2], strict=True):
                value = loss(model(x), y) / micro
                value.backward()
                total = total + value.detach()
        if micro > 1 and isinstance(model, distributed.DataParallel):
            with model.accumulate():
                each()
        else:
            each()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return distributed.all_reduce(total, "mean") if isinstance(model, distributed.DataParallel) else total

    run = rg.jit(step) if compiled else step
    found = []
    for x, y in zip(xs, ys, strict=True):
        parts = [part[mine] for pair in zip(np.split(x, micro), np.split(y, micro), strict=True) for part in pair]
        found.append(float(run(*map(rg.tensor, parts))))
    return found


def optimizers(name):
    """A way to make an optimizer."""
    if name == "mixed":
        return lambda ps: rg.optim.AdamW(ps, lr=0.01, weight_decay=0.1)
    return lambda ps: rg.optim.SGD(ps, lr=0.1, momentum=0.9)


def check(name, made, xs, ys, loss, shard, compiled, micro, optimizer):
    rg.manual_seed(3)
    alone = made().double()  # Adam makes much of rounding where a gradient is 0, as that of a bias before a norm
    # The statistics of a batch that is taken in parts are those of the parts, on one process too.
    wanted = trained(alone, make := optimizers(optimizer)(alone.parameters()), xs, ys, loss, compiled, micro=micro)
    rg.manual_seed(3)
    model = distributed.DataParallel(made().double(), shard=shard)
    own = optimizers(optimizer)(model.parameters())
    share = ROWS // micro // SIZE
    found = trained(model, own, xs, ys, loss, compiled, slice(RANK * share, (RANK + 1) * share), micro)
    what = f"{name} {shard} compiled={compiled} micro={micro} {optimizer}"
    np.testing.assert_allclose(found, wanted, rtol=1e-9, err_msg=what)
    state, single = model.state_dict(), alone.state_dict()
    assert list(state) == list(single)
    for key in single:
        np.testing.assert_allclose(state[key].numpy(), single[key].numpy(), rtol=1e-7, atol=1e-8, err_msg=f"{what} {key}")
    distributed.data_parallel.check_alike(model, model.group)
    held = sum(1 for s in own.state.values() for v in s.values() if getattr(v, "ndim", 0))
    total = sum(1 for s in make.state.values() for v in s.values() if getattr(v, "ndim", 0))
    assert held == total if shard == "none" or SIZE == 1 else held < total, (held, total)
    whole, one = own.state_dict()["state"], make.state_dict()["state"]
    assert whole.keys() == one.keys()
    for number in one:
        for key, value in one[number].items():
            np.testing.assert_allclose(np.asarray(whole[number][key]), np.asarray(value), rtol=1e-5, atol=1e-8, err_msg=f"{what} {number} {key}")


def main(which):
    for name, *rest in models():
        if which in ("all", name):
            for shard in ("none", "optimizer"):
                check(name, *rest, shard, True, 1, "mixed")
            check(name, *rest, "optimizer", False, 1, "momentum")
            check(name, *rest, "none", name != "conv", 3 if name == "gpt" else 1, "momentum")
    print(f"process {RANK} of {SIZE} is done", flush=True)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "all")
