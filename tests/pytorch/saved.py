"""Objects that programs save, made by chance with PyTorch or with `retrograde.torch`, and how two of them are compared."""

from collections import Counter, OrderedDict

import ml_dtypes
import numpy as np

FLOATS = ("float16", "bfloat16", "float32", "float64", "complex64", "complex128")
WHOLE = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool")
EIGHTH = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz")
_TEXTS = ("weight", "layer.0.bias", "", "Gewicht é", "重み", "a" * 300, "best_acc\n")


class Maker:
    """Makes one object of a module that is PyTorch or has its spelling, by a seed."""

    def __init__(self, torch, seed):
        self.torch, self.draw, self.pool = torch, np.random.default_rng(seed), []
        torch.manual_seed(seed)

    def object(self, depth=3):
        """A container of anything, or a leaf at depth 0."""
        kinds = ("dict", "list", "tuple", "ordered", "set", "counter", "again")
        kind = kinds[self.draw.integers(len(kinds))] if depth else "leaf"
        parts = [self.object(depth - 1) if depth and self.draw.random() < 0.4 else self.leaf() for _ in range(self.draw.integers(5))]
        if kind in ("dict", "ordered"):
            made = {} if kind == "dict" else OrderedDict()
            made.update((self.key(), part) for part in parts)
            return made
        if kind == "set":
            return {self.key() for _ in range(3)}
        if kind == "counter":
            return Counter("".join(self.draw.choice(list("abc"), 5)))
        if kind == "again":
            return [parts, parts]
        return parts if kind == "list" else tuple(parts) if kind == "tuple" else self.leaf()

    def key(self):
        """What may be a key."""
        pick = self.draw.integers(5)
        return (_TEXTS[self.draw.integers(len(_TEXTS))], int(self.draw.integers(-5, 500)), (1, ("a", 2.5)), None, 0.5)[pick]

    def leaf(self):
        """A tensor in most cases, or a plain object."""
        pick = self.draw.integers(14)
        if pick < 4:
            return self.tensor()
        if pick < 7:
            return self.view()
        makers = {7: self.parameter, 8: self.module, 9: self.optimizer, 10: self.attributed}
        return makers[pick]() if pick in makers else self.plain()

    def plain(self):
        """What is no tensor."""
        torch = self.torch
        found = (None, True, -1, 255, 256, 70000, -(2**31) - 1, 2**63, -(2**200), 0.1, float("inf"), float("nan"), -0.0, 1 - 2.5j, b"", b"\x00\xffab",
                 bytearray(b"xy"), "text", torch.Size([2, 3]), torch.device("cpu"), torch.device("cuda", 1), torch.float32, torch.int64, torch.bfloat16,
                 torch.bool, (), [], {}, torch.strided)
        return found[self.draw.integers(len(found))]

    def tensor(self):
        """A tensor of its own memory."""
        torch, kind = self.torch, self.draw.integers(4)
        shape = tuple(self.draw.integers(0 if kind == 3 else 1, 4, self.draw.integers(4)))
        numbers = np.asarray(self.draw.integers(-4, 5, shape) / 2)
        if kind == 0:
            made = torch.tensor(np.asarray(abs(numbers * 2), WHOLE[self.draw.integers(len(WHOLE))]))
        elif kind == 1 and self.draw.random() < 0.3:
            name = EIGHTH[self.draw.integers(len(EIGHTH))]
            coded = np.asarray(numbers, getattr(ml_dtypes, name))
            made = torch.from_numpy(coded) if not hasattr(torch, name) else torch.tensor(numbers).to(getattr(torch, name))
        else:
            name = FLOATS[self.draw.integers(len(FLOATS))]
            made = torch.tensor(numbers + (1j if "complex" in name else 0)).to(getattr(torch, name))
            made.requires_grad_(bool(self.draw.random() < 0.3))
        self.pool.append(made.detach())
        return made

    def view(self):
        """A tensor that shows the memory of another one, if there is one with elements."""
        pool = [x for x in self.pool if x.dim() and x.numel()]
        if not pool:
            return self.tensor()
        x = pool[self.draw.integers(len(pool))]
        views = (lambda: x[x.shape[0] // 2:], lambda: x.permute(*range(x.dim())[::-1]), lambda: x[::2], lambda: x[0], lambda: x[None].expand(3, *x.shape),
                 lambda: x.reshape(-1)[1:], lambda: x[..., -1:], lambda: x.unsqueeze(-1), lambda: x)
        return views[self.draw.integers(len(views))]()

    def parameter(self):
        """A parameter, at times with an attribute."""
        made = self.torch.nn.Parameter(self.torch.tensor(self.draw.integers(-4, 5, (2, 2)) / 4), requires_grad=bool(self.draw.random() < 0.7))
        if self.draw.random() < 0.3:
            made.tag = "no decay"
        return made

    def attributed(self):
        """A tensor with an attribute, or a buffer."""
        if self.draw.random() < 0.5:
            return self.torch.nn.Buffer(self.torch.ones(2), persistent=bool(self.draw.random() < 0.5))
        made = self.torch.ones(3)
        made.note = [1, self.torch.zeros(1)]
        return made

    def model(self):
        """A small model."""
        nn = self.torch.nn
        models = (lambda: nn.Linear(3, 2), lambda: nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2)), lambda: nn.LSTM(2, 3), lambda: nn.Embedding(4, 2),
                  lambda: nn.Sequential(nn.LayerNorm(3), nn.Linear(3, 3, bias=False)), lambda: nn.MultiheadAttention(4, 2))
        return models[self.draw.integers(len(models))]()

    def module(self):
        """The state of a model; at times also a part of it again, so that memory is shared."""
        model = self.model()
        state = model.state_dict()
        return state if self.draw.random() < 0.5 else {"model": state, "ema": dict(list(state.items())[:1]), "raw": list(model.parameters())}

    def optimizer(self):
        """The state of an optimizer after two steps, and of its schedule."""
        optim, model = self.torch.optim, self.torch.nn.Linear(2, 2)
        kinds = ((optim.SGD, {"momentum": 0.9}), (optim.Adam, {"amsgrad": True}), (optim.AdamW, {}), (optim.RMSprop, {"centered": True}), (optim.Adagrad, {}),
                 (optim.SGD, {}))
        kind, options = kinds[self.draw.integers(len(kinds))]
        made = kind(model.parameters(), lr=0.1, **options)
        schedule = optim.lr_scheduler.StepLR(made, 1)
        for _ in range(2):
            made.zero_grad()
            model(self.torch.ones(2)).sum().backward()
            made.step()
            schedule.step()
        return {"optimizer": made.state_dict(), "schedule": schedule.state_dict(), "epoch": 2}


def described(torch, root):
    """What `root` holds, in a form that is equal for equal objects of PyTorch and of ours: also which objects are the same, and which
    tensors share memory, how far from one another.
    """
    return _Description(torch).of(root)


class _Description:
    def __init__(self, torch):
        self.torch, self.seen, self.tensors, self.kept = torch, {}, [], []

    def of(self, x):
        if hasattr(x, "detach"):
            return self.once(x, self.tensor)
        if isinstance(x, (list, dict, set)):
            return self.once(x, self.container)
        if isinstance(x, tuple):
            return type(x).__name__, [self.of(part) for part in x]
        if isinstance(x, (float, complex)):
            return type(x).__name__, repr(x)
        if isinstance(x, (type(None), bool, int, str, bytes, bytearray)) and type(x).__name__ != "device":
            return type(x).__name__, x
        return ("str", str(x)) if type(x).__name__ == "layout" else _named(x)  # a layout is a text here

    def once(self, x, describe):
        if id(x) in self.seen:
            return "again", self.seen[id(x)]
        self.seen[id(x)] = len(self.seen)
        self.kept.append(x)
        return describe(x)

    def container(self, x):
        if isinstance(x, dict):
            metadata = [self.of(x._metadata)] if "_metadata" in getattr(x, "__dict__", {}) else []
            return type(x).__name__, [(self.of(k), self.of(v)) for k, v in x.items()], metadata
        return type(x).__name__, [self.of(part) for part in x] if isinstance(x, list) else sorted(map(repr, x))

    def tensor(self, x):
        x = self.torch.as_tensor(x)  # optimizers keep tensors of `rg`
        kind = "Parameter" if isinstance(x, self.torch.nn.Parameter) else "Tensor"
        steps = [step for step, n in zip(x.stride(), x.shape, strict=True) if n > 1] if x.numel() else []
        plain = x.detach().resolve_conj()
        wide = plain.to(self.torch.complex128) if x.is_complex() else plain if "int" in str(x.dtype) else plain.to(self.torch.float64)
        attributes = [(name, self.of(getattr(x, name))) for name in ("tag", "note") if hasattr(x, name)]
        return (kind, str(x.dtype).removeprefix("torch."), tuple(x.shape), steps, repr(wide.tolist()), bool(x.requires_grad), attributes,
                getattr(x, "persistent", None) if isinstance(x, self.torch.nn.Buffer) else None, self.shared(x))

    def shared(self, x):
        """The number of the first tensor that `x` overlaps, and how many bytes after it `x` begins."""
        width = np.dtype(str(x.dtype).removeprefix("torch.")).itemsize if "float8" not in str(x.dtype) and "bfloat16" not in str(x.dtype) else x.element_size()
        start = x.data_ptr()
        stop = start + (sum((n - 1) * step for n, step in zip(x.shape, x.stride(), strict=True)) + 1) * width if x.numel() else start
        found = next(((i, start - first) for i, (first, last) in enumerate(self.tensors) if start < last and first < stop), None)
        self.tensors.append((start, stop))
        return found


def _named(x):
    text = str(x).removeprefix("torch.")
    return {"float": "float32"}.get(text, text)
