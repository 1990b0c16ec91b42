"""Orders: which rows make up the batches of an epoch. Each depends on the seed and the epoch, and on nothing else."""

from itertools import islice

import numpy as np

from ..errors import ArgumentError, DataError, ShapeError

MASK = 2**64 - 1
#: The stream of an epoch that its order is drawn from; samples have those of their numbers.
_ORDER = MASK


def key_of(seed, epoch):
    """64 bits for an epoch of a seed: those of Steele, Lea and Flood (2014), SplitMix64, of both."""
    return _mixed(_mixed(int(seed) & MASK) + int(epoch) & MASK)


def _mixed(x):
    x = x + 0x9E3779B97F4A7C15 & MASK
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
    return x ^ x >> 31


def bits(key, stream):
    """NumPy's Philox generator of bits, at the beginning of one of the streams of a key."""
    return np.random.Philox(key=np.array([key, stream], np.uint64))


def shuffled(count, key):
    """The numbers below `count` in an order that `key` decides."""
    # Raw bits stay the same in all versions of NumPy, which its shuffles need not. The lower bits say which number it was, so one
    # fast sort does; equal upper bits are as rare as they would have to be for anybody to see them.
    width = max(count - 1, 1).bit_length()
    words = bits(key, _ORDER).random_raw(count)
    words &= np.uint64(MASK << width & MASK)
    words |= np.arange(count, dtype=np.uint64)
    words.sort()
    words &= np.uint64((1 << width) - 1)
    return words.astype(np.int64)


class Batched:
    """Batches of one size, of rows in their order or shuffled."""

    def __init__(self, count, batch_size, is_shuffled, drops_last):
        self.count, self.size = count, checked_size(batch_size)
        self.is_shuffled, self.drops_last = is_shuffled, drops_last
        #: Whether an epoch has each row, in the order of the source.
        self.keeps_rows = not is_shuffled and (not drops_last or count % self.size == 0)

    def __len__(self):
        return number_of_batches(self.count, self.size, self.drops_last)

    def batches(self, key, start):
        """The batches of an epoch from number `start` on, each as numbers of rows."""
        order = shuffled(self.count, key) if self.is_shuffled else range(self.count)
        for i in range(start * self.size, len(self) * self.size, self.size):
            yield order[i : i + self.size]


    def check_parts(self, count):
        """Raise an ArgumentError unless each batch can be cut into `count` parts of one size."""
        rest = 0 if self.drops_last else self.count % self.size
        if self.size % count:
            raise ArgumentError(f"{count} processes share each batch evenly: batch_size, which is that of all together, must be a "
                                f"multiple of {count}, got {self.size}")
        if rest % count:
            raise ArgumentError(f"the last of {len(self)} batches has {rest} rows, which {count} processes cannot share evenly; "
                                "give drop_last=True")


class ByLength:
    """Batches of rows that are about equally long, so that padding them wastes little; shuffled all the same.

    Rows are shuffled, `pool` batches at a time are sorted by length, and the batches are shuffled.

    lengths     the length of each row
    batch_size  how many rows a batch has
    pool        how many batches are sorted together: more waste less, and mix less

    >>> order = rg.data.ByLength([5, 1, 4, 2, 3, 6], batch_size=2)
    >>> sorted(sorted(batch.tolist()) for batch in order.batches(key=0, start=0))
    [[0, 5], [1, 3], [2, 4]]
    """

    #: Whether an epoch has each row, in the order of the source.
    keeps_rows = False

    def __init__(self, lengths, batch_size, pool=50, drop_last=False):
        self.lengths = np.asarray(lengths)
        if self.lengths.ndim != 1:
            raise ShapeError(f"ByLength needs one length for each row, got an array of shape {self.lengths.shape}")
        self.count, self.size, self.pool = len(self.lengths), checked_size(batch_size), checked_size(pool)
        self.drops_last = drop_last

    def __len__(self):
        return number_of_batches(self.count, self.size, self.drops_last)

    def batches(self, key, start):
        """The batches of an epoch from number `start` on."""
        order, found = shuffled(self.count, key), []
        for i in range(0, self.count, self.size * self.pool):
            together = order[i : i + self.size * self.pool]
            together = together[np.argsort(self.lengths[together], kind="stable")]
            found += [together[j : j + self.size] for j in range(0, len(together), self.size)]
        whole = [batch for batch in found if len(batch) == self.size or not self.drops_last]
        return islice((whole[i] for i in shuffled(len(whole), key ^ MASK)), start, None)


def parts_of(batches, number, count):
    """Of each batch the part of that number, of `count` parts of one size."""
    for batch in batches:
        if len(batch) % count:
            raise DataError(f"{count} processes share each batch evenly, got one of {len(batch)} rows")
        size = len(batch) // count
        yield batch[number * size : (number + 1) * size]


def checked_shard(shard):
    """`shard`, if it is the number of a part and how many there are."""
    pair = tuple(shard) if isinstance(shard, (tuple, list)) else ()
    if len(pair) != 2 or not all([isinstance(n, int) and not isinstance(n, bool) for n in pair]) or not 0 <= pair[0] < pair[1]:
        raise ArgumentError(f"shard must be (i, n), the number of a part, from 0 on, and how many there are, got {shard!r}")
    return pair


def checked_size(size):
    """`size`, if it is an integer of at least 1."""
    if hasattr(size, "__len__"):
        raise ArgumentError("batch_size must be an integer; several arrays are one source as a tuple: Loader((x, y), batch_size)")
    if isinstance(size, bool) or not isinstance(size, (int, np.integer)) or size < 1:
        raise ArgumentError(f"batch_size must be an integer of at least 1, got {size!r}")
    return int(size)


def number_of_batches(count, size, drops_last):
    """How many batches of one size `count` rows make."""
    return count // size if drops_last else -(-count // size)
