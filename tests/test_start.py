"""The start: what `import retrograde` loads, and that all it offers is there when it is asked for."""

import json
import subprocess
import sys

import pytest

import retrograde as rg

#: What many programs do without.
HEAVY = ("llvmlite", "scipy", "safetensors", "httpx", "pydantic", "rich", "matplotlib", "sklearn", "asyncio",
         "concurrent.futures", "urllib", "uuid", "numpy.polynomial", "retrograde.compiler", "retrograde.nn", "retrograde.optim",
         "retrograde.text", "retrograde.numpy", "retrograde.scipy", "retrograde.io", "retrograde.transforms.jit")


def loaded_by(statement):
    """The modules that a new process loads for a statement, NumPy's and what comes with them aside."""
    script = f"import json, sys, numpy; before = {{*sys.modules}}; {statement}; print(json.dumps([*{{*sys.modules}} - before]))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


def test_import_loads_nothing_that_many_do_without():
    loaded = loaded_by("import retrograde")
    assert [name for name in HEAVY if name in loaded] == []
    assert len([name for name in loaded if name.startswith("retrograde")]) <= 162


def test_a_model_needs_no_compiler():
    loaded = loaded_by("import retrograde as rg; rg.optim.Adam(rg.nn.Linear(2, 2).parameters())")
    assert not loaded & {"llvmlite", "retrograde.compiler.native", "retrograde.compiler.pipeline"}


#: A step of training, compiled for a backend that takes no time to compile.
STEP = """
import os; os.environ["RETROGRADE_COMPILER"] = "reference"
import retrograde as rg
from retrograde import nn, optim
model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Dropout(0.5), nn.Linear(4, 2))
optimizer = optim.Adam(model.parameters())
@rg.jit
def step(x, y):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
step(rg.tensor(numpy.ones((5, 3))), rg.tensor([0, 1, 0, 1, 1]))
rg.segment_sum(rg.tensor([1.0, 2.0, 3.0]), rg.tensor([0, 1, 0]), 2)
rg.jit(rg.grad(lambda x: rg.einsum("ij,kj->ik", x, x).sum() + rg.prod(x)))(rg.tensor(numpy.ones((2, 3))))
"""


def test_a_step_of_training_asks_for_no_function_of_numpys_by_its_protocol():
    assert not [name for name in loaded_by(f"exec({STEP!r})") if name.startswith("retrograde.tensor.counterparts")]


def test_all_that_is_listed_is_there():
    names = dir(rg)
    assert {"nn", "optim", "text", "jit", "save", "load", "Parameter", "finfo", "sin", "__version__"} <= {*names}
    assert [name for name in names if not hasattr(rg, name)] == []


def test_what_has_a_function_of_its_own_name_is_a_module_from_the_first_time_on():
    code = "import types, retrograde as rg; assert isinstance(rg.serve, types.ModuleType) and rg.serve is rg.serve and rg.serve.application"
    pytest.importorskip("starlette", reason="comes with the extra `serve`")
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_is_loaded_late_is_the_same_each_time():
    assert rg.nn is sys.modules["retrograde.nn"] and rg.Parameter is rg.nn.Parameter
    assert rg.jit is rg.jit and rg.io.save is rg.save
    with pytest.raises(AttributeError, match="no attribute 'nothing_like_it'"):
        _ = rg.nothing_like_it
