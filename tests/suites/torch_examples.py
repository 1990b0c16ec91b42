"""The programs of pytorch/examples as they are, with their imports changed: `python -m tests.suites.torch_examples CHECKOUT`.

Each runs twice, with PyTorch and with `retrograde.torch`, on data that is made up: what stands for torchvision, torchtext and gymnasium is small
and written here. Weights and noise are drawn by NumPy, alike for both, data come in order, and nothing is dropped out. Whole modules, which `torch.save`
does not write here, are kept in memory. What both print is compared, number by number.
"""

import argparse
import contextlib
import hashlib
import importlib
import io
import logging
import math
import os
import random
import re
import sys
import tempfile
import traceback
import warnings
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import torch as theirs

import retrograde.torch as ours
from tests.suites.running import rewritten

#: The programs: the file, its arguments, and the files beside it that it imports.
PROGRAMS = [
    ("mnist/main.py", "--epochs 2 --batch-size 16 --test-batch-size 16 --log-interval 1", ()),
    ("mnist_rnn/main.py", "--epochs 2 --batch-size 16 --test-batch-size 16 --log-interval 1", ()),
    ("mnist_forward_forward/main.py", "--epochs 4 --train_size 32 --test_size 16 --log-interval 1", ()),
    ("vae/main.py", "--epochs 2 --batch-size 16 --log-interval 1", ()),
    ("dcgan/main.py", "--dataset fake --imageSize 64 --batchSize 4 --niter 1 --ngf 4 --ndf 4 --workers 0 --outf .", ()),
    *[("word_language_model/main.py", f"--model {kind} --emsize 16 --nhid 16 --nlayers 2 --nhead 2 --epochs 2 --batch_size 4 --bptt 8 "
       f"--log-interval 2 --data DATA{' --tied' if kind != 'Transformer' else ''}", ("data", "model"))
      for kind in ("RNN_TANH", "RNN_RELU", "LSTM", "GRU", "Transformer")],
    ("super_resolution/main.py", "--upscale_factor 2 --batchSize 4 --testBatchSize 4 --nEpochs 2 --threads 0", ("model",)),
    ("time_sequence_prediction/train.py", "--steps 1", ()),
    ("gcn/main.py", "--epochs 3 --val-every 1", ()),
    ("gat/main.py", "--epochs 3 --val-every 1 --hidden-dim 8 --num-heads 2", ()),
    ("siamese_network/main.py", "--epochs 1 --batch-size 4 --test-batch-size 4 --log-interval 1", ()),
    ("regression/main.py", "", ()),
    ("reinforcement_learning/reinforce.py", "--log-interval 1", ()),
    ("reinforcement_learning/actor_critic.py", "--log-interval 1", ()),
    ("language_translation/main.py", "--epochs 1 --batch 4 --attn_heads 2 --enc_layers 1 --dec_layers 1 --embed_size 16 --dim_feedforward 16 "
     "--logging_dir ./", ("src.model", "src.data")),
]
IMPORTS = {"torch": "retrograde.torch"}


class Images:
    """16 or 32 images of digits, made up."""

    def __init__(self, torch, count, shape=(28, 28), transform=None):
        draw = np.random.default_rng(count)
        self.torch, self.transform = torch, transform
        self.data = torch.tensor(draw.integers(0, 256, (count, *shape)).astype(np.uint8))
        self.targets = torch.tensor(np.arange(count) % 10)

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        image = self.data[i].numpy()
        image = image[None] if image.ndim == 2 else image
        made = self.torch.tensor(image.astype(np.float32) / 255)
        return (self.transform(made) if self.transform else made), int(self.targets[i])


def torchvision(torch):
    """What programs use of torchvision."""
    nn, F = torch.nn, torch.nn.functional

    class Block(nn.Module):
        def __init__(self, inplanes, planes, stride=1):
            super().__init__()
            self.conv1, self.bn1 = nn.Conv2d(inplanes, planes, 3, stride, 1, bias=False), nn.BatchNorm2d(planes)
            self.conv2, self.bn2 = nn.Conv2d(planes, planes, 3, 1, 1, bias=False), nn.BatchNorm2d(planes)
            self.down = nn.Conv2d(inplanes, planes, 1, stride, bias=False)

        def forward(self, x):
            out = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)), inplace=True)))
            out += self.down(x)
            return F.relu(out, inplace=True)

    def resnet18(weights=None):
        net = nn.Module()
        net.conv1, net.bn1, net.relu, net.maxpool = nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)
        net.layer1, net.avgpool, net.fc = Block(64, 16, 2), nn.AdaptiveAvgPool2d((1, 1)), nn.Linear(16, 10)
        return net

    def compose(parts):
        def run(x):
            for part in parts:
                x = part(x)
            return x
        return run

    same = lambda *_, **__: (lambda x: x)
    normalize = lambda mean, std: (lambda x: (x - torch.tensor(mean).view(-1, 1, 1)) / torch.tensor(std).view(-1, 1, 1))
    transforms = SimpleNamespace(Compose=compose, ToTensor=same, Normalize=normalize, Lambda=lambda f: f, Resize=same, CenterCrop=same)
    mnist = lambda root=None, train=True, download=False, transform=None: Images(torch, 32 if train else 20, transform=transform)
    fake = lambda image_size, transform=None: Images(torch, 8, image_size, transform)
    found = _module("torchvision", transforms=_module("torchvision.transforms", **vars(transforms)), utils=_module("torchvision.utils", save_image=lambda *_, **__: None),
                    datasets=_module("torchvision.datasets", MNIST=mnist, FakeData=fake), models=_module("torchvision.models", resnet18=resnet18))
    return {found.__name__: found, **{part.__name__: part for part in vars(found).values() if isinstance(part, ModuleType)}}


class CartPole:
    """A pole on a cart; its episodes are over after 12 steps, and all is solved after four of them."""

    def __init__(self, *_, **__):
        self.episodes, self.spec = 0, SimpleNamespace(reward_threshold=10.2)

    def reset(self, seed=None):
        self.episodes += seed is None
        self.steps, self.state = 0, np.random.default_rng(self.episodes).uniform(-0.05, 0.05, 4).astype(np.float32)
        return self.state, {}

    def step(self, action):
        self.steps += 1
        self.state = (self.state * 0.9 + np.array([0.1, 0.2, -0.1, 0.05], np.float32) * (2 * action - 1)).astype(np.float32)
        return self.state, 1.0 + 0.1 * action + 4.0 * (self.episodes >= 4), self.steps >= 12, False, {}


def _module(name, **contents):
    found = ModuleType(name)
    vars(found).update(contents)
    return found


class Vocabulary(dict):
    """Words by number, as torchtext has them."""

    def set_default_index(self, index):
        self.default = index

    def __call__(self, words):
        return [self.get(word, self.default) for word in words]


def torchtext():
    """What language_translation uses of torchtext."""
    pairs = [(f"w{i} w{i + 1} w{2 * i} {'w7 ' * (i % 3)}", f"v{i} v{3 * i} {'v5 ' * (i % 2)}") for i in range(8)]

    def vocabulary(rows, min_freq=1, specials=(), special_first=True):
        found = Vocabulary({word: i for i, word in enumerate(specials)})
        for word in sorted({word for row in rows for word in row}):
            found[word] = len(found)
        return found

    multi30k = _module("torchtext.datasets.multi30k", URL={})
    return {name: _module(name, **contents) for name, contents in {
        "torchtext": {}, "torchtext.data": {}, "torchtext.data.utils": {"get_tokenizer": lambda *_: str.split},
        "torchtext.vocab": {"build_vocab_from_iterator": vocabulary},
        "torchtext.datasets": {"Multi30k": lambda split, language_pair: pairs, "multi30k": multi30k}}.items()}


class Request:
    """What a download would give: a graph of papers, in an archive."""

    raw = None

    def __enter__(self):
        draw = np.random.default_rng(0)
        Path("cora").mkdir(exist_ok=True)
        rows = [[str(100 + i), *map(str, draw.integers(0, 2, 12)), f"class{i % 3}"] for i in range(1600)]
        Path("cora/cora.content").write_text("\n".join("\t".join(row) for row in rows) + "\n")
        Path("cora/cora.cites").write_text("\n".join(f"{100 + i}\t{100 + (7 * i + 3) % 1600}" for i in range(1600)) + "\n")
        return self

    def __exit__(self, *_):
        return None


class _Nothing:
    """Stands for anything that draws or shows."""

    def __call__(self, *_, **__):
        return self

    def __getattr__(self, name):
        return self


def stand_ins(torch):
    """The modules that programs import and that are not needed for their numbers."""
    nothing = _Nothing()
    archive = SimpleNamespace(extractall=lambda: None)
    opened = contextlib.nullcontext(archive)
    plot = _module("matplotlib.pyplot", **dict.fromkeys(("figure", "title", "xlabel", "ylabel", "xticks", "yticks", "plot", "savefig", "close"), nothing))
    return {
        **torchvision(torch), **torchtext(), "gymnasium": _module("gymnasium", make=CartPole), "tqdm": _module("tqdm", tqdm=lambda rows, **_: rows),
        "requests": _module("requests", get=lambda *_, **__: Request()), "tarfile": _module("tarfile", open=lambda **_: opened),
        "matplotlib": _module("matplotlib", use=nothing, pyplot=plot), "matplotlib.pyplot": plot,
    }


@contextlib.contextmanager
def alike(torch):
    """Numbers drawn by NumPy and no dropout, until the end."""
    draw, nn = np.random.default_rng(0), torch.nn
    def normal(*size, device=None, dtype=None, **_):
        size = size[0] if len(size) == 1 and not isinstance(size[0], int) else size
        return torch.tensor(draw.normal(size=tuple(size)).astype(np.float32))

    def integers(low, high=None, size=None, **_):
        low, high, size = (0, low, high) if size is None else (0, low, size) if high is None else (low, high, size)
        return torch.tensor(draw.integers(low, high, tuple(size)))

    def sampled(self, *_):
        return (self.probs.cumsum(-1) < float(draw.uniform())).sum(-1)

    kept = {}

    def save(x, f, *_, **__):
        return kept.__setitem__(getattr(f, "name", f), x) if isinstance(x, nn.Module) else written(x, f)

    def load(f, *_, **__):
        name = getattr(f, "name", f)
        return np.load("traindata.npy") if name == "traindata.pt" else kept[name] if name in kept else read(f)

    written, read = torch.save, torch.load
    data, distributions = torch.utils.data, importlib.import_module(f"{torch.__name__}.distributions")
    changes = [(torch, "randn", normal), (torch, "randn_like", lambda x: normal(*x.shape)), (torch, "randint", integers),
               (torch, "randperm", lambda n, **_: torch.tensor(draw.permutation(n))), (distributions.Categorical, "sample", sampled),
               (nn.functional, "dropout", lambda x, *_, **__: x), (nn.Dropout, "forward", lambda self, x: x),
               (nn.Dropout2d, "forward", lambda self, x: x), (torch, "save", save), (torch, "load", load),
               (data, "DataLoader", lambda *args, shuffle=False, **named: loader(*args, **named))]
    loader = data.DataLoader
    with contextlib.ExitStack() as stack:
        for owner, name, value in changes:
            stack.enter_context(_set(owner, name, value))
        stack.enter_context(_weighted(torch))
        random.seed(0)
        np.random.seed(0)
        yield


@contextlib.contextmanager
def _set(owner, name, value):
    there = name in vars(owner)
    before = vars(owner).get(name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before) if there else delattr(owner, name)


@contextlib.contextmanager
def _weighted(torch):
    """Let the parameters of whatever an optimizer is given, or is called, have numbers of NumPy's: each once, in the order in which they are met."""
    module, call = torch.nn.Module, torch.nn.Module.__call__
    optimizer, known = torch.optim.Optimizer, []
    start = optimizer.__init__

    def meet(parameters):
        for p in parameters:
            if not any(p is other for other in known):
                known.append(p)
                rows = np.random.default_rng(len(known)).uniform(-1, 1, tuple(p.shape)) / math.sqrt(max(p.shape[-1], 8))
                with torch.no_grad():
                    p.copy_(torch.tensor(rows).to(p.dtype))

    def called(self, *args, **kwargs):
        meet(self.parameters())
        return call(self, *args, **kwargs)

    def started(self, params, *args, **kwargs):
        start(self, params, *args, **kwargs)
        meet([p for group in self.param_groups for p in group["params"]])

    with _set(module, "__call__", called), _set(optimizer, "__init__", started):
        yield


def run(torch, folder, path, arguments, beside):
    """What a program prints, and the hash of its file."""
    source = (folder / path).read_text()
    change = (lambda text: rewritten(text, IMPORTS)) if torch is ours else (lambda text: text)
    before, modules, argv = Path.cwd(), dict(sys.modules), sys.argv
    printed = io.StringIO()
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        _prepared(Path(place))
        try:
            sys.modules.update(stand_ins(torch))
            sys.argv = [path, *arguments.replace("DATA", place).split()]
            with alike(torch), contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for name in beside:
                    file = (folder / path).parent / (name.replace(".", "/") + ".py")
                    sys.modules[name] = _executed(name, change(file.read_text()), file)
                if "super_resolution" in path:
                    sys.modules["data"] = _super_resolution(torch)
                _executed("__main__", change(source), folder / path)
        finally:
            sys.argv = argv
            logging.getLogger().handlers.clear()
            for name in set(sys.modules) - set(modules):
                if not name.startswith(("retrograde", "torch.", "numpy")):
                    del sys.modules[name]
            sys.modules.update(modules)
            os.chdir(before)
    return printed.getvalue()


def _executed(name, source, file):
    found = ModuleType(name)
    found.__file__ = str(file)
    exec(compile(source, str(file), "exec"), vars(found))
    return found


def _prepared(place):
    words = [f"word{i}" for i in np.random.default_rng(0).integers(0, 30, 400)]
    for name in ("train", "valid", "test"):
        (place / f"{name}.txt").write_text("\n".join(" ".join(words[i : i + 8]) for i in range(0, 400, 8)) + "\n")
    waves = np.sin((np.arange(12)[None] + np.random.default_rng(1).integers(-12, 12, (6, 1))) / 3.0)
    np.save(place / "traindata.npy", waves)


def _super_resolution(torch):
    draw = np.random.default_rng(0)
    rows = [(torch.tensor(draw.uniform(size=(1, 8, 8)).astype(np.float32)), torch.tensor(draw.uniform(size=(1, 16, 16)).astype(np.float32))) for _ in range(8)]
    return _module("data", get_training_set=lambda _: rows, get_test_set=lambda _: rows[:4])


_NUMBER = re.compile(r"(?<![\w.])-?\d+\.\d+(?:e[-+]?\d+)?")
_TIMES = re.compile(r"Epoch time = [^\\n]*|\(?\d+\.\d+ ?s\)|ms/batch +\d+\.\d+|time: +\d+\.\d+s|\(\d+\.\d+s\)|Epoch time = .*")


def numbers(text):
    """The numbers that were printed, without times."""
    return [float(n) for n in _NUMBER.findall(_TIMES.sub("", text))]


def compared(folder, path, arguments, beside):
    """A row of the table: how many numbers both printed, how far they are apart at most; or what went wrong."""
    printed = []
    for name, module in (("PyTorch", theirs), ("here", ours)):
        try:
            printed.append(run(module, folder, path, arguments, beside))
        except Exception as error:
            return f"{name}: {type(error).__name__}: {error}", traceback.format_exc()
    wanted, mine = printed
    a, b = numbers(wanted), numbers(mine)
    if len(a) != len(b) or not a:
        return f"{len(b)} numbers printed for {len(a)}", f"{wanted[-1500:]}\n-----\n{mine[-1500:]}"
    apart = max(abs(x - y) / max(1.0, abs(x)) for x, y in zip(a, b, strict=True))
    return f"{len(a)} numbers, {apart:.1e} apart at most", "" if apart < 2e-4 else f"{wanted[-1500:]}\n-----\n{mine[-1500:]}"


def main(argv=None):
    """Run the programs, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--only", default="", help="a part of the path")
    parser.add_argument("--quiet", action="store_true", help="no traces of what went wrong")
    chosen = parser.parse_args(argv)
    print("| program | arguments | what both print | SHA-256 |\n| --- | --- | --- | --- |")
    bad = 0
    importlib.import_module("torch._dynamo")  # before tqdm and others, which it looks for, are stood in for
    for path, arguments, beside in PROGRAMS:
        if chosen.only not in f"{path} {arguments}":
            continue
        found, trouble = compared(chosen.checkout.resolve(), path, arguments, beside)
        digest = hashlib.sha256((chosen.checkout / path).read_bytes()).hexdigest()[:12]
        print(f"| {path} | `{arguments}` | {found} | {digest} |", flush=True)
        bad += bool(trouble)
        if trouble and not chosen.quiet:
            print(trouble, file=sys.stderr)
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
