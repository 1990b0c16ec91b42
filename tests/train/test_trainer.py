import os
import random
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import retrograde as rg
from retrograde import nn, optim, train
from retrograde.torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler
from train import kills

CROSS = nn.functional.cross_entropy
X = np.random.default_rng(0).normal(size=(70, 4)).astype(np.float32)
Y = (X.sum(axis=1) > 0).astype(np.int64)


def made(seed=0, dropout=0.0, **options):
    """(trainer, data) of a small model."""
    rg.manual_seed(seed)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(dropout), nn.Linear(8, 2))
    optimizer = options.pop("optimizer", optim.SGD)(model.parameters(), lr=0.1)
    if "schedule" in options:
        options["schedule"] = options["schedule"](optimizer)
    trainer = train.Trainer(model, optimizer, CROSS, **{"progress": False, "metrics": [train.Accuracy()]} | options)
    return trainer, rg.data.Loader((X, Y), 16, shuffle=True, seed=seed)


def bits(trainer):
    parts = [trainer.model, *filter(None, [trainer.averaged])]
    return [t.detach().numpy().tobytes() for part in parts for t in part.state_dict().values()]


def by_hand(epochs, accumulate=1, clip_norm=None, ema=None, dropout=0.0, schedule=None, each="step"):
    """The weights, and averages, of a loop that is written out, eager."""
    trainer, data = made(dropout=dropout)
    model, optimizer = trainer.model, trainer.optimizer
    averaged = ema and optim.swa_utils.AveragedModel(model, multi_avg_fn=optim.swa_utils.get_ema_multi_avg_fn(ema))
    rate = schedule and schedule(optimizer)
    for _ in range(epochs):
        batches = list(data)
        for i in range(0, len(batches), accumulate):
            optimizer.zero_grad()
            for x, y in (group := batches[i : i + accumulate]):
                (CROSS(model(x), y) / len(group)).backward()
            if clip_norm:
                nn.utils.clip_grad_norm_(model.parameters(), clip_norm)
            optimizer.step()
            if averaged:
                averaged.update_parameters(model)
            if rate and each == "step":
                rate.step()
        if rate and each == "epoch":
            rate.step()
    return [p.detach().numpy() for p in [*model.parameters(), *(averaged.module.parameters() if averaged else [])]]


STEPPED = lambda optimizer: optim.lr_scheduler.StepLR(optimizer, 2)


@pytest.mark.parametrize("options", [
    {}, {"accumulate": 2}, {"accumulate": 3, "clip_norm": 0.1}, {"ema": 0.9}, {"dropout": 0.5}, {"schedule": STEPPED},
    {"schedule": STEPPED, "schedule_each": "epoch"},
], ids=lambda options: "-".join(options) or "plain")
@pytest.mark.parametrize("is_compiled", [False, True])
def test_a_trainer_does_what_a_loop_that_is_written_out_does(options, is_compiled):
    trainer, data = made(compiled=is_compiled, **options)
    trainer.fit(data, epochs=3)
    options = {"each" if name == "schedule_each" else name: value for name, value in options.items()}
    found = [p.detach().numpy() for p in [*trainer.model.parameters(), *(trainer.averaged.module.parameters() if trainer.averaged else [])]]
    for ours, theirs in zip(found, by_hand(3, **options), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6)


def test_the_history_has_the_means_over_all_rows_of_an_epoch():
    trainer, data = made(optimizer=lambda p, lr: optim.SGD(p, lr=0.0))
    (logs,) = trainer.fit(data, epochs=1, validation=(X[:32], Y[:32]))
    scores = trainer.model(rg.tensor(X))
    assert logs["loss"] == pytest.approx(CROSS(scores, rg.tensor(Y)).item(), rel=1e-5)
    assert logs["accuracy"] == np.mean(scores.numpy().argmax(1) == Y) if not scores.requires_grad else True
    assert logs["validation_loss"] == pytest.approx(CROSS(scores[:32], rg.tensor(Y[:32])).item(), rel=1e-5)
    assert (logs["epoch"], logs["step"], logs["learning_rate"]) == (1, 5, 0.0)
    assert trainer.evaluate(data) == pytest.approx({"loss": logs["loss"], "accuracy": logs["accuracy"]})


def test_evaluation_and_prediction_leave_no_trace_and_are_without_dropout():
    trainer, data = made(dropout=0.5, ema=0.5)
    trainer.fit(data, epochs=1)
    before, state = bits(trainer), rg.get_rng_state().tolist()
    found = trainer.predict(X)
    for same in (trainer.predict((X, Y)), trainer.predict(rg.data.Loader((X, Y), 9)), trainer.predict(rg.data.Loader(X, 70))):
        np.testing.assert_allclose(same, found, rtol=1e-5, atol=1e-6)
    assert found.shape == (70, 2)
    assert trainer.evaluate((X, Y)) == trainer.evaluate((X, Y))
    trainer.averaged.module.eval()
    np.testing.assert_allclose(found, trainer.averaged.module(rg.tensor(X)).detach().numpy(), rtol=1e-5, atol=1e-6)
    assert trainer.model.training
    assert (bits(trainer), rg.get_rng_state().tolist()) == (before, state)
    with pytest.raises(rg.errors.ArgumentError, match="no data to predict from"):
        trainer.predict([])


def test_batches_of_any_form_are_taken_with_a_forward():
    model = nn.Linear(4, 1)
    forward = lambda model, batch: (((z := model(batch["x"])[:, 0]) - batch["y"]).square().mean(), z, batch["y"])
    trainer = train.Trainer(model, optim.Adam(model.parameters(), lr=0.1), forward=forward, metrics=[train.R2()], progress=False)
    history = trainer.fit(rg.data.Loader({"x": X, "y": X[:, 0]}, 10, shuffle=True), steps=300)
    assert history[-1]["r2"] > 0.999


def test_inputs_may_be_several():
    class Sum(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 2)

        def forward(self, a, b):
            return self.linear(a) + b

    b = np.ones((70, 2), np.float32)
    whole = rg.data.source((X, b, Y))
    for rows in (whole.map(lambda row: (row[:2], row[2])), whole.map(lambda row: ({"a": row[0], "b": row[1]}, row[2]))):
        model = Sum()
        trainer = train.Trainer(model, optim.SGD(model.parameters()), CROSS, progress=False)
        trainer.fit(rg.data.Loader(rows, 16), epochs=1)
        assert trainer.predict(rg.data.Loader(rows, 16)).shape == (70, 2)


def test_fit_goes_on_where_it_was():
    whole, data = made(dropout=0.3)
    whole.fit(data, epochs=3)
    parts, data = made(dropout=0.3)
    for end in (2, 3, 5, 9):
        parts.fit(data, steps=end)
        assert parts.step == end
    parts.fit(data, epochs=3)
    assert bits(parts) == bits(whole)
    again = [{**logs, "seconds": 0} for logs in parts.history]
    assert again == [{**logs, "seconds": 0} for logs in whole.history]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("crew", [{}, {"workers": 2}, {"workers": 2, "processes": True}], ids=str)
@pytest.mark.parametrize("save_every", [None, 2])
def test_another_trainer_goes_on_from_the_checkpoints_with_the_same_bits(tmp_path, save_every, crew):
    options = {"dropout": 0.3, "ema": 0.9, "accumulate": 2, "optimizer": optim.AdamW, "save_every": save_every,
               "schedule": lambda o: optim.lr_scheduler.CosineAnnealingLR(o, 12)}
    whole, data = made(**options)
    whole.fit(data, epochs=4, validation=(X, Y))
    for end in (2, 4, 6, 12):
        part, _ = made(seed=0 if end == 2 else 5, checkpoint=tmp_path, **options)
        data = rg.data.Loader((X, Y), 16, shuffle=True, seed=0, **crew)
        part.fit(data, steps=end, validation=(X, Y))
        data.close()
        rg.manual_seed(99)
        assert part.step == end
        if end == 2:
            assert part.epoch == 0
    assert bits(part) == bits(whole)
    assert [{**logs, "seconds": 0} for logs in part.history] == [{**logs, "seconds": 0} for logs in whole.history]
    assert part.fit(data, epochs=4) == part.history  # it was done


def test_the_best_checkpoint_is_kept_and_early_stopping_stays_stopped(tmp_path):
    class Wild(train.Callback):
        """Steps down at first, and up later."""

        def after_epoch(self, trainer, logs):
            trainer.optimizer.param_groups[0]["lr"] = 0.5
            trainer.optimizer.param_groups[0]["maximize"] = trainer.epoch >= 3

    stopping = lambda: [Wild(), train.EarlyStopping(patience=2)]
    trainer, data = made(checkpoint=tmp_path, keep_last=1, keep_best=1, callbacks=stopping())
    history = trainer.fit(data, epochs=20, validation=(X, Y))
    losses = [logs["validation_loss"] for logs in history]
    best = int(np.argmin(losses))
    assert best == len(losses) - 3
    assert trainer.stopped == "validation_loss has not become better for 2 epochs"
    rg.load_run(tmp_path, which="best", model=trainer.model, generators=False)
    assert trainer.evaluate((X, Y))["loss"] == pytest.approx(losses[best])
    again, data = made(checkpoint=tmp_path, callbacks=stopping())
    assert again.fit(data, epochs=20, validation=(X, Y)) == history
    with pytest.raises(rg.errors.ArgumentError, match="EarlyStopping looks at validation_loss, and there are epoch"):
        made(callbacks=stopping())[0].fit(data, epochs=1)


def test_a_checkpoint_of_another_training_is_an_error_before_anything_changes(tmp_path):
    trainer, data = made(checkpoint=tmp_path)
    trainer.fit(data, epochs=1)
    for options, said in (({"optimizer": optim.Adam}, "optimizer is of class Adam"), ({"ema": 0.9}, "no averaged"), ({"accumulate": 2}, "accumulate=1")):
        other, _ = made(seed=1, checkpoint=tmp_path, **options)
        before = bits(other)
        with pytest.raises(rg.errors.RetrogradeError, match=said):
            other.fit(data, epochs=2)
        assert bits(other) == before
    other, _ = made(checkpoint=tmp_path)
    with pytest.raises(rg.errors.DataError, match="rows"):
        other.fit(rg.data.Loader((X[:50], Y[:50]), 16, shuffle=True), epochs=2)
    with pytest.raises(rg.errors.ArgumentError, match="can save their place"):
        made(checkpoint=tmp_path)[0].fit([(X, Y)], epochs=2)


@contextmanager
def signals_after(trainer, step, *numbers):
    """Within it signals come after a step."""
    told = trainer._callbacks.after_step

    def after_step(trainer):
        told(trainer)
        if trainer.step == step:
            for number in numbers:
                os.kill(os.getpid(), number)

    trainer._callbacks.after_step = after_step
    yield


@pytest.fixture
def heard():
    """A SIGINT that is not ignored, as it is in a process in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as POSIX does it")
def test_ctrl_c_saves_and_stops_and_a_second_one_stops_at_once(tmp_path, heard):
    before = signal.getsignal(signal.SIGINT)
    whole, data = made(dropout=0.3)
    whole.fit(data, epochs=3)
    trainer, data = made(dropout=0.3, checkpoint=tmp_path)
    with signals_after(trainer, 7, signal.SIGINT), pytest.raises(KeyboardInterrupt, match=r"stopped, saved in .*; fit goes on"):
        trainer.fit(data, epochs=3)
    assert trainer.step == 7
    assert signal.getsignal(signal.SIGINT) is before
    again, data = made(seed=3, checkpoint=tmp_path)
    again.model[2].p = 0.3
    with signals_after(again, 8, signal.SIGTERM), pytest.raises(SystemExit) as ended:
        again.fit(data, epochs=3)
    assert ended.value.code == 143
    again, data = made(seed=3, dropout=0.3, checkpoint=tmp_path)
    again.fit(data, epochs=3)
    assert bits(again) == bits(whole)
    for numbers, steps in (((signal.SIGINT, signal.SIGINT), 2),):
        trainer, data = made()
        with signals_after(trainer, 2, *numbers), pytest.raises(KeyboardInterrupt) as stopped:
            trainer.fit(data, epochs=3)
        assert stopped.value.args == ()
        assert trainer.step == steps


def test_callbacks_are_told_the_end_also_by_an_error():
    told = []

    class Told(train.Callback):
        def end(self, trainer):
            told.append(trainer.step)

        def after_step(self, trainer):
            if trainer.step == 2:
                raise RuntimeError("stop")

    trainer, data = made(callbacks=[Told()])
    with pytest.raises(RuntimeError, match="stop"):
        trainer.fit(data, epochs=1)
    assert told == [2]


@pytest.mark.parametrize(("make", "said"), [
    (lambda m, o: train.Trainer(m, o), "give one of them"), (lambda m, o: train.Trainer(m, o, CROSS, forward=len), "give one of them"),
    (lambda m, o: train.Trainer(m, o, CROSS, accumulate=0), "accumulate"), (lambda m, o: train.Trainer(m, o, CROSS, save_every=0), "save_every"),
    (lambda m, o: train.Trainer(m, o, CROSS, schedule_each="day"), "schedule_each"),
    (lambda m, o: train.Trainer(m, o, CROSS, progress=False).fit((X, Y)), "epochs or steps"),
    (lambda m, o: train.EarlyStopping(mode="least"), "mode"),
])
def test_options_that_cannot_be_are_refused(make, said):
    model = nn.Linear(4, 2)
    with pytest.raises(rg.errors.ArgumentError, match=said):
        make(model, optim.SGD(model.parameters()))


def test_progress_is_told_in_plain_lines_where_there_is_no_terminal(capsys):
    trainer, data = made(progress=True)
    trainer.fit(data, epochs=2, validation=(X, Y))
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["epoch 1, step 5", "epoch 2, step 10"]
    assert "loss" in lines[0]
    assert "validation accuracy" in lines[0]


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    """The state in the end of a training that is not killed."""
    folder = tmp_path_factory.mktemp("whole")
    kills.started(folder, "none").communicate()
    return kills.state_of(folder)


@pytest.mark.sampled(3)
@pytest.mark.skipif(os.name != "posix", reason="processes are killed as POSIX does it")
@pytest.mark.parametrize(("crew", "limit"), [("none", 2), ("2 threads", 1), ("2 processes", 1)])
def test_a_training_that_is_killed_ends_with_the_bits_of_one_that_was_not(tmp_path, unbroken, crew, limit):
    figures = kills.Counter()
    assert kills.ended(random.Random(1), crew, tmp_path / "run", unbroken, figures, limit), figures


@pytest.mark.parametrize("compiled", [True, False])
def test_autocast_computes_products_in_half_precision_and_keeps_weights_whole(compiled):
    seen = []

    class Noting(nn.Module):
        def forward(self, x):
            seen.append(str(x.dtype))
            return x

    rg.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), Noting(), nn.ReLU(), nn.Linear(8, 2))
    optimizer = optim.Adam(model.parameters(), lr=0.05)
    trainer = train.Trainer(model, optimizer, CROSS, metrics=[train.Accuracy()], progress=False, compiled=compiled, autocast="bfloat16")
    trainer.fit(rg.data.Loader((X, Y), 10, shuffle=True, seed=0), epochs=8)
    assert set(seen) == {"bfloat16"}
    assert {str(p.dtype) for p in model.parameters()} == {"float32"}
    assert trainer.evaluate((X, Y))["accuracy"] > 0.9
    assert str(trainer.predict(X[:3]).dtype) == "bfloat16"
    with pytest.raises(rg.errors.DTypeError, match="bfloat16 or float16"):
        train.Trainer(model, optimizer, CROSS, autocast="float32")


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read as Linux tells it")
@pytest.mark.parametrize(("run", "share"), [("steps", 0.005), ("shapes", 0.2), ("batches", 0.02)])
def test_memory_does_not_grow_with_the_number_of_calls(run, share):
    # In a process of its own: what other tests leave behind may be given back, or grow, meanwhile.
    command = [sys.executable, "-m", "tests.train.endurance", "--runs", run, "--share", str(share)]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_training_waits_for_no_more_than_a_copy(tmp_path):
    done = subprocess.run([sys.executable, "-c", """
import threading
import numpy as np, retrograde as rg
from retrograde import nn, optim, train, runs
gate, write = threading.Event(), runs.saving.write_files
runs.saving.write_files = lambda *args: (gate.wait(), write(*args))
model = nn.Linear(4, 2)
trainer = train.Trainer(model, optim.SGD(model.parameters()), nn.functional.cross_entropy, checkpoint="run", save_every=1, progress=False)
class Gate(train.Callback):
    def after_epoch(self, trainer, logs):
        assert not runs.checkpoints("run")
        if trainer.epoch == 3:
            gate.set()
trainer._callbacks._all.append(Gate())
trainer.fit((np.ones((64, 4), np.float32), np.zeros(64, int)), epochs=3)
assert runs.checkpoints("run")[-1].step == 6
"""], cwd=tmp_path, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("make", "said"), [
    (lambda m, o: train.Trainer(m, optim.SGD, CROSS), r"optimizer is the class SGD.*write SGD\(\.\.\.\)"),
    (lambda m, o: train.Trainer(m, o, nn.CrossEntropyLoss), "loss is the class CrossEntropyLoss"),
    (lambda m, o: train.Trainer(m, o, CROSS, schedule=optim.lr_scheduler.StepLR), "schedule is the class StepLR"),
    (lambda m, o: train.Trainer(nn.Linear(4, 2), o, CROSS), "no parameter of the model"),
    (lambda m, o: train.Trainer(m, o, CROSS, schedule=optim.lr_scheduler.StepLR(optim.SGD(m.parameters()), 1)), "of another optimizer"),
    (lambda m, o: train.Trainer(m, o, CROSS, schedule=optim.lr_scheduler.ReduceLROnPlateau(o)), 'schedule_each="epoch"'),
    (lambda m, o: train.Trainer(m, o, CROSS, callbacks=[train.EarlyStopping]), r"write EarlyStopping\(\.\.\.\)"),
    (lambda m, o: train.Trainer(m, o, CROSS, callbacks=[object()]), "object lacks begin, after_step, after_epoch, end"),
    (lambda m, o: train.Trainer(m, o, CROSS, metrics=train.Accuracy()), r"write metrics=\[\.\.\.\]"),
    (lambda m, o: train.Trainer(m, o, CROSS, metrics=[train.Accuracy]), r"write Accuracy\(\)"),
    (lambda m, o: train.Trainer(m, o, CROSS, progress=False).fit(X, Y), r"got ndarray; inputs and targets are one argument"),
    (lambda m, o: train.Trainer(m, o, CROSS, progress=False).fit((X, Y), epochs=2.5), "epochs must be an integer"),
    (lambda m, o: train.Trainer(m, o, CROSS, progress=False).fit((X, Y), steps=-1), "steps must be an integer"),
    (lambda m, o: train.Trainer(m, o, CROSS, progress=False).fit((X, Y), epochs=1, validation=0.2), "got float"),
    (lambda m, o: train.Trainer(m, o, CROSS, progress=False).fit([X, Y], epochs=1), r"got a Tensor|got a ndarray"),
    (lambda m, o: train.EarlyStopping(patience=0), "patience must be an integer of at least 1"),
    (lambda m, o: train.Trainer(m, o, CROSS, clip_norm=-1.0), "clip_norm must be a number greater than 0, or None, got -1.0"),
    (lambda m, o: train.Trainer(m, o, CROSS, clip_norm="1"), "clip_norm must be a number"),
    (lambda m, o: train.Trainer(m, o, CROSS, ema=1.0), "ema must be a number from 0 on and below 1, such as 0.999"),
    (lambda m, o: train.Trainer(m, o, CROSS, ema=True), "ema must be a number"),
    (lambda m, o: train.Trainer(lambda x: x, o, CROSS), "model must be an nn.Module, got function"),
    (lambda m, o: train.Trainer(m, "adam", CROSS), "optimizer must be an optimizer of rg.optim, got 'adam'"),
    (lambda m, o: train.Trainer(m, o, "mse"), r"loss must be a function of \(outputs, targets\), got 'mse'"),
    (lambda m, o: train.Trainer(m, o, CROSS, callbacks=train.EarlyStopping()), r"got EarlyStopping; write callbacks=\[\.\.\.\]"),
    (lambda m, o: train.Trainer(m, o, lambda z, y: None, progress=False).fit((X, Y), epochs=1), "the loss must be a tensor.*got NoneType"),
    (lambda m, o: train.Trainer(m, o, forward=lambda m, b: m(b[0]).sum(), progress=False).fit((X, Y), epochs=1),
     r"forward\(model, batch\) must return \(loss, outputs, targets\).*got Tensor"),
    (lambda m, o: train.Trainer(m, o, forward=lambda m, b: (m(b[0]).sum(), None), progress=False, compiled=False).fit((X, Y), epochs=1),
     "got tuple of 2 parts"),
])
def test_what_cannot_be_trained_is_refused_with_what_to_write(make, said):
    model = nn.Linear(4, 2)
    with pytest.raises(rg.errors.ArgumentError, match=said):
        make(model, optim.SGD(model.parameters()))


def test_data_without_a_batch_are_an_error_and_no_endless_loop():
    trainer, _ = made()
    for data in ((X[:0], Y[:0]), rg.data.Loader((X[:3], Y[:3]), 16, drop_last=True), []):
        with pytest.raises(rg.errors.ArgumentError, match="no data to train with"):
            trainer.fit(data, steps=3)
        with pytest.raises(rg.errors.ArgumentError, match="no data to evaluate"):
            trainer.evaluate(data)
    assert trainer.history == []
    once = (batch for batch in [(X[:16], Y[:16])])
    with pytest.raises(rg.errors.ArgumentError, match="a generator, which gives its batches once"):
        trainer.fit(once, epochs=2)
    assert (trainer.step, trainer.epoch) == (1, 1)


class Looking(train.Callback):
    """Evaluates and predicts with the loader of the training, in the middle of an epoch and at its beginning."""

    def __init__(self, data):
        self.data, self.found = data, []

    def begin(self, trainer, data, epochs, steps):
        self.after_step(trainer)

    def after_step(self, trainer):
        self.found.append(trainer.evaluate(self.data)["loss"] - trainer.evaluate((X, Y))["loss"])


def test_evaluation_of_the_data_that_are_trained_with_is_of_all_of_them_and_moves_nothing(tmp_path):
    unseen, data = made(dropout=0.3)
    unseen.fit(data, epochs=3)
    for steps in (7, 15):  # 7 are one epoch and a part of the next
        trainer, data = made(dropout=0.3, checkpoint=tmp_path, save_every=1)
        looking = Looking(data)
        trainer._callbacks._all.append(looking)
        trainer.fit(data, steps=steps)
        assert looking.found == pytest.approx([0.0] * len(looking.found), abs=1e-6)
    assert (trainer.step, trainer.epoch, bits(trainer)) == (unseen.step, unseen.epoch, bits(unseen))


def test_predictions_come_for_each_row_in_its_order_or_not_at_all():
    trainer, _ = made()
    expected = trainer.predict(X)
    for options in ({}, {"workers": 2}, {"batch_size": 10, "drop_last": True}):
        assert np.allclose(trainer.predict(rg.data.Loader((X, Y), **options)), expected, atol=1e-6)
    for options in ({"shuffle": True}, {"batch_size": 16, "drop_last": True}, {"order": rg.data.ByLength(range(70), 10)}):
        with pytest.raises(rg.errors.ArgumentError, match="this loader shuffles or leaves rows out"):
            trainer.predict(rg.data.Loader((X, Y), **options))
    rows = TensorDataset(rg.tensor(X), rg.tensor(Y))
    assert np.allclose(trainer.predict(DataLoader(rows, batch_size=10, drop_last=True)), expected, atol=1e-6)
    for options in ({"shuffle": True}, {"batch_size": 16, "drop_last": True}, {"sampler": WeightedRandomSampler([1.0] * 70, 70)}):
        with pytest.raises(rg.errors.ArgumentError, match="this loader shuffles or leaves rows out"):
            trainer.predict(DataLoader(rows, **options))


def test_tables_and_columns_are_data_and_a_path_is_told_what_reads_it():
    pandas = pytest.importorskip("pandas")
    table, labels = pandas.DataFrame(X), pandas.Series(Y, index=np.arange(70)[::-1])
    trainer, _ = made()
    other, _ = made()
    assert trainer.fit((table, labels), epochs=2)[-1]["loss"] == other.fit((X, Y), epochs=2)[-1]["loss"]
    with pytest.raises(rg.errors.ArgumentError, match=r"batches \(inputs, targets\), got a dict of 4 parts"):
        trainer.fit(table, epochs=3)
    with pytest.raises(rg.errors.DTypeError, match=r"for the file 'a\.csv' there are rg\.data\.csv"):
        trainer.fit("a.csv", epochs=3)


def test_a_schedule_of_steps_does_not_go_on_as_one_of_epochs(tmp_path):
    first, data = made(schedule=STEPPED, checkpoint=tmp_path)
    first.fit(data, epochs=1)
    second, data = made(schedule=STEPPED, schedule_each="epoch", checkpoint=tmp_path)
    with pytest.raises(rg.errors.ArgumentError, match="trained with schedule_each='step', this trainer has 'epoch'"):
        second.fit(data, epochs=2)
    assert second.step == 0


def test_a_layer_that_is_frozen_in_evaluation_is_so_after_evaluation_and_prediction():
    trainer, _ = made(dropout=0.5)
    trainer.model[2].eval()
    trainer.evaluate((X, Y))
    trainer.predict(X)
    assert [trainer.model.training, trainer.model[0].training, trainer.model[2].training] == [True, True, False]


def test_arrays_that_are_handed_over_again_go_on_in_their_order():
    whole, _ = made(dropout=0.2)
    whole.fit((X, Y), epochs=4)
    part, _ = made(dropout=0.2)
    for steps in (2, 3, 4, 9):
        part.fit((X, Y), steps=steps)
    for epochs in (4, 4):
        part.fit((X, Y), epochs=epochs)
    assert (part.step, bits(part)) == (whole.step, bits(whole))
    part.fit((X[:20], Y[:20]), epochs=5)  # others begin anew
    assert part.step == whole.step + 1


def test_a_loader_that_is_made_anew_goes_on_where_the_one_before_was():
    whole, data = made(dropout=0.2)
    whole.fit(data, epochs=4)
    part, _ = made(dropout=0.2)
    for steps in (2, 3, 4, 9, 20):
        part.fit(rg.data.Loader((X, Y), 16, shuffle=True, seed=0), steps=steps)
    assert (part.step, bits(part)) == (whole.step, bits(whole))
    other = rg.data.Loader((X, Y), 16, shuffle=True, seed=1)
    part.fit(other, steps=22)
    assert (other.epoch, other.position) == (0, 2)


def test_the_best_epoch_is_kept_where_checkpoints_fall_between_epochs(tmp_path):
    trainer, data = made(checkpoint=tmp_path, save_every=4, keep_last=1, keep_best=1, monitor="validation_accuracy", mode="max")
    history = trainer.fit(data, epochs=6, validation=(X, Y))
    best = max(history, key=lambda logs: logs["validation_accuracy"])
    assert rg.load_run(tmp_path, which="best", model=trainer.model, generators=False)["step"] in [
        logs["step"] for logs in history if logs["validation_accuracy"] == best["validation_accuracy"]]
    assert trainer.evaluate((X, Y))["accuracy"] == best["validation_accuracy"]


def test_what_would_never_be_saved_is_told_before_the_first_step(tmp_path):
    trainer, data = made(checkpoint=tmp_path / "run", keep_best=1)
    with pytest.raises(rg.errors.ArgumentError, match=r"monitor='validation_loss'.*hand validation data to fit"):
        trainer.fit(data, epochs=1)
    (tmp_path / "file").write_text("")
    trainer, data = made(checkpoint=tmp_path / "file")
    with pytest.raises(rg.errors.StorageError, match="file is a file, and a run is saved in a folder"):
        trainer.fit(data, epochs=1)
    assert trainer.step == 0


def test_early_stopping_never_takes_nan_for_the_best():
    trainer, _ = made()
    stopping = train.EarlyStopping("loss", patience=2)
    for value in (float("nan"), 1.0, float("nan"), 0.5):
        stopping.after_epoch(trainer, {"loss": value})
    assert (trainer.stopped, stopping.best) == (None, 0.5)
    for _ in range(2):
        stopping.after_epoch(trainer, {"loss": float("nan")})
    assert trainer.stopped == "loss has not become better for 2 epochs"


def test_labels_out_of_range_are_told_in_words_of_a_trainer():
    trainer, _ = made()
    with pytest.raises(rg.errors.OutOfRangeError) as caught:
        trainer.fit((X, Y + 5), epochs=1)
    assert "a Trainer with compiled=False says which" in caught.value.__notes__[0]


def overfitted(folder=None, epochs=40, stop_at=None):
    """A trainer that learns noise, whose validation loss soon becomes worse; its EarlyStopping; the data."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(60, 6)).astype(np.float32), rng.integers(0, 2, 60)
    rg.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 64), nn.ReLU(), nn.Linear(64, 2))
    stopping = train.EarlyStopping(patience=3, restore_best=True)
    trainer = train.Trainer(model, optim.Adam(model.parameters(), lr=0.03), nn.functional.cross_entropy, callbacks=[stopping],
                            checkpoint=folder, progress=False)
    return trainer, stopping, rg.data.Loader((x[:40], y[:40]), 10, shuffle=True), (x[40:], y[40:])


def test_early_stopping_restores_the_best_weights_if_asked():
    trainer, stopping, data, held_out = overfitted()
    losses = [logs["validation_loss"] for logs in trainer.fit(data, epochs=40, validation=held_out)]
    assert trainer.stopped is not None
    assert losses[-1] > min(losses) == stopping.best
    assert trainer.evaluate(held_out)["loss"] == pytest.approx(min(losses), rel=1e-6)


def test_the_best_weights_survive_a_resume(tmp_path):
    first, _, data, held_out = overfitted(tmp_path / "run")
    first.fit(data, epochs=2, validation=held_out)
    second, stopping, data, held_out = overfitted(tmp_path / "run")
    losses = [logs["validation_loss"] for logs in second.fit(data, epochs=40, validation=held_out)]
    assert second.evaluate(held_out)["loss"] == pytest.approx(min(losses), rel=1e-6)
    unbroken, _, data, held_out = overfitted()
    assert [logs["validation_loss"] for logs in unbroken.fit(data, epochs=40, validation=held_out)] == losses
    assert stopping.best == min(losses)


def test_an_interrupted_training_keeps_the_weights_that_it_goes_on_from():
    class Faulty(train.Callback):
        def after_epoch(self, trainer, logs):
            if trainer.epoch == 4:
                raise ValueError("by a fault")

    trainer, stopping, data, held_out = overfitted()
    trainer._callbacks._all.append(Faulty())
    with pytest.raises(ValueError, match="by a fault"):
        trainer.fit(data, epochs=40, validation=held_out)
    assert trainer.evaluate(held_out)["loss"] == trainer.history[-1]["validation_loss"] > stopping.best
