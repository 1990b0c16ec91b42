"""Adapters in a folder, as the library peft writes and reads them: `adapter_config.json` and `adapter_model.safetensors`."""

import json

import numpy as np

from ...atomic import writing
from ...core.mode import no_grad
from ...errors import ArgumentError, CheckpointError
from ...io.bounded import opened, refused
from ...io.tensor_file import read_metadata
from ...io.weights import load, save
from ..checks import path_of
from ..facts import Facts
from ..files import json_of
from ..weights import FLOATS
from .lora import LoRA, targets_of
from .settings import ALL_LINEAR, Settings

_CONFIG, _WEIGHTS, _PREFIX = "adapter_config.json", "adapter_model.safetensors", "base_model.model."
#: Under this name the file of the matrices says which architecture they are for.
_ARCHITECTURE = "architecture"
#: What GGUF files call an architecture that has another name in folders.
_IN_GGUF = {"mistral": "llama", "gemma3_text": "gemma3"}
_PARTS = "lora_A", "lora_B"
_FOLDER = "an adapter is in the path of a folder"
#: What is read of a file, and what changes nothing that an adapter computes. All else that a file says, that of a later peft
#: too, makes it another kind of adapter.
_READ = ("peft_type", "r", "lora_alpha", "lora_dropout", "target_modules", "use_rslora", "rank_pattern", "alpha_pattern")
_INERT = ("task_type", "auto_mapping", "peft_version", "base_model_name_or_path", "revision", "inference_mode", "fan_in_fan_out",
          "megatron_config", "megatron_core", "qalora_group_size", "ensure_weight_tying", "loftq_config", "eva_config")
#: What those settings are in a plain file that are not empty.
_PLAIN = {"bias": "none"}
#: The greatest `alpha` that is read: products by it are of float32.
_GREATEST = 1e30
#: Ways in which matrices may start that leave the weights of the model as they are; others take the matrices away from these.
_STARTS = (True, False, None, "gaussian", "orthogonal", "eva", "mica")


def save_adapter(lora, folder, base=None):
    """Write the adapters of a `LoRA` to a folder, which is made; `base` is how the file names the model that they are for.

    Each file is complete or as it was before. peft loads the folder with the model that `base` stands for.
    """
    if not isinstance(lora, LoRA):
        raise ArgumentError(f"save_adapter takes a LoRA, got {type(lora).__name__}")
    folder, settings = path_of(folder, _FOLDER), lora.settings
    facts = {"peft_type": "LORA", "task_type": "CAUSAL_LM", "base_model_name_or_path": None if base is None else str(base),
             "r": settings.rank, "lora_alpha": settings.alpha, "lora_dropout": settings.dropout,
             "target_modules": settings.targets if isinstance(settings.targets, str) else list(settings.targets),
             "use_rslora": settings.is_rank_stabilised, "rank_pattern": settings.ranks, "alpha_pattern": settings.alphas,
             "init_lora_weights": True, "inference_mode": True, "bias": "none", "fan_in_fan_out": False}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        save(weights_of(lora), folder / _WEIGHTS, metadata={"format": "pt", _ARCHITECTURE: _architecture_of(lora.network)})
        with writing(folder / _CONFIG) as part:
            part.write_text(json.dumps(facts, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    except OSError as error:
        raise refused(folder, "written", error) from error


def weights_of(lora):
    """The matrices of adapters, by the names and in the order of rows that peft knows."""
    found = {}
    for path, adapter in lora.named():
        first, second = (np.asarray(getattr(adapter, part).detach()) for part in _PARTS)
        heads = _turned_heads(lora.network.config, path)
        found[f"{_PREFIX}{path}.lora_A.weight"] = first
        found[f"{_PREFIX}{path}.lora_B.weight"] = _halves_of(second, heads) if heads else second
    return found


def load_adapter(model, folder):
    """The `LoRA` in a folder that peft or `save_adapter` wrote, put into a Model or its network.

    Raises a CheckpointError if it is damaged, of a kind that is no plain LoRA, or for another model: that is one without these
    layers or with other sizes, or where `save_adapter` wrote the folder, one of another architecture. Two models of the same
    architecture and sizes cannot be told apart.
    """
    folder = path_of(folder, _FOLDER)
    facts = json_of(folder / _CONFIG)
    settings = _settings_of(folder / _CONFIG, facts)
    weights = load(folder / _WEIGHTS)
    network = getattr(model, "network", model)
    _check_architecture(folder / _WEIGHTS, network)
    if settings.targets != ALL_LINEAR:
        paths = sorted({_path(folder, name) for name in weights})
        missing = [path for path in paths if path not in {name for name, _ in network.named_modules()}]
        if missing:
            raise CheckpointError(f"{folder / _WEIGHTS} adapts {missing[0]}, and the model has no such layer")
    # Before anything is made: a rank is what the file says, and matrices of it may take any memory.
    _check_shapes(folder / _WEIGHTS, weights, targets_of(network, settings), settings)
    lora = LoRA(network, **vars(settings))
    _fill(lora, weights)
    return lora


def _architecture_of(network):
    """The architecture of a network, whichever file it is from."""
    found = network.config.architecture
    return _IN_GGUF.get(found, found)


def _check_architecture(path, network):
    """Raise a CheckpointError if a file says that it is for another architecture; those of peft do not say any."""
    with opened(path) as (file, size):
        told = read_metadata(path, file, size).get(_ARCHITECTURE)
    if told is not None and told != _architecture_of(network):
        raise CheckpointError(f"{path} is for a model of architecture {told!r:.80}, and this one is {_architecture_of(network)!r}")


def _settings_of(path, facts):
    if facts.get("peft_type") != "LORA":
        raise CheckpointError(f"{path} is of peft_type {facts.get('peft_type')!r}, and retrograde loads LORA")
    if (start := facts.get("init_lora_weights")) not in _STARTS:
        raise CheckpointError(f"{path} has init_lora_weights={start!r}, by which peft changes the weights of the model too; "
                              "have it written as a plain LoRA (path_initial_model_for_weight_conversion of save_pretrained)")
    for name in sorted(facts.keys() - {*_READ, *_INERT, "init_lora_weights"}):
        if facts[name] not in (_PLAIN.get(name), None, False, [], {}):
            raise CheckpointError(f"{path} has {name}={facts[name]!r:.80}, and retrograde loads plain adapters, without it")
    missing = [name for name in ("r", "lora_alpha", "target_modules") if facts.get(name) is None]
    if missing:
        raise CheckpointError(f"{path} lacks {missing[0]}")
    checked = Facts(path, facts)
    ranks, alphas = checked.part("rank_pattern"), checked.part("alpha_pattern")
    targets = checked.text("target_modules") if isinstance(facts["target_modules"], str) else checked.texts("target_modules")
    try:
        return Settings(
            rank=checked.integer("r", least=1), alpha=checked.number("lora_alpha", least=-_GREATEST, greatest=_GREATEST),
            dropout=checked.number("lora_dropout", None, greatest=1) or 0.0, targets=targets,
            is_rank_stabilised=checked.flag("use_rslora", None) or False,
            ranks={name: ranks.integer(name, least=1) for name in ranks.written},
            alphas={name: alphas.number(name, least=-_GREATEST, greatest=_GREATEST) for name in alphas.written})
    except ArgumentError as error:
        raise CheckpointError(f"{path}: {error}") from None


def _path(folder, name):
    parts = name.removeprefix(_PREFIX).rsplit(".", 2)
    if not name.startswith(_PREFIX) or len(parts) != 3 or parts[1] not in _PARTS or parts[2] != "weight":
        raise CheckpointError(f"{folder / _WEIGHTS} has the tensor {name}, which is no matrix of an adapter")
    return parts[0]


def _check_shapes(path, weights, layers, settings):
    """Raise a CheckpointError unless the matrices of a file are those of adapters with these settings of these layers."""
    left = dict(weights)
    for layer_path, layer in layers.items():
        rank, _ = settings.of(layer_path)
        for part, shape in zip(_PARTS, ((rank, layer.in_features), (layer.out_features, rank)), strict=True):
            name = f"{_PREFIX}{layer_path}.{part}.weight"
            if name not in left:
                raise CheckpointError(f"{path} lacks the tensor {name}")
            found = left.pop(name)
            if found.shape != shape:
                raise CheckpointError(f"{path}: {name} has shape {found.shape}, and the model with these settings needs {shape}")
            if found.dtype.name not in FLOATS:
                raise CheckpointError(f"{path}: {name} is of {found.dtype}, and adapters are of {', '.join(FLOATS)}")
    if left:
        raise CheckpointError(f"{path} has the tensor {min(left)}, for which the targets have no layer")


def _fill(lora, weights):
    """Let adapters hold the matrices of a file."""
    with no_grad():
        for layer, adapter in lora.named():
            for part in _PARTS:
                found, own = weights[f"{_PREFIX}{layer}.{part}.weight"].numpy(), getattr(adapter, part)
                heads = _turned_heads(lora.network.config, layer) if part == "lora_B" else 0
                own.data = np.ascontiguousarray(_pairs_of(found, heads) if heads else found, np.float32)


def _turned_heads(config, path):
    """How many heads the rows of a layer have whose pairs are neighbours here, half a head apart in peft's files; 0 for others."""
    if not config.is_rope_in_pairs:
        return 0
    return {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}.get(path.rpartition(".")[2], 0)


def _halves_of(rows, heads):
    return rows.reshape(heads, -1, 2, rows.shape[-1]).swapaxes(1, 2).reshape(rows.shape)


def _pairs_of(rows, heads):
    return rows.reshape(heads, 2, -1, rows.shape[-1]).swapaxes(1, 2).reshape(rows.shape)
