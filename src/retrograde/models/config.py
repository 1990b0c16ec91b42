"""Config, the sizes of a language model, read from `config.json` or from the metadata of a GGUF file."""

from dataclasses import dataclass
from typing import Any

from ..errors import CheckpointError
from .checks import with_known_options

#: By the name of an activation in files what it is here.
ACTIVATIONS = {"silu": "silu", "gelu": "gelu", "gelu_pytorch_tanh": "gelu_tanh", "gelu_new": "gelu_tanh", "relu": "relu"}
#: How many layers the greatest Gemma 3 has.
_LAYERS_OF_27B = 62
#: What a file that does not say it means, as in transformers, by its `model_type`.
_USUAL = {
    "gemma3_text": {
        "head_dim": 256, "num_key_value_heads": 4, "hidden_activation": "gelu_pytorch_tanh", "query_pre_attn_scalar": 256,
        "rope_theta": 1e6, "rope_local_base_freq": 1e4, "sliding_window": 4096, "tie_word_embeddings": True},
    "mistral": {"sliding_window": 4096}, "qwen2": {"sliding_window": 4096, "max_window_layers": 28},
    "qwen3": {"sliding_window": 4096, "max_window_layers": 28}}
#: What GPT-2's files call what others have too.
_OF_GPT2 = {"hidden_size": "n_embd", "num_hidden_layers": "n_layer", "num_attention_heads": "n_head",
            "max_position_embeddings": "n_positions", "hidden_act": "activation_function"}
#: Sizes that every model has.
_SIZES = ("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "max_position_embeddings")


@with_known_options
@dataclass(frozen=True)
class Config:
    """What a decoder is made of; names are those of `config.json` where that has one.

    rope_theta         the base of the angles of positions; `local_rope_theta` that of layers with a window
    rope_scaling       how angles are stretched to longer texts, as in `config.json`; None where they are not;
                       `local_rope_scaling` how those of layers with a window are, where these have a base of their own
    is_rope_in_pairs   whether numbers that turn together are neighbours, as in GGUF files of Llama, or half a head apart
    windows            of each layer how many positions back it looks, itself included; None where it looks at all
    has_qkv_bias, has_output_bias, has_mlp_bias, has_head_norms, has_post_norms   parts that some models have
    is_norm_from_one   whether weights of norms are kept less one, as in files of Gemma
    query_scale        what products of queries and keys are multiplied by; None stands for one over the root of `head_dim`
    embedding_scale    what embeddings are multiplied by
    type_count, labels   how many kinds of parts a text has, and the names of its classes, in BERT
    is_exclusive       whether a text is of one of these classes alone
    pooling            which vector stands for a text in an Encoder: "mean" of those of its tokens, or the "first"
    is_normalised      whether that vector is divided by its length
    """

    architecture: str
    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    max_position_embeddings: int
    norm_eps: float = 1e-6
    activation: str = "silu"
    rope_theta: float = 10000.0
    local_rope_theta: float | None = None
    rope_scaling: dict | None = None
    local_rope_scaling: dict | None = None
    is_rope_in_pairs: bool = False
    windows: tuple = ()
    has_qkv_bias: bool = False
    has_output_bias: bool = False
    has_mlp_bias: bool = False
    has_head_norms: bool = False
    has_post_norms: bool = False
    is_norm_from_one: bool = False
    query_scale: float | None = None
    embedding_scale: float = 1.0
    is_tied: bool = False
    type_count: int = 0
    labels: tuple = ()
    is_exclusive: bool = True
    pooling: str = "mean"
    is_normalised: bool = False
    end_tokens: tuple = ()
    start_token: int | None = None

    def __post_init__(self):
        for name in (*_SIZES, "num_key_value_heads", "head_dim"):
            if type(value := getattr(self, name)) is not int or value < 1:
                raise CheckpointError(f"a model's {name} is a positive integer, got {value!r}")
        if self.num_attention_heads % self.num_key_value_heads:
            raise CheckpointError(f"heads of queries are a multiple of those of keys, got {self.num_attention_heads} and "
                                  f"{self.num_key_value_heads}")
        if self.head_dim % 2:
            raise CheckpointError(f"a head has an even number of numbers, which turn in pairs, got {self.head_dim}")
        if strange := [token for token in (*self.end_tokens, self.start_token) if token is not None and type(token) is not int]:
            raise CheckpointError(f"tokens that begin or end a text are integers, got {strange[0]!r:.80}")
        if not self.windows:
            object.__setattr__(self, "windows", (None,) * self.num_hidden_layers)
        if len(self.windows) != self.num_hidden_layers:
            raise CheckpointError(f"{self.num_hidden_layers} layers need a window each, or None, got {len(self.windows)}")
        if wrong := [window for window in self.windows if window is not None and (type(window) is not int or window < 1)]:
            raise CheckpointError(f"a layer looks at a positive number of positions, or at all, got a window of {wrong[0]!r}")


def from_json(facts):
    """The Config of the contents of a `config.json`."""
    architecture = facts.get("model_type")
    if not isinstance(architecture, str) or architecture not in _OF_JSON:
        raise CheckpointError(f"config.json is of a {architecture!r}, and retrograde knows {', '.join(sorted(_OF_JSON))}")
    try:
        return _of_facts(architecture, facts)
    except CheckpointError:
        raise
    except (ArithmeticError, AttributeError, KeyError, MemoryError, TypeError, ValueError) as error:
        raise CheckpointError(f"config.json has a value that makes no model: {error}") from None


def _of_facts(architecture, facts):
    facts = _renamed(facts) if architecture == "gpt2" else {**_USUAL.get(architecture, {}), **facts}
    settings = _shared(facts)
    return Config(**{**settings, **_OF_JSON[architecture](facts, settings)})


def _shared(facts):
    """What all decoders have under the same names."""
    sizes = {name: _needed(facts, name) for name in _SIZES}
    heads = sizes["num_attention_heads"]
    theta, scaling = _rope(facts)
    activation = facts.get("hidden_activation") or facts.get("hidden_act", "gelu" if facts["model_type"] == "bert" else "silu")
    if activation not in ACTIVATIONS:
        raise CheckpointError(f"config.json names the activation {activation!r}, and retrograde knows {', '.join(ACTIVATIONS)}")
    ends = facts.get("eos_token_id")
    return {
        "architecture": facts["model_type"], **sizes, "num_key_value_heads": facts.get("num_key_value_heads") or heads,
        "head_dim": facts.get("head_dim") or sizes["hidden_size"] // heads, "norm_eps": facts.get("rms_norm_eps", 1e-6),
        "activation": ACTIVATIONS[activation], "rope_theta": theta, "rope_scaling": scaling,
        "is_tied": bool(facts.get("tie_word_embeddings", False)), "start_token": facts.get("bos_token_id"),
        "end_tokens": tuple(ends) if isinstance(ends, list) else () if ends is None else (ends,)}


def _refuse(facts, *names):
    """Raise a CheckpointError if one of these parts, which are not here, is asked for."""
    if asked := [name for name in names if facts.get(name)]:
        raise CheckpointError(f"config.json asks for {asked[0]}, which retrograde does not have")


def _needed(facts, name):
    if name not in facts:
        raise CheckpointError(f"config.json lacks {name}, which a model of type {facts.get('model_type')!r} needs")
    return facts[name]


def _rope(facts, kind=None):
    """(base, scaling or None) of the angles of positions, which newer files have in one dictionary, by the kind of layer or not."""
    found: Any = facts.get("rope_parameters") or {}
    found = found.get(kind, found) if kind else found
    theta = found.get("rope_theta", facts.get("rope_theta", 10000.0))
    if (part := found.get("partial_rotary_factor", facts.get("partial_rotary_factor"))) not in (None, 1):
        raise CheckpointError(f"config.json asks for partial_rotary_factor {part!r}, and retrograde turns whole heads")
    scaling = found or facts.get("rope_scaling")
    if scaling is None or scaling.get("rope_type", scaling.get("type", "default")) == "default":
        return theta, None
    return theta, dict(scaling)


def _llama(facts, settings):  # noqa: ARG001 - each of these has both
    biased = bool(facts.get("attention_bias", False))
    return {"has_qkv_bias": biased, "has_output_bias": biased, "has_mlp_bias": bool(facts.get("mlp_bias", False))}


def _mistral(facts, settings):
    return {"windows": (facts["sliding_window"],) * settings["num_hidden_layers"]}


def _windows(facts, settings):
    """The windows of layers by their types; older files say from which layer on they have one."""
    count, window = settings["num_hidden_layers"], facts["sliding_window"]
    if kinds := facts.get("layer_types"):
        return tuple([window if kind == "sliding_attention" else None for kind in kinds])
    if not facts.get("use_sliding_window", False):
        return (None,) * count
    return tuple([window if i >= facts["max_window_layers"] else None for i in range(count)])


def _qwen2(facts, settings):
    return {"has_qkv_bias": True, "windows": _windows(facts, settings)}


def _qwen3(facts, settings):
    biased = bool(facts.get("attention_bias", False))
    return {"has_qkv_bias": biased, "has_output_bias": biased, "has_head_norms": True, "windows": _windows(facts, settings)}


def _gemma3(facts, settings):
    layers, window = settings["num_hidden_layers"], facts["sliding_window"]
    kinds, pattern = facts.get("layer_types"), facts.get("sliding_window_pattern", 6)
    kinds = kinds or ["full_attention" if (i + 1) % pattern == 0 else "sliding_attention" for i in range(layers)]
    by_kind = "full_attention" in (facts.get("rope_parameters") or {})
    theta, scaling = _rope(facts, "full_attention" if by_kind else None)
    local_base = facts["rope_local_base_freq"]
    local = _rope({**facts, "rope_theta": local_base}, "sliding_attention") if by_kind else (local_base, None)
    _refuse(facts, "final_logit_softcapping", "attn_logit_softcapping", "use_bidirectional_attention")
    return {"rope_theta": theta, "rope_scaling": scaling, "local_rope_theta": local[0], "local_rope_scaling": local[1],
            "has_head_norms": True, "has_post_norms": True,
            "windows": tuple([window if kind == "sliding_attention" else None for kind in kinds]), "is_norm_from_one": True,
            "embedding_scale": float(settings["hidden_size"]) ** 0.5, "query_scale": float(facts["query_pre_attn_scalar"]) ** -0.5}


def _renamed(facts):
    """The contents of GPT-2's file, with the names that others have for its sizes."""
    found = {**facts, **{name: facts[theirs] for name, theirs in _OF_GPT2.items() if theirs in facts}}
    found.setdefault("hidden_act", "gelu_new")
    if "hidden_size" in found:
        found["intermediate_size"] = facts.get("n_inner") or 4 * found["hidden_size"]
    return found


def _gpt2(facts, settings):  # noqa: ARG001 - each of these has both
    _refuse(facts, "scale_attn_by_inverse_layer_idx", "add_cross_attention")
    return {"norm_eps": facts.get("layer_norm_epsilon", 1e-5), "is_tied": bool(facts.get("tie_word_embeddings", True)),
            "query_scale": None if facts.get("scale_attn_weights", True) else 1.0}


def _bert(facts, settings):  # noqa: ARG001 - each of these has both
    if facts.get("position_embedding_type", "absolute") != "absolute" or facts.get("is_decoder"):
        raise CheckpointError("config.json asks for relative positions or for a decoder, which retrograde's BERT does not have")
    names = facts.get("id2label") or {}
    return {"norm_eps": facts.get("layer_norm_eps", 1e-12), "is_tied": bool(facts.get("tie_word_embeddings", True)),
            "type_count": facts.get("type_vocab_size", 2), "labels": tuple([names[key] for key in sorted(names, key=int)]),
            "is_exclusive": facts.get("problem_type") not in ("multi_label_classification", "regression")}


_OF_JSON = {"llama": _llama, "mistral": _mistral, "qwen2": _qwen2, "qwen3": _qwen3, "gemma3_text": _gemma3, "gpt2": _gpt2,
            "bert": _bert}

def from_gguf(metadata):
    """The Config of the metadata of a GGUF file."""
    architecture = metadata.get("general.architecture")
    if architecture not in _OF_GGUF:
        raise CheckpointError(f"the GGUF file is of a {architecture!r}, and retrograde knows {', '.join(sorted(_OF_GGUF))}")

    def fact(name, *default):
        key = f"{architecture}.{name}"
        if key not in metadata and not default:
            raise CheckpointError(f"the GGUF file lacks {key}")
        return metadata.get(key, *default)

    heads, width = fact("attention.head_count"), fact("embedding_length")
    tokenizer = {key.removeprefix("tokenizer.ggml."): value for key, value in metadata.items() if key.startswith("tokenizer.ggml.")}
    size = fact("attention.key_length", width // heads)
    if architecture not in _OLDER and (turned := fact("rope.dimension_count", size)) != size:
        raise CheckpointError(f"the GGUF file turns {turned} numbers of heads of {size}, and retrograde turns whole heads")
    vocabulary = fact("vocab_size", len(tokenizer.get("tokens", ())))
    ends = [tokenizer.get(f"{name}_token_id") for name in ("eos", "eot")]
    settings = {
        "architecture": architecture, "vocab_size": vocabulary, "hidden_size": width,
        "intermediate_size": fact("feed_forward_length"),
        "num_hidden_layers": fact("block_count"), "num_attention_heads": heads,
        "num_key_value_heads": fact("attention.head_count_kv", heads), "head_dim": size,
        "max_position_embeddings": fact("context_length"),
        "norm_eps": fact("attention.layer_norm_epsilon" if architecture in _OLDER else "attention.layer_norm_rms_epsilon"),
        "rope_theta": fact("rope.freq_base", 10000.0), "rope_scaling": _scaling_of_gguf(fact),
        "end_tokens": tuple([end for end in ends if end is not None]), "start_token": tokenizer.get("bos_token_id"),
        "type_count": tokenizer.get("token_type_count", 0)}
    return Config(**{**settings, **_OF_GGUF[architecture](fact, settings)})


def _scaling_of_gguf(fact):
    kind = fact("rope.scaling.type", "none")
    if kind == "none":
        return None
    scaling = {"rope_type": kind, "factor": fact("rope.scaling.factor")}
    original = fact("rope.scaling.original_context_length", None)
    return scaling if original is None else {**scaling, "original_max_position_embeddings": original}


def _gemma3_of_gguf(fact, settings):
    layers, window, pattern = settings["num_hidden_layers"], fact("attention.sliding_window"), 6
    # The file does not say by what products are multiplied; in the model of 27 billion it is not the size of a head.
    size = settings["hidden_size"] // settings["num_attention_heads"] if layers == _LAYERS_OF_27B else settings["head_dim"]
    return {"local_rope_theta": fact("rope.freq_base_swa", 10000.0), "has_head_norms": True, "has_post_norms": True,
            "query_scale": size**-0.5, "activation": "gelu_tanh", "is_tied": True,
            "windows": tuple([None if (i + 1) % pattern == 0 else window for i in range(layers)]),
            "embedding_scale": float(settings["hidden_size"]) ** 0.5}


def _bert_of_gguf(fact, settings):
    if fact("attention.causal", False):
        raise CheckpointError("the GGUF file is of a decoder, which retrograde's BERT does not have")
    pooling = fact("pooling_type", 1)
    if pooling not in _POOLING:
        raise CheckpointError(f"the GGUF file asks for pooling of type {pooling}, and retrograde has {_POOLING}")
    # Files of one kind of parts need not say so. Activations are the exact ones of the network; the file does not name them.
    return {"activation": "gelu", "type_count": settings["type_count"] or 1, "pooling": _POOLING[pooling], "is_tied": True,
            "labels": tuple(fact("classifier.output_labels", ()))}


#: By number which vector stands for a text; 0 says nothing of it. Classes (4) are made of the first.
_POOLING = {0: "mean", 1: "mean", 2: "first", 4: "first"}
#: Architectures whose norms take the mean away.
_OLDER = ("gpt2", "bert")
_OF_GGUF = {
    # Files of Mistral say that they are of a Llama.
    "llama": lambda fact, settings: {"is_rope_in_pairs": True},
    "qwen2": lambda fact, settings: {"has_qkv_bias": True},
    "qwen3": lambda fact, settings: {"has_head_norms": True},
    "gemma3": _gemma3_of_gguf,
    "gpt2": lambda fact, settings: {"activation": "gelu_tanh"},
    "bert": _bert_of_gguf}
