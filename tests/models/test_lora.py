import numpy as np
import older_networks
import pytest
import reference

import retrograde as rg
from retrograde import models
from retrograde.models.finetuning.lora import LoRALinear

TOKENS = rg.asarray(np.random.default_rng(0).integers(0, 64, (2, 13)))


def adapted(network, seed=0, **settings):
    """Adapters whose second matrices are not zeros."""
    rg.manual_seed(seed)
    lora = models.LoRA(network, **settings)
    rng = np.random.default_rng(seed)
    for _, adapter in lora.named():
        adapter.lora_B.data = rng.standard_normal(adapter.lora_B.shape).astype(np.float32) * np.float32(0.1)
    return lora


def loss_of(network):
    return models.next_token_loss(network, TOKENS[:, :-1], TOKENS[:, 1:])


def logits(network):
    with rg.no_grad():
        return np.asarray(network(TOKENS))


def test_new_adapters_change_nothing_and_are_all_that_is_learned():
    network = reference.network_of()
    before = logits(network)
    lora = models.LoRA(network, rank=4)
    np.testing.assert_array_equal(logits(network), before)
    loss_of(network).backward()
    assert {name for name, p in network.named_parameters() if p.grad is not None} == {
        f"{path}.adapter.{part}" for path, _ in lora.named() for part in ("lora_A", "lora_B")}
    assert len(lora.state_dict()) == 2 * len(lora.adapters) == 28


def test_an_adapted_layer_is_the_layer_with_the_product_added():
    network = reference.network_of()
    lora = adapted(network, rank=3, alpha=6.0, targets=("q_proj", "down_proj"))
    assert {path.rpartition(".")[2] for path, _ in lora.named()} == {"q_proj", "down_proj"}
    other = reference.network_of()
    for path, adapter in lora.named():
        weight = other.get_submodule(path).weight
        weight.data = np.asarray(weight.detach()) + 2 * np.asarray(adapter.lora_B.detach()) @ np.asarray(adapter.lora_A.detach())
    np.testing.assert_allclose(logits(network), logits(other), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize("form", [None, "int8", "q4"])
def test_gradients_of_adapters_agree_with_differences(form, compiled):
    network = reference.network_of()
    if form is not None:
        models.quantise_frozen(network, form)
    lora = adapted(network, rank=2)
    step = lambda: loss_of(network)
    run = rg.jit(step) if compiled else step

    def gradients():
        lora.zero_grad()
        step().backward()
        return [p.grad for p in lora.parameters()]

    slopes = [np.asarray(g) for g in (rg.jit(gradients) if compiled else gradients)()]
    before, norm = [np.asarray(p.detach()).copy() for p in lora.parameters()], sum([float((g * g).sum()) for g in slopes]) ** 0.5
    change, ends = [g * np.float32(1e-2 / norm) for g in slopes], []
    for sign in (1, -1):
        for p, value, move in zip(lora.parameters(), before, change, strict=True):
            p.data = value + sign * move
        ends.append(float(run()))
    assert (ends[0] - ends[1]) / 2e-2 == pytest.approx(norm, rel=1e-2)


def test_merging_adds_the_adapters_and_unmerging_gives_the_same_bits_back():
    network = reference.network_of(is_tied=False)
    before = {name: np.asarray(p.detach()).copy() for name, p in network.named_parameters()}
    lora = adapted(network)
    beside = logits(network)
    lora.merge()
    assert not any(isinstance(module, LoRALinear) for module in network.modules())
    np.testing.assert_allclose(logits(network), beside, rtol=1e-4, atol=1e-4)
    with pytest.raises(rg.errors.ArgumentError, match="merged already"):
        lora.merge()
    lora.unmerge()
    np.testing.assert_array_equal(logits(network), beside)
    lora.remove()
    for name, p in network.named_parameters():
        np.testing.assert_array_equal(p.detach(), before[name])


def test_adapters_that_were_taken_out_change_a_network_no_more():
    network = reference.network_of(is_tied=False)
    before, lora = logits(network), adapted(network)
    lora.remove()
    for change in (lora.merge, lora.unmerge):
        with pytest.raises(rg.errors.ArgumentError, match="taken out of the network"):
            change()
    np.testing.assert_array_equal(logits(network), before)
    other = adapted(network)
    beside = logits(network)
    lora.remove()  # those of the other are not its own
    np.testing.assert_array_equal(logits(network), beside)
    other.merge()
    other.remove()
    np.testing.assert_array_equal(logits(network), before)


def test_adapters_are_not_merged_into_quantised_weights():
    lora = models.QLoRA(reference.network_of(), "q4")
    with pytest.raises(rg.errors.ArgumentError, match=r"Q4_1.*float32"):
        lora.merge()


def test_a_quantised_base_leaves_nothing_in_float32_but_norms():
    network = reference.network_of(is_tied=True)
    models.QLoRA(network, "q4", targets=("q_proj",))
    wide = {name for name, tensor in network.state_dict().items() if tensor.dtype == np.float32}
    assert all("norm" in name or "lora" in name for name in wide)
    assert np.shares_memory(network.lm_head.blocks.numpy(), network.model.embed_tokens.blocks.numpy())


def test_dropout_is_drawn_in_training_alone():
    network = reference.network_of()
    lora = adapted(network, dropout=0.5)
    calm = float(loss_of(network.eval()))
    assert calm == float(loss_of(lora.eval()))
    lora.train()
    assert len({float(loss_of(lora)) for _ in range(3)}) == 3
    with rg.no_grad():
        assert float(loss_of(lora)) == calm


def test_texts_that_are_written_in_the_midst_of_a_training_have_no_dropout():
    """Neither a long prompt, which is read by the way of training, nor the tokens after it."""
    model = models.Model(reference.network_of(), reference.tokenizer(), context=48)
    lora = adapted(model.network, dropout=0.9)
    prompt, options = "the cat is in the house and the dog is in the garden", {"max_tokens": 8, "ignore_end": True}
    calm, chances = model.complete([prompt], **options), model.logprobs(prompt, [" a", " the"])
    lora.train()
    assert model.complete([prompt], **options) == calm and model.logprobs(prompt, [" a", " the"]) == chances


def test_a_quantised_gpt2_leaves_nothing_in_float32_but_norms_biases_and_positions():
    network = older_networks.gpt2_of()
    models.QLoRA(network, "q4", targets=("c_attn",))
    wide = {name for name, tensor in network.state_dict().items() if tensor.dtype == np.float32}
    assert all("ln_" in name or "lora" in name or name.endswith("bias") or "wpe" in name for name in wide)
    assert np.shares_memory(network.lm_head.blocks.numpy(), network.transformer.wte.blocks.numpy())


@pytest.mark.parametrize("make", [reference.network_of, older_networks.gpt2_of])
def test_layers_computed_again_have_the_same_gradients_and_dropout(make):
    found = []
    for is_checkpointed in (False, True):
        network = make()
        lora = adapted(network, dropout=0.3).train()
        network.get_submodule(network.body_path).is_checkpointed = is_checkpointed

        def gradients(lora=lora):
            lora.zero_grad()
            loss_of(lora).backward()
            return [p.grad for p in lora.parameters()]

        rg.manual_seed(5)
        found.append([np.asarray(g) for g in rg.jit(gradients)()])
    for ours, plain in zip(*found, strict=True):
        np.testing.assert_allclose(ours, plain, rtol=1e-4, atol=1e-6)


def test_what_is_written_with_adapters_does_not_depend_on_what_is_beside_it():
    model = models.Model(reference.network_of(), reference.tokenizer())
    adapted(model, rank=5)
    options = {"max_tokens": 6, "ignore_end": True, "temperature": 1.0}
    together = model.complete(["the cat", "in", "a dog"], seed=[0, 1, 2], **options)
    alone = model.complete(["in"], seed=1, **options)[0]
    assert together[1].logprobs == alone.logprobs


@pytest.mark.parametrize(("settings", "message"), [
    ({"rank": 0}, "rank"), ({"alpha": "x"}, "alpha"), ({"dropout": 1.0}, "dropout"), ({"targets": ("wq",)}, "there are down_proj, gate_proj"),
    ({"targets": ("embed_tokens",)}, "embed_tokens"), ({"targets": ".*lm_head"}, "head")])
def test_settings_that_make_no_adapters_are_refused(settings, message):
    with pytest.raises(rg.errors.ArgumentError, match=message):
        models.LoRA(reference.network_of(), **settings)


def test_a_network_has_one_set_of_adapters():
    network = reference.network_of()
    models.LoRA(network).remove()
    models.LoRA(network)
    with pytest.raises(rg.errors.ArgumentError, match="adapters already"):
        models.LoRA(network)
