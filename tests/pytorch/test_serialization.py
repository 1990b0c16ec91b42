"""`torch.save` and `torch.load`: what is saved comes back, files of PyTorch's are read, and none runs anything."""

import io
import pickle
import zipfile
from collections import Counter, OrderedDict
from pathlib import Path

import numpy as np
import pytest
from hostile_files import damaged, fault, hostile, outcome, packed, watched
from saved import Maker, described

from retrograde import torch
from retrograde.errors import ArgumentError, CheckpointError, DeviceError, DTypeError, RetrogradeError, TraceError

#: Files that PyTorch 2.13 wrote: `python -m tests.torch.files --fixtures`.
FILES = sorted((Path(__file__).parent / "files").glob("*.pt"))
HOSTILE = hostile()


def written(x):
    file = io.BytesIO()
    torch.save(x, file)
    return file.getvalue()


def again(x):
    return torch.load(io.BytesIO(written(x)))


def is_ours(error):
    return isinstance(error, RetrogradeError)


@pytest.mark.parametrize("seed", range(40))
def test_what_is_saved_comes_back(seed):
    made = Maker(torch, seed).object()
    assert described(torch, again(made)) == described(torch, made)


def test_files_of_pytorch_are_read():
    state, training = (torch.load(path) for path in FILES)
    assert type(state) is OrderedDict and list(state) == ["0.weight", "0.bias", "1.weight", "1.bias", "1.running_mean", "1.running_var", "1.num_batches_tracked"]
    assert state._metadata[""] == {"version": 1} and state["1.num_batches_tracked"].item() == 0
    assert state["0.weight"].reshape(-1).tolist() == [0.0, 0.5, 1.0, 1.5, 2.0, 2.5]
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    model.load_state_dict(state)
    assert training["epoch"] == 3 and training["optimizer"]["param_groups"][0]["betas"] == (0.9, 0.999)
    assert training["optimizer"]["state"][0]["exp_avg"].dtype == torch.float32
    whole, row, column = training["shared"]
    row.fill_(7.0)
    assert whole.tolist() == [[0.0, 1.0, 2.0], [7.0, 7.0, 7.0]] and column.tolist() == [2.0, 7.0] and column.stride() == (3,)
    assert training["half"].dtype == torch.bfloat16 and training["half"].tolist() == [1.5, -2.0]
    assert isinstance(training["parameter"], torch.nn.Parameter) and training["parameter"].requires_grad
    assert training["conjugate"].tolist() == [1 - 2j] and training["whole"].dtype == np.uint16


def test_writing_to_a_tensor_of_shared_memory_is_noticed():
    x, row = again([x := torch.ones(2, 2), x[0]])
    x.requires_grad_()
    y = (x * x).sum()
    row.fill_(3.0)
    with pytest.raises(RetrogradeError, match="in place"):
        y.backward()


def test_an_expanded_tensor_keeps_its_memory_and_cannot_be_written_to():
    found = again(torch.tensor([1.0, 2.0]).expand(3, 2))
    assert found.stride() == (0, 1) and found.tolist() == [[1.0, 2.0]] * 3
    with pytest.raises(RetrogradeError, match="read-only"):
        found.fill_(0.0)


def test_a_view_is_saved_without_the_rest_of_its_memory():
    x = torch.zeros(1000, 1000)
    assert len(written(x[0])) < 10_000
    one, other = again([x[0], x[1]])
    one.fill_(1.0)
    assert other.sum().item() == 0


def test_members_start_where_they_can_be_mapped():
    raw = written({"a": torch.ones(3), "b": torch.ones(5, dtype="float64")})
    archive = zipfile.ZipFile(io.BytesIO(raw))
    starts = [info.header_offset + 30 + len(info.filename) + len(info.extra) for info in archive.infolist()]
    assert all(start % 64 == 0 for start in starts) and archive.testzip() is None
    assert archive.read("archive/data/0") == np.ones(3, np.float32).tobytes()


def test_members_too_long_for_32_bits_are_written_with_64_and_start_there_too(monkeypatch):
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 1000)  # as if they were
    raw = written({"a": torch.arange(1000.0), "b": torch.ones(5)})
    lengths = [(info.header_offset + 30, raw[info.header_offset + 26 : info.header_offset + 30]) for info in zipfile.ZipFile(io.BytesIO(raw)).infolist()]
    assert all((start + int.from_bytes(sizes[:2], "little") + int.from_bytes(sizes[2:], "little")) % 64 == 0 for start, sizes in lengths)
    assert torch.load(io.BytesIO(raw))["a"].tolist() == list(range(1000))


def test_a_path_holds_the_old_file_or_the_new_one(tmp_path):
    path = tmp_path / "weights.pt"
    torch.save({"w": torch.ones(2)}, path)
    with pytest.raises(CheckpointError, match="state_dict"):
        torch.save({"w": torch.zeros(2), "model": torch.nn.Linear(1, 1)}, str(path))
    assert torch.load(str(path))["w"].tolist() == [1.0, 1.0] and [*tmp_path.iterdir()] == [path]
    assert zipfile.ZipFile(path).namelist()[0] == "weights/data.pkl"


def test_mapped_storages_are_read_when_used_and_written_to_in_memory(tmp_path):
    path = tmp_path / "weights.pt"
    torch.save({"w": (x := torch.arange(6.0).reshape(2, 3)), "row": x[1], "none": torch.zeros(0)}, path)
    before = path.read_bytes()
    found = torch.load(path, mmap=True)
    assert found["row"].tolist() == [3.0, 4.0, 5.0]
    found["w"].fill_(1.0)
    assert found["row"].tolist() == [1.0] * 3 and path.read_bytes() == before


def test_the_order_of_bytes_of_another_machine_is_turned():
    def other(raw):
        members = {n: zipfile.ZipFile(io.BytesIO(raw)).read(n) for n in zipfile.ZipFile(io.BytesIO(raw)).namelist()}
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as archive:
            for name, content in members.items():
                archive.writestr(name, b"big" if name.endswith("byteorder") else content)
        return file.getvalue()

    x = torch.tensor([1.0, -2.5, 3.25])
    for dtype in ("float32", "complex128", "int16", "uint8"):
        turned = torch.from_numpy(x.numpy().astype(dtype).byteswap())
        assert torch.load(io.BytesIO(other(written(turned)))).tolist() == torch.from_numpy(x.numpy().astype(dtype)).tolist()
    with pytest.raises(CheckpointError, match="order of bytes"):
        torch.load(io.BytesIO(other(written(torch.from_numpy(np.ones(2, np.uint16))))))


def test_truth_is_0_or_1():
    kind = b"ctorch\nBoolStorage\n"
    storage = b"(X\x07\x00\x00\x00storage" + kind + b"X\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x03tQ"
    raw = packed(b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(" + storage + b"K\x00K\x03\x85K\x01\x85\x89NtR.", (b"\x00\x02\x01",))
    found = torch.load(io.BytesIO(raw))
    assert found.numpy().view(np.uint8).tolist() == [0, 1, 1] and found.sum().item() == 2


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_plain_objects_of_every_protocol_are_read(protocol):
    x = {"a": [1, -1, 2**70, 0.5, None, True, "é" * 300, b"\x00\xff", bytearray(b"q"), 1j, (1,), (), (1, 2, 3, 4), {1, "b"}], 5: OrderedDict(b=Counter("aab"))}
    x["a"].append(x)
    found = torch.load(io.BytesIO(packed(pickle.dumps(x, protocol))))
    assert found["a"].pop() is found and x["a"].pop() is x
    assert found == x and type(found[5]) is OrderedDict and type(found[5]["b"]) is Counter


@pytest.mark.parametrize("x", [
    np.arange(6.0).reshape(2, 3), np.asfortranarray(np.arange(6).reshape(2, 3)), np.zeros((0, 3), np.float32), np.array(3, np.uint16),
    np.arange(6.0).astype(">f8")[::2], np.array([True, False]), np.array([1 + 2j]), np.float32(2.5), np.int64(3), np.True_], ids=str)
def test_an_array_of_numbers_that_was_pickled_is_read(x):
    for pickled in (pickle.dumps(x, 2), pickle.dumps(x, 2).replace(b"numpy._core", b"numpy.core")):
        found = torch.load(io.BytesIO(packed(pickled)))
        assert type(found) is type(x) and found.dtype == x.dtype.newbyteorder("=") and found.shape == x.shape
        np.testing.assert_array_equal(found, x)
    both = torch.load(io.BytesIO(packed(pickle.dumps({"a": x, "b": [x]}, 2))))
    assert both["a"] is both["b"][0]
    if x.ndim:
        found[...] = 0
        assert not torch.from_numpy(found.copy()).any()


def test_an_array_of_anything_else_and_one_that_was_damaged_is_refused():
    class Other(np.ndarray):
        pass

    for x, word in ((np.array([1, "a"], object), "'O8', not one of numbers"), (np.array(["a"]), "'U1'"), (np.zeros(2, [("a", "f4")]), "'V4'"),
                    (np.dtype("f4"), "a type of NumPy's among its contents"), (np.datetime64("2020"), "'M8'")):
        with pytest.raises(CheckpointError, match=word):
            torch.load(io.BytesIO(packed(pickle.dumps(x, 2))))
    pickled = pickle.dumps(np.arange(6, dtype="i1").reshape(2, 3), 2)
    for old, new, word in ((b"K\x02K\x03\x86", b"K\x02K\x04\x86", "other bytes than its shape"), (b"K\x02K\x03\x86", b"K\x02J\xff\xff\xff\xff\x86", "no shape"),
                           (b"K\x02K\x03\x86", b"J\xff\xff\xff\x7fJ\xff\xff\xff\x7f\x86", "other bytes than its shape"),
                           (b"cnumpy\nndarray\n", b"cnumpy\ndtype\n", "another class"), (b"X\x02\x00\x00\x00i1", b"X\x02\x00\x00\x00O8", "'O8'")):
        assert old in pickled
        with pytest.raises(CheckpointError, match=word):
            torch.load(io.BytesIO(packed(pickled.replace(old, new, 1))))


def test_a_file_cannot_change_a_type_that_everybody_has():
    state = b"(K\x03X\x01\x00\x00\x00>NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb."
    with pytest.raises(CheckpointError, match="sets attributes of a Float32"):
        torch.load(io.BytesIO(packed(b"\x80\x02ctorch\nfloat32\n" + state)))
    with pytest.raises(CheckpointError, match="among its contents"):
        torch.load(io.BytesIO(packed(b"\x80\x02cnumpy\ndtype\nX\x02\x00\x00\x00f4\x85R" + state)))
    assert np.dtype("f4").byteorder == "=" and np.float32(1).tobytes() == b"\x00\x00\x80?"


def test_deep_containers_are_read_without_recursion():
    found, depth = torch.load(io.BytesIO(packed(b"\x80\x02" + b"]" * 50_001 + b"a" * 50_000 + b"."))), 0
    while found:
        found, depth = found[0], depth + 1
    assert depth == 50_000
    deep = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(CheckpointError, match="deeply"):
        written(deep)


def test_what_a_file_must_not_say_is_told():
    told = {"os.system, REDUCE": "os.system", "torch.hub.load, GLOBAL": "torch.hub.load", "builtins.eval, INST": "INST", "archive: bomb": "compressed",
            "archive: program": "TorchScript", "archive: older pickle": "1.6", "archive: tar": "0.2", "complex of half": "complex32", "archive: twice": "two members",
            "archive: overlapping": "reaches", "more elements than bytes": "8 bytes", "EXT1": "EXT1", "archive: wrong checksum": "checksum",
            "numpy.core.multiarray._reconstruct, REDUCE": "1 arguments", "numpy.load, REDUCE": "from_numpy", "a far offset": "reaches to element 2"}
    for name, word in told.items():
        with pytest.raises(CheckpointError, match=word):
            torch.load(io.BytesIO(HOSTILE[name]))


@pytest.mark.parametrize("part", range(4))
def test_hostile_files_are_refused_without_running_anything(part):
    torch.load(FILES[0])
    faults = {name: found for name, raw in list(HOSTILE.items())[part::4] if (found := fault(torch.load, raw, is_ours))}
    assert not faults


def test_damaged_files_are_refused_or_read_as_they_were():
    files = [path.read_bytes() for path in FILES]
    whole = [described(torch, torch.load(path)) for path in FILES]
    for seed in range(150):
        raw, is_checked, which = damaged(files, seed)
        unchanged = (lambda found, i=which: described(torch, found) == whole[i]) if is_checked else lambda found: True
        assert not fault(torch.load, raw, is_ours, unchanged), seed


def test_the_watch_sees_what_runs():
    class Harm:
        def __reduce__(self):
            return eval, ("1 + 1",)

    harm = pickle.dumps(Harm())
    with watched() as (seen, most):
        pickle.loads(harm)
        block = bytearray(10**6)
    assert {"exec", "compile"} & {event for event, _ in seen} and most() is not None
    assert outcome(lambda _: bytearray(10**7), b"")[3] > 10**7 > len(block)
    assert fault(lambda file: pickle.loads(file.read()), harm, is_ours, lambda _: True).startswith("ran ")
    assert fault(lambda file: bytearray(10**7), b"", is_ours, lambda _: True).startswith("took ")
    assert fault(lambda file: [], b"", is_ours).startswith("gave ") and fault(lambda file: 1 / 0, b"", is_ours).startswith("raised ")


def test_arguments_of_pytorch_are_taken_or_refused_with_the_reason(tmp_path):
    path = tmp_path / "x.pt"
    torch.save(torch.ones(1), path)
    for place in ("cpu", torch.device("cpu"), {"cuda:0": "cpu"}, lambda storage, location: storage):
        assert torch.load(path, map_location=place, weights_only=True).tolist() == [1.0]
    with pytest.raises(DeviceError, match="no device"):
        torch.load(path, map_location="cuda:0")
    with pytest.raises(ArgumentError, match="no code"):
        torch.load(path, weights_only=False)
    with pytest.raises(ArgumentError, match="pickle_module"):
        torch.load(path, pickle_module=pickle)
    with pytest.raises(ArgumentError, match="pickle_module"):
        torch.save(1, path, pickle_module=zipfile)
    with pytest.raises(ArgumentError, match="path"), path.open("rb") as file:
        torch.load(file, mmap=True)
    with pytest.raises(ArgumentError, match="bytes"), path.open("r", encoding="latin1") as file:
        torch.load(file)
    with pytest.raises(ArgumentError, match="BytesIO"):
        torch.load([1])
    with pytest.raises(ArgumentError, match="path"):
        torch.save(1, 5)
    with pytest.raises(FileNotFoundError):
        torch.load(tmp_path / "none.pt")
    with pytest.raises(TypeError, match="fix_imports"):
        torch.load(path, fix_imports=True)
    with pytest.raises(AttributeError, match="get_default_load_endianness"):
        torch.serialization.get_default_load_endianness()


def test_no_name_can_be_declared_safe():
    torch.serialization.add_safe_globals([eval])
    with torch.serialization.safe_globals([eval]), pytest.raises(CheckpointError, match=r"builtins\.eval"):
        torch.load(io.BytesIO(HOSTILE["builtins.eval, REDUCE"]))


def test_what_cannot_be_saved_is_told():
    for x, word in ((np.ones(2), "from_numpy"), (torch.nn.Linear(1, 1), "state_dict"), (lambda: 0, "function"), (torch.return_types.max, "type"),
                    (torch.ones(2).max(0), "tuple"), (2**3000, "2,000 bits"), (np.dtype("M8[s]"), "dtype")):
        with pytest.raises(CheckpointError, match=word):
            written([x])
    numbers = np.ones(2, np.float32)
    with pytest.raises(CheckpointError, match="share memory"):
        written([torch.from_numpy(numbers), torch.from_numpy(numbers.view(np.int32))])
    loop = ([],)
    loop[0].append(loop)
    with pytest.raises(CheckpointError, match="contains itself"):
        written(loop)
    with pytest.raises(TraceError, match="traced"):
        torch.compile(lambda x: written(x) and x, fullgraph=True)(torch.ones(1))
    with pytest.raises(DTypeError, match="float6"):
        import ml_dtypes
        written(torch.from_numpy(np.ones(1, ml_dtypes.float6_e2m3fn)))


def test_numbers_of_numpy_become_those_of_python():
    found = again([np.float32(0.5), np.int64(3), np.bool_(True)])
    assert found == [0.5, 3, True] and list(map(type, found)) == [float, int, bool]
