"""Cost: how long kernels take, and into how many pieces they are cut that may run at the same time. All such guesses stand here.

Seconds are of one thread, and rough: they decide whether other threads are woken. The number of pieces never depends on that of the
threads, since a piece may have a sum of its own: results are the same, bit for bit, whoever computes them.
"""

from typing import NamedTuple

#: Seconds for one cheap entry of a loop.
ENTRY_SECONDS = 1e-10
#: To make a number of a quantised weight, and to multiply a row by it.
UNPACK_SECONDS, FEW_ROWS_SECONDS = 5e-11, 2e-11
#: To make an integer of it, and to multiply a row of integers by it.
CODE_SECONDS, FEW_CODES_SECONDS = 2.5e-11, 2e-11
#: Seconds for one floating point operation: of products and of convolutions, which reach most of the peak; of attention, which has
#: exponentials between its products; of factorizations, which wait for their pivots.
PRODUCT_SECONDS, ATTENTION_SECONDS, FACTOR_SECONDS = 1.5e-11, 2e-11, 3e-11
#: Seconds to pack one byte of a matrix, to pool one number, to transform one number of a line.
PACK_SECONDS, POOL_SECONDS, TRANSFORM_SECONDS = 2e-10, 5e-10, 2e-9
#: Cheap entries that one number of these takes: it waits for the one before it; it is compared with those found so far; it is
#: counted for each rank.
RUNNING_COST, RANKING_COST, SELECTION_COST = 10, 10, 40
#: Seconds to look a position up among those before it.
FIRST_SECONDS = 3e-9
#: Seconds for a random number, by the op and its dtype: these are what there are kernels for.
RANDOM_SECONDS = {
    ("random_mask", "bool"): 7e-10, ("random_bits", "uint32"): 7e-10, ("random_uniform", "float32"): 7e-10,
    ("random_uniform", "float64"): 1.5e-9, ("random_normal", "float32"): 1.5e-9, ("random_normal", "float64"): 4e-9,
    ("random_integers", "int64"): 2e-9,
}

#: To wake threads pays for a program, or a draw, of more seconds of work that they can share than this.
SHARED_SECONDS = 3e-4
#: It pays for one product, convolution or attention of more floating point operations than the first, to pack a matrix of more
#: bytes, and to move or add up more numbers.
SHARED_FLOPS, SHARED_BYTES, SHARED_NUMBERS = 1_000_000, 65536, 100_000


class Grain(NamedTuple):
    """How work is cut: a chunk has at least so much of it, and there are at most so many chunks."""

    least: int
    most: int

    def chunks(self, work):
        """How many chunks so much work is worth."""
        return max(1, min(self.most, work // self.least))

    def share(self, units, work):
        """How many of so many units, which are this work together, one chunk takes."""
        return -(-units // self.chunks(work))


#: Numbers that loops read or write, that running sums, rankings and scattered sums handle, that a pool reads, that are drawn.
LOOPS, RUNNING, RANKING, SCATTER, POOLS, DRAWS = (
    Grain(65536, 64), Grain(16384, 32), Grain(16384, 32), Grain(16384, 32), Grain(16384, 64), Grain(16384, 32))
#: Whole lines of a table: each chunk of them reads all positions.
SCATTER_LINES = Grain(65536, 8)
#: A rank takes some passes over its row.
SELECTION = Grain(4096, 32)
#: Numbers of lines; a table of factors is read by each chunk.
TRANSFORMS = Grain(32768, 8)
#: Multiply-adds of factorizations, of one matrix at a time and of many in vectors.
FACTORS, FACTORS_IN_LANES = Grain(200_000, 32), Grain(50_000, 32)
#: Numbers of an eager function; fewer than the second are not shared.
EAGER, EAGER_SHARED = Grain(16384, 64), 65536
#: Weights of quantised rows.
QUANTIZED = Grain(65536, 32)
#: Multiply-adds of attention to a cache, if that were full.
CACHED_ATTENTION = Grain(1 << 20, 32)
#: Blocks of rows of the passes of a nest.
MOST_NEST_CHUNKS = 32
#: Pieces of attention for each thread: those of causal attention take unlike times, so that whoever is early takes another one. Its
#: way back deals keys to several tasks where there are fewer matrices than the second.
ATTENTION_CHUNKS, ATTENTION_TASKS = 4, 8
#: Parts of a batch of which the gradient of a convolution's weight has sums of its own; no more than the second where the sums of
#: all would be more numbers than the third.
WEIGHT_PARTS, FEW_WEIGHT_PARTS, WEIGHT_SUMS = 16, 4, 2_000_000

# Computed again, or kept

#: A value takes at most so many cheap ops for each of its numbers, to be computed again by another kernel that needs it; or again
#: for a product much later, since it had to be read from memory outside of the caches else.
RECOMPUTED_OPS, REMATERIALISED_OPS = 3, 6
#: What has so many times fewer numbers than what it is for is computed far less often, and counts as nothing.
FAR_FEWER = 8
#: What one loop would meet at more places is worth a pass by itself, whatever it takes.
MOST_PLACES = 16
#: Loops of more results than these are taken apart where the results have nothing in common: LLVM takes 0.03 s for so many
#: counters, and 6 s for 1,500.
MOST_RESULTS = 64
#: To rematerialise pays for results of so many numbers, in programs that keep so many bytes: smaller ones find all in the cache.
#: A later use is so many steps after the first one.
REMATERIALISED_NUMBERS, REMATERIALISED_BYTES, STEPS_APART = 65536, 8 * 1024 * 1024, 8
#: Up to so many numbers or lines that come to one element are looked for there: a comparison and a choice each, for each element.
#: More of them are added one by one, at positions.
CHOICES = 8

#: So many numbers that lie side by side are summed by themselves, where others of the same sum lie elsewhere.
LONG_RUN = 16

# Passes that run block by block over the same rows

#: Passes over fewer numbers find everything in cache as it is.
TILED_NUMBERS = 32768
#: A block of rows takes about this many bytes of all that its passes touch; with products among them more, since each block
#: meets all of their matrices.
BLOCK_BYTES, PRODUCT_BLOCK_BYTES = 48 * 1024, 256 * 1024
#: Rows of more bytes leave the second cache: steps with few numbers do not make those of a nest so large, and a group of channels
#: of a convolution is a row if it has no more.
ROW_BYTES = 128 * 1024
#: The matrix of a product has at most so many bytes, and this share of the numbers of the rows that it meets: each block meets all
#: of it, and had better find it in the second cache.
MATRIX_BYTES, MATRIX_SHARE = 256 * 1024, 1 / 4
#: Blocks of a product have at least so many rows: with matrices that stay in cache, with larger ones; and at most.
FEWEST_ROWS, FEW_ROWS, MOST_ROWS = 16, 64, 128
#: A nest has no more results that sums over all rows read, as gradients of weights are, than the first, if these have more bytes
#: than the second: each is kept until the nest is over, and with it what it is multiplied by.
MOST_SUMMED, SUMMED_BYTES = 8, 16 * 1024 * 1024
#: Of a loop whose rows go through all iterations: the fewest rows of a chunk, which meets all matrices by itself; the most bytes of
#: these; the fewest floating point operations that are worth sharing.
INTERCHANGED_ROWS, INTERCHANGED_BYTES, INTERCHANGED_FLOPS = 16, 1024 * 1024, 4_000_000

# Register tiles

#: Steps of k in one iteration of a tile: of products and of attention; along pixels, for the gradient of a convolution's weight.
TILE_STEPS, PIXEL_STEPS = 4, 2
#: Steps of k whose products are added one after the other in a running sum, before it is added to that of the steps before.
SUMMED = 256
#: Sums that are added to at the same time, so that none waits for itself: two multiply-adds a cycle take four cycles each.
CHAINS = 8
#: Up to so many taps of a convolution are written out; so many channels are, of kernels of one tap.
TAPS, CHANNELS = 12, 4
#: A band of a convolution has about so many numbers of each channel of the result: a few channels of it stay in the first cache.
BAND = 1100
#: Tiles of a block of Winograd's convolution: a multiple of the rows of register tiles.
WINOGRAD_TILES = 48
#: Output channels of a kernel's gradient that are worth a chunk of their own, each of which transforms the image anew, and the most
#: such chunks for a part of the batch.
WINOGRAD_SHARE, WINOGRAD_SHARES = 128, 4
#: Queries that attention takes at a time, forward and backward, whose tiles stay in cache; the fewest keys of a block.
QUERIES, FEWEST_KEYS = 64, 32
#: Factorizations of large matrices have no more chunks than these if the rooms of all come to more numbers than the second.
FEW_CHUNKS, MOST_ROOM = 8, 4_000_000


def step_cycles(height, width, loads):
    """Cycles of one step of a tile: two multiply-adds or two loads each, and not fewer than a sum takes to be ready again."""
    return max(height * width * 0.5, loads * 0.5, CHAINS * 0.5) + 0.05 * (height + width)
#: Of more than so many numbers a row is sorted: to put one in its place takes long among many.
MOST_RANKED = 128
