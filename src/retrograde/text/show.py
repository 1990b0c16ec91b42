"""How a variable looks, in the terminal and in a notebook."""

from html import escape

_WIDTH, _ROWS = 80, 4


def as_text(variable):
    """The repr: data, shortened in the middle, role, and what the graph and the feedback are.

    >>> as_text(rg.text.Variable("Be brief.", role="prompt", requires_grad=True))
    "Variable('Be brief.', role='prompt', requires_grad=True)"
    """
    facts = [_shortened(variable.data)]
    if variable.role:
        facts.append(f"role={_shortened(variable.role)}")
    if not variable.is_leaf:
        facts.append(f"made_by={variable.record.name}")
    elif variable.requires_grad:
        facts.append("requires_grad=True")
    received = variable._grad  # noqa: SLF001 - of our own kind, and without the error that inner variables raise
    if received:
        facts.append(f"feedback={len(received)}")
    return f"{type(variable).__name__}({', '.join(facts)})"


def _shortened(data):
    if isinstance(data, list):
        shown = [_shortened(item) for item in data[:_ROWS]]
        more = [f"... {len(data) - _ROWS} more"] if len(data) > _ROWS else []
        return f"[{', '.join([*shown, *more])}]"
    if not isinstance(data, str) or len(data) <= _WIDTH:
        return repr(data)
    half = _WIDTH // 2 - 8
    return f"{data[:half]!r} ... {len(data) - 2 * half} characters ... {data[-half:]!r}"


def as_html(variable):
    """The variable as a piece of a page: role, data, and the feedback folded away."""
    received = variable._grad or ()  # noqa: SLF001 - as above
    kind = "needs feedback" if variable.requires_grad and variable.is_leaf else ""
    folded = "".join(f"<li><small>{escape(' › '.join(f.path))}</small>{_block(f.data)}</li>" for f in received)
    more = f"<details><summary>feedback ({len(received)})</summary><ol>{folded}</ol></details>" if received else ""
    head = f"<b>{escape(variable.role or 'text')}</b> <small>{kind}</small>"
    return f'<div style="border-left:3px solid #4a7;padding:2px 10px;margin:4px 0">{head}{_block(variable.data)}{more}</div>'


def _block(data):
    if isinstance(data, list):
        return f"<ol>{''.join(f'<li>{_block(item)}</li>' for item in data)}</ol>"
    return f'<pre style="white-space:pre-wrap;margin:2px 0">{escape("" if data is None else str(data))}</pre>'
