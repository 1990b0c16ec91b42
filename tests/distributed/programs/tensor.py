"""Tensor parallel training on meshes of all processes, compared at each of them with that of one process on whole batches."""

import sys
from pathlib import Path

import numpy as np

import retrograde as rg
from retrograde import distributed, nn

RANK, SIZE = distributed.rank(), distributed.size()
ROWS, STEPS, WORDS = 8, 3, 24


class Words(nn.Module):
    """A small GPT whose logits are made by the table of its words."""

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, 16), nn.Embedding(6, 16)
        self.block = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True, norm_first=True)
        self.norm, self.head = nn.LayerNorm(16), nn.Linear(16, WORDS, bias=False)
        self.head.weight = self.words.weight

    def forward(self, x):
        mask = np.triu(np.full((6, 6), -np.inf), 1)
        hidden = self.block(self.words(x) + self.places(np.arange(6)), src_mask=rg.tensor(mask))
        logits = self.head(self.norm(hidden))
        return logits.reshape(-1, logits.shape[-1])


def models():
    """(name, model, shardings, inputs, targets, loss of the whole, loss of parts given a group)"""
    rng = np.random.default_rng(1)
    plain = nn.functional.cross_entropy
    yield ("mlp", lambda: nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 12), nn.LayerNorm(12), nn.Linear(12, 4)),
           {"0.*": "column", "2.weight": "row", "4.*": "gathered"}, rng.normal(size=(STEPS, ROWS, 8)),
           rng.integers(0, 4, (STEPS, ROWS)), plain, lambda group: plain)
    words = rng.integers(0, WORDS, (STEPS, ROWS, 7))
    options = {"ignore_index": 3, "label_smoothing": 0.1}
    yield ("gpt", Words, {"words.weight": "vocabulary", "head.*": "vocabulary", "*.self_attn.*": "heads", "*.linear1.*": "column",
                          "*.linear2.*": "row"}, words[..., :-1], words[..., 1:],
           lambda outputs, targets: plain(outputs, targets.reshape(-1), **options, reduction="sum"),
           lambda group: lambda outputs, targets: distributed.cross_entropy(outputs, targets.reshape(-1), group, **options,
                                                                           reduction="sum"))


def stepped(model, optimizer, loss, xs, ys, compiled):
    """The losses and the norms of gradients of some steps."""
    def step(x, y):
        optimizer.zero_grad()
        value = loss(model(x), y)
        value.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return value.detach(), norm

    run = rg.jit(step) if compiled else step
    return [[float(v) for v in run(rg.tensor(x), rg.tensor(y))] for x, y in zip(xs, ys, strict=True)]


def parallel(made, shardings, data, shard):
    mesh = distributed.Mesh(data=data, tensor=SIZE // data)
    rg.manual_seed(3)
    net = distributed.TensorParallel(made().double(), shardings, mesh.tensor)
    net = distributed.DataParallel(net, shard=shard, group=mesh.data)
    return mesh, net, rg.optim.AdamW(net.parameters(), lr=0.01, weight_decay=0.1)


def compare(net, optimizer, alone, its, what):
    state, single = net.state_dict(), alone.state_dict()
    assert list(state) == list(single), (list(state), list(single))
    for key in single:
        np.testing.assert_allclose(state[key].numpy(), single[key].numpy(), rtol=1e-7, atol=1e-8, err_msg=f"{what} {key}")
    whole, one = optimizer.state_dict()["state"], its.state_dict()["state"]
    assert whole.keys() == one.keys()
    for number in one:
        for key, value in one[number].items():
            np.testing.assert_allclose(np.asarray(whole[number][key]), np.asarray(value), rtol=1e-5, atol=1e-8, err_msg=f"{what} {key}")


def check(name, made, shardings, xs, ys, loss, of_parts, data, shard, compiled, folder):
    what = f"{name} data={data} {shard} compiled={compiled}"
    rg.manual_seed(3)
    alone = made().double()
    its = rg.optim.AdamW(alone.parameters(), lr=0.01, weight_decay=0.1)
    scale = data if name == "gpt" else 1  # the loss of a part is a sum, and gradients are means over the parts
    wanted = stepped(alone, its, lambda z, y: loss(z, y) / scale, xs, ys, compiled)
    mesh, net, optimizer = parallel(made, shardings, data, shard)
    rows = slice(mesh.data.rank * ROWS // data, (mesh.data.rank + 1) * ROWS // data)
    found = stepped(net, optimizer, of_parts(mesh.tensor), xs[:, rows], ys[:, rows], compiled)
    losses = [distributed.all_reduce(rg.tensor([pair[0] for pair in found], dtype="float64"), "mean", mesh.data).numpy()]
    np.testing.assert_allclose(losses[0], [pair[0] for pair in wanted], rtol=1e-9, err_msg=what)
    np.testing.assert_allclose([pair[1] for pair in found], [pair[1] for pair in wanted], rtol=1e-7, err_msg=what)
    held = sum(p.size for p in net.parameters())
    whole = sum(p.size for p in alone.parameters())
    assert held < whole if mesh.tensor.size > 1 else held == whole
    compare(net, optimizer, alone, its, what)
    # A run that goes on, on another mesh, and on one process.
    distributed.save_run(folder / "run", model=net, optimizer=optimizer)
    for other in sorted({1, SIZE} - {data}):
        _, again, its_own = parallel(made, shardings, other, "none")
        for p in again.parameters():
            p.raw[...] = 7
        rg.load_run(folder / "run", model=again, optimizer=its_own)
        compare(again, its_own, alone, its, f"{what}, loaded")
    single = made().double()
    last = rg.optim.AdamW(single.parameters(), lr=0.01, weight_decay=0.1)
    rg.load_run(folder / "run", model=single, optimizer=last)
    compare(single, last, alone, its, f"{what}, on one process")
    distributed.barrier()


def attention():
    """Weights, masks for each head, more keys, and sizes of keys and values of their own."""
    group, x = distributed.Mesh(tensor=SIZE).tensor, np.random.default_rng(0)
    for options in ({}, {"add_bias_kv": True, "add_zero_attn": True, "kdim": 6, "vdim": 10}):
        rg.manual_seed(1)
        alone = nn.MultiheadAttention(16, 4, batch_first=True, **options).double()
        rg.manual_seed(1)
        net = distributed.TensorParallel(nn.MultiheadAttention(16, 4, batch_first=True, **options).double(), {"*": "heads"}, group)
        sizes = 16, options.get("kdim", 16), options.get("vdim", 16)
        q, k, v = [rg.tensor(x.normal(size=(2, 5, size)), requires_grad=True) for size in sizes]
        mask = rg.tensor(x.random((8, 5, 5)) < 0.3)
        for average in (True, False):
            pairs = [f(q, k, v, attn_mask=mask, average_attn_weights=average) for f in (alone, net)]
            for wanted, found in zip(*pairs, strict=True):
                np.testing.assert_allclose(found.detach().numpy(), wanted.detach().numpy(), rtol=1e-9, atol=1e-12)
            slopes = []
            for output, weights in pairs:
                for operand in (q, k, v):
                    operand.grad = None
                ((output**2).sum() + (weights**3).sum()).backward()
                slopes.append([operand.grad.numpy() for operand in (q, k, v)])
            for wanted, found in zip(*slopes, strict=True):
                np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-11)


def faults():
    """What would be wrong in silence is told."""
    group = distributed.Mesh(tensor=SIZE).tensor
    rg.manual_seed(0)

    class Direct(nn.Module):
        def __init__(self):
            super().__init__()
            self.words = nn.Embedding(WORDS, 4)

        def forward(self, x):
            return self.words(x) @ self.words.weight.T

    net = distributed.TensorParallel(Direct(), {"*": "vocabulary"}, group)
    try:
        net(rg.tensor([1, 2]))
    except rg.errors.ArgumentError as error:
        assert "words.weight" in str(error) and "only its own layer" in str(error), error
    else:
        raise AssertionError("a part was taken for the whole")
    for ids in ([WORDS], [-WORDS - 1]):
        try:
            net.module.words(rg.tensor(ids))
        except IndexError:
            continue
        raise AssertionError(f"{ids} was looked up")
    for optimizer in (rg.optim.Adafactor, rg.optim.LBFGS):
        try:
            optimizer(net.parameters())
        except rg.errors.ArgumentError as error:
            assert "words.weight" in str(error), error
        else:
            raise AssertionError(optimizer)


def main(folder, names):
    for name, *rest in models():
        if name in names:
            for number, data in enumerate(d for d in (1, 2, SIZE) if SIZE % d == 0 and d <= SIZE):
                for shard, compiled in (("none", True), ("optimizer", number == 1)):
                    check(name, *rest, data, shard, compiled, Path(folder) / f"{name}-{data}-{shard}")
    if SIZE > 1 and "faults" in names:
        attention()
        faults()
    print(f"process {RANK} of {SIZE} is done", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:] or ("mlp", "gpt", "faults"))
