"""Trampolines: functions that Python calls as its own, with arrays as they are, and that call kernels.

A call through `ctypes` takes longer than NumPy takes for a function of a thousand numbers. What is written here has the signature
of Python's fast calls, `object(self, objects, how many)`, and reads the memory and the shape of each array from where NumPy has
them. `fast_calls` asks once whether they are there. A trampoline returns the last object, the result, once it is computed, and the
first one where it cannot: for what is no array, or arrays of other types or shapes, or not one number after the other.
"""

#: Where Python's objects have their type, bytes their content, and NumPy's arrays what is read of them.
TYPE, CONTENT = 8, 32
DATA, NDIM, SHAPE, DTYPE, FLAGS = 16, 24, 32, 56, 64
#: Arrays whose elements follow each other in row-major order, at places where processors want them.
PLAIN_FLAGS = 0x1 | 0x100
#: The most arrays of a call, and the words of `self`: the kernel, how many arrays, the type of arrays, the bytes of an element.
MOST = 12
KERNEL, COUNT, ARRAY_TYPE, ITEM_BYTES = range(4)
#: For functions of rows there are sizes, which the kernel is handed, in the place of the bytes of an element.
SIZES = ITEM_BYTES


def _field(name, source, offset, kind="ptr"):
    return f"  %{name}.place = getelementptr i8, ptr %{source}, i64 {offset}\n  %{name} = load {kind}, ptr %{name}.place, align 8\n"


# What trampolines have in common. Its words: the kernel, how many arrays, and their type.
_KERNEL_WORDS = f"""  %words = getelementptr i8, ptr %self, i64 {CONTENT}
{_field("kernel", "words", 8 * KERNEL)}{_field("count", "words", 8 * COUNT, "i64")}{_field("type", "words", 8 * ARRAY_TYPE)}
"""
#: The first object and the place of the last one, and whether there are as many as there should be.
_OBJECTS = """  %first = load ptr, ptr %objects, align 8
  %last.number = sub i64 %count, 1
  %last.place = getelementptr ptr, ptr %objects, i64 %last.number
  %is.whole = icmp eq i64 %given, %count
"""
#: Object number `i`.
_OBJECT = """  %object.place = getelementptr ptr, ptr %objects, i64 %i
  %object = load ptr, ptr %object.place, align 8
"""
#: What is answered: the result, or the first object.
_ENDS = """  %answer = call ptr @given(ptr %result)
  ret ptr %answer
fail:
  %refused = call ptr @given(ptr %first)
  ret ptr %refused
}
"""

#: Counting a reference to an object, which is handed to the caller.
_RETURN = """
define internal ptr @given(ptr %object) {
  %count = load i32, ptr %object, align 8
  %more = add i32 %count, 1
  store i32 %more, ptr %object, align 8
  ret ptr %object
}
"""

#: How many numbers an array has.
_SIZE = f"""
define internal i64 @size(ptr %array) {{
entry:
{_field("shape", "array", SHAPE)}{_field("ndim32", "array", NDIM, "i32")}
  %ndim = zext i32 %ndim32 to i64
  br label %look
look:
  %i = phi i64 [ 0, %entry ], [ %i.next, %multiply ]
  %product = phi i64 [ 1, %entry ], [ %product.next, %multiply ]
  %more = icmp ult i64 %i, %ndim
  br i1 %more, label %multiply, label %out
multiply:
  %length.place = getelementptr i64, ptr %shape, i64 %i
  %length = load i64, ptr %length.place, align 8
  %product.next = mul i64 %product, %length
  %i.next = add i64 %i, 1
  br label %look
out:
  ret i64 %product
}}
"""

#: Whether an object is an array of NumPy's, of the type of element of another one, whose numbers follow each other.
_PLAIN = f"""
define internal i1 @plain(ptr %object, ptr %type, ptr %like) {{
entry:
{_field("found", "object", TYPE)}
  %is.array = icmp eq ptr %found, %type
  br i1 %is.array, label %array, label %no
array:
{_field("dtype", "object", DTYPE)}{_field("other", "like", DTYPE)}{_field("flags", "object", FLAGS, "i32")}
  %has.dtype = icmp eq ptr %dtype, %other
  %wanted = and i32 %flags, {PLAIN_FLAGS}
  %has.flags = icmp eq i32 %wanted, {PLAIN_FLAGS}
  %is.plain = and i1 %has.dtype, %has.flags
  ret i1 %is.plain
no:
  ret i1 false
}}
"""

#: Whether two arrays have one shape.
_ALIKE = f"""
define internal i1 @alike(ptr %x, ptr %y) {{
entry:
{_field("shape", "x", SHAPE)}{_field("other", "y", SHAPE)}{_field("ndim", "x", NDIM, "i32")}{_field("ndims", "y", NDIM, "i32")}
  %same = icmp eq i32 %ndim, %ndims
  %count = zext i32 %ndim to i64
  br i1 %same, label %look, label %no
look:
  %i = phi i64 [ 0, %entry ], [ %i.next, %compare ]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %compare, label %yes
compare:
  %a.place = getelementptr i64, ptr %shape, i64 %i
  %b.place = getelementptr i64, ptr %other, i64 %i
  %a = load i64, ptr %a.place, align 8
  %b = load i64, ptr %b.place, align 8
  %equal = icmp eq i64 %a, %b
  %i.next = add i64 %i, 1
  br i1 %equal, label %look, label %no
yes:
  ret i1 true
no:
  ret i1 false
}}
"""

#: A function of each element, by its kernel: of all whole groups, then of the last group once more if some elements are left.
def _elements(group):
    return f"""
define ptr @retrograde_elements(ptr %self, ptr %objects, i64 %given) {{
entry:
  %pointers = alloca [{MOST + 2} x ptr], align 8
  %slots = alloca [{MOST + 2} x i64], align 8
{_KERNEL_WORDS}{_field("bytes", "words", 8 * ITEM_BYTES, "i64")}
{_OBJECTS}  br i1 %is.whole, label %ready, label %fail
ready:
  %result = load ptr, ptr %last.place, align 8
  br label %look
look:
  %i = phi i64 [ 0, %ready ], [ %i.next, %note ]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %check, label %run
check:
{_OBJECT}  %is.plain = call i1 @plain(ptr %object, ptr %type, ptr %result)
  br i1 %is.plain, label %shape, label %fail
shape:
  %is.alike = call i1 @alike(ptr %object, ptr %result)
  br i1 %is.alike, label %note, label %fail
note:
{_field("data", "object", DATA)}
  %at = add i64 %i, 2
  %pointer.place = getelementptr ptr, ptr %pointers, i64 %at
  store ptr %data, ptr %pointer.place, align 8
  %slot.place = getelementptr i64, ptr %slots, i64 %i
  store i64 %at, ptr %slot.place, align 8
  %i.next = add i64 %i, 1
  br label %look
run:
  %size = call i64 @size(ptr %result)
  %enough = icmp uge i64 %size, {group}
  br i1 %enough, label %whole, label %fail
whole:
  %groups = and i64 %size, -{group}
  %length.place = getelementptr i64, ptr %slots, i64 %count
  %chunk.number = add i64 %count, 1
  %chunk.place = getelementptr i64, ptr %slots, i64 %chunk.number
  store i64 %groups, ptr %length.place, align 8
  store i64 %groups, ptr %chunk.place, align 8
  call void %kernel(ptr %pointers, ptr %slots, i64 0)
  %rest = sub i64 %size, %groups
  %has.rest = icmp ne i64 %rest, 0
  br i1 %has.rest, label %tail, label %done
tail:
  %behind = sub i64 %size, {group}
  %skipped = mul i64 %behind, %bytes
  br label %move
move:
  %k = phi i64 [ 0, %tail ], [ %k.next, %move ]
  %k.at = add i64 %k, 2
  %moved.place = getelementptr ptr, ptr %pointers, i64 %k.at
  %before = load ptr, ptr %moved.place, align 8
  %moved = getelementptr i8, ptr %before, i64 %skipped
  store ptr %moved, ptr %moved.place, align 8
  %k.next = add i64 %k, 1
  %k.more = icmp ult i64 %k.next, %count
  br i1 %k.more, label %move, label %last
last:
  store i64 {group}, ptr %length.place, align 8
  store i64 {group}, ptr %chunk.place, align 8
  call void %kernel(ptr %pointers, ptr %slots, i64 0)
  br label %done
done:
{_ENDS}"""


#: A kernel of rows, or a small one: whoever calls it has seen to shapes and types. It returns 0 where it could not go on.
_ROWS = f"""
define ptr @retrograde_rows(ptr %self, ptr %objects, i64 %given) {{
entry:
  %pointers = alloca [{MOST} x ptr], align 8
{_KERNEL_WORDS}  %sizes = getelementptr i64, ptr %words, i64 {SIZES}
{_OBJECTS}  br i1 %is.whole, label %look, label %fail
look:
  %i = phi i64 [ 0, %entry ], [ %i.next, %note ]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %check, label %run
check:
{_OBJECT}  %is.plain = call i1 @plain(ptr %object, ptr %type, ptr %object)
  br i1 %is.plain, label %note, label %fail
note:
{_field("data", "object", DATA)}
  %pointer.place = getelementptr ptr, ptr %pointers, i64 %i
  store ptr %data, ptr %pointer.place, align 8
  %i.next = add i64 %i, 1
  br label %look
run:
  %status = call i64 %kernel(ptr %pointers, ptr %sizes)
  %is.done = icmp ne i64 %status, 0
  br i1 %is.done, label %done, label %fail
done:
  %result = load ptr, ptr %last.place, align 8
{_ENDS}"""


#: Steps of a program, as `retrograde_run` takes them: the table of pointers has the pool and the flag, the arrays, and room to work
#: in. Whoever calls it has seen to everything.
RUN, STEPS, TABLE_POOL, TABLE_FLAG, ROOM = 0, 3, 4, 5, 6
_STEPS = f"""
define ptr @retrograde_steps_of(ptr %self, ptr %objects, i64 %given) {{
entry:
  %pointers = alloca [{MOST + 3} x ptr], align 8
  %words = getelementptr i8, ptr %self, i64 {CONTENT}
{_field("function", "words", 8 * RUN)}{_field("count", "words", 8 * COUNT, "i64")}{_field("steps", "words", 8 * STEPS)}
{_field("pool", "words", 8 * TABLE_POOL)}{_field("flag", "words", 8 * TABLE_FLAG)}{_field("room", "words", 8 * ROOM)}
  store ptr %pool, ptr %pointers, align 8
  %flag.at = getelementptr ptr, ptr %pointers, i64 1
  store ptr %flag, ptr %flag.at, align 8
  %first = load ptr, ptr %objects, align 8
  %is.whole = icmp eq i64 %given, %count
  br i1 %is.whole, label %note, label %out
note:
  %i = phi i64 [ 0, %entry ], [ %i.next, %note ]
{_OBJECT}{_field("data", "object", DATA)}
  %i.next = add i64 %i, 1
  %at = add i64 %i, 2
  %pointer.place = getelementptr ptr, ptr %pointers, i64 %at
  store ptr %data, ptr %pointer.place, align 8
  %more = icmp ult i64 %i.next, %count
  br i1 %more, label %note, label %run
run:
  %room.number = add i64 %count, 2
  %room.at = getelementptr ptr, ptr %pointers, i64 %room.number
  store ptr %room, ptr %room.at, align 8
  call void %function(ptr %pointers, ptr %steps, i64 1)
  br label %out
out:
  %answer = call ptr @given(ptr %first)
  ret ptr %answer
}}
"""


def text(group):
    """The code of all trampolines, for functions of elements in groups of so many."""
    return _RETURN + _SIZE + _PLAIN + _ALIKE + _elements(group) + _ROWS + _STEPS
