"""Interchanged loops in native code: a chunk of the rows of a nest goes through all iterations, with pointers of its own."""

#: The words that the code of a chunk finds: how many iterations there are, the words of one table, where the tables of all chunks
#: begin, how many places a table has, where what is known of each of them begins, and the slots of the nest. Of a place it is told
#: how many bytes its pointer moves from row to row, and which row it is in iteration t: (t + phase) & mask.
PLACE = 3

INTERCHANGED = f"""
define void @retrograde_interchanged(ptr %table, ptr %slots, i64 %chunk) {{
entry:
  %size.place = getelementptr i64, ptr %slots, i64 1
  %tables.place = getelementptr i64, ptr %slots, i64 2
  %places.place = getelementptr i64, ptr %slots, i64 3
  %moves.place = getelementptr i64, ptr %slots, i64 4
  %nest.place = getelementptr i64, ptr %slots, i64 5
  %iterations = load i64, ptr %slots, align 8
  %size = load i64, ptr %size.place, align 8
  %tables = load ptr, ptr %tables.place, align 8
  %places = load i64, ptr %places.place, align 8
  %moves = load ptr, ptr %moves.place, align 8
  %nest = load ptr, ptr %nest.place, align 8
  %before = mul i64 %chunk, %size
  %own = getelementptr i64, ptr %tables, i64 %before
  br label %iteration
iteration:
  %t = phi i64 [ 0, %entry ], [ %t.next, %iteration.end ]
  br label %move
move:
  %i = phi i64 [ 0, %iteration ], [ %i.next, %move ]
  %at = mul i64 %i, {PLACE}
  %step.place = getelementptr i64, ptr %moves, i64 %at
  %mask.place = getelementptr i64, ptr %step.place, i64 1
  %phase.place = getelementptr i64, ptr %step.place, i64 2
  %step = load i64, ptr %step.place, align 8
  %mask = load i64, ptr %mask.place, align 8
  %phase = load i64, ptr %phase.place, align 8
  %late = add i64 %t, %phase
  %row = and i64 %late, %mask
  %moved = mul i64 %row, %step
  %first.place = getelementptr i64, ptr %table, i64 %i
  %own.place = getelementptr i64, ptr %own, i64 %i
  %first = load i64, ptr %first.place, align 8
  %here = add i64 %first, %moved
  store i64 %here, ptr %own.place, align 8
  %i.next = add i64 %i, 1
  %more = icmp ult i64 %i.next, %places
  br i1 %more, label %move, label %iteration.end
iteration.end:
  call void @retrograde_nest(ptr %own, ptr %nest, i64 %chunk)
  %t.next = add i64 %t, 1
  %again = icmp slt i64 %t.next, %iterations
  br i1 %again, label %iteration, label %out
out:
  ret void
}}
"""
