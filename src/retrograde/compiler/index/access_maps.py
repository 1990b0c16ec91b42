"""Access maps: where a loop over a box is in the arrays that it meets.

A map, also called a place, says for each axis of an array where on it the point is, as a number plus whole steps per loop;
movement ops and broadcasting become arithmetic on places. They have numbers: there are few, and hashing one takes long.
"""


class AccessMaps:
    """The access maps of a loop over `domain`; `start` is that of the point itself."""

    def __init__(self, domain):
        self.domain, self._places, self._numbers, self._paired = domain, [], {}, {}
        loops = range(len(domain))
        self._still = 0, (0,) * len(domain)
        #: A shape that stays where it is; most operands have it.
        self._whole = None if 1 in domain else tuple(domain)
        self.start = self.number(tuple((0, tuple(int(i == j) for j in loops)) for i in loops))

    def __getitem__(self, number):
        return self._places[number]

    def number(self, place):
        """The number of a place."""
        found = self._numbers.get(place)
        if found is None:
            found = self._numbers[place] = len(self._places)
            self._places.append(place)
        return found

    def aligned(self, argument, number):
        """The place in an operand that broadcasting pairs with a place in the result."""
        shape = getattr(argument, "shape", ())
        # The commonest operand, asked for each of its nodes: nothing moves, and nothing is looked up.
        if shape == self._whole and len(self._places[number]) == len(shape):
            return number
        found = self._paired.get((shape, number))
        if found is None:
            whole = self._places[number]
            tail = whole[len(whole) - len(shape) :]
            found = self.number(tuple([self._still if n == 1 else p for n, p in zip(shape, tail, strict=True)]))
            self._paired[shape, number] = found
        return found

    def moved(self, source, number):
        """The place in a view's source, through its index map, that corresponds to a place in the view."""
        place, loops, moved = self._places[number], range(len(self.domain)), []
        for offset, steps in source:
            at = offset + sum([s * p[0] for s, p in zip(steps, place, strict=True)])
            moved.append((at, tuple([sum([s * p[1][j] for s, p in zip(steps, place, strict=True)]) for j in loops])))
        return self.number(tuple(moved))

    def within(self, piece, number):
        """The place in a piece, and the bounds that say whether the point is in it."""
        place, inner, bounds = self._places[number], [], []
        for size, axis in zip(piece.source.shape, piece.axes, strict=True):
            if axis is None:
                # An axis of length 1 that the whole has not.
                inner.append(self._still)
                continue
            at, along = _from(place[axis[0]], axis[1], axis[2])
            inner.append((at, along))
            bounds.append((at, along, size))
        bounds += [(*_from(place[axis], where, 1), 1) for axis, where in piece.fixed]
        return self.number(tuple(inner)), tuple([bound for bound in bounds if not self._always_holds(bound)])

    def chosen(self, number, gather):
        """The places of a position that is gathered, and of what is chosen by it along one axis, at a place in the result."""
        source, axis, indices, pairs_lines = gather
        whole = self._places[number]
        if pairs_lines:
            positions, others = self.aligned(indices, number), self._places[self.aligned(source, number)]
            return positions, self.number((*others[:axis], self._still, *others[axis + 1 :]))
        positions = self.number(whole[axis : axis + indices.ndim])
        return positions, self.number((*whole[:axis], self._still, *whole[axis + indices.ndim :]))

    def _always_holds(self, bound):
        at, along, size = bound
        reach = [step * (n - 1) for step, n in zip(along, self.domain, strict=True)]
        return at + sum([min(r, 0) for r in reach]) >= 0 and at + sum([max(r, 0) for r in reach]) < size


def _from(place, start, sign):
    """A place on an axis counted from `start` on, backwards if `sign` is -1."""
    at, along = place
    return sign * (at - start), tuple([sign * step for step in along])
