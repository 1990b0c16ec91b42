"""PyTorch's own samples of its modules, run through ours: `python -m tests.oracle.module_db` prints a table by class.

A sample agrees where results, gradients of inputs and parameters, and the state after the call are PyTorch's to 1e-7 in float64;
training and evaluation, eager and jitted. `--eager` leaves the compiler out, names choose classes.
"""

import argparse
import sys
import warnings
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

import retrograde as rg

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from torch.testing._internal.common_modules import module_db

AGREES, DIFFERS, REFUSED = "agrees", "differs", "refused"
TOLERANCE = 1e-7
#: Where and how PyTorch computes, which changes no number.
IGNORED = ("device", "dtype", "options")
#: What gradients mean, by class, from (PyTorch's input, its gradient): see the table's remarks.
MEANT = {"CTCLoss": lambda x, g: g - np.exp(x) * g.sum(-1, keepdims=True)}


@dataclass(frozen=True)
class Library:
    """Whose modules are asked: how a tensor is made of an array, its modules, and how a function is compiled."""

    tensor: Any
    nn: Any
    compiled: Any


OURS = Library(rg.tensor, rg.nn, rg.jit)


class Converted:
    """A sample's arguments as those of a library of ours, and as PyTorch's leaves; the same tensor twice is the same tensor twice."""

    def __init__(self, library):
        self.library, self.pairs = library, {}

    def __call__(self, x, side=1):
        """`x` as ours, or with `side` 0 as PyTorch's."""
        if isinstance(x, torch.Tensor):
            return self._pair(x)[side]
        if isinstance(x, (list, tuple)):
            return type(x)(self(part, side) for part in x)
        if isinstance(x, dict):
            return {name: self(value, side) for name, value in x.items() if name not in IGNORED}
        if isinstance(x, torch.nn.TransformerEncoderLayer):
            return self.library.nn.TransformerEncoderLayer(
                x.self_attn.embed_dim, x.self_attn.num_heads, x.linear1.out_features, x.dropout.p, self(x.activation),
                x.norm1.eps, x.self_attn.batch_first, x.norm_first, x.linear1.bias is not None)
        return getattr(self.library.nn.functional, x.__name__) if callable(x) else x

    def _pair(self, x):
        if id(x) not in self.pairs:
            ours = self.library.tensor(x.detach().numpy().copy())
            self.pairs[id(x)] = (x.detach().clone().requires_grad_(x.requires_grad),
                                 ours.requires_grad_() if x.requires_grad else ours)
        return self.pairs[id(x)]

    def leaves(self):
        """(PyTorch's, ours) of the inputs that take gradients."""
        return [(theirs, ours) for theirs, ours in self.pairs.values() if theirs.requires_grad]


def samples(info, training):
    """The samples of a class, the same ones each time."""
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(info.module_inputs_func(info, device="cpu", dtype=torch.float64, requires_grad=True, training=training))


def flat(found):
    """The tensors of a result, in order."""
    if isinstance(found, (list, tuple)):
        return [x for part in found for x in flat(part)]
    return [] if found is None else [found]


def without_drawing(*modules):
    """Dropout leaves everything: its numbers are drawn, and each library draws its own."""
    for module in modules:
        for part in module.modules():
            for name in ("p", "dropout"):
                if "Dropout" in type(part).__name__ or name == "dropout":
                    value = part.__dict__.get(name)
                    if isinstance(value, (int, float)):
                        setattr(part, name, 0.0)


def cotangents(outputs):
    """Uneven numbers of the shapes of results."""
    rng = np.random.default_rng(0)
    return [rng.uniform(0.5, 1.5, tuple(z.shape)) for z in outputs]


def theirs_of(module, args, kwargs, leaves):
    """(results, gradients of inputs, gradients of parameters by name, state) of PyTorch's module."""
    outputs = flat(module(*args, **kwargs))
    live = [(z, torch.as_tensor(seed)) for z, seed in zip(outputs, cotangents(outputs), strict=True) if z.requires_grad]
    parameters = dict(module.named_parameters())
    if live:
        torch.autograd.backward([z for z, _ in live], [seed for _, seed in live], inputs=[*leaves, *parameters.values()])
    return ([z.detach().numpy() for z in outputs], [None if x.grad is None else x.grad.numpy() for x in leaves],
            {name: None if p.grad is None else p.grad.numpy() for name, p in parameters.items()},
            {name: x.numpy() for name, x in module.state_dict().items()})


def ours_of(module, args, kwargs, leaves, compiled):
    """What `theirs_of` gives, of our module; `compiled` compiles the call, unless it is None."""
    def call(args, kwargs):
        outputs = flat(module(*args, **kwargs))
        terms = [(z * type(z)(seed)).sum() for z, seed in zip(outputs, cotangents(outputs), strict=True) if z.requires_grad]
        if terms:
            sum(terms).backward()
        return outputs

    outputs = (compiled(call) if compiled else call)(args, kwargs)
    return ([z.detach().numpy() for z in outputs], [None if x.grad is None else x.grad.numpy() for x in leaves],
            {name: None if p.grad is None else p.grad.numpy() for name, p in module.named_parameters()},
            {name: x.numpy() for name, x in module.state_dict().items()})


def difference(what, mine, theirs):
    """What differs between two arrays, in words; None where they agree. No gradient is a gradient of zeros."""
    if theirs is None or mine is None:
        given = mine if theirs is None else theirs
        return None if given is None or not given.any() else f"{what}: {mine} against {theirs}"
    if mine.shape != theirs.shape:
        return f"{what}: shape {mine.shape} against {theirs.shape}"
    if np.allclose(mine, theirs, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True):
        return None
    return f"{what}: {np.ravel(mine)[:4]} against {np.ravel(theirs)[:4]}"


def compared(mine, theirs):
    """What differs between two runs, in words; None where they agree."""
    if len(mine[0]) != len(theirs[0]):
        return f"{len(mine[0])} results against {len(theirs[0])}"
    found = [difference(f"{what} {i}", a, b) for what, m, t in (("result", mine[0], theirs[0]), ("gradient of input", mine[1], theirs[1]))
             for i, (a, b) in enumerate(zip(m, t, strict=True))]
    for what, m, t in (("gradient of", mine[2], theirs[2]), ("state", mine[3], theirs[3])):
        if m.keys() != t.keys():
            return f"{what}: {sorted(m)} against {sorted(t)}"
        found += [difference(f"{what} {name}", m[name], t[name]) for name in t]
    return next(filter(None, found), None)


def verdict(info, sample, training, is_jitted, library=OURS):
    """(AGREES, DIFFERS or REFUSED, in words why) of one sample."""
    made, called = sample.constructor_input, sample.forward_input
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given = {"dtype": torch.float64, **made.kwargs} if takes_dtype(info) else made.kwargs
        theirs = info.module_cls(*made.args, **given).to(torch.float64).train(training)
        convert = Converted(library)
        inputs = [(convert(called.args, side), convert(called.kwargs, side)) for side in (0, 1)] if called else [((), {})] * 2
        try:
            ours = getattr(library.nn, info.module_cls.__name__)(*convert(made.args), **convert(made.kwargs)).double().train(training)
            if hasattr(theirs, "initialize_parameters"):
                for module, (args, kwargs) in zip((theirs, ours), inputs, strict=True):
                    module(*args, **kwargs)
            ours.load_state_dict({name: library.tensor(x.numpy()) for name, x in theirs.state_dict().items()})
            without_drawing(theirs, ours)
            leaves = convert.leaves()
            mine = ours_of(ours, *inputs[1], [x for _, x in leaves], library.compiled if is_jitted else None)
            check_kinds(ours, library)
        except rg.errors.RetrogradeError as error:
            return REFUSED, f"{type(error).__name__}: {error}"
        except Exception as error:  # noqa: BLE001 - told in the table
            return DIFFERS, f"{type(error).__name__}: {error}"
        wanted = theirs_of(theirs, *inputs[0], [x for x, _ in leaves])
    if form := MEANT.get(info.module_cls.__name__):
        for run in (mine, wanted):
            run[1][:] = [form(x.detach().numpy(), g) for (x, _), g in zip(leaves, run[1], strict=True)]
    found = compared(mine, wanted)
    return (AGREES, None) if found is None else (DIFFERS, found)


def check_kinds(module, library):
    """Raise a TypeError unless all that a module keeps is of the library's kinds."""
    for part in module.modules():
        if not isinstance(part, library.nn.Module):
            raise TypeError(f"{type(part).__name__} is no module of the library")
    for what, kind, found in (("parameter", library.nn.Parameter, module.named_parameters()),
                              ("buffer", type(library.tensor(0)), module.named_buffers())):
        for name, x in found:
            if not isinstance(x, kind):
                raise TypeError(f"the {what} {name} is a {type(x).__name__}")


def takes_dtype(info):
    """Whether the class is made with a dtype."""
    return "dtype" in info.module_cls.__init__.__code__.co_varnames


def counted(info, forms, shown=None, library=OURS):
    """How many samples of a class had which verdict, by form and verdict; `shown` is called with what differs."""
    counts = Counter()
    for training in (True, False):
        for number, sample in enumerate(samples(info, training)):
            for form in forms:
                found, why = verdict(info, sample, training, form == "jit", library)
                counts[form, found] += 1
                if found != AGREES and shown:
                    shown(f"{info.module_cls.__name__} {number} {'training' if training else 'evaluation'} {form} {found}: {why} | "
                          f"{str(sample.constructor_input.args)[:100]} {str(sample.constructor_input.kwargs)[:160]} {sample.desc}")
    return counts


def main(arguments=None):
    """Print the table, and on the error stream what does not agree."""
    parser = argparse.ArgumentParser(prog="python -m tests.oracle.module_db", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="classes; all of them by default")
    parser.add_argument("--eager", action="store_true", help="without the compiler")
    options = parser.parse_args(arguments)
    lines, total = table(options.names, ("eager",) if options.eager else ("eager", "jit"))
    print("\n".join(lines))
    return any(count for (_, found), count in total.items() if found == DIFFERS)


def table(names=(), forms=("eager", "jit"), library=OURS):
    """(lines of a table in Markdown by class, counts by form and verdict); what does not agree goes to the error stream."""
    total, lines = Counter(), ["| class | samples |" + "".join(f" {form}: agree | refused | differ |" for form in forms),
                               "| --- | ---: |" + " ---: |" * (3 * len(forms))]
    for info in module_db:
        name = info.module_cls.__name__
        if not names or name in names:
            counts = counted(info, forms, lambda text: print(text, file=sys.stderr, flush=True), library)
            total += counts
            lines.append(row(f"`{name}`", counts, forms))
    return [*lines, row("all", total, forms)], total


def row(name, counts, forms):
    """A line of the table."""
    numbers = [sum(counts[forms[0], found] for found in (AGREES, REFUSED, DIFFERS))]
    numbers += [counts[form, found] for form in forms for found in (AGREES, REFUSED, DIFFERS)]
    return "| " + " | ".join([name, *map(str, numbers)]) + " |"


if __name__ == "__main__":
    sys.exit(main())
