"""Compiled matrix products: generate a kernel once, run it for every problem that shares it."""

import ctypes
import hashlib

from ...problem import problem_of
from .. import ir
from . import blocking, dots, stream
from .choose import choose
from .spec import NO_HOOKS

_SIGNATURE = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[ctypes.c_void_p] * 6)


def generate(spec, name, module=None):
    """Emit the entry function of `spec` into `module` (a new one by default) and give it back.

    The function takes (chunk index, descriptor, A, B, C, table of extra pointers, workspace of this chunk).
    """
    module = ir.Module(name) if module is None else module
    return _KINDS[spec.kind](module, spec, name)


_KINDS = {"tiles": blocking.build, "panels": blocking.build_panels, "dots": dots.build, "stream": stream.build}


class MatmulKernel:
    """Matrix products with the same fused hooks.

    `compile_module` takes an llvmlite module and returns a function from names to addresses; `target` describes the
    machine.
    """

    def __init__(self, compile_module, target, hooks=NO_HOOKS, label="matmul"):
        self.target, self.hooks, self.label = target, hooks, label
        self._compile, self._entries = compile_module, {}

    def plan(self, problem, constants=()):
        """The kernel, numbers and workspace size of a problem."""
        return choose(self.target, problem, self.hooks, constants)

    def address(self, spec):
        """The address of a spec's entry, compiled on first use."""
        return ctypes.cast(self.entry(spec), ctypes.c_void_p).value

    def entry(self, spec):
        """A spec's entry as a ctypes function, compiled on first use."""
        if spec not in self._entries:
            name = f"{self.label}_{_digest(spec)}_{id(self):x}"
            module = generate(spec, name).module
            self._entries[spec] = _SIGNATURE(self._compile(module)(name))
        return self._entries[spec]

    def bind(self, a, b, c, extra=(), count=1, constants=()):
        """A product of given arrays, ready to run: call it with a chunk index, from any thread."""
        return BoundProduct(self, a, b, c, extra, count, constants)

    def __call__(self, a, b, c, extra=(), count=1, constants=()):
        """Compute C from A and B, chunk after chunk; `extra` are the arrays that hooks read and write."""
        bound = self.bind(a, b, c, extra, count, constants)
        for index in range(count):
            bound(index)
        return c


class BoundProduct:
    """One product with its arrays, descriptor and workspaces, cut in `count` chunks."""

    def __init__(self, kernel, a, b, c, extra, count, constants):
        self.plan = kernel.plan(problem_of(a, b, c), constants)
        self.count = count
        self._entry = kernel.entry(self.plan.spec)
        self._arrays = (a, b, c, extra)
        words = self.plan.descriptor(count)
        self._descriptor = (ctypes.c_int64 * len(words))(*words)
        self._extra = (ctypes.c_void_p * max(len(extra), 1))(*(x.ctypes.data for x in extra))
        self._spaces = [ctypes.create_string_buffer(self.plan.workspace_bytes + 64) for _ in range(count)]
        pointers = [a.ctypes.data, b.ctypes.data, c.ctypes.data, ctypes.addressof(self._extra)]
        shared = [ctypes.addressof(self._descriptor), *pointers]
        self._calls = [(i, *shared, -(-ctypes.addressof(x) // 64) * 64) for i, x in enumerate(self._spaces)]

    def __call__(self, index=0):
        """Run chunk `index`."""
        self._entry(*self._calls[index])


def _digest(spec):
    return hashlib.sha256(repr(spec).encode()).hexdigest()[:12]
