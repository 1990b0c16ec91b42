"""Models in ONNX that are not as they were written: `python -m tests.onnx_format.malformed --count 5000` makes so many, and loads each.

Each must load, and then run or not, or be an error of ours, soon, and within a gigabyte.
"""

import argparse
import random
import resource
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
from onnx import helper

import retrograde as rg
from retrograde import nn
from retrograde.onnx.exporting import model_of

#: The seconds that loading a small model may take, and the bytes that all of it may.
SECONDS, MEMORY = 5, 1 << 30
ODD_NAMES = ["", "x", "output", "\0", "a" * 1000, "../x", ".", "a..b", "forward", "training", "é"]
ODD_SIZES = [-1, 0, 1, 2**31, 2**62, -(2**63), 2**63 - 1]
LOCATIONS = ["/etc/passwd", "../secret", "a/../../b", "", ".", "model.onnx", "\0", "C:\\x", "link", "missing"]


def examples():
    """Models of several kinds, with an input for each."""
    rg.manual_seed(0)
    image, rows = np.ones((2, 3, 6, 6), np.float32), np.ones((2, 4, 3), np.float32)
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16, 2))
    yield model_of(net.eval(), (rg.asarray(image),)), image
    yield model_of(lambda x: rg.scan(lambda c, r: (c + r, c * r), rg.zeros(3), x[0])[0], (rg.asarray(rows),)), rows
    yield model_of(nn.TransformerEncoderLayer(4, 2, 8, batch_first=True).eval(), (rg.ones(2, 3, 4),)), np.ones((2, 3, 4), np.float32)
    yield with_function(), rows


def with_function():
    """A model with a function of its own, a branch and a constant."""
    body = [helper.make_node("Mul", ["a", "b"], ["c"]), helper.make_node("Softmax", ["c"], ["d"], axis=-1)]
    own = helper.make_function("own", "f", ["a", "b"], ["d"], body, [helper.make_opsetid("", 20)])
    info = lambda name: helper.make_tensor_value_info(name, 1, [2, 4, 3])
    branches = {f"{name}_branch": helper.make_graph([helper.make_node("Identity", [source], [name])], name, [], [info(name)])
                for name, source in (("then", "y"), ("else", "x"))}
    nodes = [helper.make_node("f", ["x", "w"], ["y"], domain="own"), helper.make_node("If", ["c"], ["z"], **branches)]
    held = [onnx.numpy_helper.from_array(np.ones(3, np.float32), "w"), onnx.numpy_helper.from_array(np.array(True), "c")]
    graph = helper.make_graph(nodes, "g", [info("x")], [info("z")], held)
    return helper.make_model(graph, functions=[own], opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid("own", 1)])


def damaged(draw, model):
    """(the bytes of a model, damaged in one of many ways; which)."""
    way = draw.choice(["flip", "flip", "cut", "splice", "repeat", "message", "message", "message", "message"])
    if way == "message":
        changed = onnx.ModelProto()
        changed.CopyFrom(model)
        way = _change(draw, changed)
        return changed.SerializeToString(), way
    content = bytearray(model.SerializeToString())
    place = draw.randrange(len(content))
    if way == "flip":
        for _ in range(draw.randrange(1, 5)):
            content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    elif way == "cut":
        del content[place:]
    elif way == "splice":
        content[place:place + draw.randrange(60)] = draw.randbytes(draw.randrange(60))
    else:
        content[place:place] = content[place:place + draw.randrange(1, 200)]
    return bytes(content), way


def _change(draw, model):
    """Change one thing in a model that its format allows; which."""
    graph = model.graph
    node, tensor = draw.choice(graph.node), draw.choice(graph.initializer or [onnx.TensorProto()])
    way = draw.choice(["input", "output", "operator", "domain", "attribute", "dims", "dtype", "location", "version", "drop", "cycle", "twice",
                       "name", "function"])
    if way in ("input", "output"):
        names = node.input if way == "input" else node.output
        names[:] = [draw.choice([*ODD_NAMES, *[n.output[0] for n in graph.node if n.output]]) if draw.random() < 0.7 else n for n in names]
    elif way == "operator":
        node.op_type = draw.choice(["", "Nothing", "Reshape", "Loop", "If", "Scan", "Expand", "ConstantOfShape", "Resize", "Gather", "LSTM", "Einsum"])
    elif way == "domain":
        node.domain = draw.choice(["ai.onnx", "own", "com.microsoft", "x" * 100])
    elif way == "attribute":
        for attribute in node.attribute:
            attribute.i, attribute.f = draw.choice(ODD_SIZES), draw.choice([float("nan"), 1e30, 0.0])
            attribute.type = draw.randrange(15) if draw.random() < 0.3 else attribute.type
            attribute.ints[:] = [draw.choice(ODD_SIZES) for _ in attribute.ints]
    elif way == "dims":
        tensor.dims[:] = [draw.choice([*ODD_SIZES, 3]) for _ in range(draw.randrange(4))]
    elif way == "dtype":
        tensor.data_type = draw.randrange(-1, 40)
    elif way == "location":
        tensor.data_location = onnx.TensorProto.EXTERNAL
        entries = {"location": draw.choice(LOCATIONS), "offset": str(draw.choice(ODD_SIZES)), "length": draw.choice(["9", "x", "-1", str(2**62)])}
        for key, value in entries.items():
            if draw.random() < 0.8:
                tensor.external_data.add(key=key, value=value)
    elif way == "version":
        for entry in model.opset_import:
            entry.version = draw.choice([*ODD_SIZES, 7, 13, 99])
    elif way == "drop":
        for rows in draw.sample([graph.node, graph.initializer, graph.input, graph.output, model.opset_import], 2):
            if len(rows):
                del rows[draw.randrange(len(rows))]
    elif way == "cycle":
        last = graph.node[-1]
        if graph.node[0].input:
            graph.node[0].input[0] = last.output[0]
    elif way == "twice":
        graph.node.add().CopyFrom(node)
    elif way == "name":
        tensor.name = draw.choice(ODD_NAMES)
    else:
        model.functions.add(name="f", domain="own", input=["a"], output=["b"], node=[helper.make_node("f", ["a"], ["b"], domain="own")],
                            opset_import=[helper.make_opsetid("own", 1), helper.make_opsetid("", 20)])
    return way


def told(path, x):
    """What becomes of the model at `path`: "runs", or the class of the error of ours that says what is wrong with it."""
    start = time.perf_counter()
    try:
        model = rg.onnx.load(path)
    except rg.errors.RetrogradeError as error:
        assert str(error)
        return type(error).__name__
    finally:
        assert time.perf_counter() - start < SECONDS, f"{path} took {time.perf_counter() - start:.1f} s"
    try:
        model(*[rg.asarray(x)] * min(1, len(model.input_names)))
    except rg.errors.RetrogradeError as error:
        assert str(error)
        return f"runs into {type(error).__name__}"
    return "runs"


def campaign(count, seed, folder):
    """Load `count` damaged models; {(how, what is told): how often}."""
    found, draw, models = Counter(), random.Random(seed), list(examples())
    (folder / "link").symlink_to("/etc")
    path = folder / "model.onnx"
    for number in range(count):
        model, x = models[number % len(models)]
        content, way = damaged(draw, model)
        path.write_bytes(content)
        try:
            found[way, told(path, x)] += 1
        except BaseException as error:
            (folder / "last.onnx").write_bytes(content)
            error.add_note(f"damaged by {way}, number {number} of seed {seed}")
            raise
    return found


def main():
    """The command."""
    parser = argparse.ArgumentParser(description="Damaged models in ONNX, loaded.")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    with tempfile.TemporaryDirectory() as folder, np.errstate(all="ignore"):
        found = campaign(given.count, given.seed, Path(folder))
    for (way, what), count in sorted(found.items()):
        print(f"{way:10} {what:32} {count}")
    print(f"{found.total()} models, each loaded or refused by an error of ours")


if __name__ == "__main__":
    sys.exit(main())
