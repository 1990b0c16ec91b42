"""Programs on disk: what is found runs as what was stored, and nothing is taken for another program or run when damaged."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from stored_cases import CASES, NUMBERS, TABLE, trained

import retrograde as rg
from retrograde.compiler.backends.cpu.cache import Cache
from retrograde.compiler.backends.cpu.image import IS_POSSIBLE
from retrograde.compiler.graph.keys import key_of
from retrograde.compiler.run.program import Graph
from retrograde.errors import OutOfRangeError

pytest.importorskip("llvmlite")
from retrograde.compiler.backends.cpu.build import BuiltProgram
from retrograde.compiler.backends.cpu.stored import UnplannedProgram
from retrograde.compiler.backends.cpu.units import library


@pytest.fixture
def store(tmp_path, monkeypatch):
    """The folder of a cache of its own for this process."""
    folder = tmp_path / "code"
    monkeypatch.setattr(library(), "store", Cache(str(folder)))
    return folder


def program(step):
    return step._last_step().program


@pytest.mark.parametrize("run", CASES.values(), ids=CASES)
def test_a_stored_program_gives_what_the_first_one_gave(run, store):
    first, step = run()
    assert type(program(step)) is BuiltProgram
    second, step = run()
    assert type(program(step)) is UnplannedProgram
    assert [x.tobytes() for x in first] == [x.tobytes() for x in second]
    assert [(x.shape, x.dtype) for x in first] == [(x.shape, x.dtype) for x in second]


def test_a_stored_program_still_checks_positions(store):
    for kind in (BuiltProgram, UnplannedProgram):
        step = rg.jit(lambda x, i: rg.take(x, i, axis=0))
        step(rg.tensor(NUMBERS), rg.tensor([1]))
        assert type(program(step)) is kind
        with pytest.raises(OutOfRangeError):
            step(rg.tensor(NUMBERS), rg.tensor([6]))


def test_a_stored_program_can_be_explained_and_profiled(store):
    (_, before), (_, after) = trained(), trained()
    assert type(program(after)) is UnplannedProgram
    assert str(after.explain()) == str(before.explain())
    x, y = rg.tensor(NUMBERS), rg.tensor(np.arange(6) % 3)
    assert all(kernel.seconds > 0 for kernel in after.profile(x, y, repeats=1).kernels)


def other_constant(x):
    return rg.sin(x) * 3


def other_number(x):
    return rg.sin(x) * 2.0000001


def other_op(x):
    return rg.cos(x) * 2


def other_order(x):
    return rg.sin(x * 2)


def other_type(x):
    return rg.sin(x) * np.float64(2)


@pytest.mark.parametrize("function", [other_constant, other_number, other_op, other_order, other_type], ids=lambda f: f.__name__)
def test_another_graph_is_another_program(function, store):
    rg.jit(lambda x: rg.sin(x) * 2)(rg.tensor(NUMBERS))
    step = rg.jit(function)
    np.testing.assert_allclose(step(rg.tensor(NUMBERS)).numpy(), function(NUMBERS), rtol=1e-5)
    assert type(program(step)) is BuiltProgram


def test_loops_of_other_bodies_lengths_and_directions_are_other_programs(store):
    def loop(factor, **options):
        return lambda x: rg.scan(lambda t, row: (t * factor + row, t), rg.zeros(5), x, **options)

    functions = [loop(0.5), loop(0.25), loop(0.5, reverse=True), lambda x: loop(0.5)(x[:3])]
    for function in functions:
        step = rg.jit(function)
        found = step(rg.tensor(NUMBERS))
        assert type(program(step)) is BuiltProgram
        for f, expected in zip(rg.tree.leaves(found), rg.tree.leaves(function(rg.tensor(NUMBERS))), strict=True):
            np.testing.assert_allclose(f.numpy(), expected.numpy(), rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.bool_, rg.bfloat16.type, np.dtype("float16"), "int8"])
def test_a_program_with_a_dtype_given_as_a_class_or_by_name_is_found_again(dtype, store):
    for kind in (BuiltProgram, UnplannedProgram):
        # A product of whole numbers is a library call, whose arguments are stored.
        step = rg.jit(lambda x: (x.astype(dtype), rg.astype(x, np.int64) @ rg.full((5, 2), 3, dtype=np.int64)))
        converted, product = step(rg.tensor(NUMBERS))
        assert type(program(step)) is kind
        np.testing.assert_array_equal(converted.numpy(), NUMBERS.astype(dtype))
        np.testing.assert_array_equal(product.numpy(), NUMBERS.astype(np.int64) @ np.full((5, 2), 3))


def test_programs_of_two_dtypes_given_as_classes_are_two(store):
    for dtype in (np.float32, np.float64, np.int32):
        step = rg.jit(lambda x: x.astype(dtype) + 1)
        assert step(rg.tensor(NUMBERS)).dtype == dtype
        assert type(program(step)) is BuiltProgram


def test_a_constant_of_other_values_is_another_program(store):
    for table in (TABLE, TABLE + 1):
        step = rg.jit(lambda x: x * table)
        np.testing.assert_array_equal(step(rg.ones(40, 50, dtype=rg.float64)).numpy(), table)
        assert type(program(step)) is BuiltProgram


def test_constants_that_repeat_one_number_take_no_time_to_tell_apart(store):
    for number in (0.5, 0.25):
        huge = np.broadcast_to(np.float32(number), (1 << 20, 1 << 20))
        step = rg.jit(lambda x: x * huge[:6, :5])
        np.testing.assert_array_equal(step(rg.tensor(NUMBERS)).numpy(), NUMBERS * np.float32(number))
        assert type(program(step)) is BuiltProgram
        assert key_of(Graph([], [], [huge], [], []))[1][0] is huge


def test_programs_for_another_number_of_threads_are_other_programs(store):
    threads = rg.get_num_threads()
    try:
        for count in (1, 2):
            rg.set_num_threads(count)
            step = rg.jit(lambda x: rg.sin(x))
            step(rg.tensor(NUMBERS))
            assert type(program(step)) is BuiltProgram
    finally:
        rg.set_num_threads(threads)


def test_ops_of_users_are_assembled_each_time(store):
    @rg.ops.elementwise(samples=rg.ops.uniform(-3, 3))
    def thrice(x, /):
        """Three times `x`."""
        return x * 3

    try:
        for _ in range(2):
            step = rg.jit(lambda x: thrice(x) + 1)
            np.testing.assert_allclose(step(rg.tensor(NUMBERS)).numpy(), NUMBERS * 3 + 1, rtol=1e-6)
            assert type(program(step)) is BuiltProgram
    finally:
        rg.ops.unregister("thrice")


reloads = pytest.mark.skipif(not IS_POSSIBLE, reason="object files are loaded once in a process")


@reloads
def test_damaged_entries_are_ignored_and_written_anew(store):
    library()._loaded.clear()  # as in another process
    expected, _ = trained()
    kept = {path: path.read_bytes() for path in store.iterdir()}
    for number, (path, data) in enumerate(kept.items()):
        middle = len(data) // 2
        path.write_bytes((data[:middle], data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :], b"")[number % 3])
    library()._loaded.clear()
    found, step = trained()
    assert type(program(step)) is BuiltProgram
    assert [x.tobytes() for x in found] == [x.tobytes() for x in expected]
    assert {path: path.read_bytes() for path in store.iterdir()} == kept


@reloads
def test_a_program_whose_units_are_gone_is_assembled_anew(store):
    library()._loaded.clear()
    expected, _ = trained()
    for path in sorted(store.iterdir(), key=lambda path: path.stat().st_mtime)[:3]:
        path.unlink()
    library()._loaded.clear()
    found, step = trained()
    assert type(program(step)) is BuiltProgram
    assert [x.tobytes() for x in found] == [x.tobytes() for x in expected]


SCRIPT = """
import json, sys
from stored_cases import CASES
found = [[x.tobytes().hex() for x in run()[0]] for run in CASES.values()]
loaded = [name for name in sys.modules if name.startswith(("llvmlite", "retrograde.compiler"))]
print(json.dumps([found, loaded]))
"""


def test_a_second_process_generates_no_code_and_does_not_load_what_would(tmp_path):
    (first, before), (second, after) = (run_script(SCRIPT, tmp_path) for _ in range(2))
    assert first == second
    assert "llvmlite" in before and "retrograde.compiler.backends.cpu.build" in before
    generating = [name for name in after if name.startswith(("llvmlite", "retrograde.compiler.backends.cpu.codegen"))]
    assert [name for name in generating if name not in ALLOWED] == []
    assert not {"retrograde.compiler.backends.cpu.build", "retrograde.compiler.pipeline", "retrograde.compiler.passes.lower"} & {*after}


#: The texts of the threads' own code and of fast calls, whose names are made of them.
ALLOWED = ("retrograde.compiler.backends.cpu.codegen", "retrograde.compiler.backends.cpu.codegen.eager",
           "retrograde.compiler.backends.cpu.codegen.eager.trampolines", "retrograde.compiler.backends.cpu.codegen.parallel", "retrograde.compiler.backends.cpu.codegen.interchange")


def run_script(script, folder):
    environment = {**os.environ, "RETROGRADE_VERIFY": "0", "RETROGRADE_CACHE_DIR": str(folder / "code"), "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
