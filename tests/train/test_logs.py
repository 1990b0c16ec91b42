import csv
import json
import struct
import sys

import numpy as np
import pytest

import retrograde as rg
from retrograde import nn, optim, train
from retrograde.train.logs.tensorboard import EventFile, crc32c

X = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
Y = (X[:, 0] > 0).astype(np.int64)


def fitted(epochs, callbacks, **options):
    rg.manual_seed(0)
    model = nn.Linear(3, 2)
    trainer = train.Trainer(model, optim.SGD(model.parameters()), nn.functional.cross_entropy, metrics=[train.Accuracy()], progress=False,
                            callbacks=callbacks, **options)
    trainer.fit(rg.data.Loader((X, Y), 8, shuffle=True), epochs=epochs, validation=(X, Y))
    return trainer


def table(path):
    with path.open(newline="") as file:
        return [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]


def test_a_table_has_a_line_for_each_epoch_also_of_those_before_a_checkpoint(tmp_path):
    path = tmp_path / "logs" / "log.csv"
    trainer = fitted(2, [train.CSVLog(path)], checkpoint=tmp_path / "run")
    assert table(path) == trainer.history
    path.write_text("something else\n")
    trainer = fitted(4, [train.CSVLog(path)], checkpoint=tmp_path / "run")
    assert table(path) == trainer.history
    assert [row["step"] for row in table(path)] == [5, 10, 15, 20]


def fields(data):
    """(number, value) of the fields of a message of protocol buffers, read as its specification says."""
    place = 0

    def varint():
        nonlocal place
        value = shift = 0
        while True:
            byte = data[place]
            place, value, shift = place + 1, value | (byte & 127) << shift, shift + 7
            if byte < 128:
                return value

    while place < len(data):
        key = varint()
        kind = key & 7
        size = {0: None, 1: 8, 5: 4}[kind] if kind != 2 else varint()
        value = varint() if size is None else data[place : place + size]
        place += size or 0
        yield key >> 3, value


def events(path):
    """The records of a file of events, whose checksums are right."""
    data, place = path.read_bytes(), 0

    def is_right(part, crc):
        found = crc32c(part)
        return ((found >> 15 | found << 17) + 0xA282EAD8) & 0xFFFFFFFF == struct.unpack("<I", crc)[0]

    while place < len(data):
        (length,) = struct.unpack("<Q", data[place : place + 8])
        assert is_right(data[place : place + 8], data[place + 8 : place + 12])
        record = data[place + 12 : place + 12 + length]
        assert is_right(record, data[place + 12 + length : place + 16 + length])
        place += 16 + length
        yield list(fields(record))


def scalars(folder):
    """{name: [(step, value)]} of all files of events in a folder."""
    found = {}
    for path in sorted(folder.iterdir()):
        for record in events(path):
            steps = [value for number, value in record if number == 2]
            for number, message in record:
                for _, value in fields(message) if number == 5 else ():
                    parts = dict(fields(value))
                    found.setdefault(parts[1].decode(), []).append((steps[0], struct.unpack("<f", parts[2])[0]))
    return found


def test_the_checksum_is_that_of_rfc_3720():
    # Appendix B.4 of the standard.
    assert crc32c(bytes(32)) == 0x8A9136AA
    assert crc32c(b"\xff" * 32) == 0x62A8AB43
    assert crc32c(bytes(range(32))) == 0x46DD794E
    assert crc32c(b"123456789") == 0xE3069283


def test_events_hold_the_loss_of_steps_and_the_results_of_epochs(tmp_path):
    trainer = fitted(3, [train.TensorBoardLog(tmp_path, every=4)])
    found = scalars(tmp_path)
    assert [step for step, _ in found["step/loss"]] == [4, 8, 12]
    for name in ("loss", "accuracy", "validation_loss", "learning_rate"):
        assert found[name] == [(logs["step"], pytest.approx(logs[name])) for logs in trainer.history]
    (path,) = tmp_path.iterdir()
    assert dict(next(events(path)))[3] == b"brain.Event:2"


def test_a_run_that_goes_on_lets_later_events_be_forgotten(tmp_path):
    fitted(1, [train.TensorBoardLog(tmp_path / "a")], checkpoint=tmp_path / "run")
    fitted(2, [train.TensorBoardLog(tmp_path / "b")], checkpoint=tmp_path / "run")
    (path,) = (tmp_path / "b").iterdir()
    second = dict(list(events(path))[1])
    assert second[2] == 6
    assert list(fields(second[7])) == [(1, 1)]


def test_tensorboard_reads_the_events(tmp_path):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator", reason="the oracle of event files")
    file = EventFile(tmp_path)
    for step in (1, 200, 70_000):
        file.write(step, {"loss": step / 3, "weird näme/x": -1.0})
    file.close()
    again = EventFile(tmp_path)
    again.restart(200)
    again.write(200, {"loss": 5.0})
    again.close()
    read = accumulator.EventAccumulator(str(tmp_path))
    read.Reload()
    assert set(read.Tags()["scalars"]) == {"loss", "weird näme/x"}
    assert [(event.step, event.value) for event in read.Scalars("loss")] == [(1, pytest.approx(1 / 3)), (200, 5.0)]


@pytest.mark.parametrize(("make", "library", "extra"), [(train.MLflowLog, "mlflow", "mlflow"), (train.WandbLog, "wandb", "wandb")])
def test_where_a_library_is_missing_the_error_says_how_to_get_it(monkeypatch, make, library, extra):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(rg.errors.MissingExtraError, match=rf"needs {library}; install it with: pip install 'retrograde\[{extra}\]'"):
        make()


@pytest.mark.parametrize(("log", "name"), [(train.CSVLog, "folder"), (train.CSVLog, "file/log.csv"), (train.TensorBoardLog, "file")])
def test_a_log_that_cannot_be_written_is_an_error_of_ours(tmp_path, log, name):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    with pytest.raises(rg.errors.StorageError, match=f"{name} cannot be written"):
        fitted(1, [log(tmp_path / name)])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


def test_mlflow_has_what_was_logged_in_one_run_also_after_a_resume(tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow", reason="comes with the extra `mlflow`")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    log = lambda: [train.MLflowLog("test", uri=(tmp_path / "mlruns").as_uri())]
    fitted(1, log(), checkpoint=tmp_path / "run")
    trainer = fitted(2, log(), checkpoint=tmp_path / "run")
    client = mlflow.MlflowClient()
    (run,) = client.search_runs([client.get_experiment_by_name("test").experiment_id])
    found = client.get_metric_history(run.info.run_id, "validation_loss")
    assert [(metric.step, metric.value) for metric in found] == [(logs["step"], logs["validation_loss"]) for logs in trainer.history]


def test_weights_and_biases_has_what_was_logged(tmp_path, monkeypatch):
    pytest.importorskip("wandb", reason="comes with the extra `wandb`")
    monkeypatch.chdir(tmp_path)
    trainer = fitted(2, [train.WandbLog(mode="offline", project="test", dir=str(tmp_path))])
    assert len(trainer.history) == 2
    assert json.dumps(sorted(p.suffix for p in (tmp_path / "wandb").rglob("*.wandb"))) == '[".wandb"]'
