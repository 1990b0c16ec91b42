"""The architecture: imports point down the layers, none is late, names are public or private, files are short."""

import ast
import statistics
from pathlib import Path

import pytest

import retrograde as rg

ROOT = Path(rg.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
#: The layers, lowest first. A package may import from its own layer and from those before it.
LAYERS = (
    {"errors", "config", "tree", "shapes", "dtypes", "backend", "extras", "atomic", "once", "wrap_util"},
    {"core"},
    {"ops"},
    {"compiler"},
    {"tensor"},
    {"transforms", "fft", "linalg", "random", "special"},
    {"builtins", "spaces"},
    {"extend"},
    {"misc", "numpy", "tracer"},
    {"scipy"},
    {"nn", "optim", "text"},
    {"data", "debug", "io", "distributed", "viz", "testing", "interop", "cli", "test_util"},
)
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
#: A package of the top layers is imported by none of its neighbours, but for these.
NEIGHBOURS = {("nn", "optim"), ("cli", "data"), ("cli", "io"), ("cli", "viz"), ("testing", "testing")}


def package_of(path):
    """The first name below the package: `ops` for ops/reductions.py, `errors` for errors.py."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return parts[0]


def imports(path):
    """(package, line, whether it is inside a function) of each import of ours in a file."""
    tree = ast.parse(path.read_text())
    inner = {
        id(node)
        for function in ast.walk(tree) if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        for node in ast.walk(function)
    }
    depth = len(path.relative_to(ROOT).parts)
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or not node.level:
            continue
        stem = package_of(path) if node.level < depth else (node.module or "").split(".")[0]
        names = [stem] if stem else [alias.name for alias in node.names]
        for name in names:
            yield name, node.lineno, id(node) in inner


@pytest.mark.parametrize("path", [f for f in FILES if f.name != "__init__.py" or f.parent != ROOT],
                         ids=lambda f: str(f.relative_to(ROOT)))
def test_imports_point_down_the_layers_and_none_is_late(path):
    mine = package_of(path)
    assert mine in RANK, f"{mine} stands in no layer"
    for name, line, is_late in imports(path):
        assert not is_late, f"{path}:{line} imports {name} inside a function"
        assert name in RANK, f"{path}:{line} imports {name}, which stands in no layer"
        assert RANK[name] <= RANK[mine], f"{path}:{line}: {mine} is below {name} and may not import it"


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


def test_every_op_is_exported_and_documented_with_its_aliases():
    for name in rg.ops.names():
        assert hasattr(rg, name), f"rg.{name} is missing"
        assert len(rg.ops.get(name).doc.strip()) > 20, f"{name} has no reference page"
    for alias, name in rg.ops.aliases().items():
        assert getattr(rg, alias) is getattr(rg, name)


def test_every_differentiable_op_has_a_rule_or_is_made_of_ops_that_do():
    without = [n for n in rg.ops.names() if (op := rg.ops.get(n)).is_differentiable and not (op.has_rule or op.is_composite)]
    assert not without


def test_every_public_function_of_an_op_file_has_a_docstring():
    for path in FILES:
        for node in ast.parse(path.read_text()).body:
            is_public = isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_")
            assert not is_public or ast.get_docstring(node), f"{path}: {node.name} has no docstring"


def test_op_names_are_not_known_outside_the_ops():
    core = "\n".join(path.read_text() for path in FILES if package_of(path) == "core")
    for name in ("matmul", "softmax", "conv2d", "numpy"):
        assert name not in core.replace("without NumPy", ""), f"the core mentions {name}"
