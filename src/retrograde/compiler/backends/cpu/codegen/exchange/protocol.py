r"""Exchanges: what the processes of a group tell each other, and sums over them, through memory that all of them see.

Each process has one block of it, which the others read. It says what it does next in a place there, and that it has said so by the
number of the call; the others wait for that number and compare. A sum is begun by writing the operands to the block and saying so,
and finished by reading those of all. So no process waits before it needs something of another, and nothing is moved that is
not read. What a process needs no more it says too, so that the others write over it.

A number that another process is to see is given and read by `release` and `acquire`, so that whoever sees it sees all that was
written before (Boehm and Adve, "Foundations of the C++ concurrency memory model", 2008).
"""

from .adding import added
from .waiting import WAITING

#: How many calls a process can be ahead of the others, a power of two, and the bytes of the text of one.
SLOTS, TEXT = 1024, 320
#: Where things are in the block of a process: how many calls it has said, and how many it needs nothing of any more, each in a
#: cache line of its own, as lines are fetched in pairs; the places of texts, each after the place of its operands; and operands,
#: each after a word that says that its part is added up.
_SAID, _HEARD, _SLOTS, _SLOT = 0, 128, 256, 8 + TEXT
DATA, _HEAD = -(-(_SLOTS + SLOTS * _SLOT) // 4096) * 4096, 64
#: Up to so many processes each adds up all for itself. With more each adds up one part, which the others read: that is less to
#: read, but they wait for one another twice.
ALONE = 3

#: The words of a group's record, which is of one process alone. OLDEST is the first call that may be open, that is, of which
#: something is still needed here. CAPACITY is how many bytes of operands its block has room for, LIMIT how many of them it has used
#: so far, and NEXT where the next operands go; PATIENCE and DELAY are in nanoseconds; what went wrong is in STATUS, in call FAILED;
#: LEFT is the call that this process has given up, after which it takes part in none; the others are addresses of functions.
WORDS = ("COUNT", "OLDEST", "NEXT", "LIMIT", "CAPACITY", "SIZE", "RANK", "PATIENCE", "DELAY", "STATUS", "FAILED", "LEFT",
         "SAY", "CLOSE", "BEGIN", "FINISH_FLOAT", "FINISH_DOUBLE")
_AT = {name: number for number, name in enumerate(WORDS)}
#: After them for each of the latest calls where its operands begin and end, when it was said, and whether it is open; then the
#: addresses of all blocks, and of what the others say and have heard.
_CALLS, _CALL = len(WORDS), 4
_ROWS = _CALLS + _CALL * SLOTS
#: What STATUS says: somebody is late to say something, or to hear it, or to add up; processes differ; there is no room; a call was
#: begun so long ago that it was given up; this process has left the group.
LATE, DEAF, SLOW, DIFFERENT, FULL, OVER, GONE = 1, 2, 3, 4, 5, 6, 7
#: How often is looked before the core is given up, before the clock is asked, and before there is sleep between: powers of two.
_LOOKS, _CLOCK, _SLEEP, _PAUSE = 64, 1024, 2**18, 50_000


#: What the names of functions begin with.
NAME = "retrograde_exchange"


def laid_out(rank, addresses):
    """The words of a record: `addresses` are those of the blocks of all processes."""
    others = [a for r, a in enumerate(addresses) if r != rank]
    words = [0] * _ROWS + [*addresses, *[a + _SAID for a in others], 0, *[a + _HEARD for a in others], 0]
    words[_AT["SIZE"]], words[_AT["RANK"]], words[_AT["OLDEST"]] = len(addresses), rank, 1
    return words


def place(name):
    """Where a word of a record is."""
    return _AT[name]


def slot_of(number):
    """Where in a block the text of call `number` stands."""
    return _SLOTS + number % SLOTS * _SLOT + 8


def text_of(rows, rank, number):
    """The text that a process said in call `number`, as bytes, in the blocks of all."""
    at = slot_of(number)
    return bytes(rows[rank][at : at + TEXT])


def starts_of(rows, number):
    """Where the operands of each process begin in its block, in call `number`."""
    at = _SLOTS + number % SLOTS * _SLOT
    return [DATA + _HEAD + int.from_bytes(bytes(row[at : at + 8]), "little") for row in rows]


def open_at(number):
    """The word of a record that is the number of a call as long as that is open."""
    return _CALLS + number % SLOTS * _CALL + 3


def counts_of(row):
    """(how many calls a process has said, how many it needs nothing of) by its block."""
    return [int.from_bytes(bytes(row[at : at + 8]), "little") for at in (_SAID, _HEARD)]


def text(idle, operand):
    """The functions of exchanges as LLVM text, for an intrinsic that idles."""
    found = WAITING + _SAYING + added("float", 16) + added("double", 8)
    words = {"idle": idle, "type": operand.partition(" ")[0], "operand": operand, "looks": _LOOKS - 1, "clock": _CLOCK - 1,
             "sleep": _SLEEP, "nap": _PAUSE, "calls": _CALLS, "rows": _ROWS, "heard": _HEARD, "slots": _SLOTS, "slot": _SLOT,
             "text": TEXT, "last": SLOTS - 1, "count": SLOTS, "data": DATA, "head": _HEAD, "alone": ALONE, "late": LATE,
             "deaf": DEAF, "slow": SLOW, "different": DIFFERENT, "full": FULL, "over": OVER, "gone": GONE, "call": _CALL,
             "name": NAME, **_AT}
    for name, value in words.items():
        found = found.replace(f"@@{name}@@", str(value))
    return found


#: What is said and heard, and how sums are begun.
_SAYING = """
; Whether something of call %number is still needed here.
define internal i1 @is_open(ptr %record, i64 %number) {
  %call = call i64 @call_of(i64 %number)
  %at = add i64 %call, 3
  %x = call i64 @get(ptr %record, i64 %at)
  %is.kept = icmp eq i64 %x, %number
  %is.call = icmp sgt i64 %number, 0
  %is.open = and i1 %is.kept, %is.call
  ret i1 %is.open
}

; Say that nothing of call %number is needed here any more, and so of all calls before the first that is open.
define void @@@name@@_close(ptr %record, i64 %number) {
entry:
  %is.open = call i1 @is_open(ptr %record, i64 %number)
  br i1 %is.open, label %shut, label %tell
shut:
  %call = call i64 @call_of(i64 %number)
  %at = add i64 %call, 3
  call void @put(ptr %record, i64 %at, i64 0)
  br label %tell
tell:
  %count = call i64 @get(ptr %record, i64 @@COUNT@@)
  %known = call i64 @get(ptr %record, i64 @@OLDEST@@)
  br label %look
look:
  %oldest = phi i64 [ %known, %tell ], [ %next, %closed ]
  %is.over = icmp ugt i64 %oldest, %count
  br i1 %is.over, label %found, label %read
read:
  %is.first = call i1 @is_open(ptr %record, i64 %oldest)
  br i1 %is.first, label %found, label %closed
closed:
  %next = add i64 %oldest, 1
  br label %look
found:
  call void @put(ptr %record, i64 @@OLDEST@@, i64 %oldest)
  %heard = sub i64 %oldest, 1
  %rank = call i64 @get(ptr %record, i64 @@RANK@@)
  %row = call ptr @row(ptr %record, i64 %rank)
  %place = getelementptr i8, ptr %row, i64 @@heard@@
  store atomic i64 %heard, ptr %place release, align 8
  ret void
}

; Up to which call no process needs anything any more.
define internal i64 @heard_by_all(ptr %record) {
entry:
  %size = call i64 @get(ptr %record, i64 @@SIZE@@)
  br label %look
look:
  %r = phi i64 [ 0, %entry ], [ %r.next, %look ]
  %least = phi i64 [ 9223372036854775807, %entry ], [ %least.next, %look ]
  %row = call ptr @row(ptr %record, i64 %r)
  %place = getelementptr i8, ptr %row, i64 @@heard@@
  %heard = load atomic i64, ptr %place acquire, align 8
  %is.less = icmp slt i64 %heard, %least
  %least.next = select i1 %is.less, i64 %heard, i64 %least
  %r.next = add i64 %r, 1
  %more = icmp ult i64 %r.next, %size
  br i1 %more, label %look, label %over
over:
  ret i64 %least.next
}

; Say a text, with operands at %start to %end of this process's block; the number of the call, 0 if others are too far behind.
define i64 @@@name@@_say(ptr %record, ptr %text, i64 %start, i64 %end) {
entry:
  %count = call i64 @get(ptr %record, i64 @@COUNT@@)
  %number = add i64 %count, 1
  %oldest = sub i64 %number, @@count@@
  %left = call i64 @get(ptr %record, i64 @@LEFT@@)
  %has.left = icmp ne i64 %left, 0
  br i1 %has.left, label %gone, label %first
gone:
  call void @fail(ptr %record, i64 @@gone@@, i64 %left)
  ret i64 0
first:
  %is.old = call i1 @is_open(ptr %record, i64 %oldest)
  br i1 %is.old, label %drop, label %free
drop:
  call void @@@name@@_close(ptr %record, i64 %oldest)
  br label %free
free:
  %is.heard = call i1 @others(ptr %record, i64 2, i64 %oldest)
  br i1 %is.heard, label %say, label %deaf
deaf:
  call void @fail(ptr %record, i64 @@deaf@@, i64 %oldest)
  ret i64 0
say:
  %rank = call i64 @get(ptr %record, i64 @@RANK@@)
  %slot = call ptr @slot(ptr %record, i64 %rank, i64 %number)
  store i64 %start, ptr %slot, align 8
  %place = getelementptr i8, ptr %slot, i64 8
  %r = call ptr @memcpy(ptr %place, ptr %text, i64 @@text@@)
  %call = call i64 @call_of(i64 %number)
  %call.end = add i64 %call, 1
  %call.moment = add i64 %call, 2
  %call.open = add i64 %call, 3
  %now = call i64 @now()
  call void @put(ptr %record, i64 %call, i64 %start)
  call void @put(ptr %record, i64 %call.end, i64 %end)
  call void @put(ptr %record, i64 %call.moment, i64 %now)
  call void @put(ptr %record, i64 %call.open, i64 %number)
  call void @put(ptr %record, i64 @@COUNT@@, i64 %number)
  %row = call ptr @row(ptr %record, i64 %rank)
  store atomic i64 %number, ptr %row release, align 8
  ret i64 %number
}

; Wait until all have said what they do in call %number, which has to be %text; the status, 0 if all is well.
define i64 @@@name@@_hear(ptr %record, i64 %number, ptr %text) {
entry:
  %is.here = call i1 @others(ptr %record, i64 1, i64 %number)
  br i1 %is.here, label %compare, label %late
late:
  call void @fail(ptr %record, i64 @@late@@, i64 %number)
  ret i64 @@late@@
compare:
  %size = call i64 @get(ptr %record, i64 @@SIZE@@)
  br label %look
look:
  %r = phi i64 [ 0, %compare ], [ %r.next, %next ]
  %is.over = icmp uge i64 %r, %size
  br i1 %is.over, label %agreed, label %read
read:
  %slot = call ptr @slot(ptr %record, i64 %r, i64 %number)
  %theirs = getelementptr i8, ptr %slot, i64 8
  %order = call i32 @memcmp(ptr %theirs, ptr %text, i64 @@text@@)
  %is.same = icmp eq i32 %order, 0
  br i1 %is.same, label %next, label %differ
next:
  %r.next = add i64 %r, 1
  br label %look
differ:
  call void @fail(ptr %record, i64 @@different@@, i64 %number)
  ret i64 @@different@@
agreed:
  %delay = call i64 @get(ptr %record, i64 @@DELAY@@)
  %is.put.in = icmp sgt i64 %delay, 0
  br i1 %is.put.in, label %delayed, label %out
delayed:
  %call = call i64 @call_of(i64 %number)
  %at = add i64 %call, 2
  %moment = call i64 @get(ptr %record, i64 %at)
  %until = add i64 %moment, %delay
  %now = call i64 @now()
  %left = sub i64 %until, %now
  %has.left = icmp sgt i64 %left, 0
  br i1 %has.left, label %wait, label %out
wait:
  call void @sleep(i64 %left)
  br label %out
out:
  ret i64 0
}

; Where %nbytes of this process's block are free for operands; -1 if nowhere.
define internal i64 @room(ptr %record, i64 %nbytes) {
entry:
  %next = call i64 @get(ptr %record, i64 @@NEXT@@)
  %limit = call i64 @get(ptr %record, i64 @@LIMIT@@)
  %end.there = add i64 %next, %nbytes
  %fits = icmp ule i64 %end.there, %limit
  %start = select i1 %fits, i64 %next, i64 0
  %end = add i64 %start, %nbytes
  %is.short = icmp ugt i64 %end, %limit
  %count = call i64 @get(ptr %record, i64 @@COUNT@@)
  %heard = call i64 @heard_by_all(ptr %record)
  br label %look
look:
  ; The latest call whose operands lie there, from the latest back; and whether an earlier one is open.
  %number = phi i64 [ %count, %entry ], [ %number.next, %next.call ]
  %last = phi i64 [ 0, %entry ], [ %last.next, %next.call ]
  %is.taken = phi i1 [ %is.short, %entry ], [ %is.taken.next, %next.call ]
  %is.over = icmp sle i64 %number, %heard
  br i1 %is.over, label %seen, label %read
read:
  %call = call i64 @call_of(i64 %number)
  %call.end = add i64 %call, 1
  %a = call i64 @get(ptr %record, i64 %call)
  %b = call i64 @get(ptr %record, i64 %call.end)
  %is.before = icmp ult i64 %a, %end
  %is.behind = icmp ult i64 %start, %b
  %is.there = and i1 %is.before, %is.behind
  %is.none = icmp eq i64 %last, 0
  %is.last = and i1 %is.there, %is.none
  %last.next = select i1 %is.last, i64 %number, i64 %last
  %is.open = call i1 @is_open(ptr %record, i64 %number)
  %has.last = icmp ne i64 %last.next, 0
  %is.needed = and i1 %is.open, %has.last
  %is.taken.next = or i1 %is.taken, %is.needed
  br label %next.call
next.call:
  %number.next = sub i64 %number, 1
  br label %look
seen:
  br i1 %is.taken, label %grow, label %free
grow:
  ; Behind all that was used so far.
  %grown = add i64 %limit, %nbytes
  %twice = shl i64 %limit, 1
  %is.more = icmp ugt i64 %grown, %twice
  %most = select i1 %is.more, i64 %grown, i64 %twice
  %capacity = call i64 @get(ptr %record, i64 @@CAPACITY@@)
  %is.full = icmp ugt i64 %grown, %capacity
  br i1 %is.full, label %full, label %more
more:
  %is.beyond = icmp ugt i64 %most, %capacity
  %limit.next = select i1 %is.beyond, i64 %capacity, i64 %most
  call void @put(ptr %record, i64 @@LIMIT@@, i64 %limit.next)
  call void @put(ptr %record, i64 @@NEXT@@, i64 %grown)
  ret i64 %limit
free:
  %is.heard = call i1 @others(ptr %record, i64 2, i64 %last)
  br i1 %is.heard, label %there, label %deaf
deaf:
  call void @fail(ptr %record, i64 @@deaf@@, i64 %last)
  ret i64 -1
there:
  call void @put(ptr %record, i64 @@NEXT@@, i64 %end)
  ret i64 %start
full:
  call void @fail(ptr %record, i64 @@full@@, i64 %count)
  ret i64 -1
}

; Begin a sum of %count arrays of so many bytes each; the number of the call, 0 if that failed.
define i64 @@@name@@_begin(ptr %record, ptr %text, i64 %count, ptr %arrays, ptr %sizes, i64 %nbytes) {
entry:
  %needed = add i64 %nbytes, 127
  %lines = and i64 %needed, -64
  %start = call i64 @room(ptr %record, i64 %lines)
  %is.none = icmp slt i64 %start, 0
  br i1 %is.none, label %failed, label %write
failed:
  ret i64 0
write:
  %rank = call i64 @get(ptr %record, i64 @@RANK@@)
  %row = call ptr @row(ptr %record, i64 %rank)
  %at = add i64 %start, @@data@@
  %flag = getelementptr i8, ptr %row, i64 %at
  store i64 0, ptr %flag, align 8
  %first = getelementptr i8, ptr %flag, i64 @@head@@
  br label %look
look:
  %i = phi i64 [ 0, %write ], [ %i.next, %copy ]
  %to = phi ptr [ %first, %write ], [ %to.next, %copy ]
  %is.over = icmp uge i64 %i, %count
  br i1 %is.over, label %say, label %copy
copy:
  %where = call i64 @get(ptr %arrays, i64 %i)
  %from = inttoptr i64 %where to ptr
  %size = call i64 @get(ptr %sizes, i64 %i)
  %r = call ptr @memcpy(ptr %to, ptr %from, i64 %size)
  %to.next = getelementptr i8, ptr %to, i64 %size
  %i.next = add i64 %i, 1
  br label %look
say:
  %end = add i64 %start, %lines
  %number = call i64 @@@name@@_say(ptr %record, ptr %text, i64 %start, i64 %end)
  ret i64 %number
}

; Where part %r of %total numbers begins.
define internal i64 @end_of(i64 %r, i64 %total, i64 %size) {
  %product = mul i64 %r, %total
  %end = udiv i64 %product, %size
  ret i64 %end
}

; Where the word of process %r before the operands of call %number is.
define internal ptr @flag(ptr %record, i64 %r, i64 %number) {
  %slot = call ptr @slot(ptr %record, i64 %r, i64 %number)
  %start = load i64, ptr %slot, align 8
  %at = add i64 %start, @@data@@
  %row = call ptr @row(ptr %record, i64 %r)
  %flag = getelementptr i8, ptr %row, i64 %at
  ret ptr %flag
}
"""
