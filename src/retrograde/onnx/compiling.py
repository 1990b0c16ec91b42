"""Compiling: a graph of ONNX nodes as steps of ours, with its names, its order and its operators checked before anything runs."""

from functools import partial
from graphlib import CycleError, TopologicalSorter
from typing import Any

from ..errors import OnnxError, UnsupportedOnnxError
from .library import element_types, onnx
from .reading import domain_of, names_of, versions_of
from .rule import Rule, rule_for
from .running import Graph, Step
from .tensors import array_of, dense

#: The most nodes of a model, and of what its functions unfold to, as these may call one another without end.
_MOST_NODES, _MOST_UNFOLDED = 200_000, 10_000
#: The domains that are ONNX's own, whose operators the onnx package describes.
_KNOWN = ("", "ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training")


class Compiler:
    """Makes steps of nodes. `missing` gathers the operators that nothing is known of, so that all of them can be told."""

    def __init__(self, model, folder):
        self._functions = {(domain_of(f.domain), f.name): f for f in model.functions}
        self._folder, self._open, self._counts = folder, [], [0, 0]
        self.missing = {}

    def graph(self, proto, versions, bound=None, outer=frozenset()):
        """A GraphProto as a Graph. `bound` are the attributes of the function around it, `outer` the names around it."""
        name = f"graph {proto.name or 'main'}"
        names_of([*[t.name for t in proto.initializer], *[i.name for i in [*proto.input, *proto.output]]], name)
        constants = {t.name: array_of(t, self._folder) for t in proto.initializer}
        constants.update({t.values.name: dense(t, self._folder) for t in proto.sparse_initializer})
        inputs = tuple([i.name for i in proto.input])
        _check_distinct(name, inputs)
        known = {*inputs, *constants}
        outputs = tuple([o.name for o in proto.output])
        return self._graph(name, proto.node, inputs, outputs, constants, known, (versions, bound or {}, outer))

    def _graph(self, name, nodes, inputs, outputs, constants, known, around):
        self._check_count(len(nodes) + len(constants), len(self._open) > 0)
        versions, bound, outer = around
        made = [out for node in nodes for out in node.output if out]
        _check_distinct(name, [*made, *known])
        visible = frozenset([*known, *made, *outer])
        taken, steps, reads = set(), [], []
        for node in nodes:
            step, inner = self._step(node, versions, bound, visible)
            read = [n for n in [*step.inputs, *inner] if n]
            for each in read:
                if each not in visible:
                    raise OnnxError(f"{step.label} takes {each!r}, and nothing of that name is in {name}")
            taken.update(read)
            steps.append(step)
            reads.append(read)
        for each in outputs:
            if each and each not in visible:
                raise OnnxError(f"{name} returns {each!r}, and nothing of that name is in it")
        steps, reads = _ordered(name, steps, reads, known | outer - {*made})
        _note_last_uses(steps, reads, {*made, *inputs} - {*outputs})
        own = known | {*made}
        return Graph(name, inputs, outputs, constants, steps, frozenset([n for n in [*taken, *outputs] if n and n not in own]))

    def _check_count(self, count, is_unfolded):
        """Raise an OnnxError if there are more nodes than a model has that is written in earnest."""
        self._counts[is_unfolded] += count
        if self._counts[0] > _MOST_NODES or self._counts[1] > _MOST_UNFOLDED + 10 * self._counts[0]:
            raise OnnxError(f"the model has more than {_MOST_NODES:,} nodes, or its functions unfold to more than "
                            f"{_MOST_UNFOLDED:,} and ten for each")

    def _step(self, node, versions, bound, visible):
        """(step of a node, the names that graphs among its attributes take from around them)."""
        names_of([node.name, node.op_type, node.domain, *node.input, *node.output, *[a.name for a in node.attribute]], "a node")
        domain, operator = domain_of(node.domain), node.op_type
        label = f"node {node.name!r} ({operator})" if node.name else f"a node {operator} that gives {', '.join(node.output)!r}"
        attributes = {}
        for attribute in node.attribute:
            if attribute.ref_attr_name:
                if attribute.ref_attr_name in bound:
                    attributes[attribute.name] = bound[attribute.ref_attr_name]
            else:
                attributes[attribute.name] = self._value(label, attribute, versions, bound, visible)
        graphs = [v for v in attributes.values() if isinstance(v, Graph)]
        inner = [name for graph in graphs for name in graph.outer]
        inputs = tuple(node.input)
        step = Step(label, operator, inputs, tuple(_without_empty_end(node.output)), attributes, None, versions.get(domain, 0))
        step.rule = self._rule(node, domain, step, versions, bound)
        return step, inner

    def _rule(self, node, domain, step, versions, bound):
        """What computes a node: a function of the model, a rule of ours, or the function that ONNX defines the operator by."""
        own = self._functions.get((domain, node.op_type))
        if own is not None:
            return self._call(self._function(own, step))
        if domain not in versions and domain in _KNOWN and domain != "":
            versions = {**versions, domain: 1}
        version = versions.get(domain, 0)
        found = rule_for(domain, node.op_type, version)
        if found is not None:
            _check(step, found)
            return found
        schema = _schema(node.op_type, version, domain)
        if schema is not None and schema.has_function:
            return self._call(self._function(_body(schema, version), step, schema))
        if schema is not None and schema.has_context_dependent_function:
            return self._call(partial(self._run_by_types, node, schema, step, {}, versions))
        self.missing.setdefault(f"{domain + '.' if domain else ''}{node.op_type} (version {version})", step.label)
        return None

    def _call(self, run):
        """A rule that runs `run(values, training)` on whatever is handed in."""
        function = lambda *values, context, **_: tuple(run(values, context.training))
        return Rule(1, function, (), {}, (), None, True)

    def _function(self, proto, step, schema=None):
        """What runs a FunctionProto with the attributes of a node."""
        key = (proto.domain, proto.name)
        if key in self._open and schema is None or len(self._open) > 50:
            raise OnnxError(f"the function {proto.name} calls itself, and would never end")
        attributes = {} if schema is None else {
            name: onnx().helper.get_attribute_value(a.default_value) for name, a in schema.attributes.items()
            if a.default_value.name}
        attributes = {name: _plain(value) for name, value in attributes.items()}
        attributes.update({a.name: self._value(step.label, a, {}, {}, frozenset()) for a in proto.attribute_proto})
        attributes.update(step.attributes)
        # Results that nobody asks for need not be computed, or be there at all.
        names_of([*proto.input, *proto.output], f"the function {proto.name}")
        inputs, outputs = tuple(proto.input), tuple(proto.output)[:len(step.outputs)]
        outputs = tuple([name if wanted else "" for name, wanted in zip(outputs, step.outputs, strict=True)])
        if len(step.inputs) > len(inputs):
            raise OnnxError(f"{step.label} has {len(step.inputs)} inputs, and the function takes {len(inputs)}")
        self._open.append(key)
        try:
            graph = self._graph(f"function {proto.name}", proto.node, inputs, outputs, {}, {*inputs},
                                (versions_of(proto.opset_import, proto.name), attributes, frozenset()))
        finally:
            self._open.pop()
        return lambda values, training: graph.run([*values, *[None] * (len(inputs) - len(values))], None, training)

    def _run_by_types(self, node, schema, step, made, versions, values, training):
        """Run an operator by its definition, which depends on the types of what it is given, and is made at the first call."""
        types = tuple([None if v is None else (str(v.dtype), tuple(v.shape)) for v in values])
        if types not in made:
            helper, plain = onnx().helper, onnx().NodeProto()
            plain.CopyFrom(node)
            # What a function around it gave its attributes stands in the step.
            named = [a for a in plain.attribute if not a.ref_attr_name]
            given = [helper.make_attribute(a.name, step.attributes[a.name]) for a in plain.attribute
                     if a.ref_attr_name and a.name in step.attributes]
            del plain.attribute[:]
            plain.attribute.extend([*named, *given])
            body = onnx().FunctionProto()
            content = schema.get_context_dependent_function(plain.SerializeToString(), [_type_of(v) for v in values])
            body.ParseFromString(content)
            if "" not in {domain_of(each.domain) for each in body.opset_import}:
                body.opset_import.extend([helper.make_opsetid("", versions.get("", onnx().defs.onnx_opset_version()))])
            before = dict(self.missing)
            made[types] = self._function(body, step, schema)
            if len(self.missing) > len(before):
                raise UnsupportedOnnxError(f"{step.label} is made of operators without a counterpart: {', '.join(self.missing)}")
        return made[types](values, training)

    def _value(self, label, attribute, versions, bound, visible):
        """The value of an attribute: numbers, texts, arrays, graphs."""
        kinds = onnx().AttributeProto
        if attribute.type == kinds.GRAPH:
            return self.graph(attribute.g, versions, bound, visible)
        if attribute.type == kinds.TENSOR:
            return array_of(attribute.t, self._folder)
        if attribute.type == kinds.SPARSE_TENSOR:
            return dense(attribute.sparse_tensor, self._folder)
        if attribute.type == kinds.TENSORS:
            return [array_of(t, self._folder) for t in attribute.tensors]
        if attribute.type in (kinds.GRAPHS, kinds.SPARSE_TENSORS, kinds.UNDEFINED):
            raise OnnxError(f"the attribute {attribute.name!r} of {label} is of a kind that nothing uses")
        try:
            return _plain(onnx().helper.get_attribute_value(attribute))
        except ValueError as error:
            raise OnnxError(f"the attribute {attribute.name!r} of {label} cannot be read: {error}") from None


def _plain(value):
    """Texts for bytes, lists for what protobuf repeats."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return [_plain(v) for v in value] if hasattr(value, "__iter__") and not isinstance(value, str) else value


def _schema(operator, version, domain):
    """What the onnx package knows of an operator; None if that is nothing."""
    defs = onnx().defs
    try:
        return defs.get_schema(operator, version, domain)
    except (defs.SchemaError, TypeError, ValueError):
        return None


def _body(schema, version):
    """The function that an operator is defined by, for the operators of a version if there are several."""
    fitting = [v for v in schema.function_opset_versions if v <= version]
    content = schema.get_function_with_opset_version(max(fitting or schema.function_opset_versions))
    body = onnx().FunctionProto()
    body.ParseFromString(content if isinstance(content, bytes) else content.SerializeToString())
    return body


def _type_of(value):
    """The type of a value, as ONNX writes it down."""
    helper = onnx().helper
    if value is None:
        return onnx().TypeProto().SerializeToString()
    number = next(n for n, dtype in element_types().items() if dtype == value.dtype)
    return helper.make_tensor_type_proto(number, value.shape).SerializeToString()


def _check(step, rule):
    """Raise unless the attributes and the number of inputs of a node are those of its operator."""
    for name in step.attributes:
        if name not in rule.defaults and name not in rule.required:
            raise UnsupportedOnnxError(f"{step.label} has an attribute {name!r}, which is not known here")
    for name in rule.required:
        if name not in step.attributes:
            raise OnnxError(f"{step.label} needs the attribute {name!r}")
    if rule.arity is not None and len(step.inputs) > rule.arity:
        raise OnnxError(f"{step.label} has {len(step.inputs)} inputs, and the operator takes at most {rule.arity}")


def _check_distinct(name, names):
    seen = set()
    for each in names:
        if each in seen:
            raise OnnxError(f"{name} has two values named {each!r}")
        seen.add(each)


def _without_empty_end(names):
    names = list(names)
    while names and not names[-1]:
        names.pop()
    return names


def _ordered(name, steps, reads, known):
    """Steps, and what they read, in an order in which each has what it needs: their own, if it is one."""
    there = set(known)
    for step, read in zip(steps, reads, strict=True):
        if not there.issuperset(read):
            break
        there.update(step.outputs)
    else:
        return steps, reads
    maker = {out: i for i, step in enumerate(steps) for out in step.outputs if out}
    needs = {i: [maker[n] for n in read if n in maker] for i, read in enumerate(reads)}
    try:
        order = list(TopologicalSorter(needs).static_order())
    except CycleError as error:
        labels = " → ".join([steps[i].label for i in error.args[1][:4]])
        raise OnnxError(f"{name} has a cycle: {labels}") from None
    return [steps[i] for i in order], [reads[i] for i in order]


def _note_last_uses(steps, reads, droppable):
    """Let each step know which values nothing needs after it."""
    last: dict[str, Any] = {}
    for i, read in enumerate(reads):
        for each in (*read, *steps[i].outputs):
            last[each] = i
    dropped: dict[int, list] = {}
    for each, i in last.items():
        if each in droppable:
            dropped.setdefault(i, []).append(each)
    for i, names in dropped.items():
        steps[i].dropped = tuple(names)
