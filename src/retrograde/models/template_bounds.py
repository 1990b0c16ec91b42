"""Bounds of chat templates: what one may make and do in all, in Jinja's sandbox, which bounds neither texts nor nested loops.

All that a template makes is counted as it is made: a character and a step of a loop cost what they take, and where the allowance is
used up, an error is raised. What makes much of little is counted before.
"""

import json
import re
import types
from functools import wraps

from ..errors import CheckpointError
from ..extras import optional

#: What a template may spend: so much, and more for each character of the messages, which it may look at many times.
_FLOOR, _FOR_EACH = 20_000_000, 200
#: What an entry of a list, a step of a loop or of what is looked at, and a call cost in characters, about as they compare in time.
_ENTRY, _STEP, _CALL = 8, 20, 400
#: The greatest number that a filter or a method is given, and the most bits of an integer that is made.
_GREATEST, _MOST_BITS = 100_000, 1 << 15
#: What these filters do is short, however deep the lists are that they are given.
_SHALLOW = {"length", "count", "first", "last", "list", "map", "select", "selectattr", "reject", "rejectattr", "items", "reverse",
            "default", "d", "get", "keys", "values"}
#: What templates do without: these put one text into another many times, in ways of their own.
_LEFT_OUT = ("urlize", "xmlattr", "pprint", "wordwrap")
#: A number of a format with which a text grows by a thousand characters or more, or one that is taken from elsewhere.
_WIDE = re.compile(r"\d{4}|%[^a-zA-Z%]*\*|\{[^}]*\{")


class Allowance:
    """What is left for a template to make and to do."""

    def __init__(self, messages):
        self.left = _FLOOR
        self.left += _FOR_EACH * min(self.weight(messages), _FLOOR)

    def take(self, count):
        """Use up so much; a CheckpointError where that is more than is left."""
        self.check(count)
        self.left -= count

    def check(self, count):
        """Raise a CheckpointError where so much is more than is left."""
        self.refuse(count > self.left)

    @staticmethod
    def refuse(is_too_much):
        """Raise a CheckpointError where something is more than any template may make."""
        if is_too_much:
            raise CheckpointError("the chat template makes more than a template of so long messages may: it is damaged, or made to "
                                  "use up memory or time")

    def weight(self, x):
        """The characters that `x` has, written out, with all that is in it; to look at it costs too."""
        if isinstance(x, (str, bytes)):
            return len(x)
        if isinstance(x, range):
            return _STEP * len(x)
        parts = _parts_of(x)
        if parts is None:
            return 1 + x.bit_length() // 3 if isinstance(x, int) else _ENTRY
        self.take(_STEP * len(parts))
        return _ENTRY + sum([_ENTRY + self.weight(part) for part in parts])

    def made(self, x):
        """`x`, once its weight is taken."""
        if isinstance(x, types.GeneratorType):
            x = list(self.stepped(x))
        self.take(_STEP + self.weight(x))
        return x

    def stepped(self, x):
        """The parts of `x`, each a step."""
        for part in x:
            self.take(_STEP)
            yield part

    def joined(self, parts):
        """The texts of a block as one."""
        parts = list(parts)
        self.take(sum([len(part) for part in parts]))
        return "".join(parts)

    def combined(self, operator, left, right):
        """Count what `left` and `right` make by an operator."""
        self.take(_STEP)
        if isinstance(left, int) and isinstance(right, int):
            bits = {"**": left.bit_length() * max(right, 0), "*": left.bit_length() + right.bit_length()}.get(operator, 0)
            self.refuse(bits > _MOST_BITS)
        elif operator == "%" and isinstance(left, (str, bytes)):
            self.formatted(left, [right])
        elif operator == "*":
            times = [x for x in (left, right) if isinstance(x, int)]
            self.take(sum([self.weight(x) for x in (left, right) if x not in times]) * max([1, *times]))
        else:
            self.take(self.weight(left) + self.weight(right))

    def formatted(self, form, args):
        """Count what a format makes."""
        form = form if isinstance(form, str) else form.decode("latin1")
        self.refuse(_WIDE.search(form))
        self.take(len(form) + (form.count("%") + form.count("{")) * (1000 + sum([self.weight(x) for x in args])))

    def called(self, name, args):
        """Count what a method of a text or a filter makes, by its name, of these arguments."""
        greatest = max([abs(x) for x in args if isinstance(x, int)], default=0)
        self.refuse(greatest > _GREATEST or name == "translate")
        texts = [x for x in args if isinstance(x, str)]
        if name in ("format", "format_map"):
            return self.formatted(texts[0] if texts else "", args)
        if name == "replace" and len(texts) > 2:
            text, old, new = texts[:3]
            return self.take(len(text) + (text.count(old) + 1) * len(new))
        if name == "join":
            entries = [len(parts) for x in args if not isinstance(x, str) and (parts := _parts_of(x)) is not None]
            most = max([*entries, *[len(text) for text in texts[1:]]], default=0)
            return self.take(sum([self.weight(x) for x in args]) + most * sum([len(text) for text in texts]))
        lines = sum([text.count("\n") + text.count("\t") + 1 for text in texts])
        longest = max([len(text) for text in texts[1:]], default=0) if name == "indent" else 0
        self.check(lines * (greatest + longest))
        self.take(greatest)
        lengths = [len(parts) for x in args if (parts := _parts_of(x)) is not None]
        if name == "sum" and len(lengths) > 1:  # of lists, each of which is copied once more
            self.take(_ENTRY * sum([self.weight(x) for x in args]) * max(lengths))
        return self.take(sum([_ENTRY * len(_parts_of(x) or ()) if name in _SHALLOW else self.weight(x) for x in args]))

    def as_json(self, x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        """The filter `tojson` of transformers."""
        self.refuse(separators is not None and sum([len(text) for text in separators]) > _ENTRY)
        encoder = json.JSONEncoder(ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)
        return self.joined(self._counted(encoder.iterencode(x)))

    def _counted(self, texts):
        for text in texts:
            self.take(len(text))
            yield text


def _parts_of(x):
    """What is in a list, a dictionary or a namespace of Jinja's; None for all else."""
    if isinstance(x, dict):
        return [*x.keys(), *x.values()]
    if isinstance(x, (list, tuple, set, frozenset)):
        return x
    if type(x).__name__ == "Namespace":
        return _parts_of(getattr(x, "_Namespace__attrs", None))
    return None


def bounded_environment(messages, **options):
    """Jinja's sandbox, for a template of `messages`, which bounds what it makes and does."""
    sandbox, allowance = optional("jinja2.sandbox", "models"), Allowance(messages)

    class Bounded(sandbox.ImmutableSandboxedEnvironment):
        intercepted_binops = frozenset(["+", "*", "**", "%"])

        def call_binop(self, context, operator, left, right):
            allowance.combined(operator, left, right)
            return super().call_binop(context, operator, left, right)

        def concat(self, parts):
            return allowance.joined(parts)

        def call(__self, __context, __obj, *args, **kwargs):  # noqa: N805 - as the sandbox has it
            allowance.take(_CALL)
            given, method = (*args, *kwargs.values()), getattr(__obj, "__wrapped__", __obj)
            if isinstance(method, types.BuiltinMethodType):
                allowance.called(method.__name__, (method.__self__, *given))
            else:
                allowance.take(sum([allowance.weight(x) for x in given]))
            return allowance.made(super().call(__context, __obj, *args, **kwargs))

        def _generate(self, source, name, filename, defer_init=False):
            return super()._generate(_counting(source, self), name, filename, defer_init)

    environment = Bounded(finalize=allowance.made, **options)
    usual = {name: function for name, function in environment.filters.items() if name not in _LEFT_OUT}
    environment.filters = {
        **{name: _bounded(allowance, name, function) for name, function in {**usual, "tojson": allowance.as_json}.items()},
        "_stepped": allowance.stepped, "_weighed": allowance.made}
    del environment.globals["lipsum"]
    return environment


def _bounded(allowance, name, function):
    """A filter that counts what it is given and what it makes."""

    @wraps(function)
    def run(*args, **kwargs):
        allowance.take(_CALL // 4)
        args = [list(allowance.stepped(x)) if isinstance(x, types.GeneratorType) else x for x in args]
        allowance.called(name, [*args, *kwargs.values()])
        return allowance.made(function(*args, **kwargs))

    return run


def _counting(source, environment):
    """A template whose loops, lists, joined texts, slices and comparisons are counted."""
    nodes, visitor = optional("jinja2.nodes", "models"), optional("jinja2.visitor", "models")

    def through(name, node):
        return nodes.Filter(node, name, [], [], None, None, lineno=node.lineno)

    def weighed(node):
        return through("_weighed", node)

    def loop(self, node):
        node = self.generic_visit(node)
        node.iter = through("_stepped", node.iter)
        return node

    def concatenation(self, node):
        node = self.generic_visit(node)
        node.nodes = [weighed(part) for part in node.nodes]
        return node

    def comparison(self, node):
        node = self.generic_visit(node)
        node.expr = weighed(node.expr)
        for operand in node.ops:
            operand.expr = weighed(operand.expr)
        return node

    def test(self, node):
        node = self.generic_visit(node)
        if node.args:  # those that compare
            node.node, node.args = weighed(node.node), [weighed(arg) for arg in node.args]
        return node

    def item(self, node):
        node = self.generic_visit(node)
        return weighed(node) if isinstance(node.arg, nodes.Slice) else node

    def literal(self, node):
        node = self.generic_visit(node)
        return weighed(node) if getattr(node, "ctx", "load") == "load" else node

    visits = {"For": loop, "Concat": concatenation, "Compare": comparison, "Test": test, "Getitem": item, "List": literal,
              "Dict": literal, "Tuple": literal}
    counting = type("Counting", (visitor.NodeTransformer,), {f"visit_{name}": visit for name, visit in visits.items()})
    found = counting().visit(source)
    found.set_environment(environment)
    return found
