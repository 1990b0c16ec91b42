"""Files of models: a folder of Hugging Face's, or one GGUF file, as a network with its weights mapped from the disk."""

import re
from dataclasses import replace
from pathlib import Path

from ..errors import CheckpointError
from ..io import gguf
from ..io.bounded import opened, parsed
from ..io.mapped import mapped_weights
from .bert import Bert
from .config import from_gguf, from_json
from .decoder import Decoder
from .gguf_names import gguf_name
from .gpt2 import GPT2
from .weights import StoredWeights

_INDEX, _WHOLE = "model.safetensors.index.json", "model.safetensors"
#: The networks that are no Decoder, by architecture.
_NETWORKS = {"gpt2": GPT2, "bert": Bert}
#: In GGUF files of BERT, the head of classes and what comes before it.
_CLASSES, _BEFORE_CLASSES = "cls.output.weight", "cls.weight"
#: In folders of BERT, the head of classes.
_HEAD = "classifier.weight"
#: Matrices that GPT-2's files have as (inputs, outputs).
_TURNED = {"gpt2": re.compile(r"\.(c_attn|c_fc|c_proj)\.weight$")}


def network_of_folder(folder, dtype=None):
    """The network in a folder with `config.json` and safetensors."""
    config = from_json(json_of(folder / "config.json"))
    if config.architecture == "bert":
        pooling, is_normalised = _vectors_of(folder)
        config = replace(config, pooling=pooling, is_normalised=is_normalised)
    tensors = tensors_of(folder)
    if config.architecture == "bert" and not config.labels and _HEAD in tensors:
        config = replace(config, labels=_numbered(tensors[_HEAD]))  # two classes without names need not stand in the file
    return _made(folder, tensors, config, dtype, folder_name(config.architecture, tensors), _TURNED.get(config.architecture))


def _vectors_of(folder):
    """(which vector stands for a text, whether it has length one), by the files that sentence-transformers writes.

    They name what follows the network, part by part; a part that changes vectors and is not here is a CheckpointError.
    """
    parts = _parts_of(folder / "modules.json")
    kinds = [str(part.get("type")).rpartition(".")[2] for part in parts]
    if strange := [kind for kind in kinds if kind not in ("Transformer", "Pooling", "Normalize")]:
        raise CheckpointError(f"{folder / 'modules.json'} has a part {strange[0]!r} behind the network, which retrograde does not "
                              "have; without this file the folder is loaded as the network alone")
    places = [str(part.get("path")) for part, kind in zip(parts, kinds, strict=True) if kind == "Pooling"]
    return _pooling_of(folder / (places[0] if places else "1_Pooling") / "config.json"), "Normalize" in kinds


def _parts_of(path):
    """The list of parts in a `modules.json`; empty where there is no file."""
    if not path.exists():
        return []
    with opened(path) as (file, size):
        parts = parsed(path, file.read(), size)
    if not isinstance(parts, list) or not all([isinstance(part, dict) for part in parts]):
        raise CheckpointError(f"{path} is no list of parts")
    return parts


def _pooling_of(path):
    """Which vector stands for a text, by the settings of a pooling; the mean where there are none."""
    settings = json_if_there(path)
    modes = [name.removeprefix("pooling_mode_") for name, is_asked in settings.items()
             if name.startswith("pooling_mode_") and is_asked is True]
    if isinstance(settings.get("pooling_mode"), str):  # newer files name it
        modes = [f"{settings['pooling_mode']}_token{'s' * (settings['pooling_mode'] != 'cls')}"]
    if modes in ([], ["mean_tokens"]):
        return "mean"
    if modes == ["cls_token"]:
        return "first"
    raise CheckpointError(f"{path} asks for {', '.join(modes)}, and retrograde has mean_tokens and cls_token")


def network_of_gguf(path, content, dtype=None):
    """The network of a GGUF file with what `gguf.read` found in it."""
    config = from_gguf(content.metadata)
    config = replace(config, is_tied="output.weight" not in content.tensors)
    if config.architecture == "bert" and _CLASSES in content.tensors:
        config = replace(config, labels=_labels_of(path, content.tensors, config))
    return _made(path, content.tensors, config, dtype, gguf_name(config.architecture))


def _labels_of(path, tensors, config):
    """The names of the classes of a GGUF file: those that it has, or numbers as in Hugging Face's files without names."""
    if _BEFORE_CLASSES not in tensors:
        raise CheckpointError(f"{path} has a head of classes, {_CLASSES}, without the product before it, {_BEFORE_CLASSES}: "
                              "llama.cpp's converter leaves the pooler of BERT out, so that nothing could tell the classes; load "
                              "the folder that the file was made of")
    return config.labels or _numbered(tensors[_CLASSES])


def _numbered(head):
    """Names of the classes of a head, by number as in Hugging Face's files without names."""
    return tuple([f"LABEL_{number}" for number in range(head.shape[0])])


def _made(path, tensors, config, dtype, rename, turned=None):
    weights = StoredWeights(path, tensors, rename, dtype, turned)
    network = _NETWORKS.get(config.architecture, Decoder)(config, weights)
    if config.is_tied and weights.has("lm_head.weight"):
        weights.take("lm_head.weight")  # a copy of the table of embeddings
    weights.check_used()
    return network.eval()


def tensors_of(folder):
    """The tensors of a folder by name, from one file or from all that an index names."""
    if not (folder / _INDEX).exists():
        if not (folder / _WHOLE).exists() and (others := [*folder.glob("*.bin"), *folder.glob("*.pt")]):
            raise CheckpointError(f"{folder} has weights as {others[0].name}, a pickle of PyTorch's; convert them to safetensors")
        return mapped_weights(folder / _WHOLE)
    places = json_of(folder / _INDEX).get("weight_map")
    if not isinstance(places, dict) or not all([isinstance(name, str) for name in places.values()]):
        raise CheckpointError(f"{folder / _INDEX} has no weight_map from tensors to files")
    if outside := [name for name in places.values() if Path(name).name != name]:
        raise CheckpointError(f"{folder / _INDEX} names the file {outside[0]!r}, which is not in its folder")
    files = {name: mapped_weights(folder / name) for name in sorted({*places.values()})}
    missing = [name for name, file in places.items() if name not in files[file]]
    if missing:
        raise CheckpointError(f"{folder / places[missing[0]]} lacks the tensor {missing[0]}, which {_INDEX} says it has")
    return {name: files[file][name] for name, file in places.items()}


def json_of(path):
    """The object in a file of JSON."""
    with opened(path) as (file, size):
        found = parsed(path, file.read(), size)
    if not isinstance(found, dict):
        raise CheckpointError(f"{path} holds no object")
    return found


def folder_name(architecture, tensors):
    """A function from the name of a tensor in a model to that among the `tensors` of a folder.

    Files of a network without a head have names without the word before them that stands for the network, and old ones of
    BERT have names of their own for parts of norms.
    """
    prefix = {"gpt2": "transformer.", "bert": "bert."}.get(architecture, "")
    is_bare = prefix and not any([name.startswith(prefix) for name in tensors])

    def rename(name):
        name = name.removeprefix(prefix) if is_bare else name
        if name in tensors or "LayerNorm" not in name:
            return name
        return name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")

    return rename


def json_if_there(path):
    """The object in a file of JSON; an empty one where there is no file."""
    return json_of(path) if path.exists() else {}


def template_of(path):
    """The chat template of a folder, a file of its own or a part of that of the tokenizer, or of a GGUF file; None without one."""
    if not path.is_dir():
        return gguf.read(path).metadata.get("tokenizer.chat_template")
    if (path / "chat_template.jinja").exists():
        return (path / "chat_template.jinja").read_text(encoding="utf-8")
    found = json_if_there(path / "tokenizer_config.json").get("chat_template")
    if isinstance(found, list):
        found = next((part.get("template") for part in found if part.get("name") == "default"), None)
    if found is not None and not isinstance(found, str):
        raise CheckpointError(f"{path / 'tokenizer_config.json'} has a chat template that is no text")
    return found
