"""Exported functions: what a file computes is what the jitted function computes, to the bit, and what cannot be in one is refused."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")

import exported_functions
from exported_functions import KERNELS, argument, bits, training

import retrograde as rg
from retrograde import deploy, nn, runtime
from retrograde.compiler.backends.cpu import host
from retrograde.compiler.target import NAMES, lacking
from retrograde.errors import ArgumentError, ProgramError, TraceError

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or os.environ.get("RETROGRADE_COMPILER") == "reference", reason="programs are exported by compiled code, for Linux")


def exported(path, f, *args, **options):
    """The program of a jitted function for these arguments."""
    f.export(path / "program.rgx", *args, **options)
    return runtime.load(path / "program.rgx")


@pytest.mark.parametrize("name", KERNELS)
def test_each_kernel_gives_the_same_numbers_to_the_bit(name, tmp_path):
    f, x = rg.jit(KERNELS[name][0]), argument(name)
    assert bits(exported(tmp_path, f, x)(x)) == bits(f(x))


#: Run where RETROGRADE_TARGET names a target: the numbers of the jitted functions there, on one thread.
SCRIPT = """
import pickle, sys
sys.path.insert(0, sys.argv[1])
from exported_functions import KERNELS, argument, bits
import retrograde as rg
rg.set_num_threads(1)
print(pickle.dumps({name: bits(rg.jit(KERNELS[name][0])(argument(name))) for name in sys.argv[2:]}).hex())
"""


def _runnable():
    native = host.native()
    features = {word[1:]: word[0] == "+" for word in native.features.split(",") if word}
    return [name for name in NAMES if not lacking(name, native.machine, features)]


@pytest.mark.parametrize("target", ["x86-64-v2", "x86-64-v3", "x86-64-v4"])
def test_a_named_target_gives_the_numbers_that_the_jitted_function_gives_for_that_target(target, tmp_path):
    """The file is written here, for a target that this process does not make code for; the other process runs the function."""
    if target not in _runnable():
        pytest.skip(f"this processor does not run code for {target}")
    names = ["loop", "reduction", "matmul", "linalg", "scan"]
    done = subprocess.run([sys.executable, "-c", SCRIPT, Path(exported_functions.__file__).parent, *names], capture_output=True, text=True, check=False,
                          env={**os.environ, "RETROGRADE_TARGET": target, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert done.returncode == 0, done.stderr
    wanted = pickle.loads(bytes.fromhex(done.stdout))
    for name in names:
        program = exported(tmp_path, rg.jit(KERNELS[name][0]), argument(name), target=target)
        assert program.target == target
        assert bits(program(argument(name))) == wanted[name], name


def test_weights_constants_and_several_results_are_in_the_file(tmp_path):
    rg.manual_seed(0)
    model, table = nn.Linear(5, 4), np.arange(12.0).reshape(3, 4)[::-1, ::-1].T
    f = rg.jit(lambda x, y: {"out": model(x), "more": (rg.asarray(table) @ y, x, rg.asarray(table), 2 * y[0])})
    x, y = np.ones((2, 5), np.float32), np.arange(3.0)
    program = exported(tmp_path, f, x, y)
    wanted = bits(f(x, y))
    assert bits(program(x, y)) == wanted
    assert [v.name for v in program.functions["run"].inputs] == ["x", "y"]
    assert [v.name for v in program.functions["run"].outputs] == ["result_out", *[f"result_more_{i}" for i in range(4)]]
    # They are those of the moment: what happens to the model afterwards changes nothing.
    model.weight.data[...] = 0
    assert bits(program(x, y)) == wanted != bits(f(x, y))


@pytest.mark.parametrize("dtype", runtime.DTYPES)
def test_each_dtype_goes_in_and_out(dtype, tmp_path):
    x = rg.tensor(np.arange(24).reshape(4, 6) % 5).astype(getattr(rg, "bool_" if dtype == "bool" else dtype)).numpy()
    f = rg.jit(lambda x: x)
    program = exported(tmp_path, f, x)
    assert program(x).tobytes() == bits(f(x))[0][0]
    assert program.functions["run"].outputs[0].dtype == dtype


@pytest.mark.parametrize("dtype", ["bool", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float64", "complex64", "complex128"])
def test_each_dtype_that_has_machine_code_is_computed_with(dtype, tmp_path):
    x = (np.arange(24).reshape(4, 6) % 5).astype(dtype)
    f = rg.jit(lambda x: (rg.concatenate([x, x]), x[::2] * 2))
    given = [(data, shape, name.replace("bfloat16", "uint16")) for data, shape, name in bits(f(x))]
    assert bits(exported(tmp_path, f, x)(x)) == given


def test_large_results_and_a_result_that_is_given_twice(tmp_path):
    f = rg.jit(lambda x: (y := rg.exp(x), y, x, rg.zeros((3, 4)), y[:2]))
    x = np.linspace(0, 1, 40_000).reshape(200, 200)
    found = exported(tmp_path, f, x)(x)
    assert bits(found) == bits(f(x))
    assert not np.shares_memory(found[0], found[1])


def test_arguments_of_trees_have_names_and_constants_are_none(tmp_path):
    f = rg.jit(lambda weights, x, scale, *, shift: (weights["w"][0] @ x) * scale + shift, static_argnames="scale")
    w, x, b = np.ones((2, 3)), np.ones(3), np.ones(2)
    program = exported(tmp_path, f, {"w": [w, w]}, x, 3.0, shift=b)
    assert [v.name for v in program.functions["run"].inputs] == ["weights_w_0", "weights_w_1", "x", "shift"]
    assert bits(program(w, w, x, b)) == bits(f({"w": [w, w]}, x, 3.0, shift=b))


def test_state_is_carried_on_from_what_it_was(tmp_path):
    step, arguments = training()
    step(*arguments)
    program = exported(tmp_path, step, *arguments)
    wanted = [bits(step(*arguments)) for _ in range(5)]  # exporting has changed nothing
    assert [bits(program(*arguments)) for _ in range(5)] == wanted
    assert wanted[0] != wanted[1]
    program.reset()
    assert bits(program(*arguments)) == wanted[0]


def test_state_that_changes_places_is_written_when_all_has_been_read(tmp_path):
    x, y = rg.tensor(np.arange(4.0)), rg.tensor(np.ones(4))

    @rg.jit
    def swap(factor):
        old = x + 0
        x[...] = y
        y[...] = old * factor
        return x, x.sum()

    program = exported(tmp_path, swap, np.float32(2))
    for _ in range(3):
        assert bits(program(np.float32(2))) == bits(swap(np.float32(2)))


def test_functions_of_one_file_share_their_state(tmp_path):
    count, weight = rg.tensor(np.zeros(3)), rg.tensor(np.full((200, 3), 0.5))

    @rg.jit
    def add(x):
        count[...] = count + x
        return weight @ count

    show = rg.jit(lambda: (count, weight.sum()))
    deploy.export(tmp_path / "two.rgx", {"add": (add, [np.ones(3)]), "add_one": (add, [np.ones(1)]), "show": (show, ())})
    program = runtime.load(tmp_path / "two.rgx")
    assert set(program.functions) == {"add", "add_one", "show"}
    program.functions["add"](np.ones(3))
    program.functions["add_one"](np.ones(1))
    assert program.functions["show"]()[0].tolist() == [2, 2, 2]
    assert (tmp_path / "two.rgx").stat().st_size < 2 * weight.raw.nbytes + 20_000  # once for all three
    with pytest.raises(ProgramError, match="the file has 3 functions; choose one of add, add_one, show"):
        program()


def test_a_model_and_a_method_are_exported(tmp_path):
    model = rg.jit(nn.Sequential(nn.Linear(3, 4), nn.Tanh()))
    x = np.ones((2, 3), np.float32)
    program = exported(tmp_path, model, x)
    assert bits(program(x)) == bits(model(x))
    assert [v.name for v in program.functions["run"].inputs] == ["input"]


def test_a_failed_check_is_an_error_and_changes_no_state(tmp_path):
    table, count = rg.tensor(np.arange(10.0)), rg.tensor(np.zeros(1))

    @rg.jit
    def look_up(places):
        count[...] = count + 1
        return rg.take(table, places, axis=0), count

    program = exported(tmp_path, look_up, np.array([1, 2]))
    with pytest.raises(ProgramError, match="look_up: an index was negative or too great"):
        program(np.array([1, 10]))
    assert program(np.array([1, 9]))[1] == 1


def _library(x):
    return rg.linalg.svd(x)[1]


def _library_in_a_loop(x):
    return rg.scan(lambda c, r: (c + rg.linalg.eigh(rg.outer(r, r))[0].sum(), c), x[0, 0], x)[0]


def _writing(x):
    x += 1
    return x


LEFT = nn.Linear(3, 1)


def _adding_gradients(x):
    LEFT(x).sum().backward()


REFUSED = {
    "a library call": (_library, "no machine code here for svd"), "a library call in a loop": (_library_in_a_loop, "no machine code here for eigh"),
    "unsigned integers": (lambda x: x.astype(rg.uint8) * 3, "no machine code here for .*multiply"),
    "a written argument": (_writing, "it writes to its arguments"), "a number": (lambda x: (x, 3), "it returns 3, which is no tensor"),
    "gradients that add up": (_adding_gradients, "depends on gradients that it finds in tensors from outside; clear them"),
    "a switched leaf": (lambda x: LEFT.requires_grad_(False)(x), "changes whether tensors from outside require gradients"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_in_a_file_is_refused_before_anything_is_written(what, tmp_path):
    function, told = REFUSED[what]
    with pytest.raises(ProgramError, match=told):
        rg.jit(function).export(tmp_path / "program.rgx", np.ones((3, 3), np.float32))
    LEFT.requires_grad_()
    assert list(tmp_path.iterdir()) == []


def test_wrong_arguments_are_named(tmp_path):
    f = rg.jit(lambda x: x + 1)
    with pytest.raises(ArgumentError, match=r"the target must be one of .*, got 'pentium'"):
        f.export(tmp_path / "a.rgx", np.ones(3), target="pentium")
    with pytest.raises(ArgumentError, match=r"a\.h is the name of the header"):
        f.export(tmp_path / "a.h", np.ones(3))
    with pytest.raises(ProgramError, match="cannot be written: No such file"):
        f.export(tmp_path / "nowhere" / "a.rgx", np.ones(3))
    with pytest.raises(ArgumentError, match=r"f is a function; write rg\.jit\(f\)"):
        deploy.export(tmp_path / "a.rgx", {"f": (test_wrong_arguments_are_named, ())})
    with pytest.raises(ArgumentError, match="C can have no function called 'a b'"):
        deploy.export(tmp_path / "a.rgx", {"a b": (f, (np.ones(3),))})
    with pytest.raises(TraceError, match="cannot be exported while another one is traced"):
        rg.jit(lambda x: f.export(tmp_path / "a.rgx", x))(np.ones(3))
    whole = rg.tensor(np.ones(6))
    half = whole[:3]
    writes, reads = rg.jit(lambda: whole.fill_(2)), rg.jit(lambda: half + 0)
    with pytest.raises(ProgramError, match="shares memory with another"):
        deploy.export(tmp_path / "a.rgx", {"writes": (writes, ()), "reads": (reads, ())})
    assert list(tmp_path.iterdir()) == []


def test_without_the_compiler_the_error_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("RETROGRADE_COMPILER", "reference")
    with pytest.raises(ProgramError, match="only compiled functions can be exported"):
        rg.jit(lambda x: x + 1).export(tmp_path / "a.rgx", np.ones(3))
