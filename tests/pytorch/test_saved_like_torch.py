"""What PyTorch saves is loaded here, and what is saved here PyTorch loads with `weights_only=True`; 500 of them: `python -m tests.torch.files`."""

import io

import pytest
from saved import Maker, described

import retrograde.torch as ours

pytest.importorskip("torch.serialization", reason="compares with PyTorch: the extra oracle")
import torch as theirs


@pytest.mark.filterwarnings("ignore:Detected pickle protocol", "ignore:ComplexHalf")
@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize(("maker", "loader"), [(theirs, ours), (ours, theirs)], ids=["to here", "from here"])
def test_an_object_is_the_same_on_the_other_side(maker, loader, seed):
    made, file = Maker(maker, seed).object(), io.BytesIO()
    maker.save(made, file)
    file.seek(0)
    assert described(loader, loader.load(file, weights_only=True)) == described(maker, made)
