import json
import tracemalloc

import numpy as np
import pytest
import reference
import written_models
from test_lora import TOKENS, adapted, logits

import retrograde as rg
from retrograde import models

SETTINGS = {"rank": 3, "alpha": 5.0, "targets": ("q_proj", "k_proj", "up_proj")}


@pytest.fixture
def folder(tmp_path):
    lora = adapted(reference.network_of(), **SETTINGS)
    models.save_adapter(lora, tmp_path / "a", base="base/model")
    return tmp_path / "a"


def test_files_have_the_names_and_shapes_of_pefts(folder):
    facts = json.loads((folder / "adapter_config.json").read_text())
    expected = {"peft_type": "LORA", "task_type": "CAUSAL_LM", "base_model_name_or_path": "base/model", "r": 3, "lora_alpha": 5.0,
                "target_modules": ["q_proj", "k_proj", "up_proj"], "bias": "none", "fan_in_fan_out": False}
    assert {name: facts[name] for name in expected} == expected
    weights = rg.load(folder / "adapter_model.safetensors")
    assert len(weights) == 12
    assert weights["base_model.model.model.layers.1.self_attn.k_proj.lora_A.weight"].shape == (3, 32)
    assert weights["base_model.model.model.layers.1.self_attn.k_proj.lora_B.weight"].shape == (16, 3)


def test_a_loaded_adapter_is_the_saved_one(folder):
    found = reference.network_of()
    lora = models.load_adapter(found, folder)
    assert lora.settings.rank == 3
    np.testing.assert_array_equal(logits(found), logits(adapted(reference.network_of(), **SETTINGS).network))


def test_heads_in_pairs_are_written_in_the_order_of_other_files(tmp_path):
    network = reference.network_of()
    in_halves, in_pairs = network, rg.models.load(written_models.llama(tmp_path / "m.gguf", network)).network
    lora = adapted(in_pairs, **SETTINGS)
    models.save_adapter(lora, tmp_path / "a")
    models.load_adapter(in_halves, tmp_path / "a")
    np.testing.assert_allclose(logits(in_halves), logits(in_pairs), rtol=1e-4, atol=1e-4)
    # And back, to the same bits.
    again = rg.models.load(tmp_path / "m.gguf").network
    models.load_adapter(again, tmp_path / "a")
    np.testing.assert_array_equal(logits(again), logits(in_pairs))


def test_ranks_and_factors_of_single_layers_are_read(folder):
    edit(folder, rank_pattern={"k_proj": 2}, alpha_pattern={"layers.0.self_attn.q_proj": 9}, use_rslora=True)
    weights = rg.load(folder / "adapter_model.safetensors")
    for name in [name for name in weights if "k_proj" in name]:
        weights[name] = weights[name][:2] if "lora_A" in name else weights[name][:, :2]
    rg.save(weights, folder / "adapter_model.safetensors")
    found = dict(models.load_adapter(reference.network_of(), folder).named())
    assert found["model.layers.0.self_attn.k_proj"].lora_A.shape == (2, 32)
    assert found["model.layers.0.self_attn.q_proj"].scale == pytest.approx(9 / 3**0.5)
    assert found["model.layers.1.self_attn.q_proj"].scale == pytest.approx(5 / 3**0.5)


def edit(folder, **changes):
    path = folder / "adapter_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def weights_without(folder, part):
    weights = rg.load(folder / "adapter_model.safetensors")
    rg.save({name: value for name, value in weights.items() if part not in name}, folder / "adapter_model.safetensors")


@pytest.mark.parametrize(("damage", "message"), [
    (lambda f: edit(f, peft_type="LOHA"), "LOHA"), (lambda f: edit(f, use_dora=True), "use_dora"), (lambda f: edit(f, bias="all"), "bias"),
    (lambda f: edit(f, modules_to_save=["lm_head"]), "modules_to_save"), (lambda f: edit(f, init_lora_weights="pissa"), "pissa"),
    (lambda f: edit(f, init_lora_weights="olora"), "changes the weights"), (lambda f: edit(f, init_lora_weights="pissa_niter_4"), "niter"),
    (lambda f: edit(f, use_bdlora={"blocks": 2}), "use_bdlora"), (lambda f: edit(f, what_comes_next=True), "what_comes_next"), (lambda f: edit(f, r=None), "lacks r"),
    (lambda f: edit(f, r=4), "shape"), (lambda f: weights_without(f, "up_proj.lora_B"), "lacks the tensor"),
    (lambda f: edit(f, target_modules=["q_proj", "k_proj"]), "no layer"), (lambda f: (f / "adapter_config.json").write_text("{"), "JSON"),
    (lambda f: (f / "adapter_model.safetensors").unlink(), "adapter_model"),
    (lambda f: rg.save({"x": rg.ones(2)}, f / "adapter_model.safetensors"), "no matrix"),
    (lambda f: rg.save({"base_model.model.model.layers.9.mlp.up_proj.lora_A.weight": rg.ones(2)}, f / "adapter_model.safetensors"), "no such layer")])
def test_a_folder_that_does_not_fit_is_refused_and_changes_nothing(folder, damage, message):
    damage(folder)
    network = reference.network_of()
    before = logits(network)
    with pytest.raises(rg.errors.CheckpointError, match=message):
        models.load_adapter(network, folder)
    np.testing.assert_array_equal(logits(network), before)


@pytest.mark.parametrize(("name", "value"), [
    *[("rank_pattern", value) for value in ([1], 5, {"(((": 3}, {"k_proj": "x"}, {"k_proj": 1.5}, {"k_proj": 3_000_000}, {"k_proj": -1})],
    *[("alpha_pattern", value) for value in ("x", {"*": 3}, {"k_proj": None}, {"k_proj": True}, {"k_proj": 10**400})], ("r", 3_000_000), ("r", True),
    ("r", 2**62), ("lora_alpha", 10**400), ("lora_alpha", "5"), ("lora_dropout", "x"), ("use_rslora", "false"), ("target_modules", [["q_proj"]]),
    ("target_modules", 5), ("target_modules", "((("), ("target_modules", {"q_proj": 1})])
def test_settings_of_an_adapter_that_are_none_are_refused_before_anything_is_made(folder, name, value):
    edit(folder, **{name: value})
    network = reference.network_of()
    tracemalloc.start()
    with pytest.raises(rg.errors.CheckpointError, match=str(folder)):
        models.load_adapter(network, folder)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 << 20


def test_numbers_of_files_are_finite(folder):
    path = folder / "adapter_config.json"
    path.write_text(path.read_text().replace('"lora_alpha": 5.0', '"lora_alpha": 1e999'))
    with pytest.raises(rg.errors.CheckpointError, match="1e999 is no number"):
        models.load_adapter(reference.network_of(), folder)


def test_matrices_of_adapters_are_of_floats(folder):
    weights = {name: tensor.numpy() for name, tensor in rg.load(folder / "adapter_model.safetensors").items()}
    name = min(weights)
    rg.save({**weights, name: weights[name].astype(np.complex64)}, folder / "adapter_model.safetensors")
    with pytest.raises(rg.errors.CheckpointError, match=rf"{name} is of complex64"):
        models.load_adapter(reference.network_of(), folder)


@pytest.mark.parametrize("patterns", [{"ranks": {"(": 3}}, {"alphas": {"*": 3.0}}, {"ranks": [3]}])
def test_patterns_of_ranks_are_regular_expressions(patterns):
    with pytest.raises(rg.errors.ArgumentError, match="regular expressions"):
        models.LoRA(reference.network_of(), **patterns)


def test_what_changes_nothing_of_an_adapter_is_passed_over(folder):
    edit(folder, init_lora_weights="gaussian", fan_in_fan_out=True, megatron_core="megatron.core", qalora_group_size=16, peft_version="0.99",
         use_dora=False, layers_pattern=[], loftq_config={}, what_comes_next=None)
    found = reference.network_of()
    models.load_adapter(found, folder)
    np.testing.assert_array_equal(logits(found), logits(adapted(reference.network_of(), **SETTINGS).network))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("targets", ["all-linear", ("q_proj", "down_proj"), r".*\.mlp\.(up|gate)_proj"])
def test_peft_loads_what_is_saved_and_saves_what_is_loaded(tmp_path, targets):
    torch = pytest.importorskip("torch", reason="the oracle comes with the extra `oracle`")
    transformers = pytest.importorskip("transformers", reason="an oracle that is no dependency")
    peft = pytest.importorskip("peft", reason="an oracle that is no dependency")
    network = reference.network_of()

    def theirs():
        made = transformers.LlamaForCausalLM(transformers.LlamaConfig(**reference.SIZES, rms_norm_eps=1e-6, tie_word_embeddings=False)).eval()
        made.load_state_dict({name: torch.tensor(np.asarray(t.detach())) for name, t in reference.network_of().state_dict().items()})
        return made

    def logits_of(model):
        with torch.no_grad():
            return model(torch.tensor(np.asarray(TOKENS))).logits.numpy()

    lora = adapted(network, rank=3, alpha=5.0, targets=targets)
    models.save_adapter(lora, tmp_path / "ours")
    loaded = peft.PeftModel.from_pretrained(theirs(), tmp_path / "ours")
    np.testing.assert_allclose(logits_of(loaded), logits(network), rtol=1e-4, atol=1e-4)

    made = peft.get_peft_model(theirs(), peft.LoraConfig(
        r=4, lora_alpha=12, target_modules=targets if isinstance(targets, str) else list(targets), use_rslora=True, init_lora_weights=False))
    made.eval().save_pretrained(tmp_path / "theirs")
    other = reference.network_of()
    models.load_adapter(other, tmp_path / "theirs")
    np.testing.assert_allclose(logits(other), logits_of(made), rtol=1e-4, atol=1e-4)


def test_an_adapter_of_another_architecture_is_refused(tmp_path):
    """Layers and sizes are the same: only the file tells."""
    sizes = {**reference.SIZES, "has_head_norms": False}

    def network(architecture):
        return models.Decoder(models.Config(architecture, **sizes), reference.Spread(0)).eval()

    models.save_adapter(models.LoRA(network("llama")), tmp_path / "a")
    with pytest.raises(rg.errors.CheckpointError, match="is for a model of architecture 'llama', and this one is 'qwen3'"):
        models.load_adapter(network("qwen3"), tmp_path / "a")
    models.load_adapter(network("mistral"), tmp_path / "a")  # GGUF files of Mistral say that they are of a Llama
    weights = tmp_path / "a" / "adapter_model.safetensors"
    rg.save(rg.load(weights), weights)  # as peft would, which tells nothing
    models.load_adapter(network("qwen3"), tmp_path / "a")
