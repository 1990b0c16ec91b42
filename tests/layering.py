"""Reads the imports of one source text in every form, for the test of the layers: no file is executed."""

import ast

#: Calls that load a module by its name; `optional` is ours, in extras.py.
_LOADERS = frozenset(["import_module", "__import__", "optional", "resolve_name", "run_module"])


def imports(text, path, modules):
    """(absolute dotted name below `retrograde`, line, whether it is an import inside a function) of each import of ours in a file.

    modules  all dotted names there are. Where a name is put together at run time, every text of the file that completes it to one
             of them counts: that finds the names in tables. A name of which nothing can be read is None
    """
    tree = ast.parse(text)
    package = path.split("/")[:-1]
    inner = _below(tree, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
    checking = _below_type_checking(tree)
    # A parameter of an ordinary loader, such as that of `extras.optional`, is read where that is called.
    passed = _parameters(tree)
    for node in ast.walk(tree):
        if id(node) in checking:
            continue
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for name in _named(node, package):
                yield name, node.lineno, id(node) in inner
        else:
            for name in _loaded(node, package, passed, tree, modules):
                yield name, node.lineno, False


def _named(node, package):
    """The names of an import statement."""
    if isinstance(node, ast.Import):
        return [name for alias in node.names for name in _absolute(alias.name)]
    stem = node.module or ""
    if not node.level:
        return [f"{name}.{alias.name}".strip(".") for name in _absolute(stem) for alias in node.names]
    start = package[:len(package) - node.level + 1] + ([stem] if stem else [])
    return [".".join([*start, alias.name]) for alias in node.names]


def _loaded(node, package, passed, tree, modules):
    """The names that a call of a loader, or a look into `sys.modules`, may stand for."""
    if isinstance(node, ast.Subscript) and _is_loaded_modules(node.value):
        return _absolute(_written(node.slice, package)[0])
    if not isinstance(node, ast.Call) or not node.args:
        return []
    called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if isinstance(node.func, ast.Attribute) and called in ("get", "pop") and _is_loaded_modules(node.func.value):
        return _absolute(_written(node.args[0], package)[0])
    if called not in _LOADERS or (isinstance(node.args[0], ast.Name) and node.args[0].id in passed):
        return []
    name, is_whole = _written(node.args[0], package)
    name = name.partition(":")[0]
    found = _relative(name, package) if name.startswith(".") else _absolute(name)
    if is_whole:
        return found
    ends = sorted({text.value for text in ast.walk(tree) if isinstance(text, ast.Constant) and isinstance(text.value, str)})
    if not found and not name:
        named = [full for end in ends for full in _absolute(end) if full in modules]
        return named if called == "optional" else [*named, None]
    completed = [full for start in found for end in ends if end and (full := f"{start}.{end}".strip(".")) in modules]
    # What completes it may stand in another file: it lies below the part that can be read.
    return completed or [start or None for start in found]


def _is_loaded_modules(node):
    """Whether a node is `sys.modules`, where Python keeps what is loaded: to take a module from there is to import it."""
    return isinstance(node, ast.Attribute) and node.attr == "modules" and isinstance(node.value, ast.Name) and node.value.id == "sys"


def _relative(name, package):
    dots = len(name) - len(name.lstrip("."))
    return [".".join([*package[:len(package) - dots + 1], name[dots:]])]


def _absolute(name):
    return [name.removeprefix("retrograde").lstrip(".")] if name.split(".")[0] == "retrograde" else []


def _written(node, package):
    """The text of a literal, of an f-string or of a sum, up to what is known only at run time, and whether that is all of it."""
    if isinstance(node, ast.Constant):
        return str(node.value), True
    if isinstance(node, ast.Name) and node.id == "__package__":
        return ".".join(["retrograde", *package]), True
    if ast.unparse(node) in ("__package__.rpartition('.')[0]", "__package__.rpartition(\".\")[0]"):
        return ".".join(["retrograde", *package[:-1]]), True
    if isinstance(node, ast.FormattedValue):
        return _written(node.value, package)
    parts = node.values if isinstance(node, ast.JoinedStr) else (
        [node.left, node.right] if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) else [])
    text = ""
    for part in parts:
        found, is_whole = _written(part, package)
        text += found
        if not is_whole:
            return text.rstrip("."), False
    return text, bool(parts)


def _parameters(tree):
    """The names of all parameters of functions that are loaders themselves."""
    return {argument.arg for function in ast.walk(tree) if isinstance(function, ast.FunctionDef) and function.name in _LOADERS
            for argument in function.args.args}


def _below(tree, kinds):
    return {id(node) for top in ast.walk(tree) if isinstance(top, kinds) for node in ast.walk(top)}


def _below_type_checking(tree):
    tops = [n for n in ast.walk(tree) if isinstance(n, ast.If) and ast.unparse(n.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")]
    return {id(node) for top in tops for inside in top.body for node in ast.walk(inside)}
