"""Write `ops.md`, the page of all ops, from the registry: `python docs/make_ops.py` (`--print` to look at it)."""

import inspect
import re
import sys
from pathlib import Path

import retrograde as rg

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import sweeping

INTRODUCTION = """# Ops

Every op in retrograde, by family; after the public ones, those [inside of others](#inside-of-others). `z` is the result, a bar
marks a cotangent: $\\bar x$ is the derivative of the final result in `x`. Arguments before `/` are operands: they may be tensors,
arrays or numbers, and have derivatives unless the page says otherwise. This page is written by `python docs/make_ops.py` from the
registry.

{checked}
"""
INSIDE = """# Inside of others

Ops that exist for the rules and the lowering of others, with their derivations. They are no names of the package, and may change:
`rg.ops.get(name).call` is the function.
"""
#: How the ops are tested, in numbers.
CHECKED = """What is tested of each, by `tests/test_sweep.py`, `tests/test_sweep_edges.py` and `tests/transforms/test_jit.py`:
{ops} ops in {calls} calls on shapes from `()` over `(0, 3)` to four axes, in {dtypes} float types, three other types and four
memory layouts; {differentiable} have a derivative, which is compared in {differentiable_calls} calls with finite differences, to
the first and the second order, and in {dtypes} types with that of float64; {compiled} calls and their gradients run compiled too,
and equal the eager ones, and so do derivatives of the second order (`tests/test_sweep_compiled.py`); every op is given operands of
length 0 and single numbers. Without differences, for reasons that their blocks give:
{order_skips}."""


def main():
    """Write the page, or print it."""
    page = "\n".join([INTRODUCTION.replace("{checked}", _checked()), *_families(True), INSIDE, *_families(False)])
    if "--print" in sys.argv:
        sys.stdout.buffer.write(page.encode())
    else:
        Path(__file__).with_name("ops.md").write_text(page, encoding="utf-8")


def _checked():
    found = sweeping.counts()
    return CHECKED.format(**{**found, "order_skips": ", ".join(f"`{name}`" for name in found["order_skips"])})


def _families(is_public):
    """A section for each family that has such ops; the second of one family has another heading, and so an address of its own."""
    for family in rg.ops.families():
        found = [op for op in map(rg.ops.get, rg.ops.names(family)) if op.is_public is is_public]
        if found:
            yield "\n".join([f"## {family if is_public else f'inside: {family}'}\n", *map(_op, found)])


def _op(op):
    others = f"\n\nAlso registered as {', '.join(f'`{alias}`' for alias in op.aliases)}." if op.aliases else ""
    return f"### `{op.name}{inspect.signature(op.kernel)}`\n\n{_fenced(inspect.cleandoc(op.doc))}{others}\n"


def _fenced(text):
    """`text` with its examples as blocks of code."""
    return re.sub(r"^>>> .*?(?=\n\n|\Z)", lambda match: f"```pycon\n{match[0]}\n```", text, flags=re.DOTALL | re.MULTILINE)


if __name__ == "__main__":
    main()
