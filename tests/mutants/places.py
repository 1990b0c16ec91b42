"""The places of a source text at which mutants differ, and a program that notes what happens there.

A test can only find a mutant if both differ in it at the place of the fault: a condition that is decided as true must be false once,
two sides of a bound that is moved must be equal once. `noting` makes a tree of a source that tells of this.
"""

import ast
import builtins
import operator

#: A bound is moved by one, from "below" to "at most" and back.
MOVED = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">"}
_PLAIN = (bool, int, float, str, tuple, list, dict, set, frozenset, type(None))


def place(path, names, node, outcome):
    """What is noted where an expression comes to an outcome; by its text, so that notes outlast changes elsewhere in the file."""
    return f"{entry(path, names)}:{ast.unparse(node)}:{outcome}"


def entry(path, names):
    """What is noted where a function is entered."""
    return f"{path}:{'.'.join(names)}"


def is_moved(node):
    """Whether a node compares two numbers by their order."""
    return isinstance(node, ast.Compare) and len(node.ops) == 1 and node.ops[0].__class__ in MOVED


def is_bound(node):
    """Whether a node is the greater or the lesser of two numbers."""
    is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("min", "max")
    return is_call and len(node.args) == 2 and not node.keywords and not any(isinstance(a, ast.Starred) for a in node.args)


def binds(node):
    """Whether an expression binds a name, which what comes later needs."""
    return any(isinstance(part, ast.NamedExpr) for part in ast.walk(node))


def names_below(child, names, is_inside):
    """(names of the scope in a child, whether it is a function). What is defined inside of a function counts as this."""
    is_function = isinstance(child, ast.FunctionDef)
    return ((*names, child.name) if (is_function or isinstance(child, ast.ClassDef)) and not is_inside else names), is_function


def noting(path, source, note):
    """The tree of a source that calls `note(place)` when it runs, and does the same otherwise."""
    tree = ast.parse(source)
    builtins.__dict__["_mutants_noted"] = _Noted(note)
    found = _Noting(path).visit(tree)
    return ast.fix_missing_locations(found)


class _Noted:
    """What the changed program calls."""

    def __init__(self, note):
        self.enters = note
        self._note = note

    def truth(self, place, value, is_read=True):
        """A condition. The last part of `a or b` is a value that nobody may have asked for its truth, as of an array."""
        if is_read or value.__class__ in _PLAIN:
            self._note(place + str(bool(value)))
        else:
            self._note(f"{place}True")
            self._note(f"{place}False")
        return value

    def compared(self, place, name, a, b):
        """A comparison that is another one with the bound moved where both sides are equal."""
        if not (a.__class__ in _PLAIN and b.__class__ in _PLAIN) or a == b:
            self._note(f"{place}equal")
        return getattr(operator, name)(a, b)

    def bounded(self, place, function, a, b):
        """The lesser or the greater of two."""
        result = function(a, b)
        for number, side in enumerate((a, b)):
            if not (side.__class__ in _PLAIN and result.__class__ in _PLAIN) or side != result:
                self._note(f"{place}{number}")
        return result


class _Noting(ast.NodeTransformer):
    def __init__(self, path):
        self._path, self._names, self._is_inside = path, (), False

    def _place(self, node):
        """The place of an expression, of which the parts are not yet changed."""
        return place(self._path, self._names if self._is_inside else (), node, "")

    @staticmethod
    def _call(name, node, *arguments):
        function = ast.Attribute(ast.Name("_mutants_noted", ast.Load()), name, ast.Load())
        parts = [argument if isinstance(argument, ast.AST) else ast.Constant(argument) for argument in arguments]
        return ast.copy_location(ast.Call(function, parts, []), node)

    def _truth(self, node, *, is_read=True):
        where = self._place(node)
        return self._call("truth", node, where, self.visit(node), is_read)

    def _scope(self, node):
        before = self._names, self._is_inside
        self._names, is_function = names_below(node, *before)
        self._is_inside = before[1] or is_function
        self.generic_visit(node)
        if is_function and not before[1]:
            call = ast.Attribute(ast.Name("_mutants_noted", ast.Load()), "enters", ast.Load())
            noted = ast.Expr(ast.Call(call, [ast.Constant(entry(self._path, self._names))], []))
            is_documented = isinstance(node.body[0], ast.Expr) and isinstance(node.body[0].value, ast.Constant)
            node.body.insert(int(is_documented), ast.copy_location(noted, node.body[0]))
        self._names, self._is_inside = before
        return node

    def visit_FunctionDef(self, node):
        """A function, or a method."""
        return self._scope(node)

    def visit_ClassDef(self, node):
        """A class."""
        return self._scope(node)

    def visit_BoolOp(self, node):
        """Each part is a condition."""
        node.values = [self._truth(value, is_read=value is not node.values[-1]) for value in node.values]
        return node

    def _test(self, node):
        test, node.test = node.test, ast.Constant(value=None)
        self.generic_visit(node)
        node.test = self._truth(test)
        return node

    def visit_If(self, node):
        """The test of a statement."""
        return self._test(node)

    def visit_IfExp(self, node):
        """The test of an expression."""
        return self._test(node)

    def visit_comprehension(self, node):
        """Each filter is a condition."""
        node.target, node.iter = self.visit(node.target), self.visit(node.iter)
        node.ifs = [self._truth(condition) for condition in node.ifs]
        return node

    def visit_Compare(self, node):
        """Both sides of a bound are compared once more."""
        where = self._place(node) if is_moved(node) else None
        self.generic_visit(node)
        if where is None:
            return node
        return self._call("compared", node, where, _OPERATORS[node.ops[0].__class__], node.left, node.comparators[0])

    def visit_Call(self, node):
        """The lesser of two tells which one it is."""
        where = self._place(node) if is_bound(node) else None
        self.generic_visit(node)
        return node if where is None else self._call("bounded", node, where, node.func, *node.args)


_OPERATORS = {ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge"}
