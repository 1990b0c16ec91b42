"""Requirements: how a loader asks a processor whether it has what code for a target was made for.

Bits of CPUID are those of Intel's manual (volume 2, CPUID) and AMD's (volume 3, appendix E); those of ARM are Linux's, as in
`arch/arm64/include/uapi/asm/hwcap.h`.
"""

from .....errors import ProgramError
from .....runtime import CPUID, HWCAP, STATE
from ....target import required

_EAX, _EBX, _ECX, _EDX = range(4)
#: By (leaf, part, register) the features that change which instructions LLVM chooses, with their bits.
_BITS = {
    (1, 0, _ECX): {"sse3": 0, "pclmul": 1, "ssse3": 9, "fma": 12, "cx16": 13, "sse4.1": 19, "sse4.2": 20, "crc32": 20, "movbe": 22,
                   "popcnt": 23, "aes": 25, "avx": 28, "f16c": 29},
    (1, 0, _EDX): {"cx8": 8, "cmov": 15, "mmx": 23, "sse": 25, "sse2": 26},
    (7, 0, _EBX): {"bmi": 3, "avx2": 5, "bmi2": 8, "avx512f": 16, "avx512dq": 17, "adx": 19, "avx512ifma": 21, "avx512cd": 28,
                   "sha": 29, "avx512bw": 30, "avx512vl": 31},
    (7, 0, _ECX): {"avx512vbmi": 1, "avx512vbmi2": 6, "gfni": 8, "vaes": 9, "vpclmulqdq": 10, "avx512vnni": 11, "avx512bitalg": 12,
                   "avx512vpopcntdq": 14},
    (7, 0, _EDX): {"avx512vp2intersect": 8, "amx-bf16": 22, "avx512fp16": 23, "amx-tile": 24, "amx-int8": 25},
    (7, 1, _EAX): {"sha512": 0, "sm3": 1, "sm4": 2, "avxvnni": 4, "avx512bf16": 5, "cmpccxadd": 7, "amx-fp16": 21, "avxifma": 23},
    (7, 1, _EDX): {"avxvnniint8": 4, "avxneconvert": 5, "amx-complex": 8, "avxvnniint16": 10},
    (0x80000001, 0, _ECX): {"sahf": 0, "lzcnt": 5, "sse4a": 6, "xop": 11, "fma4": 16, "tbm": 21},
    (0x80000001, 0, _EDX): {"64bit": 29},
}
#: Features of instructions that nothing but a program of the system, or one that names them, asks for.
_NEVER_CHOSEN = frozenset([
    "cldemote", "clflushopt", "clwb", "clzero", "enqcmd", "fsgsbase", "fxsr", "hreset", "invpcid", "kl", "lwp", "movdir64b",
    "movdiri", "movrs", "mwaitx", "pconfig", "pku", "prefetchi", "prfchw", "prefetchwt1", "ptwrite", "raoint", "rdpid", "rdpru",
    "rdrnd", "rdseed", "rtm", "serialize", "sgx", "shstk", "tsxldtrk", "uintr", "usermsr", "waitpkg", "wbnoinvd", "widekl",
    "xsave", "xsavec", "xsaveopt", "xsaves"])
#: What the system keeps for each program: registers of 256 bits, and those of 512 bits with their masks.
_WIDE, _WIDEST = 0x6, 0xE6
#: Features of ARM by the word of Linux in which they stand, AT_HWCAP and AT_HWCAP2.
_ARM_BITS = {
    16: {"fp-armv8": 0, "neon": 1, "aes": 3, "sha2": 6, "crc": 7, "lse": 8, "fullfp16": 10, "rdm": 12, "jsconv": 13,
         "complxnum": 14, "rcpc": 15, "sha3": 17, "sm4": 19, "dotprod": 20, "sve": 22, "fp16fml": 23},
    26: {"sve2": 1, "i8mm": 13, "bf16": 14},
}


def requirements(target):
    """(question, name) of each thing that a processor must have for a target's code, the question as loaders ask it."""
    bits = {name: (CPUID, *place, 1 << bit) for place, found in _BITS.items() for name, bit in found.items()}
    if target.machine != "x86_64":
        bits = {name: (HWCAP, word, 0, 0, 1 << bit) for word, found in _ARM_BITS.items() for name, bit in found.items()}
    wanted = required(target)
    unknown = [name for name in wanted if name not in bits and name not in _NEVER_CHOSEN]
    if unknown:
        raise ProgramError(f"code for {target.name} may use {', '.join(unknown)}, which loaders cannot ask a processor for; name a "
                           "target, as in target=\"x86-64-v3\"")
    found = [(bits[name], name) for name in wanted if name in bits]
    if target.machine == "x86_64" and target.vector_bytes > 16:
        found.append(((STATE, 0, 0, 0, _WIDEST if target.vector_bytes > 32 else _WIDE), "a system that keeps its vectors"))
    return found
