"""`Trainer(distributed="data")`: on one process here, on several by programs/trainer.py."""

import numpy as np
import pytest

import retrograde as rg
from launching import needs_mpi, passed
from retrograde import nn
from retrograde.distributed import DataParallel
from retrograde.errors import ArgumentError
from tests.distributed.kills import round_of


@needs_mpi
def test_a_run_of_two_processes_goes_on_within_an_epoch_with_three_and_has_the_logs_and_weights_of_one(tmp_path):
    assert passed(2, "trainer.py", tmp_path / "run", 4, 6).count("is done after step 6") == 2
    assert passed(3, "trainer.py", tmp_path / "run", 4).count("is done after step 16") == 3


@needs_mpi
@pytest.mark.long
@pytest.mark.parametrize("count", [2, 4])
def test_losses_metrics_averages_and_weights_are_those_of_one_process(count):
    assert passed(count, "trainer.py", "-", 0).count("is done") == count


@needs_mpi
@pytest.mark.long
@pytest.mark.parametrize("seed", [101, 102, 103])
def test_a_killed_process_ends_the_others_and_three_go_on(seed):
    round_of(seed)


def trainer(**options):
    rg.manual_seed(0)
    model = nn.Linear(2, 2)
    return rg.train.Trainer(model, rg.optim.SGD(model.parameters(), lr=0.1), nn.functional.cross_entropy, progress=False, **options)


DATA = np.random.default_rng(0).normal(size=(16, 2)).astype(np.float32), np.arange(16) % 2


def test_one_process_trains_as_without_it():
    alone, together = trainer(), trainer(distributed="data")
    assert isinstance(together.model, DataParallel)
    assert [e["loss"] for e in alone.fit(DATA, epochs=3)] == [e["loss"] for e in together.fit(DATA, epochs=3)]
    for a, b in zip(alone.model.parameters(), together.model.parameters(), strict=True):
        np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())


def test_what_it_does_not_know_is_refused():
    with pytest.raises(ArgumentError, match='distributed must be None or "data", got \'model\''):
        trainer(distributed="model")
