"""The picture in the report: the validation score of every candidate, and of what was kept."""

from html import escape

_WIDTH, _HEIGHT, _LEFT, _BELOW = 900, 220, 56, 34


def chart(run):
    """The steps of a run as an SVG; empty where none was scored."""
    scored = [step for step in run.steps if step.after is not None]
    if not scored:
        return ""
    low, high = (f(score for step in scored for score in (step.before, step.after)) for f in (min, max))
    across = lambda i: _LEFT + (_WIDTH - _LEFT - 24) * i / max(len(scored), 1)
    up = lambda score: _HEIGHT - _BELOW - (_HEIGHT - _BELOW - 20) * ((score - low) / (high - low) if high > low else 0.5)
    level, line, dots = scored[0].before, [f"{across(0):.1f},{up(scored[0].before):.1f}"], []
    for i, step in enumerate(scored, 1):
        line.append(f"{across(i):.1f},{up(level):.1f}")
        if step.is_accepted:
            level = step.after
            line.append(f"{across(i):.1f},{up(level):.1f}")
        dots.append(f'<circle class="{step.outcome}" cx="{across(i):.1f}" cy="{up(step.after):.1f}" r="6">'
                    f"<title>{escape(str(step))}</title></circle>"
                    f'<text x="{across(i):.1f}" y="{_HEIGHT - 12}" text-anchor="middle">{step.number}</text>')
    grid = "".join(f'<path d="M{_LEFT} {up(score):.1f}H{_WIDTH - 12}"/><text x="{_LEFT - 8}" y="{up(score) + 4:.1f}" '
                   f'text-anchor="end">{score:.3f}</text>' for score in [low, *([high] if high > low else [])])
    return (f'<section class="card"><h2>Validation score</h2><svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
            f'aria-label="Validation score of each step"><g class="grid">{grid}</g><polyline points="{" ".join(line)}"/>'
            f'{"".join(dots)}</svg><p class="legend">The line is what was kept; a filled dot is a candidate that was kept, '
            "a hollow one a candidate that was not. Below: the steps.</p></section>")
