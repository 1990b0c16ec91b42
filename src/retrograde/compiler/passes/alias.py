"""Alias: which nodes are computed in the memory of the state that they update.

Takes  steps in their last order, the leaves of state with the nodes that they are to hold, and the steps that may fail.
Gives  for some of these nodes the leaf whose memory is theirs; the others are copied there when all steps are over.
Keeps  nobody reads a leaf after it was overwritten; no leaf is written before the last step that can fail; each leaf is the memory
       of one node at most.
"""

from ...core.symbol import Symbol


def computed_in_place(schedule, updates, kept, risky):
    """For each node that updates a leaf and can be computed in its memory, that leaf.

    It can if nothing reads the leaf after the node is computed, the node's own kernel reads it only at the element that it
    writes, and no `risky` step is left from there on. What is among the nodes `kept` is read after the last step.
    """
    kept = {node for node in kept if isinstance(node, Symbol)}
    readers, first_safe = {}, 0
    for number, step in schedule.numbered():
        if step in risky:
            first_safe = number + 1
        for node in schedule.read_by(step):
            if node not in readers or readers[node][0] < number:
                readers[node] = number, set()
            readers[node][1].add(step)
    made = {node: (number, step) for number, step in schedule.numbered() for node in step.roots}
    moved, found = {}, {}
    for leaf, node in updates:
        # A leaf that is given out must hold what it held.
        if node not in made or leaf in kept or (leaf.shape, leaf.dtype) != (node.shape, node.dtype):
            continue
        number, step = made[node]
        last, users = readers.get(leaf, (-1, set()))
        is_free = last < number
        # Loops load an element before they store it, so a step may read its own target, if at that element alone. Other kernels
        # say whether they write over an operand.
        if users == {step} and step.kernel.fuses and (step.domain == leaf.shape or step.kernel.rows_written(step) is not None):
            if step not in moved:
                moved[step] = _moved(schedule, step)
            is_free = leaf not in moved[step]
        elif users == {step}:
            is_free = is_free or step.kernel.updated(node) is leaf
        if is_free and number >= first_safe:
            # A node that updates two leaves can lie in one of them only; the other is copied.
            found[node] = leaf
    return found


def _moved(schedule, step):
    """The nodes of which the kernel of a step reads other elements than the one that it writes."""
    kind, roots, seen, positions = schedule.facts.kind, set(step.roots), set(), step.kernel.rows_written(step)
    # What rows are written over is read where they are written, or before all loops; where they stand is in memory of its own.
    rows = [root.args[1] for root in step.roots if positions is not None and isinstance(root.args[1], Symbol)]
    stack = [(root, False) for root in (roots if positions is None else rows)]
    while stack:
        node, is_moved = found = stack.pop()
        if found in seen:
            continue
        seen.add(found)
        # A root is computed here, also where other steps would load it, as complex numbers that are made of parts.
        if node in roots or not schedule.is_loaded(node, step.stage):
            # A view, or a position that was computed, anywhere on the way: the loop reads elements that it has overwritten by
            # then, or will.
            is_own_row = positions is not None and kind(node).rows_at(node) is positions
            is_moving = kind(node).is_moving or kind(node).shown(node, schedule.facts) is not None
            stack.extend([(a, is_moved or (is_moving and not is_own_row)) for a in node.inputs])
    return {node for node, is_moved in seen if is_moved}
