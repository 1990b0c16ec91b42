"""Reads the imports of one source text in every form, for the test of the layers: no file is executed."""

import ast

#: Calls that load a module by its name.
_LOADERS = {"import_module", "__import__", "module"}


def imports(text, path):
    """(absolute dotted name below `retrograde`, line, whether inside a function) of each import of ours in a file."""
    package = path.split("/")[:-1]
    tree = ast.parse(text)
    inner = _below(tree, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
    checking = _below_type_checking(tree)
    for node in ast.walk(tree):
        if id(node) not in checking:
            for name in _named(node, package):
                yield name, node.lineno, id(node) in inner and not isinstance(node, ast.Call)


def _named(node, package):
    if isinstance(node, ast.Import):
        return [name for alias in node.names for name in _absolute(alias.name)]
    if isinstance(node, ast.ImportFrom):
        stem = node.module or ""
        if not node.level:
            return [f"{name}.{alias.name}".strip(".") for name in _absolute(stem) for alias in node.names]
        start = package[:len(package) - node.level + 1] + ([stem] if stem else [])
        return [".".join([*start, alias.name]) for alias in node.names]
    if isinstance(node, ast.Call) and node.args:
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if called in _LOADERS:
            return _loaded(_written(node.args[0], package), package)
    return []


def _loaded(name, package):
    dots = len(name) - len(name.lstrip("."))
    if dots:
        return [".".join([*package[:len(package) - dots + 1], name[dots:]])]
    return _absolute(name)


def _absolute(name):
    return [name.removeprefix("retrograde").lstrip(".")] if name.split(".")[0] == "retrograde" else []


def _written(node, package):
    """The text of a literal or an f-string, `__package__` filled in; what is known only at run time ends it."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    text = ""
    for part in getattr(node, "values", []):
        if isinstance(part, ast.Constant):
            text += str(part.value)
        elif getattr(part.value, "id", "") == "__package__":
            text += ".".join(["retrograde", *package])
        else:
            break
    return text.rstrip(".")


def _below(tree, kinds):
    return {id(node) for top in ast.walk(tree) if isinstance(top, kinds) for node in ast.walk(top)}


def _below_type_checking(tree):
    tops = [n for n in ast.walk(tree) if isinstance(n, ast.If) and getattr(n.test, "id", "") == "TYPE_CHECKING"]
    return {id(node) for top in tops for inside in top.body for node in ast.walk(inside)}
