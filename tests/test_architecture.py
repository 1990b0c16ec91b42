"""The architecture: imports point down the layers, none is late, names are public or private, files are short."""

import ast
import statistics
from pathlib import Path

import pytest

import retrograde as rg
from layering import imports

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
#: The imports between packages of one layer; no others are allowed.
NEIGHBOURS = {
    ("backend", "errors"), ("dtypes", "errors"), ("extras", "errors"), ("shapes", "errors"), ("tree", "errors"),
    ("cli", "data"), ("cli", "io"), ("cli", "viz"), ("optim", "nn"), ("text", "nn"), ("text", "optim"),
}
#: Inside the compiler: code generation stands above these files, and below all others.
BELOW_CODEGEN = {"cost", "elements", "expression", "failures", "rounded", "table", "units"}
#: What goes against that today, as (file, package). It may only shrink.
DEBTS = {("table", "codegen")}
#: Ops that the core may not name.
OPS = ("matmul", "softmax", "conv1d", "conv2d", "conv3d", "numpy")


def package_of(path):
    """The first name below the package: `ops` for ops/reductions.py, `errors` for errors.py."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return parts[0]


def faults(text, path):
    """What goes against the layers in the text of a file, which stands at `path` below the package."""
    mine, found = path.split("/")[0].removesuffix(".py"), []
    for name, line, is_late in imports(text, path):
        other, at = name.split(".")[0], f"{path}:{line}: {name}"
        if is_late:
            found.append(f"{at} is imported inside a function")
        if mine not in RANK or other not in RANK:
            found.append(f"{at}: {mine} or {other} stands in no layer")
        elif RANK[other] > RANK[mine]:
            found.append(f"{at}: {mine} is below {other} and may not import it")
        elif RANK[other] == RANK[mine] and mine != other and (mine, other) not in NEIGHBOURS:
            found.append(f"{at}: {mine} and {other} are neighbours that may not import each other")
        if path.startswith("compiler/") and name.startswith("compiler.") and _is_upward(path, name) and _debt(path, name) not in DEBTS:
            found.append(f"{at}: goes up inside the compiler")
    if mine == "core":
        found += [f"{path}: the core mentions {op}" for op in OPS if op in text.replace("without NumPy", "")]
    return found


def _debt(path, name):
    return path.split("/")[1].removesuffix(".py"), name.split(".")[1]


def _is_upward(path, name):
    """Whether an import inside the compiler goes from code generation to planning, or to it from below."""
    mine, other = _debt(path, name)
    if mine == "codegen":
        return other != "codegen" and other not in BELOW_CODEGEN
    return mine in BELOW_CODEGEN and other == "codegen"


@pytest.mark.parametrize("path", [f for f in FILES if f.name != "__init__.py" or f.parent != ROOT],
                         ids=lambda f: str(f.relative_to(ROOT)))
def test_imports_point_down_the_layers_and_none_is_late(path):
    assert not faults(path.read_text(), path.relative_to(ROOT).as_posix())


@pytest.mark.parametrize(("path", "planted"), [
    ("nn/linear.py", "from ..text import prompt"),
    ("core/gradient.py", "from importlib import import_module\nimport_module('retrograde.nn')"),
    ("core/gradient.py", "def late():\n    import retrograde.optim"),
    ("compiler/codegen/signs.py", "from .. import attending"),
    ("core/gradient.py", 'NAME = "conv3d"'),
    ("core/gradient.py", "from importlib import import_module\nimport_module('..nn', __package__)"),
    ("core/gradient.py", "def late():\n    from retrograde import optim"),
])
def test_a_planted_violation_of_the_layers_is_found(path, planted):
    file = ROOT / path
    text = file.read_text()
    assert not faults(text, path)
    assert faults(f"{text}\n{planted}\n", path)


def test_imports_for_type_checkers_are_allowed():
    assert not faults("if TYPE_CHECKING:\n    from ..nn import Module\n", "core/gradient.py")


def test_each_debt_and_each_pair_of_neighbours_is_still_there():
    pairs = set()
    for path in FILES:
        place = path.relative_to(ROOT).as_posix()
        for name, _, _ in imports(path.read_text(), place) if place != "__init__.py" else ():
            pairs.add((package_of(path), name.split(".")[0]))
            if place.startswith("compiler/") and name.startswith("compiler.") and _is_upward(place, name):
                pairs.add(_debt(place, name))
    assert pairs >= NEIGHBOURS | DEBTS


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
    page = (ROOT.parents[1] / "docs" / "ops.md").read_text(encoding="utf-8")
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
