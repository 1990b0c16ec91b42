"""Programs of networks whose layers repeat are made of the plan of fewer layers, and are what they would be if all were planned."""

import numpy as np
import pytest

import retrograde as rg
from retrograde import nn
from retrograde.errors import VerifierError

pytest.importorskip("llvmlite")
from retrograde.compiler.backends.cpu import stored
from retrograde.compiler.backends.cpu.build import BuiltProgram
from retrograde.compiler.backends.cpu.cache import Cache
from retrograde.compiler.backends.cpu.launches import Launch
from retrograde.compiler.backends.cpu.repeated import code as repeated_code
from retrograde.compiler.backends.cpu.repeated import expanded as expanding
from retrograde.compiler.backends.cpu.stored import UnplannedProgram
from retrograde.compiler.backends.cpu.units import library
from training_steps import training_step

WIDTH, DEPTH = 8, 18


class Attention(nn.Module):
    """A block of a transformer."""

    def __init__(self):
        super().__init__()
        self.before, self.after = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.parts, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x):
        q, k, v = (rg.swapaxes(part.reshape(*x.shape[:2], 2, -1), 1, 2) for part in rg.split(self.parts(self.before(x)), 3, -1))
        found = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(rg.swapaxes(found, 1, 2).reshape(*x.shape))
        return x + self.down(nn.functional.gelu(self.up(self.after(x))))


class Gated(nn.Module):
    """A layer whose parameters have one shape, several of them in each layer."""

    def __init__(self):
        super().__init__()
        self.value, self.gate = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        return x + self.value(x) * rg.sigmoid(self.gate(x))


class Plain(nn.Module):
    """A layer without a shortcut."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, x):
        return rg.tanh(self.linear(x))


class Reading(nn.Module):
    """A layer that scales what all layers have in common as well."""

    def __init__(self):
        super().__init__()
        self.norm = nn.RMSNorm(WIDTH)

    def forward(self, x, start):
        return self.norm(x) + 0.5 * start


class Network(nn.Module):
    """Layers of a kind between others."""

    def __init__(self, layer, depth):
        super().__init__()
        self.first, self.last = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 3)
        self.layers = nn.ModuleList([layer() for _ in range(depth)])

    def forward(self, x):
        x = start = self.first(x)
        for layer in self.layers:
            x = layer(x, start) if isinstance(layer, Reading) else layer(x)
        return self.last(x)


def step_of(layer, optimizer=None, depth=DEPTH, clear=True):
    """(a compiled step, its network): a training step, or without an optimizer what the network gives."""
    rg.manual_seed(5)
    network = Network(layer, depth)
    steps = None if optimizer is None else optimizer(network.parameters(), 1e-2)

    @rg.jit
    def step(x, y):
        if steps is None:
            return network(x)
        if clear:
            steps.zero_grad()
        loss = nn.functional.cross_entropy(network(x).reshape(-1, 3), y.reshape(-1))
        loss.backward()
        steps.step()
        return loss

    return step, network


def ran(step, network, times=3):
    """All that some steps leave behind, bit by bit."""
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(2, 4, WIDTH)).astype(np.float32), rng.integers(0, 3, (2, 4))
    found = [step(rg.tensor(x), rg.tensor(y)).detach().numpy() for _ in range(times)]
    found += [p.detach().numpy() for p in network.parameters()]
    found += [p.grad.numpy() for p in network.parameters() if p.grad is not None]
    return [array.tobytes() for array in found]


def program(step):
    return step._last_step().program


@pytest.fixture(autouse=True)
def store(tmp_path, monkeypatch):
    """A cache of this test's own."""
    monkeypatch.setattr(library(), "store", Cache(str(tmp_path / "code")))


CASES = {
    "transformer, AdamW": (Attention, rg.optim.AdamW),
    "gates, SGD": (Gated, rg.optim.SGD),
    "forward alone": (Attention, None),
    "no shortcut, Adam": (Plain, rg.optim.Adam),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_steps_give_the_same_bits_as_those_of_a_program_planned_whole(case, monkeypatch):
    step, network = step_of(*case)
    found = ran(step, network)
    assert type(program(step)) is UnplannedProgram
    monkeypatch.setattr(stored, "shortened", lambda graph: None)
    whole, network = step_of(*case)
    assert ran(whole, network) == found
    assert type(program(whole)) is BuiltProgram


def test_a_loop_beside_the_layers_is_kept(monkeypatch):
    def outcome():
        rg.manual_seed(2)
        network = Network(Attention, DEPTH)
        steps = rg.optim.AdamW(network.parameters(), 1e-2)

        @rg.jit
        def step(x, y):
            steps.zero_grad()
            last, _ = rg.scan(lambda total, row: (total * 0.5 + row, None), rg.zeros(2, 3), rg.swapaxes(network(x), 0, 1))
            loss = (last**2).sum()
            loss.backward()
            steps.step()
            return loss

        return ran(step, network), step

    found, step = outcome()
    assert type(program(step)) is UnplannedProgram
    assert "repeat" in str(step.explain())
    monkeypatch.setattr(stored, "shortened", lambda graph: None)
    assert outcome()[0] == found


def test_gradients_that_stay_from_step_to_step_are_those_of_their_layers(monkeypatch):
    step, network = step_of(Gated, rg.optim.SGD, clear=False)
    for parameter in network.parameters():
        parameter.grad = rg.ones(*parameter.shape)
    found = ran(step, network)
    monkeypatch.setattr(stored, "shortened", lambda graph: None)
    step, network = step_of(Gated, rg.optim.SGD, clear=False)
    for parameter in network.parameters():
        parameter.grad = rg.ones(*parameter.shape)
    assert ran(step, network) == found


def test_a_program_is_found_on_disk_again():
    step, network = step_of(*CASES["gates, SGD"])
    found = ran(step, network)
    step, network = step_of(*CASES["gates, SGD"])
    assert ran(step, network) == found
    assert program(step)._is_short


def test_programs_of_two_depths_are_two():
    found = {}
    for depth in (DEPTH, DEPTH + 1):
        step, network = step_of(Gated, rg.optim.SGD, depth)
        ran(step, network)
        assert type(program(step)) is UnplannedProgram
        found[depth] = len(program(step).state)
    assert found[DEPTH + 1] == found[DEPTH] + 4


def test_what_is_told_of_a_program_is_that_of_the_whole():
    step, network = step_of(Gated, rg.optim.SGD)
    ran(step, network)
    assert len(step.explain().kernels) == len(program(step)._whole.parts) > DEPTH
    assert sum([launches for _, launches in program(step).code.segments]) == len(program(step)._whole.parts)


@pytest.mark.parametrize("layer", [Reading, Attention], ids=["all in one sum", "few"])
def test_layers_that_are_not_alike_in_memory_are_planned_whole(layer):
    # The sum of what all layers give to the start is one loop, and six layers are no more than are planned anyway.
    step, network = step_of(layer, rg.optim.SGD, DEPTH if layer is Reading else 6)
    found = ran(step, network)
    assert type(program(step)) is BuiltProgram
    step, network = step_of(layer, rg.optim.SGD, DEPTH if layer is Reading else 6)
    assert ran(step, network) == found


def test_a_pass_over_layers_that_could_be_another_one_is_not_repeated():
    """The slopes of layers without weights need nothing of the layers: they were taken for these."""

    def function(x):
        for _ in range(20):
            x = x + 0.01 * rg.cumsum(x, 1)
        return (x**2).sum()

    x = np.random.default_rng(0).normal(size=(3, 5)).astype(np.float32)
    given = rg.tensor(x, requires_grad=True)
    function(given).backward()
    np.testing.assert_allclose(rg.jit(rg.grad(function))(rg.tensor(x)).numpy(), given.grad.numpy(), rtol=1e-5)


def less_a_layer(self, item, layer):
    """Nothing of the launches of the first layer that was left out."""
    return layer != self._cut + 1 or type(self._items.things[item]) is not Launch


def of_one_layer(self, key, buffer):
    """The buffer of one layer for two of them, but for leaves, whose absence is seen at once."""
    found = buffer(self, key)
    return found if found in self._short.full.state or key[2] != self._cut + 2 else buffer(self, (*key[:2], self._cut + 1))


@pytest.mark.parametrize("fault", [less_a_layer, of_one_layer])
def test_the_verifier_finds_a_program_that_is_not_what_its_graph_says(fault, monkeypatch):
    kind, order, buffer = expanding._Expansion, expanding._Expansion._order, expanding._Expansion._buffer
    if fault is less_a_layer:
        monkeypatch.setattr(kind, "_order", lambda self: [item for item in order(self) if fault(self, *item)])
    else:
        monkeypatch.setattr(kind, "_buffer", lambda self, key: fault(self, key, buffer))
    step, network = step_of(Gated, rg.optim.SGD)
    with pytest.raises(VerifierError, match="planned whole"):
        ran(step, network)


def test_a_program_with_the_leaf_of_another_layer_is_refused_and_planned_whole(monkeypatch):
    monkeypatch.setattr(expanding._Expansion, "_kept", lambda self, thing: self._short.graph.state[0] if self._items.is_leaf(thing)
                        and thing.shape == self._short.graph.state[0].shape else thing)
    step, network = step_of(Gated, rg.optim.SGD)
    ran(step, network)
    assert type(program(step)) is BuiltProgram


class Drawn(nn.Module):
    """A layer of parts that are drawn."""

    def __init__(self, parts):
        super().__init__()
        self.parts = parts
        self.linear, self.other = nn.Linear(WIDTH, WIDTH, bias="linear" in parts), nn.Linear(WIDTH, WIDTH)
        self.norm, self.scale = nn.LayerNorm(WIDTH), nn.Parameter(rg.ones(WIDTH) * 1.01)

    def forward(self, x):
        for part in self.parts:
            x = {
                "linear": lambda x: nn.functional.relu(self.linear(x)), "norm": self.norm, "scale": lambda x: x * self.scale,
                "shortcut": lambda x: x + rg.tanh(self.other(x)), "mean": lambda x: x - rg.mean(x, -1, keepdims=True),
                "turned": lambda x: x + 0.1 * rg.flip(x, 1), "sums": lambda x: x + 0.01 * rg.cumsum(x, 1),
                "drawn": lambda x: x + nn.functional.dropout(x, 0.1),
            }[part](x)
        return x


PARTS = ("linear", "norm", "scale", "shortcut", "mean", "turned", "sums", "drawn")
OPTIMIZERS = (None, rg.optim.SGD, lambda p, lr: rg.optim.SGD(p, lr, momentum=0.9), rg.optim.RMSprop, rg.optim.AdamW)


@pytest.mark.parametrize("seed", [pytest.param(seed, marks=() if seed < 4 else pytest.mark.long) for seed in range(100)])
def test_drawn_networks_give_what_their_whole_programs_give(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    parts = rng.choice(PARTS[: 4 if seed % 2 else None], rng.integers(1, 4)).tolist()
    depth, optimizer = int(rng.integers(14, 28)), OPTIMIZERS[rng.integers(len(OPTIMIZERS))]
    is_shared, clear = rng.random() < 0.15, bool(rng.random() < 0.8)

    def outcome():
        made = []

        def layer():
            if not made or not is_shared:
                made.append(Drawn(parts))
            return made[-1]

        return ran(*step_of(layer, optimizer, depth, clear))

    found = outcome()
    monkeypatch.setattr(stored, "shortened", lambda graph: None)
    assert outcome() == found


class Wide(nn.Module):
    """A layer of which many rows go through all layers while they are in cache, by one launch."""

    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(64), nn.Linear(64, 128), nn.Linear(128, 64)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


def test_more_layers_are_planned_where_launches_of_these_might_be_alike(monkeypatch):
    tried = []
    monkeypatch.setattr(repeated_code, "expanded", lambda short, *rest: tried.append(short.alike) or expanding.expanded(short, *rest))
    ran(*step_of(Attention, rg.optim.AdamW))
    assert tried == [4]
    tried.clear()
    ran(*step_of(Gated, rg.optim.SGD))
    assert tried == [4, 6]
    tried.clear()
    network = nn.Sequential(*[Wide() for _ in range(14)])
    step = rg.jit(training_step(rg.optim.AdamW(network.parameters(), 1e-3), lambda x: (network(x) ** 2).mean()))
    step(rg.ones(1024, 64))
    assert tried == [4] and type(program(step)) is BuiltProgram
