"""Files of models: a folder of Hugging Face's, or one GGUF file, as a network with its weights mapped from the disk."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..errors import CheckpointError
from ..io import gguf
from ..io.bounded import opened, parsed
from ..io.mapped import mapped_weights
from .bert import Bert
from .config import from_gguf, from_json
from .decoder import Decoder
from .facts import Facts
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
#: The table of embeddings and the head that may be a copy of it, where they are not called as in a Decoder.
_TABLES = {"gpt2": ("transformer.wte.weight", "lm_head.weight"),
           "bert": ("bert.embeddings.word_embeddings.weight", "cls.predictions.decoder.weight")}
#: The longest name of a file that file systems know.
_LONGEST_NAME = 255
#: Matrices that GPT-2's files have as (inputs, outputs).
_TURNED = {"gpt2": re.compile(r"\.(c_attn|c_fc|c_proj)\.weight$")}


def network_of_folder(folder, dtype=None):
    """The network in a folder with `config.json` and safetensors."""
    config = from_json(json_of(folder / "config.json"), folder / "config.json")
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
    places = [part.get("path") for part, kind in zip(parts, kinds, strict=True) if kind == "Pooling"]
    if strange := [place for place in places if not _is_name(place)]:
        raise CheckpointError(f"{folder / 'modules.json'} has a part at {strange[0]!r:.80}, which is no folder in its own")
    return _pooling_of(folder / (places[0] if places else "1_Pooling") / "config.json"), "Normalize" in kinds


def _is_name(name):
    """Whether this names a file or a folder in another one, and nothing outside of that."""
    return (isinstance(name, str) and Path(name).name == name != ".." and len(name) <= _LONGEST_NAME and "\0" not in name
            and not any(["\ud800" <= letter <= "\udfff" for letter in name]))


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
    config = from_gguf(content.metadata, path)
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
    table, head = _TABLES.get(config.architecture, ("model.embed_tokens.weight", "lm_head.weight"))
    if config.is_tied and weights.has(head):  # as a rule a copy of the table of embeddings; where it is none, it counts
        config = replace(config, is_tied=_are_same(weights.take(table), weights.take(head)))
    network = _NETWORKS.get(config.architecture, Decoder)(config, weights)
    weights.check_used()
    return network.eval()


def _are_same(first, second):
    """Whether two tensors of files hold the same numbers, as they are stored."""
    return (first.format == second.format and first.array.dtype == second.array.dtype
            and np.array_equal(first.array, second.array))


def tensors_of(folder):
    """The tensors of a folder by name, from one file or from all that an index names."""
    if not (folder / _INDEX).exists():
        if not (folder / _WHOLE).exists() and (others := [*folder.glob("*.bin"), *folder.glob("*.pt")]):
            raise CheckpointError(f"{folder} has weights as {others[0].name}, a pickle of PyTorch's; convert them to safetensors")
        return mapped_weights(folder / _WHOLE)
    places = json_of(folder / _INDEX).get("weight_map")
    if not isinstance(places, dict) or not all([isinstance(name, str) for name in places.values()]):
        raise CheckpointError(f"{folder / _INDEX} has no weight_map from tensors to files")
    if outside := [name for name in places.values() if not _is_name(name)]:
        raise CheckpointError(f"{folder / _INDEX} names the file {outside[0]!r:.80}, which is not in its folder")
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
        return template_of_gguf(path, gguf.read(path))
    if (path / "chat_template.jinja").exists():
        return _text_of(path / "chat_template.jinja")
    facts = Facts(path / "tokenizer_config.json", json_if_there(path / "tokenizer_config.json"))
    parts = facts.written.get("chat_template")
    if not isinstance(parts, list):
        return facts.text("chat_template", None)
    if not all([isinstance(part, dict) for part in parts]):
        raise CheckpointError(f"{facts.where} has chat templates that are no objects with name and template")
    found = next((part for part in parts if part.get("name") == "default"), {})
    return Facts(f"{facts.where}, chat_template,", found).text("template", None)


def template_of_gguf(path, content):
    """The chat template in what `gguf.read` found in a file; None without one."""
    return Facts(path, content.metadata).text("tokenizer.chat_template", None)


def _text_of(path):
    with opened(path) as (file, _):
        content = file.read()
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise CheckpointError(f"{path} holds no text in UTF-8: {error}") from None
