"""`torch.backends`: what other libraries could do, none of which is used."""

from types import SimpleNamespace

from ..devices import no
from . import cudnn

cuda = SimpleNamespace(matmul=SimpleNamespace(allow_tf32=False), is_built=no)
mps = SimpleNamespace(is_available=no, is_built=no)
mkl = openmp = SimpleNamespace(is_available=no)
mkldnn = SimpleNamespace(is_available=no, enabled=False)

__all__ = ["cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp"]
