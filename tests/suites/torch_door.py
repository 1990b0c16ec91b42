"""PyTorch's samples of its own ops, its op_db, through `retrograde.torch`: `python -m tests.suites.torch_door`, of the PyTorch installed.

Each sample is run with PyTorch and here, on the CPU, in float32 and in float64: dtypes, shapes, values, and gradients under uneven
cotangents. It agrees, differs, is refused by an error of ours that says what to do, or fails by an error that does not.
"""

import argparse
import json
import sys
import warnings
from collections import Counter
from fnmatch import fnmatchcase
from pathlib import Path
from types import FunctionType, ModuleType

import numpy as np
import torch

import retrograde.torch as ours
from retrograde.errors import RetrogradeError

AGREES, DIFFERS, REFUSED, FAILS = "agrees", "differs", "refused", "fails"
#: Ops whose numbers are drawn, or not set: shapes and dtypes are compared.
DRAWN = {
    "bernoulli", "cauchy", "empty", "empty_like", "empty_permuted", "empty_strided", "exponential", "geometric", "log_normal", "multinomial",
    "new_empty", "new_empty_strided", "normal", "uniform", "rand_like", "randint", "randint_like", "randn", "randn_like",
    "nn.functional.dropout", "nn.functional.dropout2d", "nn.functional.dropout3d", "nn.functional.alpha_dropout",
    "nn.functional.feature_alpha_dropout", "nn.functional.rrelu", "nn.functional.fractional_max_pool2d",
    "nn.functional.fractional_max_pool3d", "nn.functional.multi_head_attention_forward", "nn.functional.scaled_dot_product_attention",
    "pca_lowrank", "svd_lowrank",
}
#: Ops of which only values are compared, and why.
VALUES_ONLY = {"as_strided_scatter": "PyTorch hands the gradient of what is overwritten to both"}
#: Ops that PyTorch computes to so many digits in float64.
ROUGH = dict.fromkeys(("special.bessel_j0", "special.bessel_j1", "special.bessel_y0", "special.bessel_y1"), 1e-5)
#: What gradients mean, from (the gradient, the arguments). What is not read of a triangular or symmetric matrix has no gradient of its own, and
#: PyTorch's of CTC are those in the logits of the input.
FORMS = {
    "cholesky_inverse": lambda g, x, i, given: _triangle(g, given),
    "cholesky_solve": lambda g, x, i, given: _triangle(g, given) if i == 1 else g,
    "linalg.pinv": lambda g, x, i, given: (g + np.conj(np.swapaxes(g, -1, -2))) / 2 if given.get("hermitian") else g,
    "nn.functional.ctc_loss": lambda g, x, i, given: g - np.exp(x) * g.sum(-1, keepdims=True),
}


def _triangle(g, given):
    return np.triu(g) if given.get("upper") else np.tril(g)


#: Those of them that draw only if they are asked to.
_DRAWN_BY = {"nn.functional.multi_head_attention_forward": "dropout_p", "nn.functional.scaled_dot_product_attention": "dropout_p"}


class Absent(RetrogradeError):  # noqa: N818 - no error of the package's
    """What the package has no counterpart of."""


def counterpart(op):
    """The function here of an op of the op_db."""
    function = op.op
    if isinstance(function, FunctionType) and function.__module__.startswith("torch.testing"):
        return moved(function)
    if type(function).__name__ in ("method_descriptor", "wrapper_descriptor"):
        found = getattr(ours.Tensor, op.name, None)
        if found is None:
            raise Absent(f"tensors have no method {op.name}")
        return found
    found = ours
    for name in op.name.split("."):
        try:
            found = getattr(found, name)
        except AttributeError as error:
            if "." in op.name or (found := getattr(ours.Tensor, name, None)) is None:
                raise Absent(str(error)) from None
    return found


def moved(function):
    """A function of PyTorch's tests, with `torch` ours: what it calls of its own module is moved as well."""
    names = {}
    for name in function.__code__.co_names:
        value = function.__globals__.get(name)
        if isinstance(value, FunctionType) and value.__module__.startswith("torch.testing") and value is not function:
            names[name] = moved(value)
        elif isinstance(value, ModuleType) and value.__name__.startswith("torch"):
            names[name] = ours if value is torch else _module(value.__name__)
    cells = function.__closure__
    made = FunctionType(function.__code__, {**function.__globals__, "torch": ours, **names}, function.__name__, function.__defaults__, cells)
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def _module(name):
    found = ours
    for part in name.split(".")[1:]:
        found = getattr(found, part)
    return found


def converted(x, leaves):
    """An argument of a sample as ours; `leaves` gathers (theirs, ours) of tensors that need a gradient."""
    if isinstance(x, torch.Tensor):
        if x.layout != torch.strided or x.is_quantized:
            raise Absent(f"tensors of layout {x.layout} are not among what is compared here")
        if x.untyped_storage().nbytes() > x.numel() * x.element_size() and x.is_contiguous() and x.numel() and x.storage_offset():
            raise Absent("a view of a part of other memory, which is copied here")
        made = ours.tensor(_array(x))
        if x.requires_grad:
            leaves.append((x, made.requires_grad_()))
        return made
    if isinstance(x, torch.Size):
        return ours.Size(x)
    if isinstance(x, dict):
        return {name: converted(a, leaves) for name, a in x.items()}
    if isinstance(x, (list, tuple)):
        return type(x)(converted(a, leaves) for a in x)
    if isinstance(x, torch.dtype):
        return getattr(ours, str(x).removeprefix("torch."))
    if isinstance(x, (torch.layout, torch.memory_format)):
        return getattr(ours, str(x).removeprefix("torch."))
    if isinstance(x, torch.device):
        return ours.device(str(x))
    if isinstance(x, torch.nn.Module):
        return getattr(ours.nn, type(x).__name__)()
    if isinstance(x, FunctionType) and x.__module__.startswith("torch.nn"):
        return getattr(ours.nn.functional, x.__name__)
    return x


def _array(x):
    x = x.detach().resolve_conj().resolve_neg()
    if x.dtype == torch.bfloat16:
        import ml_dtypes
        return x.view(torch.int16).numpy().view(ml_dtypes.bfloat16).copy()
    return np.array(x.numpy(force=True))


def leaves_of(found):
    """The parts of a result."""
    if isinstance(found, dict):
        found = list(found.values())
    return [leaf for part in found for leaf in leaves_of(part)] if isinstance(found, (list, tuple)) else [found]


def _alike(mine, theirs, width, numbers=True, rough=None):
    """None if two parts of results agree, else what differs."""
    if not isinstance(theirs, torch.Tensor):
        return None if str(mine).removeprefix("torch.") == str(theirs).removeprefix("torch.") or (
            isinstance(theirs, (int, float, complex)) and np.allclose(mine, theirs, rtol=1e-4, equal_nan=True)) else f"{mine!r} for {theirs!r}"
    if not isinstance(mine, ours.Tensor):
        return f"a {type(mine).__name__} for a tensor"
    if tuple(mine.shape) != tuple(theirs.shape):
        return f"shape {tuple(mine.shape)} for {tuple(theirs.shape)}"
    if str(mine.dtype) != str(theirs.dtype).removeprefix("torch."):
        return f"dtype {mine.dtype} for {theirs.dtype}"
    return None if not numbers or _close(np.asarray(mine.detach().numpy()), _array(theirs), width, rough) else "values"


def _close(a, b, width, rough=None):
    if a.dtype.kind == "V" or a.dtype.name == "bfloat16":
        a, b, width = a.astype(np.float32), b.astype(np.float32), 2
    width = min(width, a.dtype.itemsize if a.dtype.kind == "f" else width)
    tolerance = rough or {2: 2e-2, 4: 2e-3}.get(width, 1e-7)
    with np.errstate(all="ignore"):
        return np.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True)


def compared(op, sample, function, width):
    """(what became of a sample, what differed or was said)."""
    leaves = []
    try:
        given = [converted(a, leaves) for a in (sample.input, *sample.args)], {k: converted(v, leaves) for k, v in sample.kwargs.items()}
    except Exception as error:
        return REFUSED, f"{type(error).__name__}: {error}"
    try:
        theirs = op(sample.input, *sample.args, **sample.kwargs)
    except Exception:
        return None, "PyTorch raises"
    try:
        mine = function(*given[0], **given[1])
        formed = sample.output_process_fn_grad
        if formed is not None and formed.__module__.startswith("torch.testing"):
            theirs, mine = formed(theirs), moved(formed)(mine)
    except Exception as error:
        return _said(error)
    return _judged(op, sample, leaves, leaves_of(theirs), leaves_of(mine), width)


def _judged(op, sample, leaves, theirs, mine, width):
    if len(theirs) != len(mine):
        return DIFFERS, f"{len(mine)} results for {len(theirs)}"
    is_drawn = op.name in DRAWN and (op.name not in _DRAWN_BY or sample.kwargs.get(_DRAWN_BY[op.name], 0.5))
    for a, b in zip(mine, theirs, strict=True):
        if (found := _alike(a, b, width, not is_drawn, ROUGH.get(op.name))) is not None:
            return DIFFERS, found
    live = [(a, b) for a, b in zip(mine, theirs, strict=True) if isinstance(b, torch.Tensor) and b.requires_grad]
    if is_drawn or op.name in VALUES_ONLY or not live or not leaves:
        return AGREES, ""
    if not all([a.requires_grad for a, _ in live]):
        return DIFFERS, "no gradient"
    draw = np.random.default_rng(0)
    seeds = [_uneven(draw, _array(b)) for _, b in live]
    try:
        wanted = torch.autograd.grad([b for _, b in live], [x for x, _ in leaves], [torch.as_tensor(s) for s in seeds], allow_unused=True)
    except Exception:
        return AGREES, ""
    try:
        found = ours.autograd.grad([a for a, _ in live], [x for _, x in leaves], [ours.tensor(s) for s in seeds], allow_unused=True)
    except Exception as error:
        return _said(error)
    form = FORMS.get(op.name, lambda g, *_: g)
    for i, (a, b) in enumerate(zip(found, wanted, strict=True)):
        a, b = (np.zeros(tuple(leaves[i][0].shape)) if g is None else _array(g) if isinstance(g, torch.Tensor) else np.asarray(g.detach().numpy()) for g in (a, b))
        x = _array(leaves[i][0])
        if a.shape != b.shape or not _close(form(a, x, i, sample.kwargs), form(b, x, i, sample.kwargs), width):
            return DIFFERS, "gradient"
    return AGREES, ""


def _said(error):
    text = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    is_clear = isinstance(error, RetrogradeError) or isinstance(error, AttributeError) and "retrograde.torch has" in str(error)
    return (REFUSED if is_clear else FAILS), text


def _uneven(draw, like):
    made = draw.uniform(0.5, 1.5, like.shape) * draw.choice([-1, 1], like.shape)
    return (made + 1j * draw.normal(size=like.shape) if like.dtype.kind == "c" else made).astype(like.dtype)


def samples_of(op, dtype):
    """The samples of an op in a dtype; matrices that it takes for symmetric are made so, as PyTorch's own checks make them."""
    torch.manual_seed(0)
    is_symmetric = getattr(op.gradcheck_wrapper, "__name__", "") == "gradcheck_wrapper_hermitian_input"
    for sample in op.sample_inputs("cpu", dtype, requires_grad=op.supports_autograd and dtype in op.supported_backward_dtypes("cpu")):
        if is_symmetric and isinstance(sample.input, torch.Tensor):
            x = sample.input
            sample.input = ((x + x.mH) / 2).detach().requires_grad_(x.requires_grad)
        yield sample


def surveyed(ops, dtypes, most=None):
    """Rows (op, dtype, what became of the sample, what was said, the sample), one for each sample."""
    rows = []
    for op in ops:
        name = f"{op.name}.{op.variant_test_name}".rstrip(".")
        try:
            function, missing = counterpart(op), None
        except Exception as error:
            function, missing = None, f"{type(error).__name__}: {error}"
        for dtype in [d for d in dtypes if d in op.dtypes]:
            is_float = dtype.is_floating_point or dtype.is_complex  # what is computed of others is float32
            for i, sample in enumerate(samples_of(op, dtype)):
                if most is not None and i >= most:
                    break
                state, said = (REFUSED, missing) if missing else compared(op, sample, function, dtype.itemsize if is_float else 4)
                if state is not None:
                    rows.append((name, str(dtype).removeprefix("torch."), state, said, "" if state == AGREES else sample.summary()[:300]))
    return rows


def page(rows):
    """The page of the reference, as lines of Markdown: what came of all samples, and the table by op."""
    states = Counter(state for _, _, state, *_ in rows)
    return [
        "# PyTorch's samples of its ops, through `retrograde.torch`", "",
        f"Made by `python -m tests.suites.torch_door --page docs/torch_ops.md`, with PyTorch {torch.__version__}. Each sample of its `op_db` is run on the CPU in",
        "float32 and in float64, with PyTorch and here, and compared in dtype, shape, value and gradient.", "",
        f"Of {len(rows):,} samples {states[AGREES]:,} agree, {states[REFUSED]:,} are refused by an error that says what to do, {states[FAILS]:,} fail by an error that does not,",
        f"and {states[DIFFERS]:,} differ.", "", *table(rows)]


def table(rows):
    """The table by op, as lines of Markdown."""
    counts = {}
    for name, _, state, *_ in rows:
        counts.setdefault(name, Counter())[state] += 1
    lines = ["| op | agree | refused | fail | differ |", "| --- | --- | --- | --- | --- |"]
    return [*lines, *[f"| {name} | {c[AGREES]} | {c[REFUSED]} | {c[FAILS]} | {c[DIFFERS]} |" for name, c in sorted(counts.items())]]


def main(argv=None):
    """Run samples, and print what came of them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ops", default="*", help="patterns of names of ops, with commas between")
    parser.add_argument("--part", default="0/1", help="which part of the ops, such as 0/4")
    parser.add_argument("--dtype", default="float32,float64")
    parser.add_argument("--most", type=int, help="at most so many samples of an op in a dtype")
    parser.add_argument("--reasons", type=int, default=60, help="how many reasons are listed, the most frequent first")
    parser.add_argument("--json", help="a file for all rows")
    parser.add_argument("--page", help="a file for the page of the reference")
    chosen = parser.parse_args(argv)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_methods_invocations import op_db
        part, parts = map(int, chosen.part.split("/"))
        ops = [op for op in op_db if any([fnmatchcase(op.name, p) for p in chosen.ops.split(",")])][part::parts]
        rows = surveyed(ops, [getattr(torch, d) for d in chosen.dtype.split(",")], chosen.most)
    if chosen.json:
        Path(chosen.json).write_text(json.dumps(rows))
    if chosen.page:
        Path(chosen.page).write_text("\n".join(page(rows)) + "\n")
    states = Counter(state for _, _, state, *_ in rows)
    reasons, where, example = Counter(), {}, {}
    for name, _, state, said, summary in rows:
        if state != AGREES:
            reasons[state, said] += 1
            where.setdefault((state, said), Counter())[name] += 1
            example.setdefault((state, said), summary)
    for (state, said), count in reasons.most_common(chosen.reasons):
        names = ", ".join([f"{name} {n}" for name, n in where[state, said].most_common(6)])
        print(f"{count:5} {state:8} {said[:150]}\n                 {names}")
    print(f"{len(rows)} samples of {len(ops)} ops: " + ", ".join([f"{states[s]} {s}" for s in (AGREES, REFUSED, FAILS, DIFFERS)]))
    return 0 if not states[DIFFERS] else 1


if __name__ == "__main__":
    sys.exit(main())
