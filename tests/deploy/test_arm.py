"""Exported programs for AArch64 run under an emulator of processors, unicorn, loaded as the file says."""

import os
import struct
import sys

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")

from exported_functions import KERNELS, argument

import retrograde as rg
from retrograde import runtime
from retrograde.runtime import ARENA, COPY, FLAG, INPUT, OUTPUT, POOL, SLOT, TENSOR

unicorn = pytest.importorskip("unicorn", reason="needs unicorn, an emulator of processors (pip install unicorn)")
arm = pytest.importorskip("unicorn.arm64_const")
pytestmark = pytest.mark.skipif(os.environ.get("RETROGRADE_COMPILER") == "reference", reason="programs are exported by compiled code")
_STOP, _CODE, _DATA, _STACK, _PAGE = 0x300000, 0x400000, 0x10000000, 0x50000000, 4096


class Emulated:
    """A machine for AArch64 with the first function of a file in it."""

    def __init__(self, file):
        self.file, self.machine, self._next = file, unicorn.Uc(unicorn.UC_ARCH_ARM64, unicorn.UC_MODE_ARM), _DATA
        code = bytearray(file.sections["code"].tobytes())
        for start, size in ((_STOP, _PAGE), (_CODE, -(-len(code) // _PAGE) * _PAGE), (_DATA, 1 << 26), (_STACK, 1 << 20)):
            self.machine.mem_map(start, size, unicorn.UC_PROT_ALL)
        for number, (name, place) in enumerate(file.sections["outside"].tolist()):
            assert file.text(name) == "memcpy"
            code[place : place + 8] = struct.pack("<Q", _STOP + 64 + 4 * number)
            self.machine.mem_write(_STOP + 64 + 4 * number, struct.pack("<I", 0xD65F03C0))  # ret, when the copy is made
        self.machine.mem_write(_CODE, bytes(code))
        self.machine.hook_add(unicorn.UC_HOOK_CODE, self._copy, begin=_STOP + 64, end=_STOP + 128)
        self.machine.reg_write(arm.UC_ARM64_REG_CPACR_EL1, 3 << 20)  # vectors

    def _copy(self, machine, *_):
        target, source, size = (machine.reg_read(register) for register in (arm.UC_ARM64_REG_X0, arm.UC_ARM64_REG_X1, arm.UC_ARM64_REG_X2))
        machine.mem_write(target, bytes(machine.mem_read(source, size)))

    def put(self, size, content=b""):
        """The address of new memory."""
        at, self._next = self._next, self._next + -(-max(size, 1) // 64) * 64
        self.machine.mem_write(at, bytes(content))
        return at

    def __call__(self, *arrays):
        file, record = self.file, self.file.sections["functions"].tolist()[0]
        inputs, outputs = file.values(*record[12:14]), file.values(*record[14:16])
        tensors = [file.tensor(i) for i in range(len(file.sections["tensors"]))]
        places = {POOL: [self.put(512)], FLAG: [self.put(8)], ARENA: [self.put(record[11])], TENSOR: [self.put(len(t), t.tobytes()) for t in tensors],
                  INPUT: [self.put(a.nbytes, a.tobytes()) for a in arrays], OUTPUT: [self.put(v.nbytes) for v in outputs]}
        assert [v.nbytes for v in inputs] == [a.nbytes for a in arrays]
        words = file.numbers(*record[1:3])
        at, moved = self.put(8 * len(words)), file.numbers(*record[3:5])
        words[moved] = at + 8 * words[moved]
        for place, function in file.numbers(record[5], 2 * record[6]).reshape(-1, 2):
            words[place] = _CODE + function
        self.machine.mem_write(at, words.tobytes())
        slots = file.numbers(record[9], SLOT * record[10]).reshape(-1, SLOT).tolist()
        table = np.array([places[kind][number] + more for kind, number, more in slots], np.int64).tobytes()
        for register, number in ((arm.UC_ARM64_REG_SP, _STACK + (1 << 20) - 256), (arm.UC_ARM64_REG_X30, _STOP), (arm.UC_ARM64_REG_X2, record[8]),
                                 (arm.UC_ARM64_REG_X0, self.put(len(table), table)), (arm.UC_ARM64_REG_X1, at + 8 * record[7])):
            self.machine.reg_write(register, number)
        self.machine.emu_start(_CODE + file.run, _STOP)
        for kind, number, more, source, other, start, size in file.numbers(record[16], COPY * record[17]).reshape(-1, COPY).tolist():
            self.machine.mem_write(places[kind][number] + more, bytes(self.machine.mem_read(places[source][other] + start, size)))
        return [np.frombuffer(bytes(self.machine.mem_read(at, v.nbytes)), v.numpy).reshape(v.shape) for at, v in zip(places[OUTPUT], outputs, strict=True)]


@pytest.mark.parametrize("name", KERNELS)
def test_a_program_for_aarch64_computes_what_the_function_does(name, tmp_path, monkeypatch):
    f, x = rg.jit(KERNELS[name][0]), argument(name)
    f.export(tmp_path / "a.rgx", x, target="aarch64")
    if sys.platform == "linux" and os.uname().machine == "aarch64":
        pytest.skip("this processor runs it itself")
    monkeypatch.setattr(runtime._File, "_check_machine", lambda self, machine: None)
    monkeypatch.setattr(runtime, "_check_processor", lambda file: None)
    found = Emulated(runtime._File(tmp_path / "a.rgx"))(x)
    for z, wanted in zip(found, rg.tree.leaves(f(x)), strict=True):
        np.testing.assert_allclose(z, np.asarray(wanted), rtol=1e-4, atol=1e-4)
