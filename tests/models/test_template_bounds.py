"""Templates that would take more memory or time than messages can need are refused; those that need much are not."""

import tracemalloc

import pytest

from retrograde.errors import ArgumentError, CheckpointError
from retrograde.models.templates import laid_out

pytest.importorskip("jinja2", reason="comes with the extra `models`")
MESSAGES = [{"role": "user", "content": "hi"}]
TWICE = "{% set ns = namespace(x=START) %}{% for i in range(60) %}{% set ns.x = MADE %}{% endfor %}{{ ns.x|length }}"


def twice(start, made):
    return TWICE.replace("START", start).replace("MADE", made)


@pytest.mark.parametrize("template", [
    "{{ 'a' * 3000000000 }}", "{{ 3000000000 * 'a' }}", "{% set x = [1] * 500000000 %}{{ x|length }}", "{{ '%0500000000d' % 1 }}", "{{ '%*d' % (500000000, 1) }}",
    "{{ '%0500000000d'|format(1) }}", "{{ '{:500000000}'.format(1) }}", "{{ '{:{}}'.format(1, 500000000) }}", "{{ 'a'.center(500000000) }}",
    "{{ 'a'|center(500000000) }}", "{{ 'a'.zfill(500000000) }}", "{{ 'a'|indent(500000000, true) }}", "{{ (1).to_bytes(500000000, 'big') }}",
    "{{ ('a' * 10000).replace('a', 'b' * 10000) }}", "{{ ('a' * 10000)|replace('a', 'b' * 10000) }}", "{{ ('a' * 10000).join('b' * 10000) }}",
    "{{ ([1] * 10000)|join('b' * 10000) }}", "{{ ('a' * 10000).translate({97: 'b' * 10000}) }}", "{{ (10 ** 10000000) % 7 }}", "{{ [1]|tojson(indent=500000000) }}",
    "{{ ([1] * 10000)|tojson(separators=('b' * 10000, '')) }}", "{{ [1, 2]|slice(500000000)|list|length }}", "{{ [1]|batch(500000000, 0)|list }}",
    "{% set x = 'a' * 10000 %}{% macro f() %}{% for i in range(10000) %}" + "b" * 3000 + "{% endfor %}{% endmacro %}{% set y = f() %}",
    "{{ ([[1] * 1000] * 1000) * 1000 }}", "{{ lipsum(n=100000) }}"])
def test_a_template_that_makes_too_much_is_refused_before_it_does(template):
    tracemalloc.start()
    try:
        with pytest.raises((ArgumentError, CheckpointError)):
            laid_out(template, MESSAGES)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100 << 20


@pytest.mark.parametrize("template", [
    twice("'ab'", "ns.x ~ ns.x"), twice("'ab'", "ns.x + ns.x"), twice("[1]", "ns.x + ns.x"), twice("[1]", "[ns.x, ns.x]"), twice("[1]", "(ns.x, ns.x)"),
    twice("[1]", "{'a': ns.x, 'b': ns.x}"), twice("[1]", "dict(a=ns.x, b=ns.x)"), twice("'ab'", "'%s%s' % (ns.x, ns.x)"), twice("'ab'", "'{0}{0}'.format(ns.x)"),
    twice("'ab'", "[ns.x, ns.x]|join"), twice("2 ** 60", "ns.x * ns.x"),
    "{{ (range(1000)|map(attribute='x', default=[1] * 10000)|sum(start=[]))|length }}",
    "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}", "{% for i in range(99999) %}{% if 'b' in 'a' * 9999 %}{% endif %}{% endfor %}",
    "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(60) }}",
    "{% for i in [1] recursive %}{{ loop(range(99999)) if loop.depth < 5 }}{% endfor %}"])
def test_a_template_that_would_go_on_and_on_is_refused(template):
    with pytest.raises((ArgumentError, CheckpointError)):
        laid_out(template, MESSAGES)


def test_what_is_left_is_that_of_the_messages():
    long = [{"role": "user", "content": "word " * 20_000}] * 20
    template = ("{% set ns = namespace(text='', list=[]) %}{% for m in messages %}{% set ns.text = ns.text + m.content|trim|replace('w', 'ww') ~ '|' %}"
                "{% set ns.list = ns.list + [m.content.split(' ')[0]] %}{% endfor %}{{ ns.text|length }} {{ ns.list[:2]|tojson }} {{ ns }}")
    assert laid_out(template, long).startswith(f'{20 * 120_000} ["word", "word"] <Namespace')


@pytest.mark.parametrize(("template", "expected"), [
    ("{% for i in [1, 2, 3] %}{{ loop.index }}/{{ loop.length }}{{ loop.last }}{{ loop.previtem }}{{ loop.nextitem }};{% endfor %}",
     "1/3False2;2/3False13;3/3True2;"),
    ("{% for k, v in {'a': [1, (2, 3)]}.items() if k %}{{ k ~ v }}{% else %}none{% endfor %}", "a[1, (2, 3)]"), ("{% for x in nothing %}{% else %}none{% endfor %}", "none"),
    ("{{ messages | selectattr('role', 'equalto', 'user') | map(attribute='content') | list | first }}", "hi"), ("{% set a, b = 1, 'x' %}{{ b * 2 }}{{ 2 ** 3 }}{{ a + 0.5 }}", "xx81.5"),
    ("{{ [3, 1] | sort }}{{ [1, 2] | sum }}{{ '%s-%3d' % ('a', 5) }}{{ '{}!'.format('b') }}{{ ['a', 'b'] | join(', ') }}", "[1, 3]3a-  5b!a, b"),
    ("{% for t in [[1, [2]]] recursive %}{{ t if t is number else loop(t) }}{% endfor %}", "12"), ("{% macro f(x, y=[1]) %}{{ x }}{{ y[0] }}{% endmacro %}{{ f('a') }}", "a1")])
def test_what_a_template_does_is_what_it_does_without_bounds(template, expected):
    assert laid_out(template, MESSAGES) == expected
    plain = pytest.importorskip("jinja2.sandbox").ImmutableSandboxedEnvironment()
    assert plain.from_string(template).render(messages=MESSAGES) == expected
