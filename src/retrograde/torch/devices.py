"""Devices and backends: present, so that programs may ask, and not available."""

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


def none_of(name):
    """The `__getattr__` of the module of a device that is not there."""

    def missing(attribute):
        if attribute.startswith("__"):
            raise AttributeError(f"module {name!r} has no attribute {attribute!r}", name=attribute)
        raise AttributeError(f"torch.{name} has no {attribute!r} here, where there is no such device; ask "
                             f"torch.{name}.is_available() first", name=attribute)

    return missing


def no(*_, **__):
    """False: what asks whether something is there."""
    return False


def zero(*_, **__):
    """0: how many of something there are."""
    return 0


def nothing(*_, **__):
    """None: what would be done on a device that is not there."""
