"""`torch.nn.parallel`: the model itself, whose work threads share anyway."""

from ..absent import absent_from
from ..devices import placed

__all__ = ["DataParallel", "data_parallel"]


def DataParallel(module, device_ids=None, output_device=None, dim=0):  # noqa: N802 - PyTorch's name
    """`module`; an error where there are devices to spread it over, of which there are none."""
    for number in device_ids or ():
        placed(f"cuda:{number}")
    return module


def data_parallel(module, inputs, device_ids=None, output_device=None, dim=0, module_kwargs=None):
    """What `module` gives for inputs."""
    return DataParallel(module, device_ids)(*(inputs if isinstance(inputs, tuple) else (inputs,)), **(module_kwargs or {}))


__getattr__ = absent_from("torch.nn.parallel", lambda: __all__)
