import numpy as np
import pytest

import retrograde as rg
from retrograde import nn, optim, train
from retrograde.runs import checkpoints

X = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
MEAN = nn.functional.mse_loss


def made(loss=MEAN, bad=None, **options):
    """(trainer, data) of which one row, of the fourth batch, is bad."""
    rg.manual_seed(0)
    x = X.copy()
    if bad is not None:
        x[33] = bad
    model = nn.Linear(3, 1)
    trainer = train.Trainer(model, optim.SGD(model.parameters(), lr=0.01), loss, progress=False, **options)
    return trainer, rg.data.Loader((x, X[:, :1]), 10)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("is_compiled", [True, False])
def test_a_loss_that_is_no_number_ends_training_and_names_the_step_and_the_last_checkpoint(tmp_path, bad, is_compiled):
    trainer, data = made(bad=bad, compiled=is_compiled, checkpoint=tmp_path, save_every=2)
    with np.errstate(all="ignore"), pytest.raises(
            rg.errors.AnomalyError, match=r"the loss is (nan|inf) at step 4, in epoch 1; the last checkpoint, .*checkpoint-000001, is from before"):
        trainer.fit(data, epochs=3)
    assert [c.step for c in checkpoints(tmp_path)] == [2]
    assert all(np.isfinite(x).all() for x in rg.load_run(tmp_path)["model"].values())
    again, data = made(checkpoint=tmp_path, save_every=2)  # the same without the bad row
    again.fit(data, epochs=1)
    assert again.step == 4


def test_who_wants_to_goes_on_after_a_loss_that_is_no_number(tmp_path):
    trainer, data = made(bad=np.nan, stop_on_nan=False, checkpoint=tmp_path)
    assert len(trainer.fit(data, epochs=2)) == 2
    assert np.isnan(trainer.loss)


@pytest.mark.parametrize("folder", ["run", None])
def test_weights_that_are_no_numbers_are_never_saved(tmp_path, folder):
    rg.manual_seed(0)
    model = nn.Linear(3, 1)
    place = None if folder is None else tmp_path / folder
    trainer = train.Trainer(model, optim.SGD(model.parameters(), lr=0.01), lambda z, y: (z * y).square().sqrt().sum(), progress=False,
                            checkpoint=place, save_every=1)
    targets = np.ones((40, 1), np.float32)
    targets[25] = 0
    with np.errstate(all="ignore"), pytest.raises(rg.errors.AnomalyError, match="the parameter weight is NaN or infinite after step 3, by its gradient"):
        trainer.fit(rg.data.Loader((X, targets), 10), steps=3)
    if place is not None:
        assert [c.step for c in checkpoints(place)][-1] == 2
        assert all(np.isfinite(x).all() for x in rg.load_run(place)["model"].values())


@pytest.mark.parametrize(("options", "argument"), [
    ({"schedule": lambda o: optim.lr_scheduler.StepLR(o, 2)}, "schedule"), ({"ema": 0.9}, "ema")], ids=["schedule", "ema"])
def test_what_decides_how_a_run_goes_on_cannot_be_left_out_of_it(tmp_path, options, argument):
    rg.manual_seed(0)
    model = nn.Linear(3, 1)
    optimizer = optim.SGD(model.parameters(), lr=0.01)
    options = {name: value(optimizer) if callable(value) else value for name, value in options.items()}
    data = rg.data.Loader((X, X[:, :1]), 10)
    train.Trainer(model, optimizer, MEAN, progress=False, checkpoint=tmp_path, **options).fit(data, epochs=1)
    trainer, data = made(checkpoint=tmp_path)
    before = trainer.model.weight.tolist()
    with pytest.raises(rg.errors.CheckpointError, match=f"was trained with {argument}=, which this trainer has not"):
        trainer.fit(data, epochs=2)
    assert (trainer.step, trainer.model.weight.tolist()) == (0, before)
