"""Code is generated for any target, and a setting names the one of a process."""

import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")

import emulated

import retrograde as rg
from retrograde.compiler import target
from retrograde.compiler.backends.cpu import host, machine
from retrograde.compiler.backends.cpu.backend import BACKEND
from retrograde.compiler.backends.cpu.cpuid import identity
from retrograde.compiler.backends.cpu.engine import assembly, object_code
from retrograde.compiler.backends.cpu.image import IS_POSSIBLE, linked
from retrograde.compiler.backends.cpu.machine import name_for
from retrograde.compiler.pipeline import planned
from retrograde.compiler.run.program import Graph
from retrograde.compiler.target import NAMES, lacking, named
from retrograde.compiler.trace.outcome import outcome_of
from retrograde.core.symbol import Symbol
from retrograde.errors import ArgumentError
from retrograde.ops.elementary.conversions import astype
from retrograde.ops.random.draws import random_normal


def _attended(x):
    return rg.nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True)


#: A function for each kernel that is written for vectors of a target's length.
KERNELS = {
    "loop": (lambda x: rg.sin(x) / (1 + rg.exp(x)), (70, 33)), "reduction": (lambda x: rg.softmax(x), (70, 33)),
    "matmul": (lambda x: x @ x, (130, 130)), "attention": (_attended, (1, 2, 70, 16)), "sort": (lambda x: rg.topk(x, 3)[0], (70, 33)),
    "convolution": (lambda x: rg.conv2d(x, x[:, :, :3, :3]), (2, 2, 9, 9)), "pooling": (lambda x: rg.max_pool2d(x, 2), (2, 2, 8, 8)),
    "linalg": (lambda x: rg.linalg.solve(x, x), (3, 40, 40)), "running": (lambda x: rg.cumsum(x, axis=0), (70, 33)),
    "fourier": (lambda x: rg.real(rg.fft.fft(x)), (70, 32)), "median": (lambda x: rg.median(x, axis=1), (70, 33)),
    "scatter": (lambda x: rg.segment_sum(x, np.arange(70) % 7, 7), (70, 33)),
    "random": (lambda x: random_normal(astype(x, np.int64), (1000,)), (2,)), "scan": (lambda x: rg.scan(lambda c, r: (c + r,) * 2, x[0], x)[1], (70, 33)),
}


def units(function, shape, dtype, target):
    """The units of the program of a function for a target, which is not run."""
    leaf = Symbol(None, (), shape, np.dtype(dtype))
    found = outcome_of(function, [leaf])
    parts = BACKEND.written(planned(Graph([leaf], [], [found], [], [])), target)
    return {unit.name: unit for part in parts if hasattr(part, "units") for unit in part.units}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kernel", KERNELS)
def test_each_kernel_is_compiled_for_each_target(kernel, name):
    target = named(name)
    for dtype in ("float32", "float64"):
        found = units(*KERNELS[kernel], dtype, target)
        assert found
        for unit in found.values():
            code = object_code(unit.text, target, unit.is_final)
            assert int.from_bytes(code[18:20], "little") == {"x86_64": 62, "aarch64": 183}[target.machine]


@pytest.mark.parametrize(("name", "registers", "others"), [
    ("x86-64-v2", "%xmm", ("%ymm", "%zmm", "vfmadd")), ("x86-64-v3", "%ymm", ("%zmm",)), ("x86-64-v4", "%zmm", ()),
    ("aarch64", ".4s", ("%xmm",))])
def test_code_uses_the_vectors_of_its_target_and_no_others(name, registers, others):
    found = units(*KERNELS["matmul"], "float32", named(name))
    text = "\n".join([assembly(unit.text, unit.target, unit.is_final) for unit in found.values()])
    assert registers in text
    assert [word for word in others if word in text] == []
    assert ("vfmadd" in text) == (name in ("x86-64-v3", "x86-64-v4"))


def test_units_of_different_targets_have_different_names():
    names = [set(units(*KERNELS["loop"], "float32", named(name))) for name in NAMES]
    assert len(set.union(*names)) == sum(map(len, names))
    small = named("x86-64-v3", caches=(1024, 2048, 4096))
    assert units(*KERNELS["loop"], "float32", small).keys().isdisjoint(units(*KERNELS["loop"], "float32", named("x86-64-v3")))


def test_what_is_told_to_llvm_is_part_of_each_name():
    target = named("x86-64-v3")
    others = [target._replace(**{field: "other" if isinstance(value, str) else value + 1}) for field, value in target._asdict().items()]
    assert len({name_for("key", other) for other in (target, *others)}) == 1 + len(others)


def test_machine_code_of_another_machine_is_no_image():
    (unit,) = units(*KERNELS["loop"], "float32", named("aarch64")).values()
    assert linked(object_code(unit.text, unit.target, unit.is_final)) is None


def test_the_target_of_a_name_is_the_same_on_all_processors():
    one = named("x86-64-v3", caches=(1024, 2048, 4096))._replace(name="haswell", features="+avx,+avx2,+sse4.2,+cx16,+popcnt,+sse3,+sse4.1,+ssse3")
    other = named("x86-64-v4")._replace(name="zen", features=one.features + ",+avx512f")
    assert host.chosen("x86-64-v2", one) == host.chosen("x86-64-v2", other)


def test_a_target_is_described_by_the_features_of_its_own_architecture():
    described = target.describe("x", "x86_64", {"fma": True, "avx": False}, (1, 2, 3))
    assert (described.features, described.vector_bytes, described.has_fma) == ("-avx,+fma", 16, False)
    wide = {"avx512f": True, "avx512vl": True, "avx": True}
    assert [target.describe("x", machine, wide, (1, 2, 3)).vector_bytes for machine in ("x86_64", "aarch64", "riscv64")] == [64, 16, 16]
    assert target.describe("x", "x86_64", {"avx512f": True, "avx": True}, (1, 2, 3)).vector_bytes == 32


def test_what_a_processor_must_have_is_told_by_the_features_or_else_by_the_name():
    assert target.required(target.describe("x", "x86_64", {"fma": True, "avx": False}, (1, 2, 3))) == ("fma",)
    for name in NAMES:
        assert target.required(named(name)._replace(features="")) == target._NAMED[name][2]


def test_a_target_by_its_name_has_the_instructions_that_it_asks_for():
    asked = {name: (found.rounds, found.converts_half, found.has_avx2, found.has_bfloat16) for name in NAMES if (found := named(name))}
    assert asked == {"x86-64": (False, False, False, False), "x86-64-v2": (True, False, False, False),
                     "x86-64-v3": (True, True, True, False), "x86-64-v4": (True, True, False, False), "aarch64": (True, True, False, False)}
    able = named("x86-64-v4")._replace(features="+avx512bf16,-f16c,-sse4.1")
    assert (able.rounds, able.converts_half, able.has_bfloat16) == (False, False, True)


def test_an_unknown_target_and_one_that_cannot_run_here_are_errors_that_say_so():
    found = named("x86-64-v2")
    assert host.chosen("", found) is found
    assert host.chosen("x86-64", found).name == "x86-64"
    with pytest.raises(ArgumentError, match=r"RETROGRADE_TARGET: the target must be one of x86-64, .*aarch64, got 'x86-64-v9'"):
        host.chosen("x86-64-v9", found)
    able = found._replace(name="zen", features="+avx,+avx2,-fma,+sse4.2")
    with pytest.raises(ArgumentError, match=r"RETROGRADE_TARGET asks for x86-64-v3, and this processor, zen, lacks .*\bfma\b"):
        host.chosen("x86-64-v3", able)
    with pytest.raises(ArgumentError, match="asks for aarch64, and this processor, zen, lacks aarch64"):
        host.chosen("aarch64", able)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A cache of its own."""
    monkeypatch.setenv("RETROGRADE_CACHE_DIR", str(tmp_path))
    return tmp_path


def test_what_llvm_says_is_kept_for_the_processor_that_it_was_said_of(folder, monkeypatch):
    first = host.native()
    assert len(list(folder.iterdir())) == 1
    monkeypatch.setattr(host, "import_module", None)  # LLVM is not asked again
    assert host.native() == first
    assert [type(fact) for fact in host.native()] == [type(fact) for fact in first]
    monkeypatch.undo()
    monkeypatch.setenv("RETROGRADE_CACHE_DIR", str(folder))
    monkeypatch.setattr(host, "processor", lambda: "another one")
    monkeypatch.setattr("llvmlite.binding.get_host_cpu_name", lambda: "another")
    assert host.native().name == "another"


@pytest.mark.skipif(not IS_POSSIBLE, reason="CPUID is an instruction of x86-64")
def test_the_processor_itself_is_asked_and_says_the_same_each_time(monkeypatch):
    said = identity()
    assert said == identity() == machine.processor()
    vendor = b"".join([said[i].to_bytes(4, "little") for i in (1, 3, 2)])
    assert vendor.isascii()
    assert vendor.decode().isprintable()
    monkeypatch.setattr(machine, "_CPUINFO", "/nowhere")
    assert machine.processor() == said


def _program(function, shape, dtype, target):
    """(leaf, the node of the result, the launches) of the program of a function for a target."""
    leaf = Symbol(None, (), shape, np.dtype(dtype))
    draft = planned(Graph([leaf], [], [outcome_of(function, [leaf])], [], []))
    return leaf, draft.outputs[0], BACKEND.written(draft, target)


@pytest.mark.skipif(shutil.which("qemu-aarch64") is None, reason="needs qemu-aarch64, of qemu-user")
@pytest.mark.parametrize("kernel", ["loop", "reduction", "matmul", "running", "sort", "median", "convolution", "linalg", "fourier"])
def test_code_for_aarch64_computes_the_same_under_an_emulator(kernel, tmp_path):
    function, shape = KERNELS[kernel]
    target = named("aarch64")
    for dtype in ("float32", "float64"):
        x = np.random.default_rng(0).uniform(-1, 1, shape).astype(dtype)
        leaf, result, parts = _program(function, shape, dtype, target)
        found, = emulated.run(parts, {leaf: x}, [result], target, tmp_path, "qemu-aarch64")
        np.testing.assert_allclose(found, function(rg.asarray(x)), rtol=1e-4, atol=1e-4 if dtype == "float32" else 1e-9)


SCRIPT = """
import json
import retrograde as rg
from retrograde.compiler.backends.cpu import host
from retrograde.compiler.backends.cpu.host import target
f = rg.jit(lambda x: (rg.sin(x @ x) * 0.5, rg.softmax(x)))
x = rg.arange(4900.0).reshape(70, 70) / 5000
found = [z.numpy().astype("float64").tolist() for z in f(x)]
print(json.dumps([target().name, any("zmm" in kernel.assembly for kernel in f.explain().kernels), found]))
"""


def _run(name, *command, folder):
    environment = {**os.environ, "RETROGRADE_TARGET": name, "RETROGRADE_CACHE_DIR": str(folder), "PYTHONPATH": os.pathsep.join(sys.path)}
    environment.pop("RETROGRADE_COMPILER", None)
    return subprocess.run([*command, sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False, env=environment)


def _runnable():
    native = host.native()
    features = {word[1:]: word[0] == "+" for word in native.features.split(",") if word}
    return [name for name in NAMES if not lacking(name, native.machine, features)]


def test_the_setting_names_the_target_of_a_process_and_shares_no_code_with_others(tmp_path):
    results = {}
    for name in ("", *_runnable()[-2:]):
        done = _run(name, folder=tmp_path)
        assert done.returncode == 0, done.stderr
        told, has_widest, results[name] = json.loads(done.stdout)
        assert told == (name or host.native().name)
        assert not has_widest or name in ("", "x86-64-v4")
    for found in results.values():
        for z, wanted in zip(found, results[""], strict=True):
            np.testing.assert_allclose(z, wanted, rtol=1e-5, atol=2e-5)
    done = _run("pentium", folder=tmp_path)
    assert "ArgumentError: the variable RETROGRADE_TARGET: the target must be one of x86-64," in done.stderr


@pytest.mark.skipif(shutil.which("qemu-x86_64") is None or not IS_POSSIBLE, reason="needs qemu-x86_64, of qemu-user")
def test_a_process_on_another_processor_takes_no_code_that_this_one_has_left_in_the_cache(tmp_path):
    """Under the emulator /proc/cpuinfo is that of the machine below, and CPUID that of a processor without AVX."""
    here = _run("", folder=tmp_path)
    assert here.returncode == 0, here.stderr
    there = _run("", "qemu-x86_64", "-cpu", "Nehalem-v1", folder=tmp_path)
    assert there.returncode == 0, there.stderr
    (_, _, wanted), (name, has_widest, found) = json.loads(here.stdout), json.loads(there.stdout)
    assert (name, has_widest) == ("nehalem", False)
    for z, right in zip(found, wanted, strict=True):
        np.testing.assert_allclose(z, right, rtol=1e-5, atol=2e-5)
    lacking_avx = _run("x86-64-v3", "qemu-x86_64", "-cpu", "Nehalem-v1", folder=tmp_path)
    assert "asks for x86-64-v3, and this processor, nehalem, lacks avx, avx2" in lacking_avx.stderr


def caches_of(monkeypatch, folder, *caches):
    """The cache sizes that are found where the system tells of these (level, type, size)."""
    for number, texts in enumerate(caches):
        path = folder / f"index{number}"
        path.mkdir()
        for name, text in zip(("level", "type", "size"), texts, strict=True):
            (path / name).write_text(f"{text}\n")
    monkeypatch.setattr(target, "_CACHES", folder)
    return target.cache_sizes()


@pytest.mark.parametrize(("caches", "wanted"), [
    ([("1", "Data", "48K"), ("1", "Instruction", "32K"), ("2", "Unified", "2M"), ("3", "Unified", "1G")], (48 << 10, 2 << 20, 1 << 30)),
    ([("1", "Instruction", "64K"), ("2", "Unified", "65536")], (target.USUAL_CACHES[0], 65536, target.USUAL_CACHES[2])),
    ([("1", "Data", "48K"), ("2", "Unified", "256M")], (48 << 10, 256 << 20, 256 << 20)),
    ([("1", "Data", "much"), ("x", "Data", "7K"), ("2", "Data", "")], target.USUAL_CACHES),
    ([], target.USUAL_CACHES),
])
def test_sizes_of_caches_are_those_that_the_system_tells_and_else_usual_ones(monkeypatch, tmp_path, caches, wanted):
    assert caches_of(monkeypatch, tmp_path, *caches) == wanted


def test_a_system_that_tells_nothing_has_usual_caches(monkeypatch, tmp_path):
    assert caches_of(monkeypatch, tmp_path / "missing") == target.USUAL_CACHES
    (tmp_path / "index0").mkdir()
    assert caches_of(monkeypatch, tmp_path) == target.USUAL_CACHES
