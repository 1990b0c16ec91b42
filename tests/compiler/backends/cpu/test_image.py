"""Images: object files linked once, which are loaded by copying them into memory."""

import ctypes
from pathlib import Path

import pytest

pytest.importorskip("llvmlite")
from retrograde.compiler.backends.cpu import image
from retrograde.compiler.backends.cpu.engine import object_code
from retrograde.compiler.backends.cpu.host import target
from retrograde.errors import CompilerError

pytestmark = pytest.mark.skipif(not image.IS_POSSIBLE, reason="images are for Linux on x86-64")

CONSTANTS = """
define double @NAME(double %x) {
  %half = call double @helper(double %x)
  %sum = fadd double %half, 0.1
  ret double %sum
}
define internal double @helper(double %x) noinline {
  %y = fmul double %x, FACTOR
  ret double %y
}
"""
OUTSIDE = """
declare ptr @memset(ptr, i32, i64)
declare double @fmod(double, double)
define double @clears(ptr %to, double %x) {
  %done = call ptr @memset(ptr %to, i32 7, i64 5)
  %r = call double @fmod(double %x, double 3.0)
  ret double %r
}
"""
MISSING = """
declare void @no_such_function_anywhere()
define void @calls() {
  call void @no_such_function_anywhere()
  ret void
}
"""
WRITTEN = """
@counter = global i64 0
define i64 @count() {
  %old = load i64, ptr @counter
  %new = add i64 %old, 1
  store i64 %new, ptr @counter
  ret i64 %new
}
"""


def image_of(text):
    found = image.linked(object_code(text, target()))
    assert found is None or image.is_image(found)
    return found


def function(images, name, result, *arguments):
    return ctypes.CFUNCTYPE(result, *arguments)(images.address(name))


def test_functions_find_their_constants_and_helpers_of_the_same_name_stay_apart():
    images = image.Images()
    images.load([image_of(CONSTANTS.replace("NAME", f"by_{n}").replace("FACTOR", f"{n}.25")) for n in (2, 3)])
    images.load([image_of(CONSTANTS.replace("NAME", "by_4").replace("FACTOR", "4.25"))])
    for n in (2, 3, 4):
        assert function(images, f"by_{n}", ctypes.c_double, ctypes.c_double)(8.0) == 8 * (n + 0.25) + 0.1
    assert images.address("helper") is None and images.address("by_5") is None


def test_functions_of_the_system_are_called():
    images, buffer = image.Images(), ctypes.create_string_buffer(8)
    images.load([image_of(OUTSIDE)])
    assert function(images, "clears", ctypes.c_double, ctypes.c_void_p, ctypes.c_double)(ctypes.addressof(buffer), 7.5) == 1.5
    assert buffer.raw == b"\7" * 5 + bytes(3)


def test_a_function_that_the_system_does_not_have_is_named():
    with pytest.raises(CompilerError, match="no_such_function_anywhere"):
        image.Images().load([image_of(MISSING)])


def test_what_has_no_image_stays_an_object_file():
    assert image_of(WRITTEN) is None
    assert image.linked(b"MZ and more") is None


def test_code_can_no_longer_be_written_to():
    images = image.Images()
    images.load([image_of(CONSTANTS.replace("NAME", "kept").replace("FACTOR", "2.25"))])
    address = images.address("kept")
    ranges = [line.split()[:2] for line in Path("/proc/self/maps").read_text().splitlines()]
    rights = [r for span, r in ranges if int(span.split("-")[0], 16) <= address < int(span.split("-")[1], 16)]
    assert rights == ["r-xp"]
