"""What the package does when other modules are imported: a subprocess each, since a module is imported but once."""

import importlib
import subprocess
import sys

import pytest

import retrograde as rg
from retrograde.errors import MissingModuleError

ORDERS = {
    "ours first": "import retrograde as rg; x = rg.tensor([[1.0, 2.0]], requires_grad=True); import einops",
    "einops first": "import einops, retrograde as rg; x = rg.tensor([[1.0, 2.0]], requires_grad=True)",
    "einops used before": "import einops, numpy; einops.rearrange(numpy.ones((1, 2)), 'a b -> b a')\n"
                          "import retrograde as rg; x = rg.tensor([[1.0, 2.0]], requires_grad=True)",
}
USE = """
import gc, inspect
gc.collect()
y = einops.rearrange(x, 'a b -> b a')
(y * y).sum().backward()
assert y.shape == (2, 1) and x.grad.tolist() == [[2.0, 4.0]], (y, x.grad)
assert 'class AbstractBackend' in inspect.getsource(einops._backends), 'einops has its own loader'
"""


@pytest.mark.parametrize("order", ORDERS)
def test_einops_finds_our_tensors_whichever_is_imported_first(order):
    pytest.importorskip("einops")
    subprocess.run([sys.executable, "-c", ORDERS[order] + USE], check=True)


@pytest.mark.parametrize(("statement", "named"), [
    ("from retrograde.utils.data import DataLoader", "retrograde.torch.utils.data"), ("import retrograde.utils", "retrograde.torch.utils.data"),
    ("from retrograde import utils", "retrograde.torch.utils"), ("import retrograde.cuda.amp", "retrograde.torch.cuda"),
    ("from retrograde.nn.parallel import x", "retrograde.torch.nn.parallel"), ("import retrograde.nowhere", "No module named")])
def test_a_module_that_is_elsewhere_is_named(statement, named):
    with pytest.raises(ModuleNotFoundError) as told:
        exec(statement, {})
    assert named in str(told.value)
    assert isinstance(told.value, MissingModuleError) == ("torch" in named)


def test_a_second_watch_changes_nothing():
    before = list(sys.meta_path)
    rg.imports.watch()
    assert sys.meta_path == before
    assert importlib.util.find_spec("retrograde_of_nobody") is None
