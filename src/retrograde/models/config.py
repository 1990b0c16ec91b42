"""Config, the sizes of a language model, read from `config.json` or from the metadata of a GGUF file."""

import re
from dataclasses import dataclass

from ..errors import CheckpointError
from .checks import with_known_options
from .facts import Facts

#: By the name of an activation in files what it is here.
ACTIVATIONS = {"silu": "silu", "gelu": "gelu", "gelu_pytorch_tanh": "gelu_tanh", "gelu_new": "gelu_tanh", "relu": "relu"}
#: The greatest size that is read, and the most layers: these are listed before it is seen that a file has no tensors for them.
_MOST, _MOST_LAYERS = 2**31 - 1, 1 << 16
#: How many layers the greatest Gemma 3 has.
_LAYERS_OF_27B = 62
#: What a file that does not say it means, as in transformers, by its `model_type`.
_USUAL = {
    "gemma3_text": {
        "head_dim": 256, "num_key_value_heads": 4, "hidden_activation": "gelu_pytorch_tanh", "query_pre_attn_scalar": 256,
        "rope_theta": 1e6, "rope_local_base_freq": 1e4, "sliding_window": 4096, "tie_word_embeddings": True},
    "mistral": {"sliding_window": 4096}, "qwen2": {"sliding_window": 4096, "max_window_layers": 28},
    "qwen3": {"sliding_window": 4096, "max_window_layers": 28}}
#: Architectures whose norms take the mean away.
_OLDER = ("gpt2", "bert")
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
        if self.architecture in _OLDER and self.num_attention_heads * self.head_dim != self.hidden_size:
            raise CheckpointError(f"heads of a {self.architecture} share its width, {self.hidden_size}, got "
                                  f"{self.num_attention_heads} of {self.head_dim} numbers")
        tokens = [token for token in (*self.end_tokens, self.start_token) if token is not None]
        if strange := [token for token in tokens if type(token) is not int or not 0 <= token < self.vocab_size]:
            raise CheckpointError(f"tokens that begin or end a text are integers from 0 to {self.vocab_size - 1}; "
                                  f"got {strange[0]!r:.80}")
        if not self.windows:
            object.__setattr__(self, "windows", (None,) * self.num_hidden_layers)
        if len(self.windows) != self.num_hidden_layers:
            raise CheckpointError(f"{self.num_hidden_layers} layers need a window each, or None, got {len(self.windows)}")
        if wrong := [window for window in self.windows if window is not None and (type(window) is not int or window < 1)]:
            raise CheckpointError(f"a layer looks at a positive number of positions, or at all, got a window of {wrong[0]!r}")


def from_json(written, where="config.json"):
    """The Config of the contents of a `config.json`; `where` names the file in errors."""
    architecture = written.get("model_type")
    if not isinstance(architecture, str) or architecture not in _OF_JSON:
        raise CheckpointError(f"{where} is of a {architecture!r:.80}, and retrograde knows {', '.join(sorted(_OF_JSON))}")
    written = _renamed(written) if architecture == "gpt2" else {**_USUAL.get(architecture, {}), **written}
    facts = Facts(where, written)
    settings = _shared(facts, architecture)
    return _made(where, {**settings, **_OF_JSON[architecture](facts, settings)})


def _made(where, settings):
    try:
        return Config(**settings)
    except CheckpointError as error:
        raise CheckpointError(f"{where}: {error}") from None


def _shared(facts, architecture):
    """What all decoders have under the same names."""
    sizes = {name: facts.integer(name, least=1, greatest=_MOST_LAYERS if name == "num_hidden_layers" else _MOST) for name in _SIZES}
    heads = sizes["num_attention_heads"]
    theta, scaling = _rope(facts)
    activation = facts.text("hidden_activation", None, ACTIVATIONS) or facts.text(
        "hidden_act", "gelu" if architecture == "bert" else "silu", ACTIVATIONS)
    return {
        "architecture": architecture, **sizes, "num_key_value_heads": facts.integer("num_key_value_heads", None) or heads,
        "head_dim": facts.integer("head_dim", None) or sizes["hidden_size"] // heads, "norm_eps": _eps(facts, "rms_norm_eps", 1e-6),
        "activation": ACTIVATIONS[activation], "rope_theta": theta, "rope_scaling": scaling,
        "is_tied": facts.flag("tie_word_embeddings", False),
        "start_token": next(iter(facts.tokens("bos_token_id", sizes["vocab_size"])), None),
        "end_tokens": facts.tokens("eos_token_id", sizes["vocab_size"])}


def _eps(facts, name, *default):
    return facts.number(name, *default, least=0, greatest=1)


def _base(facts, name, *default):
    """The base of the angles of positions."""
    return facts.number(name, *default, least=1)


def _rope(facts, kind=None, name="rope_theta", default=10000.0):
    """(base, scaling or None) of the angles of positions, which newer files have in one dictionary, by the kind of layer or not."""
    found, base = facts.part("rope_parameters"), _base(facts, name, default)
    found = found.part(kind) if kind and found.has(kind) else found
    theta = _base(found, "rope_theta", base)
    for part in (facts, found):
        part.refuse({"partial_rotary_factor": 1})
    scaling = found if found.written else facts.part("rope_scaling")
    is_scaled = scaling.text("rope_type", scaling.text("type", "default")) != "default"
    return theta, dict(scaling.written) if is_scaled else None


def _llama(facts, settings):  # noqa: ARG001 - each of these has both
    biased = facts.flag("attention_bias", False)
    if "sliding_attention" in (kinds := _kinds(facts) or ()):
        raise CheckpointError(f"{facts.where} asks for layer_types {[*kinds]}, and a Llama has full attention")
    return {"has_qkv_bias": biased, "has_output_bias": biased, "has_mlp_bias": facts.flag("mlp_bias", False)}


def _mistral(facts, settings):
    window, kinds = facts.integer("sliding_window", None), _kinds(facts) or ()
    if ("sliding_attention" if window is None else "full_attention") in kinds:
        raise CheckpointError(f"{facts.where} asks for layer_types {[*kinds]} with the sliding_window {window}")
    return {"windows": (window,) * settings["num_hidden_layers"]}


def _kinds(facts):
    """The kinds of attention of layers, None where the file has none."""
    kinds = facts.texts("layer_types", None)
    if strange := [kind for kind in kinds or () if kind not in ("full_attention", "sliding_attention")]:
        raise CheckpointError(f"{facts.where} asks for layer_types {strange[0]!r:.80}, and retrograde knows full_attention and "
                              "sliding_attention")
    return kinds


def _of_kinds(facts, kinds):
    """The windows of layers of these kinds."""
    window = facts.integer("sliding_window", None)
    if window is None and "sliding_attention" in kinds:
        raise CheckpointError(f"{facts.where} has layers of sliding_attention without a sliding_window")
    return tuple([window if kind == "sliding_attention" else None for kind in kinds])


def _windows(facts, settings):
    """The windows of layers by their types; older files say from which layer on they have one."""
    count, is_sliding = settings["num_hidden_layers"], facts.flag("use_sliding_window", None)
    first = facts.integer("max_window_layers")
    usual = [*["full_attention"] * min(first, count), *["sliding_attention"] * (count - first)]
    kinds = _kinds(facts) or (usual if is_sliding else ["full_attention"] * count)
    if is_sliding is False and "sliding_attention" in kinds:
        raise CheckpointError(f"{facts.where} has layers of sliding_attention, and use_sliding_window false")
    return _of_kinds(facts, kinds)


def _qwen2(facts, settings):
    return {"has_qkv_bias": True, "windows": _windows(facts, settings)}


def _qwen3(facts, settings):
    biased = facts.flag("attention_bias", False)
    return {"has_qkv_bias": biased, "has_output_bias": biased, "has_head_norms": True, "windows": _windows(facts, settings)}


def _gemma3(facts, settings):
    layers, pattern = settings["num_hidden_layers"], facts.integer("sliding_window_pattern", 6, least=1)
    kinds = _kinds(facts) or ["full_attention" if (i + 1) % pattern == 0 else "sliding_attention" for i in range(layers)]
    by_kind = facts.part("rope_parameters").has("full_attention")
    theta, scaling = _rope(facts, "full_attention" if by_kind else None)
    local_name = "rope_local_base_freq"
    local = _rope(facts, "sliding_attention", local_name) if by_kind else (_base(facts, local_name), None)
    facts.refuse({"final_logit_softcapping": 0, "attn_logit_softcapping": 0, "use_bidirectional_attention": False})
    biased = facts.flag("attention_bias", False)
    return {"rope_theta": theta, "rope_scaling": scaling, "local_rope_theta": local[0], "local_rope_scaling": local[1],
            "has_head_norms": True, "has_post_norms": True, "has_qkv_bias": biased, "has_output_bias": biased,
            "windows": _of_kinds(facts, kinds), "is_norm_from_one": True,
            "embedding_scale": float(settings["hidden_size"]) ** 0.5,
            "query_scale": facts.number("query_pre_attn_scalar", least=1e-6) ** -0.5}


def _renamed(written):
    """The contents of GPT-2's file, with the names that others have for its sizes."""
    found = {**written, **{name: written[theirs] for name, theirs in _OF_GPT2.items() if theirs in written}}
    found.setdefault("hidden_act", "gelu_new")
    if found.get("n_inner") is not None:
        found["intermediate_size"] = found["n_inner"]
    elif type(found.get("hidden_size")) is int:
        found["intermediate_size"] = 4 * found["hidden_size"]
    return found


def _gpt2(facts, settings):  # noqa: ARG001 - each of these has both
    facts.refuse({"scale_attn_by_inverse_layer_idx": False, "add_cross_attention": False})
    return {"norm_eps": _eps(facts, "layer_norm_epsilon", 1e-5), "is_tied": facts.flag("tie_word_embeddings", True),
            "query_scale": None if facts.flag("scale_attn_weights", True) else 1.0}


def _bert(facts, settings):  # noqa: ARG001 - each of these has both
    if facts.text("position_embedding_type", "absolute") != "absolute" or facts.flag("is_decoder", False):
        raise CheckpointError(f"{facts.where} asks for relative positions or for a decoder, which retrograde's BERT does not have")
    names = facts.part("id2label")
    if strange := [name for name in names.written if not re.fullmatch("[0-9]{1,9}", name)]:
        raise CheckpointError(f"{facts.where} has id2label with {strange[0]!r:.80}, which is no number of a class")
    problem = facts.text("problem_type", None)
    return {"norm_eps": _eps(facts, "layer_norm_eps", 1e-12), "is_tied": facts.flag("tie_word_embeddings", True),
            "type_count": facts.integer("type_vocab_size", 2, least=1),
            "labels": tuple([names.text(name) for name in sorted(names.written, key=int)]),
            "is_exclusive": problem not in ("multi_label_classification", "regression")}


_OF_JSON = {"llama": _llama, "mistral": _mistral, "qwen2": _qwen2, "qwen3": _qwen3, "gemma3_text": _gemma3, "gpt2": _gpt2,
            "bert": _bert}


def from_gguf(metadata, where="the GGUF file"):
    """The Config of the metadata of a GGUF file; `where` names it in errors."""
    architecture = Facts(where, metadata).text("general.architecture")
    if architecture not in _OF_GGUF:
        raise CheckpointError(f"{where} is of a {architecture!r:.80}, and retrograde knows {', '.join(sorted(_OF_GGUF))}")
    facts, tokenizer = Facts(where, metadata, f"{architecture}."), Facts(where, metadata, "tokenizer.ggml.")
    heads, width = facts.integer("attention.head_count", least=1), facts.integer("embedding_length", least=1)
    size = facts.integer("attention.key_length", width // heads)
    is_older = architecture in _OLDER
    if not is_older and (turned := facts.integer("rope.dimension_count", size)) != size:
        raise CheckpointError(f"{where} turns {turned} numbers of heads of {size}, and retrograde turns whole heads")
    if (values := facts.integer("attention.value_length", size)) != size:
        raise CheckpointError(f"{where} has heads of {size} numbers whose values have {values}, and retrograde has none such")
    vocabulary = facts.integer("vocab_size", len(tokenizer.texts("tokens", ())), least=1)
    settings = {
        "architecture": architecture, "vocab_size": vocabulary, "hidden_size": width,
        "intermediate_size": facts.integer("feed_forward_length"),
        "num_hidden_layers": facts.integer("block_count", greatest=_MOST_LAYERS), "num_attention_heads": heads,
        "num_key_value_heads": facts.integer("attention.head_count_kv", heads), "head_dim": size,
        "max_position_embeddings": facts.integer("context_length"),
        "norm_eps": _eps(facts, "attention.layer_norm_epsilon" if is_older else "attention.layer_norm_rms_epsilon"),
        "rope_theta": _base(facts, "rope.freq_base", 10000.0), "rope_scaling": _scaling_of_gguf(facts),
        "type_count": tokenizer.integer("token_type_count", 0)}
    if architecture != "bert":  # whose tokenizer puts its own tokens around a text
        facts.refuse(_NEUTRAL)
        if architecture != "gemma3" and facts.integer("attention.sliding_window", 0) < settings["max_position_embeddings"]:
            facts.refuse({"attention.sliding_window": 0})
        tokenizer.refuse({"add_eos_token": False})
        start, *ends = [tokenizer.integer(f"{name}_token_id", None, greatest=vocabulary - 1) for name in ("bos", "eos", "eot")]
        settings |= {"end_tokens": tuple([end for end in ends if end is not None]), "start_token": start}
    return _made(where, {**settings, **_OF_GGUF[architecture](facts, settings)})


def _scaling_of_gguf(facts):
    kind = facts.text("rope.scaling.type", None)
    if kind is None:  # some runtimes take it for a linear one
        facts.refuse({"rope.scaling.factor": 1, "rope.scale_linear": 1})
    if kind in (None, "none"):
        return None
    scaling: dict = {"rope_type": kind, "factor": facts.number("rope.scaling.factor")}
    original = facts.integer("rope.scaling.original_context_length", None, least=1)
    return scaling if original is None else {**scaling, "original_max_position_embeddings": original}


def _gemma3_of_gguf(facts, settings):
    layers, window, pattern = settings["num_hidden_layers"], facts.integer("attention.sliding_window", least=1), 6
    # The file does not say by what products are multiplied; in the model of 27 billion it is not the size of a head.
    size = settings["hidden_size"] // settings["num_attention_heads"] if layers == _LAYERS_OF_27B else settings["head_dim"]
    return {"local_rope_theta": _base(facts, "rope.freq_base_swa", 10000.0), "has_head_norms": True, "has_post_norms": True,
            "query_scale": size**-0.5, "activation": "gelu_tanh", "is_tied": True,
            "windows": tuple([None if (i + 1) % pattern == 0 else window for i in range(layers)]),
            "embedding_scale": float(settings["hidden_size"]) ** 0.5}


def _bert_of_gguf(facts, settings):
    if facts.flag("attention.causal", False):
        raise CheckpointError(f"{facts.where} is of a decoder, which retrograde's BERT does not have")
    pooling = facts.integer("pooling_type", 1)
    if pooling not in _POOLING:
        raise CheckpointError(f"{facts.where} asks for pooling of type {pooling}, and retrograde has {_POOLING}")
    # Files of one kind of parts need not say so. Activations are the exact ones of the network; the file does not name them.
    return {"activation": "gelu", "type_count": settings["type_count"] or 1, "pooling": _POOLING[pooling], "is_tied": True,
            "labels": facts.texts("classifier.output_labels", ())}


#: What would change the numbers of a decoder and is not here, with the values by which a file asks for nothing.
_NEUTRAL = {"expert_count": 0, "attention.causal": True, "attention.scale": 0, "attention.logit_scale": 1, "logit_scale": 1,
            "embedding_scale": 1, "residual_scale": 1, "attn_logit_softcapping": 0, "final_logit_softcapping": 0,
            "attention.clamp_kqv": 0, "attention.max_alibi_bias": 0, "rope.scaling.attn_factor": 1}
#: By number which vector stands for a text; 0 says nothing of it. Classes (4) are made of the first.
_POOLING = {0: "mean", 1: "mean", 2: "first", 4: "first"}
_OF_GGUF = {
    # Files of Mistral say that they are of a Llama.
    "llama": lambda facts, settings: {"is_rope_in_pairs": True},
    "qwen2": lambda facts, settings: {"has_qkv_bias": True},
    "qwen3": lambda facts, settings: {"has_head_norms": True},
    "gemma3": _gemma3_of_gguf,
    "gpt2": lambda facts, settings: {"activation": "gelu_tanh"},
    "bert": _bert_of_gguf}
