"""How a model's files want tokens to be drawn: `generation_config.json`."""

from ..errors import ArgumentError
from .facts import Facts

#: What is here, by the names of the file.
SETTINGS = ("temperature", "top_k", "top_p", "min_p", "repetition_penalty")
#: What is not here and would change a text, each with the values by which a file asks for nothing.
_MISSING = {"num_beams": (1,), "no_repeat_ngram_size": (0,), "min_length": (0,), "min_new_tokens": (0,), "bad_words_ids": ([],),
            "sequence_bias": ([], {}), "suppress_tokens": ([],), "begin_suppress_tokens": ([],), "forced_bos_token_id": (),
            "forced_eos_token_id": (), "exponential_decay_length_penalty": (), "guidance_scale": (1,), "stop_strings": ([],),
            "penalty_alpha": (0,)}
#: The same, where tokens are drawn.
_MISSING_OF_DRAWS = {"typical_p": (1,), "epsilon_cutoff": (0,), "eta_cutoff": (0,)}


def settings_of(written, where="generation_config.json"):
    """The settings of a Model of what a `generation_config.json` holds; `where` names the file in errors."""
    facts = Facts(where, written)
    is_drawn = bool(facts.flag("do_sample", None))
    known = {name: facts.integer(name, None) if name == "top_k" else facts.number(name, None) for name in SETTINGS}
    # What is said of drawing counts only where tokens are drawn; what repeats is punished either way.
    found = {name: known[name] for name in (SETTINGS if is_drawn else ("repetition_penalty",)) if known[name] is not None}
    if is_drawn:
        found.setdefault("temperature", 1.0)
    missing = {**_MISSING, **(_MISSING_OF_DRAWS if is_drawn else {})}
    asked = {name: written.get(name) for name in missing}
    return {**found, **{name: value for name, value in asked.items() if value is not None and value not in missing[name]}}


def check_settings(settings, options):
    """Raise an ArgumentError if a model's settings ask for what is not here, unless the options of a call decide all themselves."""
    strange = sorted(settings.keys() - {*SETTINGS})
    if strange and not options.keys() >= {*SETTINGS}:
        raise ArgumentError(f"the model's generation_config.json asks for {strange[0]} {settings[strange[0]]!r:.80}, which "
                            f"retrograde does not have; model.settings.pop({strange[0]!r}) lets it write without")
