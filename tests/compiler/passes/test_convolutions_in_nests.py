"""nests with convolutions: what each group makes of each image is a row, computed block by block with what comes before and after."""

import numpy as np
import pytest

import retrograde as rg
from retrograde import nn
from retrograde.compiler import cost
from retrograde.compiler.backends.cpu.cache import Cache
from retrograde.compiler.backends.cpu.units import library
from retrograde.compiler.index import box
from together import on_threads

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")

F = nn.functional
ACTIVATIONS = {"none": (lambda x: x, lambda x: x), "tanh": (rg.tanh, np.tanh),
               "sigmoid": (rg.sigmoid, lambda x: 1 / (1 + np.exp(-x))), "softplus": (F.softplus, lambda x: np.log1p(np.exp(x)))}


def convolved(x, weight, bias, stride, padding, dilation, groups):
    """A convolution by NumPy, tap by tap."""
    batch, channels, *_ = x.shape
    outputs, inputs, *kernel = weight.shape
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    sizes = [(n - dilation * (k - 1) - 1) // stride + 1 for n, k in zip(x.shape[2:], kernel, strict=True)]
    found = np.zeros((batch, groups, outputs // groups, *sizes))
    parts, weights = x.reshape(batch, groups, channels // groups, *x.shape[2:]), weight.reshape(groups, -1, inputs, *kernel)
    for i, j in np.ndindex(*kernel):
        rows, columns = (slice(dilation * k, dilation * k + stride * (n - 1) + 1, stride) for k, n in zip((i, j), sizes, strict=True))
        found += np.einsum("ngchw,goc->ngohw", parts[..., rows, columns], weights[..., i, j])
    found = found.reshape(batch, outputs, *sizes)
    return found if bias is None else found + bias[:, None, None]


def normalized(x, weight, bias, location, variance):
    along = lambda p: np.asarray(p, np.float64)[:, None, None]
    return (x - along(location)) / np.sqrt(along(variance) + 1e-5) * along(weight) + along(bias)


class Program:
    """A random program: (norm, activation,) convolution, bias or not, norm, activation, shortcut or not, in training or not."""

    def __init__(self, seed, dtype):
        rng = self.rng = np.random.default_rng(seed)
        choose = lambda *options: options[rng.integers(len(options))]
        groups, self.is_training = choose(2, 3, 8, 16), bool(rng.integers(2))
        channels, outputs = groups * choose(1, 1, 2), groups * choose(1, 1, 2)
        kernel, stride, dilation = choose(3, 3, 5), choose(1, 2), choose(1, 1, 2)
        padding = choose(0, dilation * (kernel // 2))
        height, width = (int(rng.integers(24, 41)) for _ in "hw")
        self.sizes = stride, padding, dilation, groups
        self.activations = [ACTIVATIONS[choose(*ACTIVATIONS)] for _ in "ab"]
        number = lambda *shape: rng.standard_normal(shape)
        self.arrays = {
            "x": number(int(rng.integers(2, 5)), channels, height, width), "weight": number(outputs, channels // groups, kernel, kernel),
            "bias": number(outputs), "scale": number(channels), "shift": number(channels), "scale2": number(outputs),
            "shift2": number(outputs)}
        self.kept = [(number(n), rng.uniform(0.5, 2, n)) for n in (channels, outputs)]
        self.has_bias = bool(rng.integers(2))
        shape = self.by_numpy(self.arrays, without_shortcut=True).shape
        self.shortcut = number(*shape) if rng.integers(2) else None
        self.dtype = dtype

    def by_numpy(self, arrays, without_shortcut=False):
        a, axes = arrays, (0, 2, 3)
        moments = lambda x, kept: (x.mean(axes), x.var(axes)) if self.is_training else kept
        x = normalized(a["x"], a["scale"], a["shift"], *moments(a["x"], self.kept[0]))
        x = convolved(self.activations[0][1](x), a["weight"], a["bias"] if self.has_bias else None, *self.sizes)
        x = self.activations[1][1](normalized(x, a["scale2"], a["shift2"], *moments(x, self.kept[1])))
        return x if without_shortcut or self.shortcut is None else x + self.shortcut

    def compiled(self):
        """A function of the arrays to the result and the gradients of the sum of its squares."""
        kept = [tuple(rg.tensor(a, self.dtype) for a in pair) for pair in self.kept]
        shortcut = 0 if self.shortcut is None else rg.tensor(self.shortcut, self.dtype)

        def forward(a):
            norm = lambda x, pair, w, b: F.batch_norm(x, *((None, None) if self.is_training else pair), w, b, self.is_training)
            x = self.activations[0][0](norm(a["x"], kept[0], a["scale"], a["shift"]))
            x = F.conv2d(x, a["weight"], a["bias"] if self.has_bias else None, *self.sizes)
            return self.activations[1][0](norm(x, kept[1], a["scale2"], a["shift2"])) + shortcut

        def both(a):
            gradients = rg.grad(lambda a: (forward(a) ** 2).sum())(a)
            return forward(a), gradients

        return rg.jit(both)

    def tensors(self):
        return {name: rg.tensor(array, self.dtype) for name, array in self.arrays.items()}


def nests_of(step):
    steps = step._last_step().program.schedule.steps
    return list(dict.fromkeys(s.nest for s in steps if s.nest is not None))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(40))
def test_random_layers_are_those_of_numpy_with_their_gradients(seed):
    program = Program(seed, "float64")
    found, gradients = program.compiled()(program.tensors())
    wanted = program.by_numpy(program.arrays)
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-9, atol=1e-9 * np.abs(wanted).max())
    # The slope along a random direction, by differences; those of float64 have about eleven digits of theirs.
    direction = {name: program.rng.standard_normal(array.shape) for name, array in program.arrays.items()}
    moved = lambda by: {name: array + by * direction[name] for name, array in program.arrays.items()}
    loss = lambda by: (program.by_numpy(moved(by)) ** 2).sum()
    step = 1e-4
    slope = (8 * (loss(step) - loss(-step)) - (loss(2 * step) - loss(-2 * step))) / (12 * step)
    total = [(gradients[name].numpy() * direction[name]).sum() for name in program.arrays]
    np.testing.assert_allclose(sum(total), slope, atol=1e-6 * max(np.abs(total).max(), 1))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(40, 60))
def test_threads_change_no_bit_of_a_layer_or_its_gradients(seed):
    program = Program(seed, "float32")

    def run():
        found, gradients = program.compiled()(program.tensors())
        return [found.numpy(), *[gradients[name].numpy() for name in program.arrays]]

    first, *others = on_threads(run)
    wanted = program.by_numpy(program.arrays)
    np.testing.assert_allclose(first[0], wanted, atol=2e-4 * np.abs(wanted).max())
    assert all(a.tobytes() == b.tobytes() for other in others for a, b in zip(first, other, strict=True))


def depthwise(channels=16, size=56, **options):
    block = nn.Sequential(nn.BatchNorm2d(channels), nn.ReLU6(), nn.Conv2d(channels, channels, 3, groups=channels, bias=False, **options),
                          nn.BatchNorm2d(channels), nn.ReLU6())
    return block, rg.tensor(np.random.default_rng(0).standard_normal((4, channels, size, size)), "float32")


@pytest.mark.parametrize("options", [{"padding": 1}, {"padding": 1, "stride": 2}])
def test_norms_activations_and_a_shortcut_around_a_convolution_of_groups_keep_nothing_between_them(options):
    block, x = depthwise(**options)
    block.eval()
    more = rg.tensor(np.random.default_rng(1).standard_normal(block(x).shape), "float32")
    step = rg.jit(lambda x, more: block(x) + more)
    np.testing.assert_allclose(step(x, more).detach().numpy(), (block(x) + more).detach().numpy(), atol=1e-5)
    (nest,) = nests_of(step)
    assert [s.kernel.name for s in nest.steps] == ["loop", "convolution", "loop"] and len(nest.local) == 2
    assert nest.rows == 4 * 16
    assert [kernel.kind for kernel in step.explain().kernels] == ["pack", "rows"]
    assert step.explain().arena_bytes < more.nbytes


def test_sums_for_the_statistics_of_a_norm_are_taken_of_rows_that_a_convolution_has_just_made():
    block, x = depthwise(padding=1)
    parameters = list(block.parameters())

    @rg.jit
    def step(x):
        for parameter in parameters:
            parameter.grad = None
        (block(x) ** 2).sum().backward()
        return [parameter.grad for parameter in parameters]

    step(x)
    nests = [[(s.kernel.name, [root.op.name for root in s.roots]) for s in nest.steps] for nest in nests_of(step)]
    (forward,) = [nest for nest in nests if any("conv2d" in made for _, made in nest)]
    after = forward[[made for _, made in forward].index(["conv2d"]) + 1 :]
    assert [made for _, made in after] == [["sum"], ["sum"]]
    # The gradient of the image too: the sums that the norm before it needs are parts of the nest that makes it.
    (backward,) = [nest for nest in nests if any("conv2d_input" in made for _, made in nest)]
    after = backward[[made for _, made in backward].index(["conv2d_input"]) + 1 :]
    assert after and all("sum" in made for _, made in after)


def test_a_convolution_in_which_all_channels_meet_stays_by_itself():
    block = nn.Sequential(nn.Conv2d(16, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU()).eval()
    step = rg.jit(lambda x: block(x))
    step(rg.ones(4, 16, 64, 64))
    assert not nests_of(step)


def test_rows_of_a_view_that_another_pass_has_made_are_read_where_they_are():
    weight = rg.tensor(np.random.default_rng(2).standard_normal((8, 1, 3, 3)), "float32")

    def function(x):
        y = rg.tanh(x * 2) * x.mean(axis=(2, 3), keepdims=True)
        return F.conv2d(rg.flip(y, 3)[..., 2:-1], weight, groups=8), F.conv2d(rg.flip(y, 1), weight, groups=8)

    x = rg.tensor(np.random.default_rng(3).standard_normal((3, 8, 50, 47)), "float32")
    for found, wanted in zip(rg.jit(function)(x), function(x), strict=True):
        np.testing.assert_allclose(found.numpy(), wanted.numpy(), atol=1e-5)


def test_a_loop_packs_the_weight_of_a_convolution_in_a_nest_of_its_body_just_once():
    weight = rg.tensor(np.random.default_rng(4).standard_normal((16, 1, 3, 3)) / 9, "float32")
    x = rg.tensor(np.random.default_rng(5).standard_normal((4, 16, 32, 32)), "float32")

    def layer(c, _):
        c = rg.tanh(F.conv2d(rg.tanh(c), weight, None, 1, 1, 1, 16))
        return c / (1 + (c * c).mean(axis=(2, 3), keepdims=True)), None

    step = rg.jit(lambda x: rg.scan(layer, x, length=3)[0])
    wanted = x
    for _ in range(3):
        wanted, _ = layer(wanted, None)
    np.testing.assert_allclose(step(x).numpy(), wanted.numpy(), atol=1e-6)
    assert [kernel.kind for kernel in step.explain().kernels].count("pack") == 1
    (loop,) = [kernel for kernel in step.explain().kernels if kernel.kind == "repeat"]
    assert "pack" not in [kernel.kind for kernel in loop.inside]


@pytest.mark.parametrize("shape", [(5, 6, 33, 40), (3, 7, 20, 90), (2, 24, 7, 110)])
def test_passes_over_channels_with_a_number_for_each_of_them_run_channel_by_channel(shape):
    rng = np.random.default_rng(6)
    x, by_channel, by_example = (rng.standard_normal(s) for s in (shape, (shape[1], 1, 1), (shape[0], 1, 1, 1)))

    def function(lib, x, by_channel, by_example):
        y = x * by_channel + by_example
        low = y - y.mean(axis=(2, 3), keepdims=True)
        return low * by_channel / (low * low).mean(axis=(2, 3), keepdims=True)

    step = rg.jit(lambda *arrays: function(rg, *arrays))
    found = on_threads(lambda: step(*map(rg.tensor, (x, by_channel, by_example))).numpy())
    np.testing.assert_allclose(found[0], function(np, x, by_channel, by_example), rtol=1e-9, atol=1e-12)
    assert all(found[0].tobytes() == other.tobytes() for other in found[1:])
    assert [nest.rows for nest in nests_of(step)] == [shape[0] * shape[1]]


def drawn(seed):
    """A random program of images: maps, sums over some axes, turned images and convolutions; arrays of all shapes that repeat."""
    rng = np.random.default_rng(seed)
    shape = tuple(int(n) for n in (rng.integers(2, 5), rng.choice([2, 3, 4, 6]), *rng.integers(3, 9, 2)))
    arrays = [rng.standard_normal(shape)]
    arrays += [rng.standard_normal([n if rng.random() < 0.5 else 1 for n in shape]) for _ in range(3)]
    numbers = rng.integers(1 << 30, size=8)

    def program(*values):
        rng, values = np.random.default_rng(numbers), list(values)
        choose = lambda options: options[rng.integers(len(options))]
        for _ in range(rng.integers(5, 14)):
            x, full = choose(values), choose([v for v in values if v.shape == shape])
            axes = tuple(np.flatnonzero(rng.random(4) < 0.5).tolist()) or (3,)
            groups, weight = choose([n for n in range(2, shape[1] + 1) if shape[1] % n == 0]), rng.standard_normal((shape[1], 3, 3)) / 3
            weight = rg.tensor(np.repeat(weight[:, None], shape[1] // groups, 1))
            values.append(choose([
                lambda: choose([rg.tanh, rg.sin, rg.sigmoid])(x), lambda: choose([rg.add, rg.multiply, rg.maximum])(x, choose(values)),
                lambda: choose([rg.sum, rg.mean])(full, axis=axes, keepdims=True), lambda: full - full.mean(axis=axes, keepdims=True),
                lambda: rg.flip(x, rng.integers(4)), lambda: F.conv2d(full, weight, None, 1, 1, 1, groups)])())
        return [rg.sum(values[-1] * values[-1]), *[v * 1.0 for v in values[-2:]]]

    return arrays, program


@pytest.mark.sampled(8)
@pytest.mark.parametrize("seed", range(48))
def test_random_programs_of_small_images_are_the_eager_ones_on_any_number_of_threads(seed, monkeypatch):
    # So that small programs are nests, of several blocks and of rows of any length.
    for module, name, value in ((cost, "TILED_NUMBERS", 64), (cost, "LONG_RUN", 2), (cost, "BLOCK_BYTES", 512), (box, "_SHORTEST_ROW", 1),
                                (cost, "ROW_BYTES", (1 << 9, 1 << 17)[seed % 2])):
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(library(), "store", Cache(None))  # programs on disk are planned with other numbers
    arrays, program = drawn(seed)
    slopes = lambda *values: list(rg.grad(lambda *values: sum((v * v).sum() for v in program(*values)), argnums=(0, 1, 2, 3))(*values))
    tensors = list(map(rg.tensor, arrays))
    for function in (program, slopes):
        found = on_threads(lambda function=function: [np.asarray(v.numpy()) for v in rg.jit(lambda *a: function(*a))(*tensors)], (1, 2))
        for one, other, wanted in zip(*found, [v.numpy() for v in function(*tensors)], strict=True):
            assert one.tobytes() == other.tobytes()
            np.testing.assert_allclose(one, wanted, rtol=1e-7, atol=1e-8 * max(1, np.abs(wanted).max()))
