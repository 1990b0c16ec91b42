"""What `config.json` in a folder of timm's says: which network it is, and what pixels it was trained on."""

from pathlib import Path

from ...errors import CheckpointError
from ..files import json_of
from .named import ALIASES, ARCHITECTURES
from .preprocessing import Preprocess

#: How timm's networks, of which the names begin so, make one vector of many; those that do otherwise are other networks.
_POOLING = {"mobilenetv2": "avg", "resnet": "avg", "vit": "token"}
#: What arguments of timm's networks are called here, and those of vision transformers besides.
_ARGUMENTS = {"num_classes": "num_classes", "in_chans": "in_channels"}
_OF_TRANSFORMERS = {"img_size": "image_size", "patch_size": "patch_size", "embed_dim": "embed_dim", "depth": "depth",
                    "num_heads": "num_heads"}


def network_of(folder):
    """(architecture, options) of the network in a folder, for `create`."""
    path = folder / "config.json"
    config = json_of(path)
    name, arguments = config.get("architecture"), config.get("model_args") or {}
    if not isinstance(name, str):
        raise CheckpointError(f"{path} has no architecture, as timm's has; its facts are {', '.join(sorted(config)[:8])}")
    if ALIASES.get(name, name) not in ARCHITECTURES:
        raise CheckpointError(f"{path} is of a {name!r}, and retrograde knows {', '.join(sorted([*ARCHITECTURES, *ALIASES]))}")
    if not isinstance(arguments, dict):
        raise CheckpointError(f"{path} has model_args {arguments!r}, which are no arguments by name")
    usual = next((pooling for start, pooling in _POOLING.items() if name.startswith(start)), None)
    for pooling in (config.get("global_pool", usual), arguments.get("global_pool", usual)):
        if pooling != usual:
            raise CheckpointError(f"{path} has global_pool {pooling!r}, and retrograde's {name} has {usual!r}")
    given = {"num_classes": config.get("num_classes", 1000), **{key: x for key, x in arguments.items() if key != "global_pool"}}
    known = {**_ARGUMENTS, **(_OF_TRANSFORMERS if name.startswith("vit") else {})}
    if strange := sorted(given.keys() - known.keys()):
        raise CheckpointError(f"{path} has model_args with {strange[0]} = {given[strange[0]]!r}, which makes another network than "
                              f"retrograde's {name}; it knows {', '.join(known)}")
    return name, {known[key]: _size(path, key, x) for key, x in given.items()}


def _size(path, name, value):
    """A size in a file, checked: an integer, or twice the same one for a square."""
    if isinstance(value, list) and len(value) == 2 and value[0] == value[1]:
        value = value[0]
    if type(value) is not int or value < (0 if name == "num_classes" else 1):
        raise CheckpointError(f"{path} has {name} {value!r}, where retrograde needs a positive integer, or a square of one")
    return value


def preprocess_of(folder):
    """The `Preprocess` that the network in a folder of timm's was trained with.

    Raises a CheckpointError if its `config.json` does not say it, or says what is not there: other crops than of the centre.
    """
    path = Path(folder) / "config.json"
    known = json_of(path).get("pretrained_cfg")
    if not isinstance(known, dict):
        raise CheckpointError(f"{path} lacks pretrained_cfg, which says how images are made ready")
    if missing := [name for name in ("input_size", "crop_pct", "interpolation", "mean", "std") if name not in known]:
        raise CheckpointError(f"{path} lacks pretrained_cfg.{missing[0]}, which says how images are made ready")
    if known.get("crop_mode", "center") != "center":
        raise CheckpointError(f"{path} has crop_mode {known['crop_mode']!r}, and retrograde only crops the centre")
    try:
        _, height, width = known["input_size"]
        resize, mean, std = int(height / known["crop_pct"]), tuple(known["mean"]), tuple(known["std"])
        found = Preprocess(height, resize, mean, std, known["interpolation"])
    except (TypeError, ValueError, ArithmeticError) as error:
        raise CheckpointError(f"{path} has a pretrained_cfg that makes no images: {error}") from None
    if height != width:
        raise CheckpointError(f"{path} has images of {height}x{width}, and retrograde only makes squares")
    return found
