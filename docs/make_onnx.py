"""Write `onnx_ops.md`, what is read from ONNX and written to it.

`python docs/make_onnx.py` makes it from the tables of rules; `--print` to look at it.
"""

import sys
from pathlib import Path
from typing import Any

import onnx.defs

from retrograde.onnx.building import EMITTERS
from retrograde.onnx.exporting import NEWEST, OLDEST
from retrograde.onnx.rule import RULES

INTRODUCTION = """# ONNX: what is read and written

This page is written by `python docs/make_onnx.py` from the rules of `retrograde.onnx`, for version {newest} of ONNX's operators.
How to use them stands in [ONNX](onnx.md).

## Read

Of {all} operators {read} are read. *rule*: by a rule of ours, from the version that is named on, since the operator meant something
else before. *definition*: by the function that ONNX itself defines it by, which consists of others. Those without a word are not
read: `rg.onnx.load` raises an UnsupportedOnnxError that names them.

| operator | read by | since version |
| --- | --- | --- |
"""
WRITTEN = """
## Written

These ops are written as operators of versions {oldest} to {newest}. All other ops are written as what they are made of, if that
comes down to these, as losses, norms and most layers do; if not, `rg.onnx.export` raises an UnsupportedOnnxError that names the op.
Loops (`rg.scan`, `rg.fori_loop`, `rg.while_loop`) and branches (`rg.cond`) are `Loop`; those of `nn.LSTM`, `nn.GRU` and `nn.RNN` in
float32 are `LSTM`, `GRU` and `RNN`.

{ops}
"""
#: Nodes of graphs that are no ops.
_INNER = ("loop", "range", "recurrent layer", "result")


def main():
    """Write the page, or print it."""
    page = _page()
    if "--print" in sys.argv:
        sys.stdout.buffer.write(page.encode())
    else:
        Path(__file__).with_name("onnx_ops.md").write_text(page, encoding="utf-8")


def _page():
    rows = list(_rows())
    head = INTRODUCTION.format(newest=onnx.defs.onnx_opset_version(), all=len(rows), read=len([r for r in rows if r[1]]))
    table = "\n".join([f"| {name} | {how} | {since} |" for name, how, since in rows])
    links = ", ".join([f"`{name}`" for name in sorted(EMITTERS) if name not in _INNER])
    return head + table + "\n" + WRITTEN.format(oldest=OLDEST, newest=NEWEST, ops=links)


def _rows():
    """(operator, how it is read, since which version) for each that the onnx package knows, in its newest version."""
    schemas = {(schema.domain, schema.name): schema for schema in onnx.defs.get_all_schemas()}
    defined = {}
    history: Any = onnx.defs.get_all_schemas_with_history()
    for schema in history:
        if schema.has_function or schema.has_context_dependent_function:
            key = schema.domain, schema.name
            defined[key] = min(schema.since_version, defined.get(key, schema.since_version))
    for (domain, name), schema in sorted(schemas.items()):
        if schema.deprecated and (domain, name) not in RULES:
            continue
        shown = f"`{domain}.{name}`" if domain else f"`{name}`"
        if (domain, name) in RULES:
            yield shown, "rule", min(rule.since for rule in RULES[domain, name])
        elif (domain, name) in defined:
            yield shown, "definition", defined[domain, name]
        else:
            yield shown, "", ""


if __name__ == "__main__":
    main()
