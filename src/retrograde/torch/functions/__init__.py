"""Functions of PyTorch's that are composed of others, by subject: `NAMES` holds all of them."""

from . import copies, factors, placing, sampling, spectra, statistics

#: All of them; those of `METHODS` are methods of tensors as well.
NAMES = {
    name: getattr(module, name) for module in (copies, factors, placing, sampling, spectra, statistics) for name in module.__all__
}
METHODS = frozenset([
    "as_strided", "as_strided_scatter", "diagonal_scatter", "geqrf", "histogram", "index_reduce", "istft", "lu", "lu_solve",
    "nonzero_static", "ormqr", "put", "slice_scatter", "split_with_sizes", "stft", "triangular_solve",
])
