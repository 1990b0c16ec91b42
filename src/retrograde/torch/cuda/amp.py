"""`torch.cuda.amp`: older names of `torch.amp` for one kind of device."""

from .. import amp


class autocast(amp.autocast):  # noqa: N801 - PyTorch's name
    """`torch.amp.autocast("cuda", ...)`."""

    def __init__(self, enabled=True, dtype=None, cache_enabled=True):
        super().__init__("cuda", dtype, enabled, cache_enabled)


class GradScaler(amp.GradScaler):
    """`torch.amp.GradScaler("cuda", ...)`."""

    def __init__(self, *args, **kwargs):
        super().__init__("cuda", *args, **kwargs)
