"""Files that want to harm who loads them, and files that were damaged; and a watch that sees whether any of them runs something."""

import io
import struct
import sys
import tracemalloc
import zipfile
from contextlib import contextmanager

import numpy as np

#: Globals that no file of weights has need of.
_EVIL = (
    ("os", "system"), ("posix", "system"), ("nt", "system"), ("builtins", "eval"), ("__builtin__", "eval"), ("builtins", "exec"), ("builtins", "getattr"),
    ("builtins", "__import__"), ("subprocess", "Popen"), ("subprocess", "check_output"), ("runpy", "_run_code"), ("importlib", "import_module"),
    ("torch", "load"), ("torch.serialization", "load"), ("torch.hub", "load"), ("torch._utils", "_rebuild_qtensor"), ("torch.utils.data", "DataLoader"),
    ("retrograde.torch", "load"), ("collections", "namedtuple"), ("functools", "partial"), ("operator", "attrgetter"), ("copyreg", "_reconstructor"),
    ("pickle", "loads"), ("numpy", "load"), ("numpy.core.multiarray", "_reconstruct"), ("shutil", "rmtree"), ("builtins", "open"), ("io", "open"),
    ("collections", "OrderedDict.fromkeys"), ("torch", "Size.__new__"), ("torch.Tensor", "__class__"), ("builtins", "bytearray.fromhex"), ("webbrowser", "open"),
    ("code", "InteractiveConsole"), ("ctypes", "CDLL"), ("socket", "create_connection"), ("sys", "modules"), ("os.path", "os.system"), ("", ""), ("a b", "c d"),
)


def _text(x):
    raw = x.encode()
    return b"X" + struct.pack("<I", len(raw)) + raw


def _tensor(count=2, offset=0, size=b"K\x02\x85", stride=b"K\x01\x85", kind=b"ctorch\nFloatStorage\n", key="0", rest=b"\x89ccollections\nOrderedDict\n)R"):
    number = _text("no") if count is None else b"\x8a\x09" + count.to_bytes(9, "little", signed=True)
    storage = b"(" + _text("storage") + kind + _text(key) + _text("cpu") + number + b"tQ"
    return b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + b"\x8a\x09" + offset.to_bytes(9, "little", signed=True) + size + stride + rest + b"tR"


def _long(n):
    raw = n.to_bytes(n.bit_length() // 8 + 1, "little", signed=True)
    return b"\x8a" + bytes([len(raw)]) + raw


def _calls(module, name):
    """Pickles that call a global, in every way that pickle knows."""
    command = _text("echo harmed >> harmed.txt")
    known = f"c{module}\n{name}\n".encode()
    of_stack = _text(module) + _text(name) + b"\x93"
    return {
        "GLOBAL": known, "REDUCE": known + command + b"\x85R", "STACK_GLOBAL": of_stack + command + b"\x85R",
        "INST": b"(" + command + f"i{module}\n{name}\n".encode(), "OBJ": b"(" + known + command + b"o", "NEWOBJ": known + command + b"\x85\x81",
        "NEWOBJ_EX": known + command + b"\x85}\x92", "in a list": b"](" + known + command + b"\x85Re", "as a key": b"}" + known + b"Ns",
        "BUILD": known + command + b"\x85R}" + _text("__setstate__") + known + b"sb", "as storage": _tensor(kind=known),
        "as hooks": _tensor(rest=b"\x89" + known + command + b"\x85R"), "persistent": known + b"Q", "as state": b"ccollections\nOrderedDict\n)R}" + _text("_metadata") + known + b"sb",
        "as function": b"ctorch._tensor\n_rebuild_from_type_v2\n(" + known + b"ctorch\nTensor\n" + command + b"\x85}tR",
        "as class": b"ctorch._tensor\n_rebuild_from_type_v2\n(ctorch._utils\n_rebuild_tensor_v2\n" + known + command + b"\x85}tR",
    }


def _nested(opening, count):
    return opening * count


_ODD = {
    "no end": b"N", "nothing": b"", "an empty stack": b".", "two objects": b"NN.", "an open mark": b"(N.", "after the end": b"N.N.",
    "EXT1": b"\x82\x01.", "EXT2": b"\x83\x01\x00.", "EXT4": b"\x84\x01\x00\x00\x00.", "DUP": b"N2.", "POP": b"N0.", "INT": b"I1\n.", "LONG": b"L1L\n.",
    "FLOAT": b"F1.5\n.", "UNICODE": b"Vab\n.", "STRING": b"S'ab'\n.", "PERSID": b"P0\n.", "PUT": b"Np0\n.", "DICT": b"(d.", "LIST": b"(l.",
    "NEXT_BUFFER": b"\x97.", "FROZENSET": b"(\x91.", "POP_MARK": b"(1.", "READONLY": b"N\x98.",
    "a long text": b"X\xff\xff\xff\xff.", "a longer text": b"\x8d" + b"\xff" * 7 + b"\x7f.", "a text of no length": b"\x8d" + b"\xff" * 8 + b".",
    "long bytes": b"B\xff\xff\xff\xff.", "longer bytes": b"\x8e" + b"\xff" * 7 + b"\x7f.", "a long bytearray": b"\x96" + b"\xff" * 7 + b"\x7f.",
    "a long number": b"\x8b\xff\xff\xff\x7f.", "a number of less than no bytes": b"\x8b\xff\xff\xff\xff.", "a long frame": b"\x95" + b"\xff" * 8 + b"N.",
    "a frame": b"\x80\x04\x95\x01\x00\x00\x00\x00\x00\x00\x00c", "a memo that is not there": b"h\x05.", "a far memo": b"j\xff\xff\xff\xff.", "a memo of nothing": b"q\x00.",
    "text that is none": b"X\x02\x00\x00\x00\xff\xfe.", "bytes of no length": b"cbuiltins\nbytearray\n" + _long(10**12) + b"\x85R.",
    "a bytearray of numbers": b"cbuiltins\nbytearray\n](K\x01K\x02e\x85R.", "a set of lists": b"cbuiltins\nset\n]]a\x85R.", "a key that is a list": b"}]Ns.",
    "a set of a set": b"\x8f(\x8f\x90.", "an item of a dictionary": b"}Na.", "an entry of a list": b"]NNs.", "a key without a value": b"}(Nu.",
    "bytes in another code": b"c_codecs\nencode\n" + _text("ab") + _text("zip") + b"\x86R.", "rot13": b"c_codecs\nencode\n" + _text("ab") + _text("rot13") + b"\x86R.",
    "a call of a tuple": b"N\x85N\x85R.", "a call with a list": b"ccollections\nOrderedDict\n]R.", "a call of a dtype": b"ctorch\nfloat32\nN\x85R.",
    "attributes of a dictionary": b"ccollections\nOrderedDict\n)R}" + _text("items") + b"Nsb.", "attributes of a list": b"]}" + _text("append") + b"Nsb.",
    "a class of storages": b"ctorch\nFloatStorage\n.", "a class in a tuple": b"ctorch\nTensor\n\x85\x85.", "a class deep inside": b"]}Nctorch\nTensor\nsa.",
    "a storage": b"(" + _text("storage") + b"ctorch\nFloatStorage\n" + _text("0") + _text("cpu") + b"K\x02tQ.", "a reference of text": _text("0") + b"Q.",
    "a reference of a number": b"K\x01Q.", "a module reference": b"(" + _text("module") + b"NNNNtQ.", "a reference of nothing": b")Q.",
    "a size of texts": b"ctorch\nSize\n]" + _text("a") + b"a\x85R.", "a complex of texts": b"cbuiltins\ncomplex\n" + _text("a") + _text("b") + b"\x86R.",
    "a device of a number": b"ctorch\ndevice\nK\x01\x85R.", "a counter of a list": b"ccollections\nCounter\n]\x85R.",
    "another layout": b"ctorch.serialization\n_get_layout\n" + _text("torch.sparse_coo") + b"\x85R.", "complex of half": b"ctorch\ncomplex32\n.",
    "a quantized storage": _tensor(kind=b"ctorch\nQInt8Storage\n") + b".",
    "tuples of tuples as a key": b"}" + b")" + b"".join(b"q\x00h\x00\x86" for _ in range(60)) + b"Ns.", "a deep tuple as a key": b"}N" + b"\x85" * 5000 + b"Ns.",
    "keys of one hash": b"}(" + b"".join(_long(i * (2**61 - 1)) + b"N" for i in range(3000)) + b"u.",
    "complex keys of one hash": b"}(" + b"".join(
        b"cbuiltins\ncomplex\nG" + struct.pack(">d", -1000003.0 * i) + b"G" + struct.pack(">d", float(i)) + b"\x86RN" for i in range(1500)) + b"u.",
    "items of one hash": b"\x8f(" + b"".join(_long(i * (2**61 - 1)) for i in range(3000)) + b"\x90.",
    "items of a list of one hash": b"cbuiltins\nset\n](" + b"".join(_long(i * (2**61 - 1)) for i in range(3000)) + b"e\x85R.",
    "tuples in a set of a list": b"cbuiltins\nset\n])" + b"".join(b"q\x00h\x00\x86" for _ in range(60)) + b"a\x85R.",
    "lists that do not end": b"]" * 100_000, "tuples that do not end": b"(" * 100_000, "numbers that do not end": b"K\x01" * 50_000,
    "more elements than bytes": _tensor(count=3) + b".", "fewer elements than bytes": _tensor(count=1) + b".", "very many elements": _tensor(count=2**62) + b".",
    "less than no elements": _tensor(count=-2) + b".", "a count that is text": _tensor(count=None) + b".", "another key": _tensor(key="7") + b".",
    "a key that climbs": _tensor(key="../../etc/passwd") + b".", "the key of another member": _tensor(key="../data.pkl") + b".",
    "a far offset": _tensor(offset=1) + b".", "an offset before": _tensor(offset=-1) + b".", "a very far offset": _tensor(offset=2**62) + b".",
    "a great size": _tensor(size=_long(2**40) + b"\x85") + b".", "a greater size": _tensor(size=_long(2**62) + b"\x85", stride=b"K\x00\x85") + b".",
    "a great size of no steps": _tensor(size=_long(2**61) + _long(2**61) + b"\x86", stride=b"K\x00K\x00\x86") + b".",
    "a size below none": _tensor(size=_long(-1) + b"\x85") + b".", "a great step": _tensor(stride=_long(2**62) + b"\x85") + b".",
    "a step back": _tensor(stride=_long(-1) + b"\x85") + b".", "a step that overflows": _tensor(size=b"K\x03\x85", stride=_long(2**63 // 2 - 1) + b"\x85") + b".",
    "steps that do not fit": _tensor(stride=b")") + b".", "a size that is a list": _tensor(size=b"]K\x02a") + b".", "a size of truth": _tensor(size=b"\x88\x85") + b".",
    "very many axes": _tensor(size=b"(" + b"K\x01" * 200 + b"t", stride=b"(" + b"K\x01" * 200 + b"t") + b".",
    "no elements and great axes": _tensor(size=b"K\x00" + _long(2**61) + _long(2**61) + b"\x87", stride=b"K\x01K\x01K\x01\x87") + b".",
    "gradients of whole numbers": _tensor(count=1, kind=b"ctorch\nLongStorage\n", size=b")", stride=b")", rest=b"\x88N") + b".",
    "metadata": _tensor(rest=b"\x89N}" + _text("backward") + b"Ns") + b".", "metadata that are none": _tensor(rest=b"\x89NK\x05") + b".",
    "hooks": _tensor(rest=b"\x89ccollections\nOrderedDict\n)RK\x01Ns") + b".", "too many arguments": _tensor(rest=b"\x89NNNNN") + b".",
    "a parameter of nothing": b"ctorch._utils\n_rebuild_parameter\nN\x88N\x87R.",
    **{f"an attribute {name}": b"ctorch._utils\n_rebuild_parameter_with_state\n(" + _tensor() + b"\x88N}" + _text(name) + b"NstR."
       for name in ("__class__", "__dict__", "raw", "record", "data", "requires_grad", "backward", "grad", "views", "base", "a b", "__len__")},
}
#: Archives with a fault of their own, by what is done to them.
_ARCHIVES = ("compressed", "bomb", "twice", "overlapping", "encrypted", "no pickle", "two pickles", "program", "other name", "wrong size", "wrong checksum", "far header",
             "long version", "odd order", "older pickle", "tar", "empty", "text", "no magic", "version")


def hostile():
    """All files made by hand, by their names: each must be refused."""
    found = {f"{module}.{name}, {way}": packed(b"\x80\x02" + content + b".") for module, name in _EVIL for way, content in _calls(module, name).items()}
    found |= {name: packed(b"\x80\x02" + content) for name, content in _ODD.items()}
    return found | {f"archive: {name}": _archive(name) for name in _ARCHIVES}


def damaged(files, seed):
    """A file of `files` with damage by chance, whether whatever can be read must be what it was, and which file it was."""
    draw = np.random.default_rng(seed)
    which = int(draw.integers(len(files)))
    if draw.random() < 0.5:
        return bytes(_struck(bytearray(files[which]), draw)), True, which
    with zipfile.ZipFile(io.BytesIO(files[which])) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = next(n for n in members if n.endswith("data.pkl"))
    members[name] = bytes(_struck(bytearray(members[name]), draw))
    return _zipped(members), False, which


def _struck(raw, draw):
    kind, at = draw.integers(6), int(draw.integers(len(raw)))
    if kind == 0:
        return raw[:at]
    if kind == 1:
        return raw[:at] + bytes(draw.integers(0, 256, draw.integers(1, 20), np.uint8)) + raw[at:]
    if kind == 2:
        return raw[:at] + raw[at + int(draw.integers(1, 20)):]
    if kind == 3:
        other = int(draw.integers(len(raw)))
        return raw[:at] + raw[other : other + 30] + raw[at + 30:]
    for place in draw.integers(0, len(raw), draw.integers(1, 4)):
        raw[place] = draw.integers(256) if kind == 4 else raw[place] ^ 1 << draw.integers(8)
    return raw


def packed(pickled, storages=(b"\x00\x00\x80?\x00\x00\x00@",)):
    """An archive with a pickle and storages."""
    return _zipped({"archive/data.pkl": pickled, "archive/byteorder": b"little", "archive/version": b"3\n",
                    **{f"archive/data/{i}": content for i, content in enumerate(storages)}})


def _zipped(members, method=zipfile.ZIP_STORED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def _archive(kind):
    pickled = b"\x80\x02" + _tensor() + b"."
    good = packed(pickled)
    members = {"archive/data.pkl": pickled, "archive/version": b"3\n", "archive/data/0": bytes(8)}
    made = {
        "compressed": lambda: _zipped(members, zipfile.ZIP_DEFLATED), "bomb": lambda: _zipped({**members, "archive/data/0": bytes(2**25)}, zipfile.ZIP_DEFLATED),
        "no pickle": lambda: _zipped({"archive/version": b"3\n"}), "two pickles": lambda: _zipped({**members, "other/data.pkl": pickled}),
        "program": lambda: _zipped({**members, "archive/constants.pkl": b"", "archive/code/a.py": b""}), "long version": lambda: _zipped({**members, "archive/version": b"3" * 10**6}),
        "version": lambda: _zipped({**members, "archive/version": b"11"}), "odd order": lambda: _zipped({**members, "archive/byteorder": b"middle"}),
        "older pickle": lambda: b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.", "tar": lambda: bytes(257) + b"ustar" + bytes(250), "empty": lambda: b"",
        "text": lambda: b"PK\n" * 300, "no magic": lambda: b"{}" + good, "wrong size": lambda: _edited(good, -1, 20, struct.pack("<II", 2**31, 2**31)),
        "encrypted": lambda: _edited(good, 0, 8, b"\x01\x00"), "other name": lambda: good.replace(b"archive/data/0", b"archive/data/7", 1),
        "wrong checksum": lambda: _edited(good, -1, 16, b"abcd"), "far header": lambda: _edited(good, 0, 42, struct.pack("<I", 2**31)),
        "overlapping": lambda: _edited(good, 2, 20, struct.pack("<II", 100, 100)),
    }
    if kind != "twice":
        return made[kind]()
    return _zipped({**members, "archive/data/1": bytes(8)}).replace(b"archive/data/1", b"archive/data/0")


def _edited(raw, member, at, new):
    """An archive with other bytes at a place in the entry of a member in its directory."""
    places, start = [], raw.find(b"PK\x01\x02")
    while start >= 0:
        places.append(start)
        start = raw.find(b"PK\x01\x02", start + 1)
    place = places[member] + at
    return raw[:place] + new + raw[place + len(new):]


#: Events of Python's audit that mean that something was run, loaded, opened or looked up.
_RUN = ("exec", "compile", "import", "open", "os.", "subprocess.", "socket.", "ctypes.", "pickle.", "shutil.", "code.", "marshal.")
_watching, _seen, _hooked = [False], [], []


def _audited(event, arguments):
    if _watching[0] and event.startswith(_RUN):
        _seen.append((event, str(arguments)[:100]))


@contextmanager
def watched():
    """Within it, what Python runs, loads and opens is noted, and the memory that is taken; gives the notes and a function for the most
    that was taken at a time.
    """
    if not _hooked:  # a hook stays as long as Python runs
        _hooked.append(sys.addaudithook(_audited))
    for code in ("cp437", "latin1", "ascii", "raw_unicode_escape"):
        "".encode(code)
    _seen.clear()
    tracemalloc.start()
    _watching[0] = True
    try:
        yield _seen, lambda: tracemalloc.get_traced_memory()[1]
    finally:
        _watching[0] = False
        tracemalloc.stop()


def outcome(load, raw):
    """What comes of a file: (the object, None) or (None, the error), what was run meanwhile, and the most memory that was taken."""
    with watched() as (seen, most):
        try:
            found, error = load(io.BytesIO(raw)), None
        except Exception as raised:  # noqa: BLE001 - any error is an outcome
            found, error = None, raised
        return found, error, list(seen), most()


def fault(load, raw, is_ours, unchanged=None):
    """What is wrong with the outcome of a file that is not what it was, or None. `is_ours` tells the errors that may be raised;
    `unchanged(found)` whether an object may be what the file holds; None if it must be refused.
    """
    found, error, seen, most = outcome(load, raw)
    if seen:
        return f"ran {seen[0]}"
    if error is not None and not is_ours(error):
        return f"raised {type(error).__name__}: {error}"
    if error is not None and len(str(error)) not in range(20, 1000):
        return f"said {str(error)[:1000]!r}"
    if error is None and (unchanged is None or not unchanged(found)):
        return f"gave {str(found)[:200]}"
    # An empty set, made of one byte, is the greatest of the objects that a byte makes.
    return f"took {most} bytes for a file of {len(raw)}" if most > 3_000_000 + 300 * len(raw) else None
