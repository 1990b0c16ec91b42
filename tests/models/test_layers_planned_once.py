"""Training steps of language models are planned by a few of their layers, and give what the whole plan gives."""

import numpy as np
import pytest
import reference

import retrograde as rg
from retrograde import models

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")
from retrograde.compiler.backends.cpu import stored
from retrograde.compiler.backends.cpu.cache import Cache
from retrograde.compiler.backends.cpu.stored import UnplannedProgram
from retrograde.compiler.backends.cpu.units import library


def trained(is_adapted):
    """(what some training steps leave behind, the program)."""
    rg.manual_seed(1)
    network = reference.network_of(num_hidden_layers=14, hidden_size=16, num_attention_heads=2, num_key_value_heads=1)
    learned = models.LoRA(network, rank=2, alpha=4) if is_adapted else network.train()
    optimizer = rg.optim.AdamW(learned.parameters(), lr=1e-3)
    tokens = rg.tensor(np.random.default_rng(0).integers(0, 64, (2, 9)))

    @rg.jit
    def step(tokens):
        optimizer.zero_grad()
        loss = models.next_token_loss(network, tokens[:, :-1], tokens[:, 1:])
        loss.backward()
        optimizer.step()
        return loss.detach()

    found = [step(tokens).numpy() for _ in range(3)] + [p.detach().numpy() for p in learned.parameters()]
    return [array.tobytes() for array in found], step._last_step().program


@pytest.mark.parametrize("is_adapted", [False, True], ids=["all weights", "LoRA"])
def test_steps_give_the_same_bits_as_if_all_layers_were_planned(is_adapted, tmp_path, monkeypatch):
    monkeypatch.setattr(library(), "store", Cache(str(tmp_path)))
    found, program = trained(is_adapted)
    assert type(program) is UnplannedProgram
    monkeypatch.setattr(stored, "shortened", lambda graph: None)
    assert trained(is_adapted)[0] == found
