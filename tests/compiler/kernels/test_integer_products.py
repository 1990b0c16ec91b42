"""Products by quantised weights of activations that are rounded to 8 bits."""

import shutil
from pathlib import Path

import numpy as np
import pytest

import retrograde as rg
from retrograde.compiler.backends import chosen_name
from retrograde.compiler.target import describe, named
from retrograde.core.symbol import Symbol
from retrograde.ops.networks._quantizing import FORMATS, packed, unpacked
from together import on_threads

INTEGERS = [name for name, form in FORMATS.items() if form.size > 1]
#: One of each way to read codes and scales.
KINDS = ("Q8_0", "Q5_1", "Q4_K", "Q6_K")
compiled = pytest.mark.skipif(chosen_name() != "native", reason="code of our own")


def rounded(x):
    """Activations as they are rounded, by plain NumPy: double precision beside the scales, which are what decides."""
    blocks = x.reshape(*x.shape[:-1], -1, 32)
    scale = np.maximum(np.abs(blocks).max(-1, keepdims=True) * np.float32(1 / 127), np.float32(2.0**-126))
    return (np.rint(blocks * (1 / scale)).astype(np.float64) * scale).reshape(x.shape)


def weights_of(name, outputs, count, seed=0):
    """Rows of blocks of random bits, so that all codes are met, with ordinary scales."""
    form, rng = FORMATS[name], np.random.default_rng(seed)
    made = rng.integers(0, 256, (outputs * count // form.size, form.nbytes), dtype=np.uint8)
    for place in {"Q6_K": (208,), "Q8_0": (0,), "Q4_0": (0,), "Q5_0": (0,)}.get(name, (0, 2)):
        made[:, place : place + 2] = rng.uniform(-1e-2, 1e-2, len(made)).astype("<f2").view(np.uint8).reshape(-1, 2)
    made = made.reshape(outputs, -1)
    return made, unpacked(made, name).astype(np.float64)


def multiplied(x, blocks, name):
    return np.asarray(rg.jit(lambda x, b: rg.quantized_linear(x, b, name, activations="int8"))(rg.asarray(x), rg.asarray(blocks)))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("rows", [1, 2, 3, 8, 9])
@pytest.mark.parametrize("name", INTEGERS)
def test_products_are_those_of_the_rounded_activations(name, rows):
    blocks, numbers = weights_of(name, 37, 768)
    x = np.random.default_rng(1).standard_normal((rows, 768)).astype(np.float32)
    expected, size = rounded(x) @ numbers.T, np.abs(rounded(x)) @ np.abs(numbers.T)
    f = rg.jit(lambda x, b: rg.quantized_linear(x, b, name, activations="int8"))
    for found in (f(rg.asarray(x), rg.asarray(blocks)), rg.quantized_linear(rg.asarray(x), rg.asarray(blocks), name, activations="int8")):
        assert (np.abs(found.numpy() - expected) < 1e-6 * size).all()
    # What rounding does is far above what the order of sums does: without it this test would fail.
    assert np.abs(x @ numbers.T - expected).max() > 1e-4 * size.max()
    kinds = [kernel.kind for kernel in f.explain().kernels]
    assert kinds == ["round", "integer product"] if rows <= 8 else "quantized matmul" in kinds


def extreme(name):
    """Blocks with one code in all places of a row, the least and the greatest by turns, scale 1 and addend 0; and activations that
    are all as large as can be, so that sums of products saturate wherever they can.
    """
    form = FORMATS[name]
    blocks = np.zeros((4, 3, form.nbytes), np.uint8)
    codes = np.array([0, 255, 0, 255], np.uint8)[:, None, None]
    if name == "Q8_0":
        codes = np.array([-128, 127, -127, -1], np.int8).view(np.uint8)[:, None, None]
    blocks[:] = codes
    one = np.array([1], "<f2").view(np.uint8)
    for place in {"Q6_K": (208,), "Q4_1": (0, 2), "Q5_1": (0, 2), "Q4_K": (0, 2)}.get(name, (0,)):
        blocks[..., place : place + 2] = one
    if name == "Q6_K":
        blocks[..., 192:208] = 1
    count = 3 * form.size
    x = np.where(np.arange(count) % 32 < 16, 127, np.array([[127], [-127]])).astype(np.float32)
    return blocks.reshape(4, -1), np.concatenate([x, -x, np.where(np.arange(count) % 2, 127, -127)[None].astype(np.float32)])


@pytest.mark.parametrize("name", INTEGERS)
def test_sums_at_the_extremes_of_codes_are_exact(name):
    blocks, x = extreme(name)
    np.testing.assert_array_equal(multiplied(x, blocks, name), x.astype(np.float64) @ unpacked(blocks, name).T.astype(np.float64))


def _for_target(target, name, x, blocks):
    """As `_written`, of a product of `x` by blocks of a format."""
    return _written(target, lambda x, b: rg.quantized_linear(x, b, name, activations="int8"), x, blocks)


def _written(target, function, *arrays):
    """(the backend, the graph, its draft, and the parts of its program) of a function of arrays, for a target."""
    from retrograde.compiler.backends.cpu.backend import BACKEND
    from retrograde.compiler.pipeline import planned
    from retrograde.compiler.run.program import Graph
    from retrograde.compiler.trace.outcome import outcome_of

    leaves = [Symbol(None, (), a.shape, a.dtype) for a in arrays]
    graph = Graph(leaves, [], [outcome_of(function, leaves)], [], [])
    draft = planned(graph)
    return BACKEND, graph, draft, BACKEND.written(draft, target)


def _instructions(parts):
    return "\n".join([unit.assembly for part in parts for unit in part.units])


def _x86(*features):
    """A processor as x86-64-v3, with more features or without some."""
    told = dict.fromkeys(("avx", "avx2", "f16c", "fma", "ssse3", "sse4.1"), True)
    return describe("x86-64", "x86_64", {**told, **{f.strip("-"): f[0] != "-" for f in features}}, (32768, 524288, 1 << 22),
                    "x86_64-unknown-linux-gnu")


TARGETS = {"without pairs of bytes": (lambda: named("x86-64"), "pmaddubsw", False), "ssse3": (lambda: named("x86-64-v2"), "pmaddubsw", True),
           "avx": (lambda: _x86("-avx2"), "vpmaddubsw", True), "avx2": (lambda: _x86(), "vpmaddubsw", True)}


@compiled
@pytest.mark.parametrize("kind", TARGETS)
def test_code_for_older_processors_computes_the_same(kind):
    from retrograde.compiler.backends.cpu import host
    from retrograde.compiler.target import required

    made, word, has_word = TARGETS[kind]
    native, wanted = host.native(), made()
    if native.machine != "x86_64" or not {*required(wanted)} <= {*required(native)}:
        pytest.skip("this processor does not run it")
    for name in KINDS:
        blocks, x = extreme(name)
        blocks = np.concatenate([blocks, weights_of(name, 3, x.shape[1])[0]])
        backend, graph, draft, parts = _for_target(wanted, name, x, blocks)
        found, = backend.load(graph, draft, parts)([x, blocks])
        expected = x @ unpacked(blocks, name).T.astype(np.float64)
        np.testing.assert_array_equal(found[:, :4], expected[:, :4])
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-3)
    assert (word in _instructions(parts)) is has_word


@compiled
@pytest.mark.parametrize("features", [("avxvnni",), ("avx512f", "avx512vl", "avx512bw", "avx512dq", "avx512vnni")])
def test_processors_that_add_up_four_products_do(features, monkeypatch):
    from retrograde.compiler.backends.cpu import host
    from retrograde.compiler.backends.cpu.codegen.quantized import dots
    from retrograde.compiler.backends.cpu.codegen.vecmath.elements import constant

    def of_unsigned(b, codes, x):
        """What Intel's manual says: bytes without a sign by bytes with one. Halves of the former have room beside a sign."""
        one = constant(1, codes.type)
        half, rest = (dots._widened(b, part, x) for part in (b.lshr(codes, one), b.and_(codes, one)))
        return b.add(b.add(half, half), rest)

    target, (blocks, x) = _x86(*features), extreme("Q8_0")
    assert "vpdpbusd" in _instructions(_for_target(target, "Q8_0", x, blocks)[3])
    if host.native().machine != "x86_64" or not host.native().has_avx2:
        pytest.skip("this processor does not run the rest")
    # All around the instruction is run with what it does.
    monkeypatch.setitem(dots._SUMS, "vnni", of_unsigned)
    here = _x86()._replace(features=_x86().features + ",+avxvnni")
    for name in ("Q8_0", "Q4_1"):
        blocks, x = extreme(name)
        backend, graph, draft, parts = _for_target(here, name, x, blocks)
        found, = backend.load(graph, draft, parts)([x, blocks])
        np.testing.assert_array_equal(found, x.astype(np.float64) @ unpacked(blocks, name).T.astype(np.float64))


@compiled
@pytest.mark.skipif(shutil.which("qemu-aarch64") is None, reason="needs qemu-aarch64, of qemu-user")
@pytest.mark.parametrize("has_dots", [False, True])
def test_code_for_aarch64_computes_the_same_under_an_emulator(has_dots, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "backends" / "cpu"))
    import emulated

    target = describe("generic", "aarch64", {"neon": True, "dotprod": has_dots}, (32768, 524288, 1 << 22), "aarch64-unknown-linux-gnu")
    for name in KINDS if has_dots else KINDS[::3]:
        blocks, x = extreme(name)
        _, graph, draft, parts = _for_target(target, name, x, blocks)
        found, = emulated.run(parts, dict(zip(graph.inputs, (x, blocks), strict=True)), draft.outputs, target, tmp_path, "qemu-aarch64")
        np.testing.assert_array_equal(found, x.astype(np.float64) @ unpacked(blocks, name).T.astype(np.float64))
    assert ("sdot" in _instructions(parts)) is has_dots


@compiled
@pytest.mark.parametrize("kind", [*TARGETS, "aarch64"])
def test_products_of_bytes_are_exact_in_code_for_other_processors(kind, tmp_path, monkeypatch):
    from retrograde.compiler.backends.cpu import host
    from retrograde.compiler.target import required

    native, target = host.native(), named("aarch64") if kind == "aarch64" else TARGETS[kind][0]()
    rng = np.random.default_rng(0)
    # Sums over two blocks of steps, and rows and columns that are no whole tiles.
    x, y = rng.integers(-128, 128, (21, 1200), dtype=np.int8), rng.integers(0, 256, (1200, 19), dtype=np.uint8)
    x[0], y[:, 0] = -128, 255
    backend, graph, draft, parts = _written(target, rg.integer_matmul, x, y)
    if kind == "aarch64":
        if shutil.which("qemu-aarch64") is None:
            pytest.skip("needs qemu-aarch64, of qemu-user")
        monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "backends" / "cpu"))
        import emulated

        found, = emulated.run(parts, dict(zip(graph.inputs, (x, y), strict=True)), draft.outputs, target, tmp_path, "qemu-aarch64")
    elif native.machine != "x86_64" or not {*required(target)} <= {*required(native)}:
        pytest.skip("this processor does not run it")
    else:
        found, = backend.load(graph, draft, parts)([x, y])
        assert ("pmaddwd" in _instructions(parts)) is (kind != "avx")
    np.testing.assert_array_equal(found, x.astype(np.int64) @ y.astype(np.int64))


@pytest.mark.parametrize("name", ["Q8_0", "Q4_1", "Q6_K"])
def test_a_row_is_bitwise_the_same_whatever_rows_are_beside_it(name):
    blocks = weights_of(name, 131, 512)[0]
    x = np.random.default_rng(1).standard_normal((8, 512)).astype(np.float32)
    alone = np.concatenate([multiplied(row, blocks, name) for row in x[:, None]])
    for count in (2, 5, 8):
        np.testing.assert_array_equal(multiplied(x[:count], blocks, name), alone[:count])


def test_products_are_bitwise_the_same_on_any_number_of_threads():
    blocks = rg.asarray(weights_of("Q4_1", 4096, 1024)[0])
    x = rg.asarray(np.random.default_rng(1).standard_normal((8, 1024)).astype(np.float32))
    f = rg.jit(lambda x, b: rg.quantized_linear(x, b, "Q4_1", activations="int8"))
    found = on_threads(lambda: np.asarray(f(x, blocks)))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


@pytest.mark.parametrize("rows", [3, 12])
@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_none_make_none_of_their_own_row(special, rows):
    blocks, numbers = weights_of("Q4_1", 5, 96)
    x = np.random.default_rng(1).standard_normal((rows, 96)).astype(np.float32)
    x[1, 70] = special
    eager = rg.quantized_linear(rg.asarray(x), rg.asarray(blocks), "Q4_1", activations="int8").numpy()
    for found in (eager, multiplied(x, blocks, "Q4_1")):
        assert np.isnan(found[1]).all()
        np.testing.assert_allclose(np.delete(found, 1, 0), rounded(np.delete(x, 1, 0)) @ numbers.T, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("size", [0.0, 1e-45, 1e-38, 2.0**-126 * 127, 1e-30, 3e38])
def test_blocks_of_tiny_and_of_huge_numbers_are_rounded_like_others(size):
    x = (np.random.default_rng(1).uniform(-1, 1, (2, 32)) * size).astype(np.float32)
    blocks = packed(np.eye(32, dtype=np.float32), "Q8_0")
    # A row of the unit matrix picks a number: each is within half a step of what it was, and of nothing else.
    found = multiplied(x, blocks, "Q8_0")
    np.testing.assert_allclose(found, rounded(x) @ unpacked(blocks, "Q8_0").T.astype(np.float64), rtol=1e-6, atol=2.0**-127)
    largest = np.abs(x).max(-1, keepdims=True).astype(np.float64)
    # The unit matrix is itself rounded to halves, by a part in 2,000 at most.
    assert (np.abs(found - x) <= np.maximum(largest / 127, 2.0**-126) * 0.501 + largest / 2000).all()


@pytest.mark.parametrize("rows", [3, 12])
def test_gradients_are_those_of_activations_that_are_not_rounded(rows):
    blocks, numbers = weights_of("Q8_0", 37, 64)
    x, g = [np.random.default_rng(i).standard_normal((rows, n)).astype(np.float32) for i, n in ((1, 64), (2, 37))]
    loss = lambda x, g: (rg.quantized_linear(x, rg.asarray(blocks), "Q8_0", activations="int8") * g).sum()
    for gradient in (rg.grad(loss), rg.jit(rg.grad(loss)), rg.vmap(rg.grad(loss)), rg.jit(rg.vmap(rg.grad(loss)))):
        np.testing.assert_allclose(gradient(rg.tensor(x), rg.tensor(g)), g @ numbers, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("dtype", [np.float64, np.float16])
def test_other_floats_are_rounded_as_well(dtype):
    blocks, numbers = weights_of("Q5_1", 7, 64)
    x = np.random.default_rng(1).standard_normal((3, 64)).astype(dtype)
    f = lambda x: rg.quantized_linear(x, rg.asarray(blocks), "Q5_1", activations="int8")
    expected = rounded(x.astype(np.float64 if dtype == np.float64 else np.float32)) @ numbers.T
    for found in (f(rg.asarray(x)), rg.jit(f)(rg.asarray(x))):
        assert found.dtype == dtype
        np.testing.assert_allclose(found, expected, rtol=1e-5 if dtype == np.float64 else 2e-3, atol=1e-3)


def test_a_part_of_the_rows_of_weights_is_used_with_rounded_activations_too():
    blocks, numbers = weights_of("Q4_0", 53, 96)
    x = np.random.default_rng(1).standard_normal((2, 96)).astype(np.float32)
    found = rg.jit(lambda x, b: rg.quantized_linear(x, b, "Q4_0", 17, 30, "int8"))(rg.asarray(x), rg.asarray(blocks))
    np.testing.assert_allclose(found, rounded(x) @ numbers[17:30].T, rtol=1e-4, atol=1e-4)


def test_what_cannot_be_is_said():
    x, blocks = rg.ones(2, 64), rg.asarray(packed(np.ones((3, 64), np.float32), "F16"))
    with pytest.raises(rg.errors.ArgumentError, match='must be "int8", or None'):
        rg.quantized_linear(x, blocks, "Q8_0", activations="int4")
    for f in (lambda x: rg.quantized_linear(x, blocks, "F16", activations="int8"), lambda x: rg.nn.QuantizedLinear(blocks, "F16", None, "int8")(x)):
        with pytest.raises(rg.errors.ArgumentError, match="F16 are no integers"):
            rg.jit(f)(x)
