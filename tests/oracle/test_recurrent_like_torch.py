"""Recurrent networks beside PyTorch's: outputs, states and all gradients. Run as a script, this file
records what PyTorch gives, for those who have not got it.
"""

from pathlib import Path

import numpy as np
import pytest

import retrograde as rg
from nn.recurrent_cases import CASES, CELLS, PACKED, figures

torch = pytest.importorskip("torch")
RECORD = Path(__file__).parents[1] / "nn" / "recurrent.npz"


@pytest.mark.filterwarnings("ignore:LSTM with projections is not supported with oneDNN")
@pytest.mark.parametrize("case", [*CASES, *CELLS, *PACKED], ids=str)
def test_recurrent_networks_agree_with_those_of_torch(case):
    for ours, theirs in zip(figures(rg, case), figures(torch, case), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("name", "options"), [
    *[(name, options) for name in ("RNN", "LSTM", "GRU") for options in ({}, {"num_layers": 2, "bidirectional": True}, {"bias": False})],
    ("LSTM", {"proj_size": 2, "bidirectional": True}), ("LSTM", {"proj_size": 2, "bias": False})], ids=str)
def test_names_shapes_and_order_of_the_state_are_those_of_torch(name, options):
    ours, theirs = (getattr(library.nn, name)(3, 4, **options).state_dict() for library in (rg, torch))
    assert [(k, tuple(v.shape)) for k, v in ours.items()] == [(k, tuple(v.shape)) for k, v in theirs.items()]


if __name__ == "__main__":
    np.savez_compressed(RECORD, **{
        f"{i}_{j}": array for i, case in enumerate([*CASES, *CELLS, *PACKED]) for j, array in enumerate(figures(torch, case))
    })
