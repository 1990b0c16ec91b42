"""Functions of tiles, one for each size, and rows of a matrix in tiles of these heights."""

from .. import emit, ir
from ..emit import I64


class Functions:
    """The tile functions of a module, each written by `write(b, its arguments, *size)` when it is first called."""

    def __init__(self, module, name, write):
        self._module, self._name, self._write, self._made = module, name, write, {}

    def call(self, b, size, arguments):
        """Call the function for a size, which is numbers and names: its arguments have the same types in all calls."""
        if size not in self._made:
            self._made[size] = self._written(size, [argument.type for argument in arguments])
        b.call(self._made[size], arguments)

    def _written(self, size, types):
        name = f"{self._name}_{'x'.join(map(str, size))}"
        function = ir.Function(self._module, ir.FunctionType(ir.VoidType(), types), name)
        function.linkage = "internal"
        # LLVM would copy a tile into each of its callers, and the time to compile would grow with their number.
        function.attributes.add("noinline")
        builder = ir.IRBuilder(function.append_basic_block("entry"))
        self._write(builder, function.args, *size)
        builder.ret_void()
        return function


def each_height(b, first, end, tallest):
    """Cut rows from `first` to `end` in tiles as (height, first row): as high as tiles can be, then of lower powers of two. The
    body is emitted for each height.
    """
    # The rest is cut by its bits: each height is emitted once and met once or not at all, so no tile computes rows that are not
    # there.
    left = b.srem(b.sub(end, first), I64(tallest))
    whole = b.sub(end, left)
    with emit.loop(b, first, whole, tallest) as row:
        yield tallest, row.index
    first = whole
    for height in [1 << i for i in range((tallest - 1).bit_length() - 1, -1, -1)]:
        count = b.and_(left, I64(height))
        with b.if_then(b.icmp_signed("!=", count, I64(0))):
            yield height, first
        first = b.add(first, count)
