"""Image models from files: a folder of timm's, or a safetensors file of a known architecture."""

from pathlib import Path

from ...errors import CheckpointError
from ...io import weights
from ..files import json_of
from .keys import renamed
from .named import ALIASES, ARCHITECTURES, create
from .preprocessing import Preprocess

#: How timm's networks, of which the names begin so, make one vector of many; those that do otherwise are other networks.
_POOLING = {"mobilenetv2": "avg", "resnet": "avg", "vit": "token"}


def load(path, architecture=None, **options):
    """The network in a folder of timm's (`config.json` and `model.safetensors`), or in a safetensors file of an `architecture`.

    `architecture` is a name that `create` takes; `options` go to the class, such as `num_classes`. Keys are those of torchvision
    or of timm. Weights become float32, and the network is as after `eval()`.

    Raises a CheckpointError if a file is missing or damaged, is of a network that is not known here, or has not the tensors, by
    name and shape, that the network needs: then it tells those that are missing and those that have no place.
    """
    path = Path(path)
    if path.is_dir():
        config = _config(path)
        architecture = config["architecture"]
        options = {"num_classes": config.get("num_classes", 1000), **options}
        path = path / "model.safetensors"
    elif architecture is None:
        raise CheckpointError(f"{path} is no folder with a config.json; say of what architecture the weights are, such as "
                              "load(path, \"resnet50\")")
    state = renamed(weights.load(path))
    network = create(architecture, **options)
    # Files of old versions do not count batches; no result depends on it.
    counters = {name: x for name, x in network.state_dict().items() if name.endswith(".num_batches_tracked")}
    try:
        network.load_state_dict({**counters, **state})
    except CheckpointError as error:
        raise CheckpointError(f"{path}: {error}") from None
    return network.eval()


def preprocess_of(folder):
    """The `Preprocess` that the network in a folder of timm's was trained with."""
    folder = Path(folder)
    known, path = _config(folder).get("pretrained_cfg"), folder / "config.json"
    needed = ("input_size", "crop_pct", "interpolation", "mean", "std")
    if not isinstance(known, dict) or (missing := [name for name in needed if name not in known]):
        lacking = "pretrained_cfg" if not isinstance(known, dict) else f"pretrained_cfg.{missing[0]}"
        raise CheckpointError(f"{path} lacks {lacking}, which says how images are made ready")
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


def _config(folder):
    """The object in a folder's `config.json`, of which the network is known."""
    path = folder / "config.json"
    config = json_of(path)
    name, classes = config.get("architecture"), config.get("num_classes", 0)
    if not isinstance(name, str):
        raise CheckpointError(f"{path} has no architecture, as timm's has; its facts are {', '.join(sorted(config)[:8])}")
    if ALIASES.get(name, name) not in ARCHITECTURES:
        raise CheckpointError(f"{path} is of a {name!r}, and retrograde knows {', '.join(sorted([*ARCHITECTURES, *ALIASES]))}")
    if config.get("model_args"):
        raise CheckpointError(f"{path} has model_args, which make another network of it: {config['model_args']}")
    if type(classes) is not int or classes < 0:
        raise CheckpointError(f"{path} has num_classes {classes!r}, which is no number of classes")
    usual = next((pooling for start, pooling in _POOLING.items() if name.startswith(start)), None)
    if config.get("global_pool", usual) != usual:
        raise CheckpointError(f"{path} has global_pool {config['global_pool']!r}, and retrograde's {name} has {usual!r}")
    return config
