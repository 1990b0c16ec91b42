"""Alone: the group of processes where there is one. It says what every group can do, on plain arrays."""

import numpy as np

from ..errors import ArgumentError


class Alone:
    """A group of one process. Groups of several have the same methods, which all of their processes must call in the same order.

    rank, size  which process this is, and how many there are; `ranks` are their numbers among all processes
    shared      what compiled code adds up by, without Python; None where it cannot. Then `text_of_means` and
                `text_of_failure` are what it says
    """

    rank, size, ranks, shared = 0, 1, (0,), None

    def __repr__(self):
        return "the only process"

    def divided(self, color):
        """The group of those processes r of this group that have the same number `color(r)` as this one; all call it."""
        return self

    def sum(self, x, order, name):
        """The sum of the arrays `x` of all processes, each of the same shape and dtype.

        order  "ranks": added in the order of ranks, so that all processes have the same bits, in every run; "any": as is fastest
        name   what the call is named in errors, here and below
        """
        return np.array(x)

    def means(self, arrays, order, name):
        """The means over all processes of several arrays of one dtype, sent together."""
        if self.size == 1:
            return [np.array(x) for x in arrays]
        flat, dtype = np.concatenate([x.reshape(-1) for x in arrays]), arrays[0].dtype
        # Of numbers of two bytes the sum may be out of their range where the mean is not.
        total = self.sum(flat.astype(np.float32) if dtype.itemsize == 2 else flat, order, name)
        total /= self.size
        return parts_of(total.astype(dtype, copy=False), arrays)

    def begin_means(self, arrays, order, name):
        """Begin to compute what `means` gives, from arrays that stay as they are until it is asked for; a number that stands for
        it, 0 where nothing is done yet.
        """
        return 0

    def finish_means(self, number, arrays, order, name, results):
        """`results`, contiguous arrays, once they have what was begun as `number`, with the same arguments."""
        return written(self.means(arrays, order, name), results)

    def stack(self, x, name):
        """The arrays `x` of all processes along a new first axis."""
        return np.array(x)[None]

    def sum_of_parts(self, x, order, name):
        """Of the sum of all `x`, whose first axis has one part for each process, the part of this one."""
        return np.array(x[0])

    def exchange(self, x, name):
        """Part i of process j, along the first axis, as part j of process i."""
        return np.array(x)

    def broadcast(self, x, root, name):
        """The `x` of process `root`."""
        self.check(root)
        return np.array(x)

    def sum_at(self, x, root, order, name):
        """The sum of all `x` at process `root`, zeros elsewhere."""
        self.check(root)
        return np.array(x)

    def from_owners(self, arrays, owners, name):
        """Each of several arrays of one dtype as process `owners[i]` has it."""
        return [np.array(x) for x in arrays]

    def passed(self, x, to, source, name):
        """What process `source` sends to this one, after `x` is sent to `to`; either may be None."""
        for rank in (to, source):
            self.check(rank)
        return np.zeros_like(x) if source is None else np.array(x)

    def check(self, rank):
        """Raise unless `rank` is the number of a process, or None."""
        if rank is not None and (not isinstance(rank, int) or isinstance(rank, bool) or not 0 <= rank < self.size):
            raise ArgumentError(f"processes have the numbers 0 to {self.size - 1}, got {rank!r}")

    def meet(self, name):
        """Wait until all processes are here."""

    def shares_memory(self):
        """Whether sums go through memory that all processes see."""
        return False

    def contents(self, content, name):
        """The bytes that all processes give, in order."""
        return [content]

    def __deepcopy__(self, memo):
        return self


#: The group of a process that is not one of several.
ALONE = Alone()


def written(found, results):
    """`results` once they have the values of the arrays `found`."""
    for result, x in zip(results, found, strict=True):
        result[...] = x
    return results


def parts_of(flat, arrays):
    """Of numbers that lie one after the other, those for each of several arrays, in their shapes."""
    ends = np.cumsum([x.size for x in arrays])
    return [part.reshape(x.shape) for part, x in zip(np.split(flat, ends[:-1]), arrays, strict=True)]
