"""Image models from files: a folder of timm's, or a safetensors file of a known architecture."""

from pathlib import Path

from ...errors import CheckpointError
from ...io.mapped import mapped_weights
from ..files import tensors_of
from .config import network_of
from .keys import renamed
from .named import create
from .vision_transformer import VisionTransformer


def load(path, architecture=None, **options):
    """The network in a folder of timm's (`config.json` and safetensors), or in a safetensors file of an `architecture`.

    `architecture` is a name that `create` takes; `options` go to the class, such as `num_classes`. Keys are those of torchvision
    or of timm. Weights become float32, and the network is as after `eval()`. With `image_size=` a VisionTransformer takes images of
    another size than it was trained on, a multiple of its patches: its positions are interpolated, as timm does.

    Raises a CheckpointError if a file is missing or damaged, is of a network that is not known here, or has not the tensors, by
    name and shape, that the network needs: then it tells those that are missing and those that have no place.
    """
    path, has_size = Path(path), "image_size" in options
    if path.is_dir():
        architecture, said = network_of(path)
        options, stored = {**said, **options}, tensors_of(path)
    elif architecture is None:
        raise CheckpointError(f"{path} is no folder with a config.json; say of what architecture the weights are, such as "
                              "load(path, \"resnet50\")")
    else:
        stored = mapped_weights(path)
    network, state = create(architecture, **options), renamed({name: tensor.array for name, tensor in stored.items()})
    # Only where it is asked for: in a file of another network it would hide that.
    if has_size and isinstance(network, VisionTransformer):
        state = network.fitted(state)
    # Files of old versions do not count batches; no result depends on it.
    counters = {name: x for name, x in network.state_dict().items() if name.endswith(".num_batches_tracked")}
    try:
        network.load_state_dict({**counters, **state})
    except CheckpointError as error:
        raise CheckpointError(f"{path}: {error}") from None
    return network.eval()
