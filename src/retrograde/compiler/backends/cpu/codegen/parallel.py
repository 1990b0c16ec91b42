"""Parallel regions in native code: fixed chunks, handed out to workers that sleep while nothing runs.

Workers are Python threads inside one native call that does not return until the pool closes. Between steps they sleep on
a futex; from the first region of a step to its end they spin. A region's function, its table and its number of chunks
stand in the pool's record; one 64-bit ticket holds the number of the region, the number of chunks and the next chunk, so
that a worker that comes late can never take a chunk of a region that it has not seen.
"""

#: Words of the pool's record, one cache line apart where different threads write them.
_PLACES = {"TICKET": 0, "DONE": 8, "WAKE": 16, "SLEEPERS": 24, "IS_RUNNING": 32, "IS_CLOSED": 40, "FUNCTION": 48, "TABLE": 49,
           "WORKERS": 50, "SLOTS": 51}
WORKERS, WORDS = _PLACES["WORKERS"], 64

# Private: a futex is known by its virtual address then, which takes the kernel less than to look up the page.
_WAIT, _AWAKEN = 128, 129  # FUTEX_WAIT | FUTEX_PRIVATE_FLAG, FUTEX_WAKE | FUTEX_PRIVATE_FLAG

#: How often a thread looks again before it lets others run; a power of two, less one.
# Threads that never let others run make a machine with fewer cores than threads stand still.
_PATIENCE = 2047


#: Running the steps of a program. A step is four words: its function, its slots, how many chunks it has (0 for a loop, which
#: runs steps of its own), and whether it writes what lasts, so that it must not run once a check has failed.
RUNNER = """
define internal void @serial(ptr %function, ptr %table, ptr %slots, i64 %count) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i.next, %loop ]
  call void %function(ptr %table, ptr %slots, i64 %i)
  %i.next = add i64 %i, 1
  %again = icmp ult i64 %i.next, %count
  br i1 %again, label %loop, label %out
out:
  ret void
}

define i1 @retrograde_steps(ptr %table, ptr %steps, i64 %count) {
entry:
  %pool = load ptr, ptr %table, align 8
  %flag.place = getelementptr ptr, ptr %table, i64 1
  %flag = load ptr, ptr %flag.place, align 8
  br label %look
look:
  %i = phi i64 [ 0, %entry ], [ %i.next, %next ]
  %was.shared = phi i1 [ false, %entry ], [ %is.shared, %next ]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %step, label %end
step:
  %at = shl i64 %i, 2
  %function.place = getelementptr i64, ptr %steps, i64 %at
  %slots.place = getelementptr i64, ptr %function.place, i64 1
  %chunks.place = getelementptr i64, ptr %function.place, i64 2
  %lasts.place = getelementptr i64, ptr %function.place, i64 3
  %function = load ptr, ptr %function.place, align 8
  %slots = load ptr, ptr %slots.place, align 8
  %chunks = load i64, ptr %chunks.place, align 8
  %lasts = load i64, ptr %lasts.place, align 8
  %failed = load i64, ptr %flag, align 8
  %must.stop = and i64 %failed, %lasts
  %stops = icmp ne i64 %must.stop, 0
  br i1 %stops, label %end, label %run
run:
  switch i64 %chunks, label %many [ i64 1, label %one
                                    i64 0, label %repeat ]
repeat:
  %has.shared = call i1 %function(ptr %table, ptr %slots)
  %either = or i1 %was.shared, %has.shared
  br label %next
one:
  call void %function(ptr %table, ptr %slots, i64 0)
  br label %next
many:
  call void @parallel(ptr %pool, ptr %function, ptr %table, ptr %slots, i64 %chunks)
  br label %next
next:
  %is.shared = phi i1 [ %was.shared, %one ], [ true, %many ], [ %either, %repeat ]
  %i.next = add i64 %i, 1
  br label %look
end:
  ret i1 %was.shared
}

define void @retrograde_run(ptr %table, ptr %steps, i64 %count) {
  %pool = load ptr, ptr %table, align 8
  %was.shared = call i1 @retrograde_steps(ptr %table, ptr %steps, i64 %count)
  br i1 %was.shared, label %rest, label %out
rest:
  call void @rest(ptr %pool)
  br label %out
out:
  ret void
}
"""

#: Running a chunk of a nest: it takes a free frame, one bit of a word, and tells its passes with each block, in bits from
#: FRAME_BIT on, which. Its slots are how many blocks there are, how many a chunk takes, the bits of all frames and of those that
#: are taken, how many passes there are, and for each pass its function and its slots.
# One word tells both, so that passes are called as other kernels are: 40 bits for the number of a block, the rest for the frame.
FRAME_BIT, NEST_HEAD = 40, 5
NEST = f"""
declare i64 @llvm.cttz.i64(i64, i1)

define void @retrograde_nest(ptr %table, ptr %slots, i64 %chunk) {{
entry:
  %size.place = getelementptr i64, ptr %slots, i64 1
  %frames.place = getelementptr i64, ptr %slots, i64 2
  %taken.place = getelementptr i64, ptr %slots, i64 3
  %count.place = getelementptr i64, ptr %slots, i64 4
  %blocks = load i64, ptr %slots, align 8
  %size = load i64, ptr %size.place, align 8
  %frames = load i64, ptr %frames.place, align 8
  %count = load i64, ptr %count.place, align 8
  %first = mul i64 %chunk, %size
  %last.whole = add i64 %first, %size
  %is.whole = icmp ult i64 %last.whole, %blocks
  %last = select i1 %is.whole, i64 %last.whole, i64 %blocks
  br label %look
look:
  %taken = load atomic i64, ptr %taken.place monotonic, align 8
  %others = xor i64 %taken, -1
  %free = and i64 %others, %frames
  %none = icmp eq i64 %free, 0
  br i1 %none, label %look, label %try
try:
  %frame = call i64 @llvm.cttz.i64(i64 %free, i1 true)
  %bit = shl i64 1, %frame
  %more.taken = or i64 %taken, %bit
  %pair = cmpxchg ptr %taken.place, i64 %taken, i64 %more.taken acq_rel monotonic
  %won = extractvalue {{ i64, i1 }} %pair, 1
  %high = shl i64 %frame, {FRAME_BIT}
  br i1 %won, label %block, label %look
block:
  %b = phi i64 [ %first, %try ], [ %b.next, %block.end ]
  %named = or i64 %b, %high
  br label %pass
pass:
  %k = phi i64 [ 0, %block ], [ %k.next, %pass ]
  %twice = shl i64 %k, 1
  %at = add i64 %twice, {NEST_HEAD}
  %function.place = getelementptr i64, ptr %slots, i64 %at
  %slots.place = getelementptr i64, ptr %function.place, i64 1
  %function = load ptr, ptr %function.place, align 8
  %own = load ptr, ptr %slots.place, align 8
  call void %function(ptr %table, ptr %own, i64 %named)
  %k.next = add i64 %k, 1
  %more = icmp ult i64 %k.next, %count
  br i1 %more, label %pass, label %block.end
block.end:
  %b.next = add i64 %b, 1
  %again = icmp ult i64 %b.next, %last
  br i1 %again, label %block, label %out
out:
  %rest = xor i64 %bit, -1
  %before = atomicrmw and ptr %taken.place, i64 %rest acq_rel, align 8
  ret void
}}
"""

#: The pool where workers share: @@names@@ are filled in by `pool_text`.
_SHARED = """
declare i64 @syscall(i64, ...)
declare void @@@idle@@(@@type@@)

; Take chunks until none is left.
define internal void @take(ptr %pool) {
entry:
  %ticket = @@TICKET@@
  %done = @@DONE@@
  br label %look
look:
  %seen = load atomic i64, ptr %ticket acquire, align 8
  %next = and i64 %seen, 65535
  %shifted = lshr i64 %seen, 16
  %count = and i64 %shifted, 65535
  %more = icmp ult i64 %next, %count
  br i1 %more, label %try, label %out
try:
  %following = add i64 %seen, 1
  %pair = cmpxchg ptr %ticket, i64 %seen, i64 %following acq_rel monotonic
  %won = extractvalue { i64, i1 } %pair, 1
  br i1 %won, label %run, label %look
run:
  %function.place = @@FUNCTION@@
  %function = load ptr, ptr %function.place, align 8
  %table.place = @@TABLE@@
  %table = load ptr, ptr %table.place, align 8
  %slots.place = @@SLOTS@@
  %slots = load ptr, ptr %slots.place, align 8
  call void %function(ptr %table, ptr %slots, i64 %next)
  %before = atomicrmw add ptr %done, i64 1 acq_rel, align 8
  br label %look
out:
  ret void
}

; Run function(table, slots, chunk) for all chunks below count, on all threads of the pool.
define internal void @parallel(ptr %pool, ptr %function, ptr %table, ptr %slots, i64 %count) {
entry:
  %workers.place = @@WORKERS@@
  %workers = load i64, ptr %workers.place, align 8
  %alone = icmp eq i64 %workers, 0
  br i1 %alone, label %serial, label %share
serial:
  call void @serial(ptr %function, ptr %table, ptr %slots, i64 %count)
  br label %out
share:
  %function.place = @@FUNCTION@@
  store ptr %function, ptr %function.place, align 8
  %table.place = @@TABLE@@
  store ptr %table, ptr %table.place, align 8
  %slots.place = @@SLOTS@@
  store ptr %slots, ptr %slots.place, align 8
  %done = @@DONE@@
  store atomic i64 0, ptr %done monotonic, align 8
  %ticket = @@TICKET@@
  %old = load atomic i64, ptr %ticket monotonic, align 8
  %region = lshr i64 %old, 32
  %region.next = add i64 %region, 1
  %region.high = shl i64 %region.next, 32
  %count.high = shl i64 %count, 16
  %new = or i64 %region.high, %count.high
  store atomic i64 %new, ptr %ticket release, align 8
  call void @wake(ptr %pool)
  call void @take(ptr %pool)
  br label %wait
wait:
  %turn = phi i64 [ 1, %share ], [ %turn.next, %idle ]
  %finished = load atomic i64, ptr %done acquire, align 8
  %all = icmp eq i64 %finished, %count
  br i1 %all, label %out, label %idle
idle:
  call void @pause(i64 %turn)
  %turn.next = add i64 %turn, 1
  br label %wait
out:
  ret void
}

; Spin for a moment; once in a while let another thread have this core, which may be the one that is waited for.
define internal void @pause(i64 %turn) {
entry:
  @@pause@@
  %low = and i64 %turn, @@patience@@
  %is.long = icmp eq i64 %low, 0
  br i1 %is.long, label %give, label %out
give:
  %r = call i64 (i64, ...) @syscall(i64 @@yield@@)
  br label %out
out:
  ret void
}

; Wake sleeping workers once a step.
define internal void @wake(ptr %pool) {
entry:
  %running = @@IS_RUNNING@@
  %is = load atomic i64, ptr %running monotonic, align 8
  %already = icmp ne i64 %is, 0
  br i1 %already, label %out, label %start
start:
  store atomic i64 1, ptr %running seq_cst, align 8
  %wake = @@WAKE@@
  %before = atomicrmw add ptr %wake, i64 1 seq_cst, align 8
  %sleepers.place = @@SLEEPERS@@
  %sleepers = load atomic i64, ptr %sleepers.place seq_cst, align 8
  %nobody = icmp eq i64 %sleepers, 0
  br i1 %nobody, label %out, label %call
call:
  %r = call i64 (i64, ...) @syscall(i64 @@futex@@, ptr %wake, i64 @@awaken@@, i64 2147483647, ptr null, ptr null, i64 0)
  br label %out
out:
  ret void
}

; The end of a step: workers may sleep.
define internal void @rest(ptr %pool) {
  %running = @@IS_RUNNING@@
  store atomic i64 0, ptr %running seq_cst, align 8
  ret void
}

; Close the pool: every worker returns.
define void @retrograde_close(ptr %pool) {
  %closed = @@IS_CLOSED@@
  store atomic i64 1, ptr %closed seq_cst, align 8
  %wake = @@WAKE@@
  %before = atomicrmw add ptr %wake, i64 1 seq_cst, align 8
  %r = call i64 (i64, ...) @syscall(i64 @@futex@@, ptr %wake, i64 @@awaken@@, i64 2147483647, ptr null, ptr null, i64 0)
  ret void
}

; The life of a worker.
define void @retrograde_worker(ptr %pool) {
entry:
  %running = @@IS_RUNNING@@
  %closed = @@IS_CLOSED@@
  %wake = @@WAKE@@
  %sleepers = @@SLEEPERS@@
  br label %work
work:
  %turn = phi i64 [ 1, %entry ], [ %turn.next, %work ], [ 1, %woken ]
  call void @take(ptr %pool)
  call void @pause(i64 %turn)
  %turn.next = add i64 %turn, 1
  %is = load atomic i64, ptr %running monotonic, align 8
  %busy = icmp ne i64 %is, 0
  br i1 %busy, label %work, label %rest
rest:
  %seen = load atomic i32, ptr %wake seq_cst, align 8
  %shut = load atomic i64, ptr %closed seq_cst, align 8
  %over = icmp ne i64 %shut, 0
  br i1 %over, label %out, label %check
check:
  %one.more = atomicrmw add ptr %sleepers, i64 1 seq_cst, align 8
  %is.now = load atomic i64, ptr %running seq_cst, align 8
  %busy.now = icmp ne i64 %is.now, 0
  br i1 %busy.now, label %woken, label %sleep
sleep:
  %seen.wide = zext i32 %seen to i64
  %r = call i64 (i64, ...) @syscall(i64 @@futex@@, ptr %wake, i64 @@wait@@, i64 %seen.wide, ptr null, ptr null, i64 0)
  br label %woken
woken:
  %one.less = atomicrmw sub ptr %sleepers, i64 1 seq_cst, align 8
  br label %work
out:
  ret void
}
"""


def pool_text(futex_number, yield_number, idle, operand):
    """The module of the pool, as LLVM text, for the numbers of two system calls and an intrinsic that idles."""
    words = {name: f"getelementptr i64, ptr %pool, i64 {at}" for name, at in _PLACES.items()}
    words |= {"idle": idle, "type": operand.partition(" ")[0], "pause": f"call void @{idle}({operand})"}
    words |= {"futex": futex_number, "yield": yield_number, "patience": _PATIENCE, "wait": _WAIT, "awaken": _AWAKEN}
    text = _SHARED
    for name, value in words.items():
        text = text.replace(f"@@{name}@@", str(value))
    return text


#: The pool where threads cannot share: everything runs on the thread that calls.
SERIAL = """
define internal void @parallel(ptr %pool, ptr %function, ptr %table, ptr %slots, i64 %count) {
  call void @serial(ptr %function, ptr %table, ptr %slots, i64 %count)
  ret void
}
define internal void @rest(ptr %pool) {
  ret void
}
define void @retrograde_close(ptr %pool) {
  ret void
}
define void @retrograde_worker(ptr %pool) {
  ret void
}
"""
