"""Keys of files that call the same tensors by other names than the networks here."""

import re

from .mobilenet import STAGES

#: Keys of torchvision's vision transformers, and what timm calls them.
_OF_TORCHVISION = tuple([(re.compile(pattern), name) for pattern, name in (
    (r"class_token", "cls_token"), (r"encoder\.pos_embedding", "pos_embed"), (r"conv_proj\.(\w+)", r"patch_embed.proj.\1"),
    (r"encoder\.layers\.encoder_layer_(\d+)\.ln_([12])\.(\w+)", r"blocks.\1.norm\2.\3"),
    (r"encoder\.layers\.encoder_layer_(\d+)\.self_attention\.in_proj_(\w+)", r"blocks.\1.attn.qkv.\2"),
    (r"encoder\.layers\.encoder_layer_(\d+)\.self_attention\.out_proj\.(\w+)", r"blocks.\1.attn.proj.\2"),
    (r"encoder\.layers\.encoder_layer_(\d+)\.mlp\.(?:0|linear_1)\.(\w+)", r"blocks.\1.mlp.fc1.\2"),
    (r"encoder\.layers\.encoder_layer_(\d+)\.mlp\.(?:3|linear_2)\.(\w+)", r"blocks.\1.mlp.fc2.\2"),
    (r"encoder\.ln\.(\w+)", r"norm.\1"), (r"heads\.head\.(\w+)", r"head.\1"))])
#: The parts of timm's blocks of MobileNetV2 in torchvision's: those of the first block, which is not widened, and of the others.
_FIRST = {"conv_dw": "0.0", "bn1": "0.1", "conv_pw": "1", "bn2": "2"}
_WIDENED = {"conv_pw": "0.0", "bn1": "0.1", "conv_dw": "1.0", "bn2": "1.1", "conv_pwl": "2", "bn3": "3"}
_BLOCK = re.compile(r"blocks\.(\d+)\.(\d+)\.(\w+)\.(\w+)")


def renamed(state):
    """`state` with the keys of the networks here; a key that is not understood stays as it is."""
    if "class_token" in state:
        return {_of_torchvision(name): tensor for name, tensor in state.items()}
    if "conv_stem.weight" in state:
        return {_of_timm(name): tensor for name, tensor in state.items()}
    return state


def _of_torchvision(name):
    for pattern, ours in _OF_TORCHVISION:
        if match := pattern.fullmatch(name):
            return match.expand(ours)
    return name


def _of_timm(name):
    """The key of MobileNetV2 for one of timm's."""
    counts = [count for _, _, count, _ in STAGES]
    if match := _BLOCK.fullmatch(name):
        stage, number, part, rest = int(match[1]), int(match[2]), match[3], match[4]
        parts = _FIRST if stage == 0 else _WIDENED
        return f"features.{1 + sum(counts[:stage]) + number}.conv.{parts[part]}.{rest}" if part in parts else name
    last = 1 + sum(counts)
    outer = {"conv_stem": "features.0.0", "bn1": "features.0.1", "conv_head": f"features.{last}.0", "bn2": f"features.{last}.1",
             "classifier": "classifier.1"}
    part, _, rest = name.partition(".")
    return f"{outer[part]}.{rest}" if part in outer else name
