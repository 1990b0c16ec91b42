"""Statements of any registered op, called as its own samples say, with values of the program among its operands."""

import numpy as np

import retrograde as rg
from retrograde.dtypes import is_float
from retrograde.ops._samples import call, uniform
from tests import sweeping

from .program import literal
from .rivals import UNLIKE, torch_table

#: The insides of other ops, which hand them operands that fit and have the derivatives.
INSIDE = frozenset({"attention_backward", "attention_with_sums", "copy_to_device", "lu_factor", "lu_solve", "nextafter"})
NAMES = tuple(name for name in rg.ops.names() if name not in INSIDE)


def sampled(d, names=None):
    """A call of an op that is drawn from the registry."""
    op = rg.ops.get(d.choice(names or NAMES))
    function = f"rg.{op.name}" if getattr(rg, op.name, None) is op.call else f"rg.ops.get({op.name!r}).call"
    samples = op.samples if isinstance(op.samples, tuple) else (op.samples,)
    try:
        if not isinstance(samples[0], call):
            return _elementwise(d, op, function, samples)
        case = d.choice(sweeping.cases(op))
        args, kwargs = case.words.draw(d.rng, np.dtype(d.precision))
        return f"{function}({', '.join(_arguments(d, op, args, kwargs))})"
    except ValueError:
        return None


def common(d):
    """A call of an op that PyTorch has too."""
    return sampled(d, tuple(name for name in NAMES if name in torch_table() and name not in UNLIKE) or NAMES)


def _elementwise(d, op, function, domains):
    """A call on values of the program as they are, where they lie in the domain, else on some that are moved there."""
    first = d.named("f")
    if first is None:
        return None
    names = [first, *(d.mate(first) for _ in op.operands[1:])]
    operands = [_moved_into(d, name, domains[i % len(domains)]) for i, name in enumerate(names)]
    return f"{function}({', '.join(operands)})"


def _moved_into(d, name, domain):
    x = np.asarray(d.values[name]).astype(float)
    if not isinstance(domain, uniform):
        return name
    low, high = float(domain.low), float(domain.high)
    if not x.size or low <= x.min() and x.max() <= high and not domain.avoid:
        return name
    return f"({(low + high) / 2} + {(high - low) / 2.2} * rg.tanh({name}))"


def _arguments(d, op, args, kwargs):
    found = []
    for i, argument in enumerate(args):
        is_operand = op.is_variadic or i in op.operands
        if isinstance(argument, list) and is_operand:
            found.append(f"[{', '.join(_operand(d, x) for x in argument)}]")
        else:
            found.append(_operand(d, argument) if is_operand else literal(argument))
    return found + [f"{name}={literal(value)}" for name, value in kwargs.items()]


def _operand(d, x):
    """Source of an operand: what the sample has, as a constant or an argument, moved a little by a value of the program."""
    if not isinstance(x, (np.ndarray, np.generic)):
        return literal(x)
    x = np.asarray(x)
    if x.size > 150:
        raise ValueError("too large to be read")
    is_argument = d.chance(0.4) and len(d.inputs) < 6
    if not is_float(x.dtype):
        return d.new_input(x) if is_argument and x.ndim else literal(x)
    like = d.named("f", fits=lambda v: v.shape == x.shape)
    if like is not None and d.chance(0.25):
        return like
    base = d.new_input(x) if is_argument else literal(x)
    other = like or d.named("f", fits=lambda v: v.size > 0)
    if other is None or x.dtype.kind == "c":
        return f"rg.asarray({base})"
    return f"({base} + 0.05 * rg.tanh({other if like else f'rg.mean({other})'}))"
