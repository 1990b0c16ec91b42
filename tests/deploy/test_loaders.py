"""The loaders of exported programs, in Python and in C: the same numbers to the bit, and what is no whole program for this machine is
refused by both, before any of it runs.
"""

import gc
import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")

from exported_functions import KERNELS, argument, bits, training
from loader_in_c import COMPILER, SOURCE, Loader

import retrograde as rg
from retrograde import deploy, runtime
from retrograde.errors import ProgramError
from retrograde.runtime import DIGEST, HEAD, SECTIONS

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or os.environ.get("RETROGRADE_COMPILER") == "reference", reason="programs are exported by compiled code, for Linux")
needs_c = pytest.mark.skipif(COMPILER is None, reason="needs a C compiler called cc")


@pytest.fixture(scope="module")
def in_c(tmp_path_factory):
    return Loader(tmp_path_factory.mktemp("loader"))


@pytest.fixture(scope="module")
def loaders(request):
    """The loaders that there are here: functions of a path."""
    return {"python": runtime.load, **({} if COMPILER is None else {"c": request.getfixturevalue("in_c").open})}


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """A file of a function with weights, constants, state, a loop, and results that are copied."""
    rg.manual_seed(0)
    count, weight = rg.tensor(np.zeros(3)), rg.tensor(np.random.default_rng(0).normal(size=(3, 3)))

    @rg.jit
    def example(x, places):
        count[...] = count + 1
        carried = rg.scan(lambda c, r: (rg.tanh(weight @ c + r), c.sum()), x[0], x)
        return carried, count, rg.take(x, places, axis=0)

    path = tmp_path_factory.mktemp("files") / "example.rgx"
    example.export(path, np.ones((5, 3)), np.array([0, 1]))
    return path


def signed(content):
    """A file with a digest that is right."""
    return bytes(content[:-DIGEST]) + hashlib.sha256(content[:-DIGEST]).digest()


def refusals(loaders, path, content):
    """What each loader says of a file with this content, None if it loads it."""
    path.write_bytes(content)
    found = {}
    for name, load in loaders.items():
        try:
            program = load(path)
        except ProgramError as error:
            found[name] = str(error)
        else:
            found[name] = None
            if name == "c":
                program.close()
    return found


@needs_c
@pytest.mark.parametrize("name", [name for name in KERNELS if name in ("loop", "matmul", "linalg", "fourier", "scan")])
def test_the_loader_in_c_gives_the_same_numbers_to_the_bit(name, in_c, tmp_path):
    f, x = rg.jit(KERNELS[name][0]), argument(name)
    f.export(tmp_path / "a.rgx", x)
    program = in_c.open(tmp_path / "a.rgx")
    assert bits(program(x)) == bits(f(x))
    program.close()


@needs_c
def test_the_loader_in_c_carries_state_on_and_takes_it_back(in_c, tmp_path):
    step, arguments = training()
    step.export(tmp_path / "a.rgx", *arguments)
    program, wanted = in_c.open(tmp_path / "a.rgx"), [bits(step(*arguments)) for _ in range(4)]
    assert [bits(program(*arguments)) for _ in range(4)] == wanted
    program.reset()
    assert bits(program(*arguments)) == wanted[0]
    program.close()


@needs_c
def test_both_loaders_describe_a_function_alike(file, in_c, tmp_path):
    one, other = runtime.load(file).functions["example"], in_c.open(file)
    assert (one.inputs, one.outputs) == (other.values("input"), other.values("output"))
    assert [value.name for value in one.inputs] == ["x", "places"]
    assert other.number("example") == 0 and other.number("nothing") == -1
    other.close()
    deploy.export(tmp_path / "two.rgx", {"double": (rg.jit(lambda x: 2 * x), [np.ones(3)]), "halve": (rg.jit(lambda x: x / 2), [np.ones(3)])})
    two = in_c.open(tmp_path / "two.rgx")
    assert two(np.ones(3), function=two.number("halve")).tolist() == [0.5, 0.5, 0.5]
    two.close()


@needs_c
def test_the_loader_in_c_refuses_arrays_that_it_cannot_take(file, in_c):
    program = in_c.open(file)
    x, places = np.ones((5, 3)), np.array([0, 1])
    outputs = [np.empty(value.shape, value.numpy) for value in program.values("output")]
    ins, outs = [x.ctypes.data, places.ctypes.data], [a.ctypes.data for a in outputs]
    assert program.result(ins, outs) == 0
    assert program.result([0, ins[1]], outs) == program.result([ins[0] + 1, ins[1]], outs) == 2
    assert program.result(ins, [outs[0], outs[0], *outs[2:]]) == program.result(ins, [ins[0], *outs[1:]]) == 2
    assert program.result(ins, outs, function=1) == program.result(ins, outs, function=-1) == 2
    with pytest.raises(ProgramError, match="an index was negative or too great"):
        program(x, np.array([0, 5]))
    program.close()


def test_the_loader_in_python_refuses_arrays_that_it_cannot_take(file):
    program = runtime.load(file)
    with pytest.raises(ProgramError, match=re.escape("example takes x as float64[5, 3], got float32[5, 3]")):
        program(np.ones((5, 3), np.float32), np.array([0, 1]))
    with pytest.raises(ProgramError, match=re.escape("example takes places as int64[2], got int64[3]")):
        program(np.ones((5, 3)), np.array([0, 1, 2]))
    with pytest.raises(ProgramError, match=re.escape("example takes 2 arrays (x, places), got 1")):
        program(np.ones((5, 3)))
    x = np.arange(30.0).reshape(3, 10)[:, ::2].T
    assert bits(program(x, np.array([0, 1])))[0] == bits(runtime.load(file)(x.copy(), np.array([0, 1])))[0]


def test_a_function_outlives_the_program_that_it_is_of(file):
    """The memory of its code is mapped as long as it is there."""
    function, kept = runtime.load(file).functions["example"], runtime.load(file)
    gc.collect()
    block = function._memory._block  # what a call jumps into, and would be gone
    assert len(block) > 0
    assert bits(function(np.ones((5, 3)), np.array([0, 1]))) == bits(kept(np.ones((5, 3)), np.array([0, 1])))


def test_a_flipped_bit_anywhere_is_found(file, loaders, tmp_path):
    content = bytearray(file.read_bytes())
    rng = np.random.default_rng(0)
    for place in [*range(HEAD), *rng.integers(HEAD, len(content), 150), *range(len(content) - DIGEST, len(content))]:
        content[place] ^= (bit := 1 << int(rng.integers(8)))
        found = refusals(loaders, tmp_path / "a.rgx", content)
        assert all(found.values()), (place, found)
        content[place] ^= bit
    assert not any(refusals(loaders, tmp_path / "a.rgx", content).values())


def test_a_file_that_is_cut_or_longer_is_refused(file, loaders, tmp_path):
    content = file.read_bytes()
    for size in [0, 1, 8, 24, HEAD, HEAD + DIGEST - 1, HEAD + DIGEST, *range(300, len(content), 997), len(content) - 1]:
        assert all(refusals(loaders, tmp_path / "a.rgx", content[:size]).values())
    found = refusals(loaders, tmp_path / "a.rgx", content + b"\0")
    assert all(f"it says that it has {len(content)} bytes, and has {len(content) + 1}" in told for told in found.values())


@pytest.mark.parametrize(("place", "number", "told"), [
    (8, 2, "has version 2 of the format, and this loader reads version 1; export the function again"),
    (12, 40, "is for .* 40, and this is"), (0, 0, "does not begin as an exported program does")])
def test_another_version_and_another_machine_are_named(place, number, told, file, loaders, tmp_path):
    content = bytearray(file.read_bytes())
    content[place : place + 4] = number.to_bytes(4, "little")
    assert all(re.search(told, said) for said in refusals(loaders, tmp_path / "a.rgx", signed(content)).values())


def test_code_for_the_other_instruction_set_is_refused(loaders, tmp_path):
    other = "x86-64-v2" if os.uname().machine == "aarch64" else "aarch64"
    rg.jit(lambda x: rg.sin(x)).export(tmp_path / "a.rgx", np.ones(3), target=other)
    found = refusals(loaders, tmp_path / "b.rgx", (tmp_path / "a.rgx").read_bytes())
    assert all(" is for " in told and "this machine" in told for told in found.values())


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="asks a processor of x86-64")
@pytest.mark.parametrize("asked", [(0, 0x80000001, 0, 2, 1 << 11 | 1 << 16), (0, 0x40000, 0, 0, 1), (1, 0, 0, 0, 1 << 30), (2, 16, 0, 0, 1 << 31)])
def test_a_processor_that_lacks_something_is_refused_by_name(asked, file, loaders, tmp_path):
    """Bits that no processor of today has all of, a leaf that there is not, a state that no system keeps, and a question for ARM."""
    content = bytearray(file.read_bytes())
    place = int.from_bytes(content[8 * (5 + 2 * 5) :][:8], "little")
    content[place : place + 40] = np.array(asked, "<i8").tobytes()
    found = refusals(loaders, tmp_path / "a.rgx", signed(content))
    if sys.platform == "linux" and asked[0] == 2:
        found.pop("python")  # it asks Linux, which has a word of that number here too
    assert all(re.search(r"is for .*, and this processor lacks \S+; export the function for an older target", told) for told in found.values())


def test_no_damage_that_has_a_right_digest_makes_a_loader_fail_otherwise(file, loaders, tmp_path):
    """Numbers of the head and of the tables are replaced: what a loader reads must be in the file, whoever has signed it."""
    content, rng = file.read_bytes(), np.random.default_rng(0)
    head = np.frombuffer(content[:HEAD], "<i8").tolist()
    tables = [place for number, name in enumerate(SECTIONS) if name not in ("text", "code", "data")
              for place in range(head[5 + 2 * number], head[5 + 2 * number] + SECTIONS[name] * head[6 + 2 * number], 8)]
    odd = [-1, -(2**63), 2**63 - 1, 2**62, 2**61 + 5, len(content), 7, 1, 0]
    refused = 0
    for _ in range(400):
        made = bytearray(content)
        for place in rng.choice([*range(24, HEAD, 8), *tables, *tables], int(rng.integers(1, 3))):
            old = int.from_bytes(made[place : place + 8], "little", signed=True)
            number = odd[rng.integers(len(odd))] if rng.integers(2) else min(old + int(rng.integers(-9, 10)), 2**63 - 1)
            made[place : place + 8] = number.to_bytes(8, "little", signed=True)
        found = refusals(loaders, tmp_path / "a.rgx", signed(made))
        assert len({told is None for told in found.values()}) == 1, found
        refused += all(found.values())
    assert refused > 150


def test_what_is_no_ordinary_file_is_refused(loaders, tmp_path):
    os.mkfifo(tmp_path / "fifo")
    for path, told in ((tmp_path, "directory|ordinary"), (tmp_path / "fifo", "no ordinary file"), (tmp_path / "none", "No such file")):
        for load in loaders.values():
            with pytest.raises(ProgramError, match=told):
                load(path)


@needs_c
def test_a_header_takes_its_own_file_alone(file, in_c, tmp_path):
    digest = file.read_bytes()[-DIGEST:]
    in_c.open(file, digest).close()
    told = file.with_suffix(".h").read_text()
    assert ", ".join(f"0x{byte:02x}" for byte in digest[:16]) in told
    with pytest.raises(ProgramError, match="another file than the one that the header was written with"):
        in_c.open(file, bytes(DIGEST))


@needs_c
def test_the_loader_in_c_is_small_and_its_header_is_c_plus_plus_too(file, tmp_path):
    subprocess.run([COMPILER, "-std=c99", "-Os", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", "-c", SOURCE, "-o", tmp_path / "a.o"],
                   check=True)
    assert (tmp_path / "a.o").stat().st_size < 50_000
    if shutil.which("c++") is not None:
        (tmp_path / "a.cpp").write_text(f'#include "{file.with_suffix(".h")}"\nint main() {{ return sizeof(example_digest) != 32; }}\n')
        subprocess.run(["c++", "-Wall", "-Wextra", "-Werror", f"-I{SOURCE.parent}", "-fsyntax-only", tmp_path / "a.cpp"], check=True)


@needs_c
def test_the_loader_in_c_does_nothing_undefined(file, tmp_path):
    """With the sanitizers of the compiler, on the file and on damaged ones."""
    (tmp_path / "main.c").write_text(f"""
#include <stdio.h>
#include "{file.with_suffix('.h')}"
int main(int count, char **paths)
{{
    static double x[15], carried[3], sums[5], counted[3], taken[6];
    static int64_t places[2] = {{1, 4}};
    char message[200];
    int loaded = 0;
    for (int i = 1; i < count; i++) {{
        retrograde_program *program = retrograde_open(paths[i], NULL, message, sizeof message);
        if (program != NULL && i == 1)
            loaded += example_example(program, x, places, carried, sums, counted, taken) == 0 && counted[0] == 1;
        retrograde_close(program);
    }}
    return !loaded;
}}
""")
    build = [COMPILER, "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", tmp_path / "main.c", SOURCE, f"-I{SOURCE.parent}", "-lm",
             "-o", tmp_path / "main"]
    if subprocess.run(build, capture_output=True, check=False).returncode:
        pytest.skip("the C compiler has no sanitizers")
    content, rng, paths = file.read_bytes(), np.random.default_rng(1), [file]
    for number in range(60):
        made = bytearray(content)
        place = 8 * int(rng.integers(3, len(content) // 8 - 4)) if number % 2 else 8 * int(rng.integers(3, HEAD // 8))
        made[place : place + 8] = (2**63 - 1, 2**40, 2**64 - 1, 2**63)[rng.integers(4)].to_bytes(8, "little")
        paths.append(tmp_path / f"{number}.rgx")
        paths[-1].write_bytes(signed(made))
    done = subprocess.run([tmp_path / "main", *paths], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@needs_c
def test_the_program_in_c_of_the_page_runs(tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "deploy.md").read_text()
    (tmp_path / "main.c").write_text(re.search(r"```c\n(.*?)```", page, re.DOTALL)[1])
    weights = rg.tensor(np.ones((4, 3), np.float32))

    @rg.jit
    def predict(x):
        return x @ weights

    predict.export(tmp_path / "model.rgx", np.ones((2, 4), np.float32))
    subprocess.run([COMPILER, "-Wall", "-Werror", "main.c", SOURCE, f"-I{SOURCE.parent}", "-lm"], cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "a.out"], cwd=tmp_path, check=False).returncode == 0


ALONE = """
import sys
import numpy
import runtime
program = runtime.load(sys.argv[1])
print([float(a.sum()) for a in program(numpy.ones((5, 3)), numpy.array([0, 1]))])
try:
    runtime.load("runtime.py")
except runtime.ProgramError as error:
    print(type(error).__mro__[1].__name__)
assert not {"retrograde", "llvmlite", "ml_dtypes"} & {*sys.modules}
"""


def test_the_loader_in_python_runs_by_itself(file, tmp_path):
    shutil.copy(Path(runtime.__file__), tmp_path / "runtime.py")
    (tmp_path / "main.py").write_text(ALONE)
    done = subprocess.run([sys.executable, "-W", "error", "main.py", file], cwd=tmp_path, capture_output=True, text=True, check=False,
                          env={**os.environ, "PYTHONPATH": ""})
    assert done.returncode == 0, done.stderr
    sums, error = done.stdout.splitlines()
    assert error == "ValueError"
    assert sums == str([float(a.sum()) for a in runtime.load(file)(np.ones((5, 3)), np.array([0, 1]))])
