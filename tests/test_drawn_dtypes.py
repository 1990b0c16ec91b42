"""Short drawn programs of mixed dtypes, Python's and NumPy's numbers: every form gives the dtype and the numbers of eager mode."""

import random
import warnings

import ml_dtypes
import numpy as np
import pytest

import retrograde as rg

DTYPES = ("float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint32", "bool", "bfloat16", "float16", "complex64", "complex128")
NUMBERS = ("2", "-3", "0.5", "True", "1j", "np.float32(1.5)", "np.int64(3)", "np.float64(0.25)", "-1", "0", "300", "np.int8(5)")
OF_TWO = (
    "{a} + {b}", "{a} - {b}", "{a} * {b}", "{a} / {b}", "{a} // {b}", "{a} % {b}", "{a} ** {b}", "{a} < {b}", "{a} == {b}", "{a} & {b}",
    "rg.maximum({a}, {b})", "rg.where({c} > 0, {a}, {b})", "rg.hypot({a}, {b})", "rg.clip({a}, {b}, None)", "rg.arctan2({a}, {b})",
    "rg.logaddexp({a}, {b})", "rg.remainder({a}, {b})", "rg.floor_divide({a}, {b})", "rg.stack([{a}, {b}])", "{a} @ {b}",
)
OF_ONE = (
    "rg.sum({a}, axis=-1)", "rg.mean({a})", "rg.prod({a}, axis=-1)", "rg.cumsum({a}, -1)", "rg.max({a}, -1)", "rg.argmax({a}, -1)",
    "rg.var({a}, -1)", "-{a}", "abs({a})", "rg.sqrt({a})", "rg.exp({a})", "rg.sign({a})", "rg.round({a})", "~{a}", "rg.sigmoid({a})",
    "rg.sort({a}, -1)", "rg.expm1({a})", "rg.median({a}, -1)", "rg.softmax({a}, -1)", "rg.logsumexp({a}, -1)", "rg.count_nonzero({a}, -1)",
    "rg.sum({a}, dtype='{d}')", "rg.cumsum({a}, -1, dtype='{d}')", "rg.zeros_like({a}, dtype='{d}')", "rg.arange(3) + {a}", "{a} << 2",
)
IN_PLACE = ("{a} += {b}", "{a} *= {s}", "{a}[..., 0] = {b}[..., 0]", "{a} /= {s}", "{a} //= {s}", "{a}[{a} > 0] = {s}", "{a}[...] = {s}")
#: How far results may lie apart where such numbers take part; the sine of a small integer has half precision, as in NumPy.
COARSE = {"bfloat16": 0.1, "float16": 0.02, "int8": 0.02, "bool": 0.02, "int16": 2e-3, "float32": 2e-4, "complex64": 2e-4}


def _drawn(seed):
    """(the arguments, their dtypes, the function) of a program."""
    rng, numbers = random.Random(seed), np.random.default_rng(seed)
    dtypes = [rng.choice(DTYPES) for _ in range(rng.randint(1, 3))]
    arguments = [_array(numbers, dtype, rng.choice([(3,), (2, 3), (), (1, 3)])) for dtype in dtypes]
    names, lines = [f"x{k}" for k in range(len(dtypes))], []
    for k in range(rng.randint(1, 5)):
        a, b, c = (rng.choice(names) for _ in range(3))
        number, dtype, share = f"({rng.choice(NUMBERS)})", rng.choice(DTYPES), rng.random()
        if share < 0.15:
            lines += [f"v{k} = {a} * 1", rng.choice(IN_PLACE).format(a=f"v{k}", b=b, s=number)]
        elif share < 0.65:
            lines.append(f"v{k} = " + rng.choice(OF_TWO).format(a=a, b=number if rng.random() < 0.4 else b, c=c))
        else:
            lines.append(f"v{k} = " + rng.choice(OF_ONE).format(a=a, d=dtype))
        names.append(f"v{k}")
    made = names[len(dtypes):]
    text = "\n    ".join([f"def program({', '.join(names[:len(dtypes)])}):", *lines, f"return [{', '.join(made)}]"])
    scope = {"rg": rg, "np": np}
    exec(text, scope)
    return arguments, max([1e-8, *[size for name, size in COARSE.items() if name in text + str(dtypes)]]), scope["program"], text


def _array(rng, dtype, shape):
    x = np.asarray(rng.normal(size=shape) * 2)
    if dtype.startswith(("int", "uint")):
        x = np.round(np.abs(x) if dtype[0] == "u" else x)
    if dtype.startswith("complex"):
        x = x + 1j * rng.normal(size=shape)
    return np.asarray(x > 0 if dtype == "bool" else x).astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


def _found(function, arguments):
    """The results, or the error of ours that there is instead; None where Python refuses the numbers themselves."""
    try:
        return [np.asarray(z) for z in function(*map(rg.tensor, arguments))]
    except rg.errors.RetrogradeError as error:
        return error
    except (TypeError, OverflowError):
        return None


def _lazily(program):
    def run(*x):
        with rg.lazy():
            found = program(*x)
        rg.realize(*found)
        return found
    return run


def _mapped(program):
    return lambda *x: [z[0] for z in rg.vmap(program)(*[v[None] for v in x])]


@pytest.mark.parametrize("first", range(0, 240, 30))
def test_every_form_gives_the_dtype_and_the_numbers_of_eager_mode(first):
    for seed in range(first, first + 30):
        arguments, limit, program, text = _drawn(seed)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            wanted = _found(program, arguments)
            form = (rg.jit, rg.jit, _lazily, _mapped)[seed % 4]
            got = _found(form(program), arguments)
        if wanted is None or isinstance(got, rg.errors.TraceError):
            continue
        assert isinstance(got, list) == isinstance(wanted, list), (seed, text, wanted, got)
        for a, b in zip(wanted, got, strict=True) if isinstance(got, list) else ():
            assert (a.shape, a.dtype) == (b.shape, b.dtype), (seed, text)
            wide = "complex128" if a.dtype.kind not in "iub" else a.dtype
            np.testing.assert_allclose(b.astype(wide), a.astype(wide), rtol=limit, atol=limit, err_msg=f"{seed}\n{text}")


@pytest.mark.parametrize("function", [
    lambda x, y: x @ y.T, lambda x, y: x[0] @ y[0], lambda x, y: rg.tensordot(x, y.T, 1), lambda x, y: x * y, rg.nn.functional.linear,
    lambda x, y: rg.nn.functional.scaled_dot_product_attention(x, y, y)])
@pytest.mark.parametrize("dtypes", [("bfloat16", "float16"), ("float16", "bfloat16")])
def test_bfloat16_with_float16_is_float32(function, dtypes):
    operands = [rg.tensor(np.arange(6.0).reshape(2, 3), dtype=dtype) for dtype in dtypes]
    wanted = function(*operands)
    got = rg.jit(function)(*operands)
    assert str(wanted.dtype) == str(got.dtype) == "float32"
    np.testing.assert_allclose(got.numpy(), wanted.numpy(), rtol=1e-2)


@pytest.mark.parametrize(("other", "wanted"), [("float16", "float32"), ("int64", "bfloat16"), ("bool", "bfloat16"), ("float64", "float64")])
@pytest.mark.parametrize(
    "join", [rg.concat, rg.stack, lambda operands: rg.where(np.array([True, False, False]), *operands)], ids=["concat", "stack", "where"])
def test_what_is_joined_with_bfloat16_has_the_common_dtype(join, other, wanted):
    operands = [rg.tensor(np.array([0.0, 1.0, 1.0]), dtype=dtype) for dtype in ("bfloat16", other)]
    for run in (join, rg.jit(join)):
        found = run(operands)
        assert str(found.dtype) == wanted
        np.testing.assert_array_equal(found.numpy().astype(float), np.asarray(join([x.astype("float64") for x in operands])))


def test_numbers_stacked_with_both_types_of_half_precision_take_their_common_dtype():
    a, b = (rg.tensor(1.0, dtype=dtype) for dtype in ("bfloat16", "float16"))
    for run in (rg.stack, rg.jit(rg.stack)):
        assert (str(run([a, 2.0, b]).dtype), run([a, 2.0, b]).tolist()) == ("float32", [1, 2, 1])


@pytest.mark.parametrize("divisor", [1e10, -1e10, 100_000])
def test_a_number_that_is_infinite_in_the_dtype_of_the_other_divides_as_infinity(divisor):
    x = rg.tensor([-1.5, 2.0, 0.0], dtype="float16")
    for run in (lambda f: f, rg.jit):
        np.testing.assert_array_equal(np.asarray(run(lambda x: x // divisor)(x)), np.asarray(x // float(np.copysign(np.inf, divisor))))
