"""Nests: passes over the same rows that run block by block, so that what one hands to the next stays in cache.

What only the passes themselves read is never written to memory that lasts: a chunk that runs has a frame to itself, in which it
keeps one block of that, for as long as it is needed. There are as many frames as threads, and a frame stays in its core's cache.
"""

from dataclasses import dataclass, field

from ...core.symbol import Symbol
from .. import cost
from ..index.row_dependences import touched_bytes
from .memory import Arena


@dataclass(eq=False)
class Nest:
    """Passes in order over `rows` rows, which the first axes of their domains number.

    block    how many rows a pass takes before the next pass does
    local    the results that nothing else reads, each with its place in the frame
    frame    the bytes of a frame
    frames   how many there are, once that is known
    """

    steps: list
    rows: int
    block: int = 0
    local: dict = field(default_factory=dict)
    frame: int = 0
    frames: int = 0

    @property
    def blocks(self):
        """How many blocks there are."""
        return -(-self.rows // self.block)

    @property
    def chunk_blocks(self):
        """How many blocks one chunk takes."""
        return -(-self.blocks // cost.MOST_NEST_CHUNKS)

    @property
    def chunks(self):
        """How many pieces there are that may run at the same time."""
        return -(-self.blocks // self.chunk_blocks)

    def block_bytes(self, node):
        """The bytes of one block of a result."""
        return node.size // self.rows * node.dtype.itemsize * self.block

    def moves(self, buffer, start):
        """Where rows of a buffer begin if it begins at `start`, and by how much that moves with each block and with each frame, in
        bytes; for code that finds a row by its number among all.
        """
        place = self.local.get(buffer) if isinstance(buffer, Symbol) else None
        # One block in each frame, in the same place whichever block it is.
        return (start, 0, 0) if place is None else (start + place, -self.block_bytes(buffer), self.frame)

    def cut(self, accesses, local):
        """Decide on blocks, and give each of the results `local` its place in the frame."""
        row_bytes = touched_bytes(self.steps, self.rows, accesses)
        products = [product for step in self.steps if (product := step.kernel.product(step, accesses)) is not None]
        self.block = _product_block(products, self.rows, row_bytes) if products else _power(cost.BLOCK_BYTES // row_bytes)
        self.block = max(self.block, *[step.kernel.fewest_rows for step in self.steps])
        # Passes of one block run one after the other, so a place in the frame is free again after the last pass that reads it.
        last = {id(buffer): number for number, step in enumerate(self.steps) for buffer in step.kernel.rows_read(step, accesses)}
        arena = Arena([
            (node, self.block_bytes(node), number, last.get(id(node), number))
            for number, step in enumerate(self.steps) for node in step.roots if node in local])
        self.local, self.frame = arena.places, arena.size

    def cut_for_interchange(self):
        """Decide on blocks of a nest whose chunks go through all iterations of a loop: as many as can be, for threads to share."""
        blocks = 1 << (self.rows // cost.INTERCHANGED_ROWS).bit_length() - 1  # threads come in powers of two, too
        self.block = -(-self.rows // blocks)


def _product_block(products, rows, row_bytes):
    """How many of the rows of a nest are computed at a time: what they touch stays in cache, and so does each tile's panel of the
    matrix for some tiles.
    """
    matrices = {product.matrix: product.problem for product in products}.values()
    nbytes = sum([problem.matrix_bytes for problem in matrices])
    fewest = cost.FEWEST_ROWS if nbytes <= cost.MATRIX_BYTES else cost.FEW_ROWS
    # Rows of a nest may be several of a product each, as tokens of an example are.
    height = min([problem.m for problem in matrices]) // rows
    return min(max(_power(cost.PRODUCT_BLOCK_BYTES // row_bytes), _power(fewest // height)), _power(cost.MOST_ROWS // height))


def _power(number):
    """The largest power of two that is not above a number, at least 1."""
    return 1 << max(0, number.bit_length() - 1)
