import json
import struct

import numpy as np
import pytest

import gguf_files
import retrograde as rg
from retrograde.io import gguf
from retrograde.io.mapped import mapped_weights
from retrograde.ops.networks._quantizing import FORMATS, PLAIN, packed, unpacked

METADATA = {"general.architecture": "llama", "llama.block_count": 2, "llama.rope.freq_base": 1e4, "tokenizer.add": True, "none": [],
            "tokenizer.ggml.tokens": ["a", "ö", ""], "tokenizer.ggml.scores": np.array([1.5, -2, 0], np.float32), "deep": [[1, 2], [3]]}


def weights(shape=(3, 512), seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def blocks_of(name, count=5, seed=0):
    """Blocks of random bits, with scales that are ordinary numbers."""
    form = FORMATS[name]
    made = np.random.default_rng(seed).integers(0, 256, (count, form.nbytes), dtype=np.uint8)
    halves = {"Q6_K": (208,), "Q4_1": (0, 2), "Q5_1": (0, 2), "Q4_K": (0, 2)}.get(name, (0,))
    for i, place in enumerate(halves):
        made[:, place : place + 2] = np.linspace(0.5 + i, 2, count).astype("<f2").view(np.uint8).reshape(count, 2)
    return made


def one_by_one(name, block):
    """The numbers of one block, each by the formula of ggml's C code."""
    half = lambda place: float(block[place : place + 2].view("<f2")[0])
    b, low = [int(x) for x in block], lambda place, i: (int(block[place + i % 16]) >> (4 * (i // 16))) & 15
    fifth = lambda place, i: (int.from_bytes(bytes(block[place : place + 4]), "little") >> i & 1) << 4
    if name == "Q8_0":
        return [half(0) * int(np.int8(x)) for x in block[2:].view(np.int8)]
    if name == "Q4_0":
        return [half(0) * (low(2, i) - 8) for i in range(32)]
    if name == "Q4_1":
        return [half(0) * low(4, i) + half(2) for i in range(32)]
    if name == "Q5_0":
        return [half(0) * ((low(6, i) | fifth(2, i)) - 16) for i in range(32)]
    if name == "Q5_1":
        return [half(0) * (low(8, i) | fifth(4, i)) + half(2) for i in range(32)]
    found = []
    if name == "Q4_K":
        for j in range(8):
            s = b[4:16]
            scale, least = (s[j] & 63, s[j + 4] & 63) if j < 4 else ((s[j + 4] & 15) | (s[j - 4] >> 6) << 4, s[j + 4] >> 4 | (s[j] >> 6) << 4)
            codes = b[16 + 32 * (j // 2) : 48 + 32 * (j // 2)]
            found += [half(0) * scale * (code >> 4 * (j % 2) & 15) - half(2) * least for code in codes]
        return found
    scales = [int(x) for x in block[192:208].view(np.int8)]
    for n in range(2):
        for part in range(4):
            for i in range(32):
                bits = b[64 * n + 32 * (part % 2) + i] >> 4 * (part // 2) & 15 | (b[128 + 32 * n + i] >> 2 * part & 3) << 4
                found.append(half(208) * scales[8 * n + 2 * part + i // 16] * (bits - 32))
    return found


QUANTIZED = [name for name, form in FORMATS.items() if form.size > 1]


@pytest.mark.parametrize("name", QUANTIZED)
def test_numbers_of_blocks_are_those_of_the_formula(name):
    blocks = blocks_of(name)
    for row, block in zip(unpacked(blocks, name), blocks, strict=True):
        np.testing.assert_allclose(row, one_by_one(name, block), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", [name for name in FORMATS if name != PLAIN])
def test_numbers_of_blocks_are_bitwise_those_of_the_package_gguf(name):
    package = pytest.importorskip("gguf", reason="an oracle that is no dependency")
    kind = package.GGMLQuantizationType[name]
    blocks = blocks_of(name, 40).reshape(4, -1)
    np.testing.assert_array_equal(unpacked(blocks, name), package.quants.dequantize(blocks, kind))
    if FORMATS[name].pack:
        np.testing.assert_array_equal(packed(weights(), name), package.quants.quantize(weights(), kind).view(np.uint8))


@pytest.mark.parametrize(("name", "part"), [("Q8_0", 1 / 254), ("Q4_0", 1 / 8), ("Q4_1", 1 / 15), ("Q5_0", 1 / 16), ("Q5_1", 1 / 31),
                                            ("F16", 1 / 2048), ("BF16", 1 / 256)])
def test_packing_is_off_by_half_a_step_at_most(name, part):
    w = weights()
    w[1, :32] = 0
    off = np.abs(unpacked(packed(w, name), name) - w).reshape(3, -1, 32).max(-1)
    # The scale itself is rounded to eleven bits.
    assert (off <= np.abs(w).reshape(3, -1, 32).max(-1) * (part + 2e-3)).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e38, 3e38])
@pytest.mark.parametrize("name", ["Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1"])
def test_weights_that_no_block_can_hold_are_refused(name, bad):
    w = weights()
    w[0, 3:5] = bad, -bad
    with pytest.raises(rg.errors.ArgumentError, match=r"finite|65504"):
        packed(w, name)


@pytest.mark.parametrize("size", [1e-10, 1e-38, 1e-40, 1e-45])
@pytest.mark.parametrize("name", [name for name, form in FORMATS.items() if form.pack])
def test_weights_smaller_than_any_scale_become_zeros_and_nothing_overflows(name, size):
    w = weights() * np.float32(size)
    expected = w if name == PLAIN else w.astype(rg.bfloat16).astype(np.float32) if name == "BF16" else np.zeros_like(w)
    np.testing.assert_array_equal(unpacked(packed(w, name), name), expected)


def test_rows_of_no_whole_blocks_are_refused():
    with pytest.raises(rg.errors.ShapeError, match="multiple"):
        packed(weights((2, 33)), "Q8_0")
    with pytest.raises(rg.errors.ShapeError, match="34 bytes"):
        rg.dequantize(np.zeros((2, 33), np.uint8), "Q8_0")
    with pytest.raises(rg.errors.ArgumentError, match="reads weights of format Q6_K"):
        packed(weights(), "Q6_K")
    with pytest.raises(rg.errors.ArgumentError, match="one of Q8_0"):
        rg.dequantize(np.zeros((2, 34), np.uint8), "Q3_K")


def plain_values(found):
    """Arrays among values of metadata as lists."""
    if isinstance(found, list):
        return [plain_values(part) for part in found]
    return found.tolist() if isinstance(found, np.ndarray) else found


def example(path, **options):
    rows = {f"blk.{name}": ((3, 512), name, blocks_of(name, 3 * 512 // FORMATS[name].size)) for name in QUANTIZED}
    plain = {"norm": weights((5,)), "half": weights((2, 3)).astype(np.float16), "brain": weights((4, 2)).astype(rg.bfloat16),
             "count": np.arange(6, dtype=np.int32).reshape(1, 2, 3)}
    return gguf_files.write(path, METADATA, {**rows, **plain}, **options), rows, plain


@pytest.mark.parametrize("options", [{}, {"version": 2}])
def test_a_file_comes_back(tmp_path, options):
    path, rows, plain = example(tmp_path / "w.gguf", **options)
    found = gguf.read(path)
    assert list(found.metadata) == list(METADATA)
    for key, expected in METADATA.items():
        assert plain_values(found.metadata[key]) == plain_values(expected)
    for name, (shape, form, blocks) in rows.items():
        stored = found.tensors[name]
        assert (stored.shape, stored.format) == (shape, form)
        np.testing.assert_array_equal(stored.array, blocks.reshape(3, -1))
    for name, array in plain.items():
        assert found.tensors[name].array.dtype == array.dtype
        np.testing.assert_array_equal(found.tensors[name].array, array)


def test_alignment_is_that_of_the_metadata(tmp_path):
    path = gguf_files.write(tmp_path / "w", {"general.alignment": 64}, {"a": weights((3,)), "b": weights((4,), 1)}, alignment=64)
    np.testing.assert_array_equal(gguf.read(path).tensors["b"].array, weights((4,), 1))


def test_writing_to_a_mapped_tensor_leaves_the_file_as_it_is(tmp_path):
    path = gguf_files.write(tmp_path / "w", {}, {"a": weights((3,))})
    before = path.read_bytes()
    gguf.read(path).tensors["a"].array[:] = 7
    assert path.read_bytes() == before
    np.testing.assert_array_equal(gguf.read(path).tensors["a"].array, weights((3,)))


def test_the_package_gguf_reads_what_the_tests_write_and_we_read_what_it_writes(tmp_path):
    package = pytest.importorskip("gguf", reason="an oracle that is no dependency")
    path, rows, plain = example(tmp_path / "ours")
    for tensor in package.GGUFReader(path).tensors:
        expected = rows[tensor.name][2] if tensor.name in rows else plain[tensor.name]
        assert tensor.data.tobytes() == expected.tobytes()
    writer = package.GGUFWriter(tmp_path / "theirs", "llama")
    writer.add_array("words", ["x", "y"])
    writer.add_tensor("w", weights((2, 3)))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    found = gguf.read(tmp_path / "theirs")
    assert found.metadata == {"general.architecture": "llama", "words": ["x", "y"]}
    np.testing.assert_array_equal(found.tensors["w"].array, weights((2, 3)))


def test_a_file_that_is_cut_anywhere_is_refused(tmp_path):
    path = gguf_files.write(tmp_path / "w", METADATA, {"a": weights((2, 3)), "b": ((1, 32), "Q8_0", blocks_of("Q8_0", 1))})
    content = path.read_bytes()
    for length in range(len(content)):
        path.write_bytes(content[:length])
        with pytest.raises(rg.errors.CheckpointError):
            gguf.read(path)


def test_a_file_with_flipped_bits_is_read_or_refused(tmp_path):
    path = gguf_files.write(tmp_path / "w", METADATA, {"a": weights((2, 3)), "b": ((1, 32), "Q8_0", blocks_of("Q8_0", 1))})
    content, rng, refused = path.read_bytes(), np.random.default_rng(0), 0
    for _ in range(1500):
        damaged = bytearray(content)
        for place in rng.integers(0, len(content), rng.integers(1, 4)):
            damaged[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        try:
            gguf.read(path)
        except rg.errors.CheckpointError:
            refused += 1
    assert refused > 300


@pytest.mark.parametrize(("content", "message"), [
    (b"", "empty"), (b"GGML" + bytes(40), "begins with"), (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "high byte first"),
    (b"GGUF" + struct.pack("<IQQ", 1, 0, 0), "version 1"), (b"GGUF" + struct.pack("<IQQ", 3, 0, 2**60), "keys"),
    (b"GGUF" + struct.pack("<IQQ", 3, 2**60, 0), "tensors"),
    (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + gguf_files.text("k") + struct.pack("<IIQ", 9, 6, 2**61) + bytes(40), "numbers"),
    (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + gguf_files.text("k") + struct.pack("<I", 13) + bytes(40), "type 13"),
    (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + gguf_files.text("k") + struct.pack("<IIQ", 9, 9, 1) * 40, "nested|entries")])
def test_what_is_no_file_of_this_kind_is_refused_with_a_reason(tmp_path, content, message):
    path = tmp_path / "w"
    path.write_bytes(content)
    with pytest.raises(rg.errors.CheckpointError, match=message):
        gguf.read(path)


@pytest.mark.parametrize(("moved", "message"), [(0, "a|bb"), (33, "bb"), (64, "bb"), (2**63, "bb")])
def test_tensors_lie_side_by_side(tmp_path, moved, message):
    path = gguf_files.write(tmp_path / "w", {}, {"a": weights((3,)), "bb": weights((4,), 1)})
    content = path.read_bytes()
    place = content.index(struct.pack("<IQ", 0, 32)) + 4
    path.write_bytes(content[:place] + struct.pack("<Q", moved) + content[place + 8 :] + bytes(64))
    with pytest.raises(rg.errors.CheckpointError, match=rf"({message}) begins at byte {moved} .*must begin at 32"):
        gguf.read(path)


def test_tensors_may_be_listed_in_another_order(tmp_path):
    path = gguf_files.write(tmp_path / "w", {}, {"a": weights((3,)), "b": weights((3,), 1)})
    content = path.read_bytes()
    first, second = [content.index(struct.pack("<QIQ", 3, 0, start)) + 12 for start in (0, 32)]
    swapped = bytearray(content)
    swapped[first : first + 8], swapped[second : second + 8] = content[second : second + 8], content[first : first + 8]
    path.write_bytes(swapped)
    found = gguf.read(path).tensors
    np.testing.assert_array_equal([found["b"].array, found["a"].array], [weights((3,)), weights((3,), 1)])


@pytest.mark.parametrize("shape", [(0, 2**62), (2**32, 2**32, 0), (2**62, 0)])
def test_shapes_that_no_array_has_are_refused_though_they_are_empty(tmp_path, shape):
    path = gguf_files.write(tmp_path / "w", {}, {"a": (shape, "F32", np.zeros(0, np.float32))})
    with pytest.raises(rg.errors.CheckpointError, match="greater than any array"):
        gguf.read(path)
    with pytest.raises(rg.errors.CheckpointError, match="cannot be made"):
        mapped_weights(safetensors_of(tmp_path / "s", shape))


def safetensors_of(path, shape):
    header = json.dumps({"a": {"dtype": "F32", "shape": shape, "data_offsets": [0, 0]}}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header)
    return path


def test_types_that_are_not_read_are_named(tmp_path):
    path = gguf_files.write(tmp_path / "w", {}, {"a": ((1, 256), "Q4_K", blocks_of("Q4_K", 1))})
    content = path.read_bytes()
    place = content.index(struct.pack("<IQ", 12, 0))
    path.write_bytes(content[:place] + struct.pack("<I", 10) + content[place + 4 :])
    with pytest.raises(rg.errors.CheckpointError, match=r"a is of type Q2_K.*it reads F32"):
        gguf.read(path)
