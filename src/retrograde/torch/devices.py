"""Devices and backends: present, so that programs may ask, and not available."""

from types import ModuleType, SimpleNamespace

from ..errors import DeviceError

#: The names of kinds of devices that PyTorch knows.
KINDS = frozenset(["cpu", "cuda", "mps", "xpu", "meta"])


class device(str):  # noqa: N801 - PyTorch's name
    """The name of a device, such as torch.device("cpu"), torch.device("cuda", 0) or torch.device("cuda:0").

    >>> import retrograde.torch as torch
    >>> torch.device("cpu").type, torch.zeros(1).device == torch.device("cpu")
    ('cpu', True)
    """

    __slots__ = ()

    def __new__(cls, type, index=None):
        name = str.__str__(type) if isinstance(type, str) else f"cuda:{type}"
        return str.__new__(cls, name if index is None else f"{name}:{index}")

    @property
    def type(self):
        """What kind of device it is."""
        return str(self).partition(":")[0]

    @property
    def index(self):
        """Its number among its kind, or None."""
        number = str(self).partition(":")[2]
        return int(number) if number else None

    def __repr__(self):
        index = "" if self.index is None else f", index={self.index}"
        return f"device(type={self.type!r}{index})"

    __hash__ = str.__hash__

    def __enter__(self):
        if self.type not in ("cpu", "meta"):
            placed(self)
        return self

    def __exit__(self, *_):
        return None


def placed(target):
    """`target`, a device or None, as one of ours; raises a DeviceError for what is none."""
    if target is None:
        return None
    name = str(target)
    if name.partition(":")[0] != "cpu":
        raise DeviceError(f"there is no device {name!r} here: retrograde.torch computes on the CPU; choose it as in "
                          'torch.device("cuda" if torch.cuda.is_available() else "cpu")')
    return "cpu"


def _missing(name):
    def get(attribute):
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        raise AttributeError(f"torch.{name} has no {attribute!r} here, where there is no such device; ask "
                             f"torch.{name}.is_available() first", name=attribute)

    return get


def _module(name, **contents):
    made = ModuleType(f"retrograde.torch.{name}", f"`torch.{name}`: present, and not available.")
    vars(made).update(contents, __getattr__=_missing(name))
    return made


def _no(*_, **__):
    return False


def _zero(*_, **__):
    return 0


def _nothing(*_, **__):
    return None


cuda = _module("cuda", is_available=_no, device_count=_zero, is_initialized=_no, manual_seed=_nothing, manual_seed_all=_nothing,
               synchronize=_nothing, empty_cache=_nothing, is_bf16_supported=_no, max_memory_allocated=_zero,
               memory_allocated=_zero,
               reset_peak_memory_stats=_nothing)
mps = _module("mps", is_available=_no, is_built=_no, manual_seed=_nothing, synchronize=_nothing, empty_cache=_nothing)
xpu = _module("xpu", is_available=_no, device_count=_zero, manual_seed=_nothing, manual_seed_all=_nothing, synchronize=_nothing,
              empty_cache=_nothing)
accelerator = _module("accelerator", is_available=_no, device_count=_zero, current_accelerator=_nothing, synchronize=_nothing)
backends = _module(
    "backends",
    cudnn=SimpleNamespace(is_available=_no, enabled=False, benchmark=False, deterministic=False, allow_tf32=False,
                          version=_nothing),
    cuda=SimpleNamespace(matmul=SimpleNamespace(allow_tf32=False), is_built=_no),
    mps=SimpleNamespace(is_available=_no, is_built=_no), mkl=SimpleNamespace(is_available=_no),
    openmp=SimpleNamespace(is_available=_no), mkldnn=SimpleNamespace(is_available=_no, enabled=False))
