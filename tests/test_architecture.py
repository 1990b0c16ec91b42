"""The architecture: imports point down the layers, none is late, names are public or private, files are short."""

import ast
import importlib.util
import statistics
from collections import Counter
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import retrograde as rg
from layering import imports

ROOT = Path(rg.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
#: The dotted names of all modules below the package.
MODULES = {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for path in FILES} - {"__init__"}
#: The layers, lowest first. A package may import from its own layer and from those before it.
LAYERS = (
    {"errors", "array_errors", "tree", "shapes", "dtypes", "backend", "extras", "atomic", "once", "precision", "process", "runtime", "workers", "wrap_util"},
    {"core"},
    {"ops"},
    {"compiler"},
    {"tensor"},
    {"imports"},
    {"transforms", "fft", "linalg", "random", "special"},
    {"builtins", "spaces"},
    {"extend"},
    {"misc", "numpy", "tracer"},
    {"scipy"},
    {"nn", "optim", "text"},
    {"data", "debug", "deploy", "distributed", "io", "runs", "sweeps", "viz", "testing", "test_util"},
    {"onnx", "train", "torch"},
    {"models", "sklearn"},
    {"serve"},
    {"cli"},
    {"__main__"},
)
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
#: The imports between packages of one layer; no others are allowed.
NEIGHBOURS = {
    ("errors", "array_errors"), ("workers", "errors"), ("workers", "extras"),
    ("backend", "errors"), ("dtypes", "errors"), ("extras", "errors"), ("precision", "errors"), ("runtime", "errors"), ("shapes", "errors"), ("tree", "errors"),
    ("distributed", "runs"), ("runs", "io"), ("optim", "nn"), ("text", "nn"), ("text", "optim"),
}
#: The only file that knows which backends there are.
_LIST_OF_BACKENDS = "compiler/backends/__init__.py"
#: The rooms of the compiler and of the ops, folders and files, lowest first. Each may import those before it.
ROOMS = {
    "compiler": ("target", "cost", "graph", "index", "run", "trace", "kernels", "kinds", "rules", "lowering", "passes", "verify_setting",
                 "verify", "pipeline", "inspection", "backends", "calls"),
    "ops": ("_samples", "_arrays", "_native", "_alone", "_families", "collectives", "elementary", "manipulation", "special", "axes",
            "complexes", "random", "fourier", "linalg", "images", "networks"),
}
#: Code generation, and what it may import of the compiler: nothing that plans, nor what loads and runs the code that it writes.
CODEGEN, BELOW_CODEGEN = "compiler.backends.cpu.codegen", {"target", "cost", "index", "run"}
#: The most files of one folder of the compiler, and of the ops.
_MOST_FILES = {"compiler": 30, "ops": 20}
#: Words in the core that are names of ops, and stand for something else there.
NOT_OPS = {
    "core/dispatch.py": {"diagonal"},  # a parameter of PyTorch's
    "core/explain.py": {"astype", "max", "mean", "reshape", "sum"},  # what arrays have
    "core/op.py": {"complex"},  # a dtype
    "core/value.py": {"take"},  # a slot
}


def package_of(path):
    """The first name below the package: `ops` for ops/axes/reductions.py, `errors` for errors.py."""
    return path.relative_to(ROOT).with_suffix("").parts[0]


@cache
def imported(text, path):
    """What the text of a file imports, which stands at `path` below the package (see `layering.imports`)."""
    return tuple(imports(text, path, MODULES))


@cache
def faults(text, path):
    """What goes against the layers in the text of a file, which stands at `path` below the package."""
    mine, found = path.split("/")[0].removesuffix(".py"), []
    for name, line, is_late in imported(text, path):
        at = f"{path}:{line}: {name}"
        if name is None:
            found.append(f"{at}: nothing can be read of the name")
            continue
        other = name.split(".")[0]
        if is_late:
            found.append(f"{at} is imported inside a function")
        if mine not in RANK or other not in RANK:
            found.append(f"{at}: {mine} or {other} stands in no layer")
        elif RANK[other] > RANK[mine]:
            found.append(f"{at}: {mine} is below {other} and may not import it")
        elif RANK[other] == RANK[mine] and mine != other and (mine, other) not in NEIGHBOURS:
            found.append(f"{at}: {mine} and {other} are neighbours that may not import each other")
        if (backend := _backend_of(name)) and path != _LIST_OF_BACKENDS and backend != _backend_of(path[:-3].replace("/", ".")):
            found.append(f"{at}: a backend is behind its interface; compiler.backends.chosen() gives it")
        if _is_upward(path, name):
            found.append(f"{at}: goes up inside {mine}")
        if _leaves_codegen(path, name):
            found.append(f"{at}: code generation imports nothing but {', '.join(sorted(BELOW_CODEGEN))}")
    if mine == "core":
        found += [f"{path}: the core mentions {op}" for op in sorted(_ops_named(text) - NOT_OPS.get(path, set()))]
        found += [f"{path}: the core mentions NumPy"] if "numpy" in text else []
    return found


def _backend_of(name):
    """The backend that a dotted name is, or is a part of; None of others. The interface and the list of backends are for all."""
    module = ".".join(name.split(".")[:3])
    return module if module.startswith("compiler.backends.") and module in MODULES - {"compiler.backends.interface"} else None


def _ops_named(text):
    """The names of ops among the texts of a file."""
    texts = {node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return texts & {*rg.ops.names(), *rg.ops.aliases()}


def _is_upward(path, name):
    """Whether an import goes from one room of a package to one of the same package that stands no lower, or that there is not."""
    package, *rest = name.split(".")
    if package not in ROOMS or not path.startswith(f"{package}/") or not rest:
        return False
    mine, other, rooms = path.split("/")[1].removesuffix(".py"), rest[0], ROOMS[package]
    return mine not in (other, "__init__") and (not {mine, other} <= {*rooms} or rooms.index(other) > rooms.index(mine))


def _leaves_codegen(path, name):
    """Whether an import of code generation is of what it may not know."""
    mine = path.replace("/", ".").startswith(f"{CODEGEN}.") and name.startswith("compiler.")
    return mine and not f"{name}.".startswith(f"{CODEGEN}.") and name.split(".")[1] not in BELOW_CODEGEN


def _imports_inside(package):
    """By module of a package the modules of it that it imports, where that is in the file."""
    found = {}
    for path in sorted((ROOT / package).rglob("*.py")):
        place = path.relative_to(ROOT).as_posix()
        mine = place.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        for name, _, _ in imported(path.read_text(), place):
            module = name if name in MODULES else (name or "").rpartition(".")[0]
            if module in MODULES - {mine} and module.startswith(f"{package}."):
                found.setdefault(mine, set()).add(module)
    return found


@pytest.mark.parametrize("path", [f for f in FILES if f.name != "__init__.py" or f.parent != ROOT],
                         ids=lambda f: str(f.relative_to(ROOT)))
def test_imports_point_down_the_layers_and_none_is_late(path):
    assert not faults(path.read_text(), path.relative_to(ROOT).as_posix())


@pytest.mark.parametrize(("path", "planted"), [
    ("nn/linear.py", "from ..text import prompt"),
    ("nn/linear.py", "import typing\nif typing.TYPE_CHECKING:\n    pass\nelse:\n    from ..text import prompt"),
    ("core/gradient.py", "from importlib import import_module\nimport_module('retrograde.nn')"),
    ("core/gradient.py", "from importlib import import_module\nimport_module('..nn', __package__)"),
    ("core/gradient.py", "from importlib import import_module\nimport_module('retrograde' + '.nn')"),
    ("core/gradient.py", "def late():\n    import retrograde.optim"),
    ("core/gradient.py", "def late():\n    from retrograde import optim"),
    ("core/gradient.py", "__import__('retrograde.nn')"),
    ("core/gradient.py", "import sys\nnn = sys.modules['retrograde.nn']"),
    ("core/gradient.py", "import sys\nnn = sys.modules.get('retrograde.nn')"),
    ("core/gradient.py", "from ..extras import optional\noptional('retrograde.nn', 'jit')"),
    ("core/gradient.py", "import pkgutil\npkgutil.resolve_name('retrograde.nn:Linear')"),
    ("core/gradient.py", "LATE = {'a': 'nn.linear'}\nimport_module(f'retrograde.{LATE[\"a\"]}')"),
    ("core/gradient.py", "LATE = ('retrograde.nn',)\nimport_module(LATE[0])"),
    ("core/gradient.py", "import_module(name)"),
    ("core/gradient.py", 'NAME = "conv3d"'),
    ("core/gradient.py", 'NAMES = {"attention_backward": 1}'),
    ("core/gradient.py", "import numpy as np"),
    ("compiler/backends/cpu/codegen/signs.py", "from ....kernels import attention"),
    ("compiler/backends/cpu/codegen/signs.py", "from ....passes.fuse import Schedule"),
    ("compiler/backends/cpu/codegen/signs.py", "from .. import units"),
    ("compiler/backends/cpu/codegen/signs.py", "import_module(f\"{__package__.rpartition('.')[0]}.units\")"),
    ("ops/elementary/bits.py", "from ..special.gamma import beta"), ("ops/_families.py", "from .elementary import bits"),
    ("ops/complexes.py", "from .linalg.contractions import matmul"), ("ops/axes/spreads.py", "from ..a_file_in_no_room import x"),
    ("compiler/index/expression.py", "from ..passes.lower import lower"), ("compiler/index/expression.py", "from .. import pipeline"),
    ("compiler/index/expression.py", "from ..backends.cpu.codegen import emit"),
    ("compiler/kernels/loops.py", "from ..backends.cpu.codegen.loops import write_loops"),
    ("compiler/kernels/loops.py", "from ..kinds import KINDS"), ("compiler/kernels/loops.py", "from .. import a_file_in_no_room"),
    ("compiler/graph/infer.py", "from ..trace.trace import Trace"), ("compiler/passes/fuse.py", "from ..calls import step"),
    ("compiler/calls/step.py", "from ..backends.cpu.native import Code"), ("compiler/kernels/loops.py", "from ..backends import reference"),
    ("transforms/jit.py", "from ..compiler.backends import cpu"), ("compiler/backends/reference.py", "from .cpu import native"),
    ("compiler/calls/eager.py", "import_module('retrograde.compiler.backends.cpu.direct')"),
    ("compiler/backends/__init__.py", "MORE = {'late': 'transforms.jit'}\nimport_module(f'retrograde.{MORE[name]}')"),
])
def test_a_planted_violation_of_the_layers_is_found(path, planted):
    text = (ROOT / path).read_text()
    assert not faults(text, path)
    assert faults(f"{text}\n{planted}\n", path)


@pytest.mark.parametrize("text", [
    "if TYPE_CHECKING:\n    from ..nn import Module\n", "import typing\nif typing.TYPE_CHECKING:\n    from ..nn import Module\n",
    "import json\nfrom os import path", "import_module('json')", "module('nn')", "self.module('retrograde.nn')",
    "optional('llvmlite', 'jit')", "NAME = 'retrograde.nn'"])
def test_what_imports_nothing_of_ours_or_is_for_type_checkers_is_allowed(text):
    assert not faults(text, "core/gradient.py")


def test_names_in_tables_that_are_loaded_late_are_read():
    found = {name for name, _, _ in imported((ROOT / "__init__.py").read_text(), "__init__.py")}
    assert {"transforms.loops", "spaces", "extend", "compiler.calls.eager", "nn.parameter"} < found
    inside = _imports_inside("compiler")
    assert {"compiler.backends", "compiler.calls.shaped"} <= inside["compiler.calls.eager"]
    text = (ROOT / "compiler" / "backends" / "__init__.py").read_text()
    loaded = {name for name, _, _ in imported(text, "compiler/backends/__init__.py")}
    assert {"compiler.backends.cpu.backend", "compiler.backends.reference"} <= loaded
    assert all(importlib.util.find_spec(f"retrograde.{name}") for name in {*rg._LATE.values(), *rg._OF_CORE.values()})


def test_each_package_stands_in_a_layer_and_each_layer_holds_what_there_is():
    assert set(RANK) == {package_of(path) for path in FILES} - {"__init__"}
    for package, rooms in ROOMS.items():
        inside = {path.relative_to(ROOT / package).parts[0].removesuffix(".py") for path in (ROOT / package).rglob("*.py")}
        assert inside == {"__init__", *rooms}
    assert {*ROOMS["compiler"]} > BELOW_CODEGEN


@pytest.mark.parametrize(("package", "most"), _MOST_FILES.items())
def test_no_folder_of_the_compiler_or_the_ops_has_many_files(package, most):
    counts = Counter(path.parent for path in (ROOT / package).rglob("*.py"))
    assert max(counts.values()) <= most, counts.most_common(1)


@pytest.mark.parametrize("package", ROOMS)
def test_files_of_the_compiler_and_of_the_ops_import_each_other_in_no_ring(package):
    graph = _imports_inside(package)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" → ".join(error.args[1]))


def test_a_ring_of_imports_is_found():
    with pytest.raises(CycleError):
        TopologicalSorter({**_imports_inside("compiler"), "compiler.graph.effects": {"compiler.graph.infer"}}).prepare()


def test_each_exception_is_still_needed():
    pairs = set()
    for path in FILES:
        place = path.relative_to(ROOT).as_posix()
        for name, _, _ in imported(path.read_text(), place) if place != "__init__.py" else ():
            pairs.add((package_of(path), (name or "").split(".")[0]))
    assert pairs >= NEIGHBOURS
    for place, words in NOT_OPS.items():
        assert _ops_named((ROOT / place).read_text()) >= words


def test_no_file_is_long():
    lengths = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in FILES if path != ROOT / "__init__.py"}
    assert max(lengths.values()) <= 400, max(lengths.items(), key=lambda item: item[1])


def test_most_functions_are_short():
    lengths = [
        node.end_lineno - node.lineno + 1
        for path in FILES for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)
    ]
    assert statistics.quantiles(lengths, n=10)[-1] <= 25
    assert max(lengths) <= 90


def test_every_op_is_documented_and_its_names_are_exported_if_it_is_public():
    page = (Path(__file__).parents[1] / "docs" / "ops.md").read_text(encoding="utf-8")
    public, inside = page.split("\n# Inside of others\n")
    names = dir(rg)
    for name, op in ((name, rg.ops.get(name)) for name in rg.ops.names()):
        assert len(op.doc.strip()) > 20, f"{name} has no reference page"
        assert (f"\n### `{name}(" in public, f"\n### `{name}(" in inside) == (op.is_public, not op.is_public)
        for exported in (name, *op.aliases):
            assert hasattr(rg, exported) is op.is_public, f"rg.{exported}"
            assert op.is_public or exported not in names
    for alias, name in rg.ops.aliases().items():
        assert getattr(rg, alias) is getattr(rg, name)


def test_an_op_inside_of_others_is_found_in_the_registry_and_the_error_says_so():
    with pytest.raises(AttributeError, match=r"retrograde has no attribute 'eigh_pair'.*rg\.ops\.get\('eigh_pair'\)"):
        _ = rg.eigh_pair


def test_every_differentiable_op_has_a_rule_or_is_made_of_ops_that_do():
    without = [n for n in rg.ops.names() if (op := rg.ops.get(n)).is_differentiable and not (op.has_rule or op.is_composite)]
    assert not without


def test_every_public_function_of_an_op_file_has_a_docstring():
    for path in FILES:
        for node in ast.parse(path.read_text()).body:
            is_public = isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_")
            assert not is_public or ast.get_docstring(node), f"{path}: {node.name} has no docstring"
