"""Plans of Winograd's convolutions: which convolutions pay, and how their tiles are cut in blocks."""

from dataclasses import dataclass
from math import ceil

from ..... import cost
from ..convolution.layout import tile_size
from ..vectors import InVectors, odd_lines
from .matrices import TAPS, matrices
from .pixels import Frame


@dataclass(eq=False, repr=False)
class Tiled(InVectors):
    """Tiles of `results` x `results` numbers, and how they are met: some small images at a time, or a band of rows of tiles of one.

    image, result   height and width of a channel of what is read, and of what the tiles make up
    border          zeros above and to the left of the image
    rows, columns   of tiles, of one image
    images          of a block
    bands           blocks of an image, `tall` ones of `band_rows + 1` rows of tiles and then others of `band_rows`
    """

    dtype: str
    lanes: int
    is_fused: bool
    results: int
    groups: int
    inputs: int
    outputs: int
    image: tuple
    result: tuple
    border: tuple
    images: int
    bands: int
    band_rows: int
    tall: int

    @property
    def matrices(self):
        """The transforms."""
        return matrices(self.results)

    @property
    def size(self):
        """Numbers of a tile of the image along each side."""
        return self.results + TAPS - 1

    @property
    def places(self):
        """Products of a tile, for each two channels."""
        return self.size**2

    @property
    def columns(self):
        """Tiles of a row."""
        return ceil(self.result[1] / self.results)

    @property
    def tiles(self):
        """The most tiles of a block."""
        return self.images * self._tall * self.columns

    def tasks(self, batch):
        """How many blocks so many images are."""
        return ceil(batch / self.images) * self.bands

    @property
    def image_frame(self):
        """How the pixels of an image lie that tiles are made of."""
        rows, columns = self._tall * self.results + TAPS - 1, self.columns * self.results + TAPS - 1
        return Frame(self.image, self.border, rows, columns)

    @property
    def result_frame(self):
        """The same of what tiles make up, which do not overlap."""
        return Frame(self.result, (0, 0), self._tall * self.results, self.columns * self.results)

    @property
    def _tall(self):
        """Rows of tiles of the highest band."""
        return self.band_rows + (self.tall > 0)

    @property
    def inputs_line(self):
        """Numbers of all input channels of a tile, in whole vectors."""
        return odd_lines(self._whole(self.inputs), self.dtype)

    @property
    def outputs_line(self):
        """The same of the output channels that a chunk has."""
        raise NotImplementedError

    # An odd number of cache lines lies between what is written for one place and for the next, or all of them would meet in one
    # set of the first cache.

    @property
    def image_place(self):
        """Numbers of the transformed image of one place."""
        return odd_lines(self.tiles * self.inputs_line, self.dtype)

    @property
    def result_place(self):
        """Numbers of one place of what results are made of, or of the transform of their gradient."""
        return odd_lines(self.tiles * self.outputs_line, self.dtype)

    @property
    def room(self):
        """Numbers of scratch memory of one chunk: what is there of images and of results for each place, and the pixels of both."""
        both = self.places * (self.image_place + self.result_place)
        return odd_lines(both + (self.image_frame.pixels + self.result_frame.pixels) * self.lanes, self.dtype)

    def _whole(self, count):
        """So many numbers, and more until they fill whole vectors."""
        return ceil(count / self.lanes) * self.lanes


@dataclass(eq=False, repr=False)
class Correlating(Tiled):
    """A convolution, or the gradient of its image.

    source   the steps of images, channels, rows and columns
    weight   the first number, and the steps of output channels, input channels, groups, and rows and columns of the kernel
    bias     the step of the bias, or None
    height   tiles of a register tile, `vectors` its vectors of output channels
    """

    source: tuple
    weight: tuple
    bias: int | None
    height: int
    vectors: int

    @property
    def across(self):
        """Vectors of output channels."""
        return ceil(self.outputs / self.lanes)

    @property
    def outputs_line(self):
        """Numbers of all output channels of a tile, in whole vectors."""
        return odd_lines(self._whole(self.outputs), self.dtype)

    @property
    def kernels_place(self):
        """Numbers of the transformed kernels of one place."""
        return odd_lines(self.inputs * self.across * self.lanes, self.dtype)

    @property
    def packed(self):
        """Numbers of all transformed kernels."""
        return self.groups * self.places * self.kernels_place


@dataclass(eq=False, repr=False)
class Weighing(Tiled):
    """The gradient of a kernel.

    source, other   steps of images, channels, rows and columns of the convolution's input and output
    height          output channels of a register tile, `vectors` its vectors of input channels
    shares          parts of the output channels that chunks of their own make
    """

    source: tuple
    other: tuple
    height: int
    vectors: int
    shares: int

    @property
    def share(self):
        """The most output channels of a share."""
        return ceil(self.outputs / self.shares)

    @property
    def outputs_line(self):
        """Numbers of a share's output channels of a tile, in whole vectors."""
        return odd_lines(self._whole(self.share), self.dtype)

    @property
    def sums_place(self):
        """Numbers of the sums of one place."""
        return odd_lines(self.outputs * self.inputs_line, self.dtype)

    @property
    def partial(self):
        """Numbers of the sums of one part of the batch."""
        return self.groups * self.places * self.sums_place


def correlating_of(results, correlation, border, dtype, target, source, weight, bias, least):
    """The plan of a convolution, `correlation`, of images with such a border, in at least so many bands an image."""
    blocks = _blocks(results, correlation, border, least)
    lanes = target.lanes(dtype)
    plan = Correlating(dtype, lanes, target.has_fma, *blocks, source, weight, bias, 1, 1)
    height, vectors = tile_size(target, lanes, plan.tiles, correlation.outputs)
    return Correlating(dtype, lanes, target.has_fma, *blocks, source, weight, bias, height, vectors)


def weighing_of(results, correlation, border, dtype, target, source, other):
    """The plan of the gradient of a kernel."""
    blocks = _blocks(results, correlation, border, 1)
    lanes = target.lanes(dtype)
    height, vectors = tile_size(target, lanes, correlation.outputs, correlation.inputs)
    shares = max(1, min(cost.WINOGRAD_SHARES, correlation.outputs // cost.WINOGRAD_SHARE))
    return Weighing(dtype, lanes, target.has_fma, *blocks, source, other, height, vectors, shares)


def _blocks(results, correlation, border, least):
    """The fields of `Tiled` for at least so many bands of an image."""
    rows, columns = (ceil(n / results) for n in correlation.result)
    bands = min(max(ceil(rows * columns / cost.WINOGRAD_TILES), least), rows)
    short, tall = divmod(rows, bands)
    images = max(1, cost.WINOGRAD_TILES // (rows * columns)) if bands == 1 else 1
    sizes = correlation.groups, correlation.inputs, correlation.outputs, correlation.image, correlation.result
    return results, *sizes, border, images, bands, short, tall
