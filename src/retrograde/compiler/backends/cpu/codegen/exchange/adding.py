"""Adding up what the processes of a group have written, as LLVM text: the end of a sum for one type of numbers; see `protocol`."""

#: Adding up numbers of all processes, @@N@@ at once, in the order of ranks, and dividing; %count is a multiple of that.
_ADDED = """
define internal void @added_@@T@@_@@N@@(ptr %operands, i64 %size, i64 %first, i64 %count, ptr %out, @@T@@ %divisor) {
entry:
  %one = insertelement @@V@@ poison, @@T@@ %divisor, i32 0
  %divisors = shufflevector @@V@@ %one, @@V@@ poison, <@@N@@ x i32> zeroinitializer
  br label %look
look:
  %i = phi i64 [ 0, %entry ], [ %i.next, %divided ]
  %has.more = icmp ult i64 %i, %count
  br i1 %has.more, label %read, label %over
read:
  %at = add i64 %first, %i
  %mine = call i64 @get(ptr %operands, i64 0)
  %mine.row = inttoptr i64 %mine to ptr
  %mine.at = getelementptr @@T@@, ptr %mine.row, i64 %at
  %x = load @@V@@, ptr %mine.at, align 4
  br label %add
add:
  %r = phi i64 [ 1, %read ], [ %r.next, %add ]
  %sum = phi @@V@@ [ %x, %read ], [ %sum.next, %add ]
  %theirs = call i64 @get(ptr %operands, i64 %r)
  %their.row = inttoptr i64 %theirs to ptr
  %their.at = getelementptr @@T@@, ptr %their.row, i64 %at
  %y = load @@V@@, ptr %their.at, align 4
  %sum.next = fadd @@V@@ %sum, %y
  %r.next = add i64 %r, 1
  %more = icmp ult i64 %r.next, %size
  br i1 %more, label %add, label %divided
divided:
  %mean = fdiv @@V@@ %sum.next, %divisors
  %out.at = getelementptr @@T@@, ptr %out, i64 %i
  store @@V@@ %mean, ptr %out.at, align 4
  %i.next = add i64 %i, @@N@@
  br label %look
over:
  ret void
}
"""

#: The end of a sum: of any number of them, and a whole call that finishes.
_FINISHED = """
define internal void @added_@@T@@(ptr %operands, i64 %size, i64 %first, i64 %count, ptr %out, @@T@@ %divisor) {
  %whole = and i64 %count, -@@N@@
  call void @added_@@T@@_@@N@@(ptr %operands, i64 %size, i64 %first, i64 %whole, ptr %out, @@T@@ %divisor)
  %behind = add i64 %first, %whole
  %rest = sub i64 %count, %whole
  %out.behind = getelementptr @@T@@, ptr %out, i64 %whole
  call void @added_@@T@@_1(ptr %operands, i64 %size, i64 %behind, i64 %rest, ptr %out.behind, @@T@@ %divisor)
  ret void
}

; Finish call %number, the sum of %many arrays of so many numbers each, into the arrays at %outs; the status, 0 if all is well.
define i64 @@@name@@_finish_@@T@@(ptr %record, i64 %number, ptr %text, i64 %many, ptr %outs, ptr %sizes, i64 %divisor) {
entry:
  %is.open = call i1 @is_open(ptr %record, i64 %number)
  br i1 %is.open, label %hear, label %given.up
given.up:
  call void @fail(ptr %record, i64 @@over@@, i64 %number)
  ret i64 @@over@@
hear:
  %status = call i64 @@@name@@_hear(ptr %record, i64 %number, ptr %text)
  %is.well = icmp eq i64 %status, 0
  br i1 %is.well, label %begin, label %failed
failed:
  call void @@@name@@_close(ptr %record, i64 %number)
  ret i64 %status
begin:
  %by = sitofp i64 %divisor to @@T@@
  %size = call i64 @get(ptr %record, i64 @@SIZE@@)
  %flags = alloca i64, i64 %size, align 8
  %operands = alloca i64, i64 %size, align 8
  br label %place
place:
  %r = phi i64 [ 0, %begin ], [ %r.next, %placed ]
  %all.placed = icmp uge i64 %r, %size
  br i1 %all.placed, label %choose, label %placed
placed:
  %flag = call ptr @flag(ptr %record, i64 %r, i64 %number)
  %flag.number = ptrtoint ptr %flag to i64
  %operand.number = add i64 %flag.number, @@head@@
  call void @put(ptr %flags, i64 %r, i64 %flag.number)
  call void @put(ptr %operands, i64 %r, i64 %operand.number)
  %r.next = add i64 %r, 1
  br label %place
choose:
  %is.alone = icmp ule i64 %size, @@alone@@
  br i1 %is.alone, label %each, label %count
each:
  %i = phi i64 [ 0, %choose ], [ %i.next, %one ]
  %at = phi i64 [ 0, %choose ], [ %at.next, %one ]
  %is.over = icmp uge i64 %i, %many
  br i1 %is.over, label %done, label %one
one:
  %where = call i64 @get(ptr %outs, i64 %i)
  %out = inttoptr i64 %where to ptr
  %n = call i64 @get(ptr %sizes, i64 %i)
  call void @added_@@T@@(ptr %operands, i64 %size, i64 %at, i64 %n, ptr %out, @@T@@ %by)
  %at.next = add i64 %at, %n
  %i.next = add i64 %i, 1
  br label %each
count:
  ; By parts: one part of all numbers is added up over what this process has written, which no other one reads.
  %k = phi i64 [ 0, %choose ], [ %k.next, %counted ]
  %total = phi i64 [ 0, %choose ], [ %total.next, %counted ]
  %is.counted = icmp uge i64 %k, %many
  br i1 %is.counted, label %part, label %counted
counted:
  %size.k = call i64 @get(ptr %sizes, i64 %k)
  %total.next = add i64 %total, %size.k
  %k.next = add i64 %k, 1
  br label %count
part:
  %rank = call i64 @get(ptr %record, i64 @@RANK@@)
  %first = call i64 @end_of(i64 %rank, i64 %total, i64 %size)
  %rank.next = add i64 %rank, 1
  %last = call i64 @end_of(i64 %rank.next, i64 %total, i64 %size)
  %length = sub i64 %last, %first
  %mine = call i64 @get(ptr %operands, i64 %rank)
  %mine.row = inttoptr i64 %mine to ptr
  %mine.at = getelementptr @@T@@, ptr %mine.row, i64 %first
  call void @added_@@T@@(ptr %operands, i64 %size, i64 %first, i64 %length, ptr %mine.at, @@T@@ %by)
  %own.flag = call i64 @get(ptr %flags, i64 %rank)
  %own = inttoptr i64 %own.flag to ptr
  store atomic i64 %number, ptr %own release, align 8
  %is.added = call i1 @wait(ptr %record, ptr %flags, i64 %size, i64 %number)
  br i1 %is.added, label %read, label %slow
slow:
  call void @fail(ptr %record, i64 @@slow@@, i64 %number)
  call void @@@name@@_close(ptr %record, i64 %number)
  ret i64 @@slow@@
read:
  %m = phi i64 [ 0, %part ], [ %m.next, %parts ]
  %from = phi i64 [ 0, %part ], [ %from.next, %parts ]
  %is.read = icmp uge i64 %m, %many
  br i1 %is.read, label %done, label %array
array:
  %out.number = call i64 @get(ptr %outs, i64 %m)
  %out.m = inttoptr i64 %out.number to ptr
  %size.m = call i64 @get(ptr %sizes, i64 %m)
  %from.next = add i64 %from, %size.m
  %m.next = add i64 %m, 1
  br label %parts
parts:
  %q = phi i64 [ 0, %array ], [ %q.next, %copied ]
  %parts.done = icmp uge i64 %q, %size
  br i1 %parts.done, label %read, label %cut
cut:
  %q.next = add i64 %q, 1
  %part.first = call i64 @end_of(i64 %q, i64 %total, i64 %size)
  %part.last = call i64 @end_of(i64 %q.next, i64 %total, i64 %size)
  %starts.late = icmp ugt i64 %part.first, %from
  %a = select i1 %starts.late, i64 %part.first, i64 %from
  %ends.early = icmp ult i64 %part.last, %from.next
  %b = select i1 %ends.early, i64 %part.last, i64 %from.next
  %is.part = icmp ult i64 %a, %b
  br i1 %is.part, label %copy, label %copied
copy:
  %there = call i64 @get(ptr %operands, i64 %q)
  %there.row = inttoptr i64 %there to ptr
  %source = getelementptr @@T@@, ptr %there.row, i64 %a
  %offset = sub i64 %a, %from
  %target = getelementptr @@T@@, ptr %out.m, i64 %offset
  %numbers = sub i64 %b, %a
  %bytes = mul i64 %numbers, @@B@@
  %c = call ptr @memcpy(ptr %target, ptr %source, i64 %bytes)
  br label %copied
copied:
  br label %parts
done:
  call void @@@name@@_close(ptr %record, i64 %number)
  ret i64 0
}
"""


def added(kind, lanes):
    """What adds up numbers of a type, so many at once, and finishes their sums."""
    words = {"T": kind, "B": 64 // lanes}
    return _filled(_ADDED, words, lanes) + _filled(_ADDED, words, 1) + _filled(_FINISHED, words, lanes)


def _filled(text, words, lanes):
    for name, value in {**words, "V": f"<{lanes} x {words['T']}>", "N": lanes}.items():
        text = text.replace(f"@@{name}@@", str(value))
    return text
