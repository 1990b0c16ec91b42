"""Where what an exchange reads lies, and waiting for the others, as LLVM text; see `protocol`, which fills in the numbers."""

WAITING = """
declare ptr @memcpy(ptr, ptr, i64)
declare i32 @memcmp(ptr, ptr, i64)
declare i32 @clock_gettime(i32, ptr)
declare i32 @nanosleep(ptr, ptr)
declare i32 @sched_yield()
declare void @@@idle@@(@@type@@)

define internal i64 @get(ptr %record, i64 %i) {
  %place = getelementptr i64, ptr %record, i64 %i
  %x = load i64, ptr %place, align 8
  ret i64 %x
}

define internal void @put(ptr %record, i64 %i, i64 %x) {
  %place = getelementptr i64, ptr %record, i64 %i
  store i64 %x, ptr %place, align 8
  ret void
}

; The block of process %r.
define internal ptr @row(ptr %record, i64 %r) {
  %i = add i64 %r, @@rows@@
  %x = call i64 @get(ptr %record, i64 %i)
  %row = inttoptr i64 %x to ptr
  ret ptr %row
}

; Where process %r says what it does in call %number.
define internal ptr @slot(ptr %record, i64 %r, i64 %number) {
  %row = call ptr @row(ptr %record, i64 %r)
  %which = and i64 %number, @@last@@
  %bytes = mul i64 %which, @@slot@@
  %at = add i64 %bytes, @@slots@@
  %slot = getelementptr i8, ptr %row, i64 %at
  ret ptr %slot
}

; Where a record keeps what it knows of call %number.
define internal i64 @call_of(i64 %number) {
  %which = and i64 %number, @@last@@
  %words = mul i64 %which, @@call@@
  %at = add i64 %words, @@calls@@
  ret i64 %at
}

define internal i64 @now() {
  %time = alloca [2 x i64], align 8
  %r = call i32 @clock_gettime(i32 1, ptr %time)
  %seconds = load i64, ptr %time, align 8
  %rest = call i64 @get(ptr %time, i64 1)
  %whole = mul i64 %seconds, 1000000000
  %now = add i64 %whole, %rest
  ret i64 %now
}

define internal void @sleep(i64 %nanoseconds) {
  %time = alloca [2 x i64], align 8
  %seconds = udiv i64 %nanoseconds, 1000000000
  %rest = urem i64 %nanoseconds, 1000000000
  store i64 %seconds, ptr %time, align 8
  call void @put(ptr %time, i64 1, i64 %rest)
  %r = call i32 @nanosleep(ptr %time, ptr null)
  ret void
}

; Note what went wrong first, in call %number.
define internal void @fail(ptr %record, i64 %status, i64 %number) {
entry:
  %before = call i64 @get(ptr %record, i64 @@STATUS@@)
  %is.first = icmp eq i64 %before, 0
  br i1 %is.first, label %note, label %out
note:
  call void @put(ptr %record, i64 @@STATUS@@, i64 %status)
  call void @put(ptr %record, i64 @@FAILED@@, i64 %number)
  br label %out
out:
  ret void
}

; Wait until the numbers at %count addresses are at least %number; whether they were in time.
define internal i1 @wait(ptr %record, ptr %places, i64 %count, i64 %number) {
entry:
  br label %look
look:
  %i = phi i64 [ 0, %entry ], [ %i, %again ], [ %i.next, %reached ]
  %turn = phi i64 [ 1, %entry ], [ %turn.next, %again ], [ %turn, %reached ]
  %end = phi i64 [ 0, %entry ], [ %end.next, %again ], [ %end, %reached ]
  %is.over = icmp uge i64 %i, %count
  br i1 %is.over, label %over, label %read
read:
  %where = call i64 @get(ptr %places, i64 %i)
  %place = inttoptr i64 %where to ptr
  %found = load atomic i64, ptr %place acquire, align 8
  %is.here = icmp sge i64 %found, %number
  br i1 %is.here, label %reached, label %idle
reached:
  %i.next = add i64 %i, 1
  br label %look
idle:
  call void @@@idle@@(@@operand@@)
  %turn.next = add i64 %turn, 1
  %few = and i64 %turn, @@looks@@
  %is.few = icmp ne i64 %few, 0
  br i1 %is.few, label %again, label %give
give:
  %is.long = icmp ugt i64 %turn, @@sleep@@
  br i1 %is.long, label %nap, label %yield
nap:
  call void @sleep(i64 @@nap@@)
  br label %given
yield:
  %r = call i32 @sched_yield()
  br label %given
given:
  %some = and i64 %turn, @@clock@@
  %is.some = icmp ne i64 %some, 0
  br i1 %is.some, label %again, label %clock
clock:
  %now = call i64 @now()
  %patience = call i64 @get(ptr %record, i64 @@PATIENCE@@)
  %latest = add i64 %now, %patience
  %is.first = icmp eq i64 %end, 0
  %until = select i1 %is.first, i64 %latest, i64 %end
  %is.late = icmp sgt i64 %now, %until
  br i1 %is.late, label %late, label %again
again:
  %end.next = phi i64 [ %end, %idle ], [ %end, %given ], [ %until, %clock ]
  br label %look
over:
  ret i1 true
late:
  ret i1 false
}

; Wait until the others have said, or need nothing of, all calls up to %number; %part 1 is what they say, 2 what they have heard.
define internal i1 @others(ptr %record, i64 %part, i64 %number) {
  %size = call i64 @get(ptr %record, i64 @@SIZE@@)
  %skipped = mul i64 %size, %part
  %at = add i64 %skipped, @@rows@@
  %places = getelementptr i64, ptr %record, i64 %at
  %count = sub i64 %size, 1
  %is.here = call i1 @wait(ptr %record, ptr %places, i64 %count, i64 %number)
  ret i1 %is.here
}
"""
