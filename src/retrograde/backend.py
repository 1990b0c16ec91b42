"""Devices: where arrays live, and how they are copied from one to another. Nothing else knows of CuPy."""

import importlib

import numpy as np

from .errors import ArgumentError, DeviceError


def device_of(array):
    """The name of the device that holds `array`: "cpu", "cuda:0" and so on."""
    device = getattr(array, "device", "cpu")
    return device if isinstance(device, str) else f"cuda:{device.id}"


def move(array, device):
    """A copy of `array` on `device`, or the array itself if it is there already.

    Raises a DeviceError if there is no such device, or CuPy is not installed.
    """
    kind, index = _parsed(device)
    if kind == "cpu":
        return array.get() if hasattr(array, "get") else np.asarray(array)
    cupy = _cupy(device)
    with cupy.cuda.Device(index):
        return cupy.asarray(array)


def _parsed(device):
    kind, _, index = str(device).partition(":")
    if kind not in ("cpu", "cuda") or (index and not index.isdigit()):
        raise ArgumentError(f'device must be "cpu", "cuda" or "cuda:<number>", got {device!r}')
    return kind, int(index or 0)


def _cupy(device):
    try:
        cupy = importlib.import_module("cupy")
        count = cupy.cuda.runtime.getDeviceCount()
    except ImportError:
        raise DeviceError(f"device {device!r} needs CuPy; install it with: pip install 'retrograde[cuda]'") from None
    except Exception as error:  # noqa: BLE001 - CuPy raises errors of its own where the driver is missing
        raise DeviceError(f"device {device!r} cannot be used: {error}") from None
    if _parsed(device)[1] >= count:
        raise DeviceError(f"device {device!r} does not exist; this machine has {count} CUDA devices")
    return cupy
