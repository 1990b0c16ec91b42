"""Butterflies: the discrete Fourier transform of a few complex numbers, each a pair of vectors."""

from math import cos, pi, sin

from .. import emit
from ..vecmath.elements import constant


class Butterflies:
    """Transforms with exponents of one `sign`, in code for vectors of `lanes` numbers."""

    def __init__(self, builder, vector, sign, is_fused):
        self.ir, self._vector, self._sign, self._is_fused = builder, vector, sign, is_fused

    def transformed(self, x):
        """The transform of some numbers: 2, 4 or an odd number of them."""
        return {2: self._two, 4: self._four}.get(len(x), self._odd)(x)

    def rotated(self, x, cosine, sine):
        """A number times `cosine` + i `sine`."""
        (a, b), c, s = x, cosine, sine
        return self.plus(self.ir.fmul(a, c), self.ir.fneg(b), s), self.plus(self.ir.fmul(a, s), b, c)

    def rotated_by(self, x, number, count):
        """A number rotated by `number` of `count` parts of a circle."""
        if 4 * number % count:
            angle = 2 * pi * (number % count) / count
            return self.rotated(x, constant(cos(angle), self._vector), constant(self._sign * sin(angle), self._vector))
        # By quarters of a circle nothing is multiplied: parts change places and signs.
        quarters, (a, b) = self._sign * (4 * number // count) % 4, x
        for _ in range(quarters):
            a, b = self.ir.fneg(b), a
        return a, b

    def plus(self, z, x, y):
        """z + x·y."""
        return emit.multiply_add(self.ir, x, y, z, self._is_fused)

    def add(self, x, y):
        """The sum of two numbers."""
        return self.ir.fadd(x[0], y[0]), self.ir.fadd(x[1], y[1])

    def subtract(self, x, y):
        """The difference of two numbers."""
        return self.ir.fsub(x[0], y[0]), self.ir.fsub(x[1], y[1])

    def _both(self, x, y):
        """x + i y and x - i y, or the other way round where the sign is -1."""
        up = self.ir.fsub(x[0], y[1]), self.ir.fadd(x[1], y[0])
        down = self.ir.fadd(x[0], y[1]), self.ir.fsub(x[1], y[0])
        return (up, down) if self._sign == 1 else (down, up)

    def _two(self, x):
        return [self.add(*x), self.subtract(*x)]

    def _four(self, x):
        (a, c), (b, d) = self._two(x[::2]), self._two(x[1::2])
        first, third = self._two([a, b])
        second, fourth = self._both(c, d)
        return [first, second, third, fourth]

    def _odd(self, x):
        """By sums and differences of numbers that stand opposite each other."""
        size, half = len(x), range(1, (len(x) + 1) // 2)
        sums = {j: self.add(x[j], x[size - j]) for j in half}
        differences = {j: self.subtract(x[j], x[size - j]) for j in half}
        found = {0: x[0]}
        # The imaginary parts of opposite factors cancel in sums, and the real ones in differences: half as many products.
        for j in half:
            found[0] = self.add(found[0], sums[j])
        for k in half:
            angles = [2 * pi * (j * k % size) / size for j in half]
            along = self._weighted(x[0], sums.values(), map(cos, angles))
            across = self._weighted(None, differences.values(), map(sin, angles))
            found[k], found[size - k] = self._both(along, across)
        return [found[k] for k in range(size)]

    def _weighted(self, total, numbers, weights):
        """A sum of numbers times real weights."""
        for number, weight in zip(numbers, weights, strict=True):
            weight = constant(weight, self._vector)
            before = (None, None) if total is None else total
            total = tuple([
                self.ir.fmul(x, weight) if z is None else self.plus(z, x, weight) for z, x in zip(before, number, strict=True)])
        return total
