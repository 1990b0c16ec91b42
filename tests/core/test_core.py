"""The core by itself: it needs no NumPy, and text rides on it."""

import subprocess
import sys
import textwrap

SCRIPT = """
import importlib.abc, sys, types, pathlib

class NoNumPy(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("numpy", "ml_dtypes", "llvmlite"):
            raise ImportError(f"{name} is blocked")

sys.meta_path.insert(0, NoNumPy())
package = types.ModuleType("retrograde")
package.__path__ = [sys.argv[1]]
sys.modules["retrograde"] = package

from retrograde.core.algebra import Algebra
from retrograde.core.gradient import backward
from retrograde.core.op import define
from retrograde.core.value import Value
import retrograde.core.function, retrograde.core.registry, retrograde.core.anomaly, retrograde.core.writes

class Texts(Algebra):
    native = str
    def wrap(self, data): return str(data)
    def describe(self, data): return repr(data)
    def is_differentiable(self, data): return True
    def check_differentiable(self, data): pass
    def quietly(self, function, *args): return function(*args)
    def seed(self, value): return []
    def zero(self, data): return []
    def check_seed(self, value, seed): return list(seed)
    def fits(self, operand, result, broadcasts): return None
    def fit(self, cotangent, target): return cotangent
    def accumulate(self, value, cotangent): value.grad = (value.grad or []) + list(cotangent)
    def is_view(self, data, source): return False
    def owner(self, data): return data
    def find_anomaly(self, data): return None
    def find_nan(self, data): return None

class Text(Value):
    __slots__ = ()
    algebra = Texts()

Text.algebra.kind = Text

def joined(a, b, /):
    return a + " " + b

join = define(joined, family="text", algebra=Text.algebra)
join.defvjp(lambda g: [f"left: {f}" for f in g], lambda g, a: [f"after {a}: {f}" for f in g])

x, y = Text("be").requires_grad_(), Text("brief").requires_grad_()
z = join(join(x, y), x)
assert z.data == "be brief be"
backward(z, ["wordy"])
assert x.grad == ["after be brief: wordy", "left: left: wordy"], x.grad
assert y.grad == ["after be: left: wordy"], y.grad
assert "numpy" not in sys.modules
print("fine")
"""


def test_the_core_runs_without_numpy_and_carries_text():
    import retrograde

    folder = retrograde.__path__[0]
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(SCRIPT), folder], capture_output=True, text=True, check=False
    )
    assert result.stdout.strip() == "fine", result.stderr
