"""Checks: one program in one form, and what came of it."""

import contextlib
import os
import re
import tempfile
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from types import SimpleNamespace

import numpy as np

import retrograde as rg
from retrograde import runtime
from retrograde.compiler.backends.cpu.codegen.vecmath import NAMES as ELEMENTARY
from retrograde.errors import GraphError, MemoryLimitError, MissingRuleError, RetrogradeError, TraceError

from . import rivals
from .analytic import is_analytic
from .forms import FORMS, PRELUDE
from .program import NAMES, arrays

#: How far results may lie apart by the size of the coarsest float in a program, relative to the greatest.
COARSE = {2: 0.06, 4: 2e-4, 8: 1e-9}
#: The same for results of NumPy's functions on integers of one byte, which have half precision: each may be rounded, or go on in float32.
OF_BYTES = 0.01
#: What a form may refuse though eager mode computes it: documented limits of tracing.
LIMITS = (TraceError, MissingRuleError, MemoryLimitError, rivals.Missing)
#: Forms whose oracle runs the program beside its arguments, not at them.
STEPPED = ("differences", "differences of slopes", "complex step")
#: Words of other refusals that are documented: of eager-only order in memory, of reverse mode through a loop without an end, and of
#: a dtype that only the values tell; of programs in files.
DOCUMENTED = ("only eager ops know", "while_loop", "has room for real ones only", "detached under vmap cannot", "cannot be exported",
              "exported programs do not know", "gave complex numbers for real ones")
#: What a program says whose slopes are not those of its values to the last digits.
COARSE_WORDS = ("float32", "float16", "complex", "1j", "0.5j", "'int", "bool", "detach")
#: What adds up, or multiplies, the elements of its first argument.
SUMS = frozenset("sum mean std var prod logsumexp vector_norm matmul cumsum cumprod softmax log_softmax trace".split())
#: Functions whose slope at 0 is infinite, or a power of whose result has such a one, and the phase of `evaluate` in which they are
#: not called there.
ROOTS, BESIDE_ZERO = frozenset(["sqrt", "cbrt", "abs"]), -1
#: The phases of `evaluate` in which results are rounded alike: all a unit upwards, or downwards.
ALIKE = {7: 1, 8: -1}
#: Functions that are others on the other side of a zero. A sum of one zero has the sign that NumPy's start of +0 leaves, or its own.
CUTS = frozenset(["atan2", "angle", "copysign"])
#: What the names of functions have in them that give vectors of either sign: which one, rounding decides for one matrix in two.
VECTORS = ("eig", "svd", "qr")
NORMS = frozenset(["vector_norm", "matrix_norm", "norm"])
_METHOD = re.compile(r"\b([vxwc]\d*)\.(sum|mean)\(")
_ASSIGNED = re.compile(r"^([vw]\d+) = ", re.MULTILINE)
_PRELUDE = compile(PRELUDE, "prelude", "exec")


@dataclass(frozen=True)
class Outcome:
    """What came of a check.

    kind    "agrees", "refused", "unstable", "different", "crashed" or "invalid" (the program does not run at all)
    detail  what differed, in words
    """

    kind: str
    detail: str = ""

    @property
    def is_defect(self):
        return self.kind in ("different", "crashed")

    @property
    def cause(self):
        """What tells defects apart while a program is made smaller: the error, or whether numbers differ or what holds them."""
        return self.kind, self.detail.split(":")[0] if self.kind == "crashed" else self.detail.split()[2:3]


@contextmanager
def quiet():
    """Without warnings of numbers, or of compiling anew."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def scope_of(program, inputs):
    """The names that a form's source may read: the program, its arguments and the prelude."""
    scope = {**NAMES, "__name__": "program", "os": os, "contextlib": contextlib, "tempfile": tempfile, "runtime": runtime, "rivals": rivals, "inputs": inputs}
    exec(program.text, scope)
    exec(_PRELUDE, scope)
    return scope


def leaves_of(found):
    """What a form gave, as arrays."""
    return [None if x is None else np.asarray(x.detach() if isinstance(x, rg.Tensor) else x) for x in rg.tree.leaves(found)]


def evaluate(program, source, inputs, rounded=0):
    """The arrays that a form's source gives; with elementary functions that are `rounded` otherwise, if that is not 0."""
    if rounded:
        program = replace(program, statements=tuple(_METHOD.sub(r"rg.\2(\1, ", text).replace(", )", ")") for text in program.statements))
    scope = scope_of(program, inputs)
    if rounded:
        scope["rg"] = BesideZero() if rounded == BESIDE_ZERO else Rounded(rounded)
    return leaves_of(eval(source, scope))


class BesideZero:
    """The library with roots of next to nothing in the place of those of 0."""

    def __getattr__(self, name):
        found = getattr(rg, name)
        return (lambda x: found(rg.where(x == 0, 1e-30, x))) if name in ROOTS else found


class Rounded:
    """The library with elementary functions that differ by a unit in the last place, as two good libraries do, and with sums whose
    summands do, as sums in another order come to.

    How a result is rounded depends on the argument alone, so that what is computed twice stays equal. Sums of few binary digits are
    exact in any order, and stay as they are.
    """

    def __init__(self, phase):
        self._phase = phase

    def __getattr__(self, name):
        found = getattr(rg, name)
        if name == "ops":
            return SimpleNamespace(get=lambda op: SimpleNamespace(call=partial(self._called, found.get(op).call)))
        return partial(self._called, found) if name in CUTS or name in ELEMENTARY else partial(self._summed, found) if name in SUMS | NORMS else found

    def _summed(self, function, x, *args, **kwargs):
        if not isinstance(x, rg.Tensor) or x.dtype.kind not in "fc" or x.dtype.itemsize < 4 or x.size < 2 or _has_few_digits(x):
            return function(x, *args, **kwargs)
        if function.__name__ in NORMS:  # of magnitudes, all of which upwards would leave equal sums equal
            signs = np.round(4 * np.sin(self._phase * 1e17 * np.frexp(np.abs(np.asarray(x.detach())))[0]))
        else:
            signs = np.where(np.signbit(np.asarray(x.detach()).real), -1, 1) * (1, -1)[self._phase % 2]  # all upwards, or downwards
        return function(x * (1 + _unit(x) * signs).astype(x.real.dtype), *args, **kwargs)

    def _called(self, function, *args, **kwargs):
        if function.__name__ in CUTS and self._phase == 2:
            args = [rg.where(x == 0, -x, x) if isinstance(x, rg.Tensor) and x.dtype.kind == "f" else x for x in args]
        z = function(*args, **kwargs)
        if not isinstance(z, rg.Tensor) or z.dtype.kind not in "fc" or z.dtype.itemsize < 4 or not _fits_in(args[0], z.shape):
            return z
        x = np.abs(np.asarray(args[0].detach() if isinstance(args[0], rg.Tensor) else args[0]).astype("complex128"))
        step = _unit(z)
        with np.errstate(all="ignore"):
            mantissa = np.frexp(x)[0]  # whose last bits count: what is all but equal is not rounded alike
            units = ALIKE.get(self._phase, np.nan_to_num(np.round(1.4 * np.sin(self._phase * 1e17 * mantissa))))
            factor = 1 + step * units
        return z * np.broadcast_to(factor, z.shape).astype(np.float32 if step > 1e-10 else np.float64)


def _fits_in(x, shape):
    """Whether an operand may be broadcast to `shape`, as those of functions of single elements are."""
    if not isinstance(x, (rg.Tensor, np.ndarray, float, int)):
        return False
    return np.ndim(x) <= len(shape) and all(n in (1, m) for n, m in zip(np.shape(x)[::-1], shape[::-1], strict=False))


def _unit(x):
    """A unit in the last place of numbers like those of `x`, relative to them."""
    return 2.0**-23 if x.dtype in (np.float32, np.complex64) else 2.0**-52


def _has_few_digits(x):
    """Whether all numbers of a tensor are less than 1,000, and whole multiples of 1/1,024."""
    scaled = np.asarray(x.detach()).astype("complex128") * 1024
    return bool(np.all((np.abs(scaled) < 1e6) & (scaled == np.round(scaled))))


def fits(program, form):
    """Whether a form can run a program."""
    needs = FORMS[form].needs
    texts = [text for _, text in program.inputs]
    if "floats" in needs and not any("float" in text or "complex" in text for text in texts):
        return False
    if "precise" in needs and any(word in program.text + str(texts) for word in COARSE_WORDS):
        return False
    return "analytic" not in needs or is_analytic(program.text)


def check(program, form):
    """Run a program in a form beside what is right."""
    name, form = form, FORMS[form]
    inputs = arrays(program)
    with quiet():
        try:
            wanted, refusal = evaluate(program, form.wanted, inputs), None
        except RetrogradeError as error:
            wanted, refusal = None, error
        except (NameError, SyntaxError, UnboundLocalError):
            return Outcome("invalid")
        except Exception as error:  # noqa: BLE001 - what it is is told
            return Outcome("crashed", f"eager {_told(error)}")
        try:
            got = evaluate(program, form.got, inputs)
        except LIMITS as error:
            return Outcome("refused", _told(error))
        except RetrogradeError as error:
            is_limit = refusal is not None or name in STEPPED or any(words in str(error) for words in DOCUMENTED)
            return Outcome("refused" if is_limit else "crashed", _told(error))
        except Exception as error:  # noqa: BLE001 - what it is is told
            return Outcome("crashed", _told(error))
        if refusal is not None:
            # Compiled code reads what was there before a write, where eager mode must refuse; a step away from the arguments a position
            # that is computed may be out of range.
            is_limit = isinstance(refusal, GraphError) or name in STEPPED or _is_left_out(program, form, inputs)
            return Outcome("refused" if is_limit else "crashed", f"eager only {_told(refusal)}")
        if name in ("torch", "jax") and len(wanted) == len(got):
            # The dtype of what was no float is a choice there, as is the position of one of several that are equal.
            pairs = [(a, b.astype(a.dtype)) for a, b in zip(wanted, got, strict=True) if a.dtype.kind == "f"]
            wanted, got = map(list, zip(*pairs, strict=True)) if pairs else ([], [])
        return _compared(program, form, inputs, wanted, got)


def _is_left_out(program, form, inputs):
    """Whether compiled code refuses the program too where each of its values is a result: an op that none needs it leaves out."""
    names = dict.fromkeys(_ASSIGNED.findall("\n".join(program.statements)))
    if form.got == FORMS["jit"].got and set(names) <= set(program.outputs):
        return False
    try:
        evaluate(replace(program, outputs=tuple(names)), FORMS["jit of vmap" if re.search("rows|pairs", form.got) else "jit"].got, inputs)
    except RetrogradeError:
        return True
    return False


def _told(error):
    return f"{type(error).__name__}: {str(error)[:300]}"


def _compared(program, form, inputs, wanted, got):
    if len(wanted) != len(got):
        return Outcome("different", f"{len(got)} results, not {len(wanted)}")
    if form.limit is None:
        k = next((k for k, (a, b) in enumerate(zip(wanted, got, strict=True)) if not same_bits(a, b)), None)
        return Outcome("agrees") if k is None else Outcome("different", f"result {k} is other bits: got {_short(got[k])}, wanted {_short(wanted[k])}")
    limit = max(form.limit, tolerance(program, wanted))
    problems = [(k, problem) for k, (a, b) in enumerate(zip(wanted, got, strict=True)) if (problem := unlike(a, b, limit))]
    if not problems:
        return Outcome("agrees")
    if all(isinstance(p, float) for _, p in problems):
        moved = _movement(program, form, inputs, wanted, not np.all(np.isfinite([p for _, p in problems])))
        problems = [(k, p) for k, p in problems if not p <= moved[k]]
        if form.wanted.startswith("float(sum(") and np.isnan([p for _, p in problems]).all():
            problems = []  # both ways of going along a slope meet infinity, and only one of them nothing: 0 times infinity
        if not problems or _meets_a_root_of_zero(program, form, inputs, got) or _is_between(program, form, inputs, got, [p for _, p in problems]):
            return Outcome("unstable")
    k, problem = problems[0]
    told = problem if isinstance(problem, str) else f"by {problem:.3g}"
    return Outcome("different", f"result {k} {told}: got {_short(got[k])}, wanted {_short(wanted[k])}")


def _is_between(program, form, inputs, got, sizes):
    """Whether the slopes are others right beside the arguments, where equal numbers are equal no more: quotients see only those."""
    if not form.wanted.startswith(("directional", "complex_step")):
        return False
    for size in (1e-9, 1e-5):  # a square keeps what is nearly 0 equal
        apart = [x + size * np.cos(np.arange(x.size)).reshape(x.shape) if x.dtype.kind == "f" else x for x in inputs]
        try:
            found = evaluate(program, form.got, apart)
        except RetrogradeError:
            return True
        if max(map(_distance, got, found)) >= 0.5 * max(sizes):
            return True
    return False


def _meets_a_root_of_zero(program, form, inputs, got):
    """Whether slopes are NaN since a root of 0 has an infinite one, which is then multiplied by 0: they are none beside it."""
    if not form.wanted.startswith(("directional", "complex_step")) or not np.isnan(got).any():
        return False
    return bool(np.isfinite(evaluate(program, form.got, inputs, rounded=BESIDE_ZERO)).all())


def same_bits(a, b):
    """Whether two results are of one shape and dtype, and the same to the bit."""
    return a is b or a is not None and b is not None and (a.shape, a.dtype, a.tobytes()) == (b.shape, b.dtype, b.tobytes())


def _short(x):
    return np.array2string(x, threshold=12, precision=8).replace("\n", "") if x is not None else "None"


def tolerance(program, wanted=()):
    """How far results of a program may lie apart, by the coarsest float in it."""
    text = program.text + program.inputs_text
    if "float16" in text:
        return COARSE[2]
    if "rg.random" in text or "'random_" in text:  # of single precision, unless they say otherwise
        return COARSE[4]
    if "int8" in text:  # whose sine has half precision, as in NumPy
        return OF_BYTES
    if "int16" in text:  # and that of these single precision
        return COARSE[4]
    return COARSE[4 if "float32" in text or "complex64" in text or any(x is not None and x.dtype in (np.float32, np.complex64) for x in wanted) else 8]


def unlike(wanted, got, limit):
    """How two results differ: None if they agree, words, or the size of the difference."""
    if wanted is None or got is None:
        return None if wanted is got else f"is {'None' if got is None else 'no None'}"
    if (wanted.shape, wanted.dtype) != (got.shape, got.dtype):
        return f"is {got.dtype}{got.shape}, not {wanted.dtype}{wanted.shape}"
    wide = "complex128" if wanted.dtype.kind == "c" else "float64"
    a, b = (x.astype(wide) if x.dtype.kind not in "iub" else x for x in (wanted, got))
    same = (a == b) | (a != a) & (b != b)
    if same.all():
        return None
    if wanted.dtype.kind in "iub":
        return float(np.max(np.abs(a.astype(float) - b.astype(float))))
    scale = 1 + float(np.max(np.abs(a), initial=0, where=np.isfinite(a)))
    with np.errstate(all="ignore"):
        worst = float(np.max(np.where(same, 0, np.abs(a - b))))
    return None if worst <= limit * scale else worst


def _movement(program, form, inputs, wanted, is_singular=False):
    """How far each result moves under changes of the arguments in their last places, and in float64; where it `is_singular`, as a
    cubic root is at 0, also with next to nothing in the place of zeros.

    Equal numbers stay equal: a program that compares what is equal by its making is held to the answer.
    """
    moved = [0.0] * len(wanted)
    moves = [(1, 0), (4, 1), (-2, 2), (16, 3)]
    if any(word in program.text for word in VECTORS):
        moves += [(64, 4), (-7, 5), (-256, 6), (1024, 7), (11, 8), (-33, 9)]
    variants = [[_nudged(x, size, phase) for x in inputs] for size, phase in moves]
    if is_singular or any(x.dtype.kind == "c" for x in inputs) or "j)" in program.text:  # zeros of another sign are on the other side of a branch cut
        variants += [[np.where(x == 0, x + tiny, x).astype(x.dtype) if x.dtype.kind in "fc" else x for x in inputs] for tiny in (1e-30, -1e-30)]
    if any(x.dtype.itemsize < 8 and x.dtype.kind in "fV" for x in inputs):
        variants.append([x.astype("float64") if x.dtype.kind in "fV" else x for x in inputs])
    # Two phases rounded numbers that are a unit apart alike in one of four programs that compare them.
    for variant, rounded in [*[(variant, 0) for variant in variants], *[(inputs, phase) for phase in range(1, 9)]]:
        try:
            found = evaluate(program, form.wanted, variant, rounded)
        except RetrogradeError:
            return [np.inf] * len(wanted)
        if form.wanted.startswith(("directional", "complex_step")):
            of = ", slopes" if "slopes" in form.wanted else ""
            steps = (f"directional(1e-4, -1{of})", f"directional(1e-5, 0{of})") if variant is variants[0] else ()
            found += [x for step in steps for x in evaluate(program, step, inputs)]
        for k, a in enumerate(wanted):
            for b in found[k::len(wanted)]:
                moved[k] = max(moved[k], 8 * _distance(a, b))
    return moved


def _distance(a, b):
    if a is None or b is None or a.shape != b.shape:
        return np.inf
    wide = "complex128" if "c" in a.dtype.kind + b.dtype.kind else "float64"
    a, b = a.astype(wide), b.astype(wide)
    found = np.where((a == b) | (a != a) & (b != b), 0, np.abs(a - b))
    return float(np.max(np.nan_to_num(found, nan=np.inf), initial=0))


def _nudged(x, size, phase):
    """`x` moved by some units in the last place, equal magnitudes equally."""
    if x.dtype.kind not in "fVc":
        return x
    if x.dtype.kind == "c":
        return _nudged(x.real.copy(), size, phase) + 1j * _nudged(x.imag.copy(), size, phase)
    step = {2: 2.0**-9, 4: 2.0**-23, 8: 2.0**-52}[x.dtype.itemsize]
    wide = x.astype("float64")
    return (wide * (1 + size * step * np.sin(1e3 * np.abs(wide) + phase))).astype(x.dtype)
