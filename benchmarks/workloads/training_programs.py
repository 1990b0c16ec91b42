"""Programs that train one network on rows in a file, each with its own library: each prints how much it gets right.

Each imports what it needs and no more, as a user's program would; so imports stand in its function.
"""

import importlib
import json
import logging
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

BATCH, RATE = 128, 1e-3


@dataclass(frozen=True)
class Task:
    """A set of rows, how often they are seen, and the network: sizes of hidden layers, or a convolutional one if there are none."""

    rows: Any
    epochs: int
    hidden: tuple[int, ...]


def digits(_folder):
    """1,797 images of 8 × 8 pixels, of which 360 are held out."""
    found = importlib.import_module("sklearn.datasets").load_digits()
    return _split((found.data / 16).astype(np.float32), found.target.astype(np.int64), 360)


def table(_folder):
    """20,000 rows of 40 numbers in 5 classes that scikit-learn makes up, of which 4,000 are held out."""
    made = importlib.import_module("sklearn.datasets").make_classification
    x, y = made(20000, 40, n_informative=20, n_classes=5, n_clusters_per_class=3, random_state=0)
    return _split((x / x.std(axis=0)).astype(np.float32), y.astype(np.int64), 4000)


def fashion(folder):
    """Fashion-MNIST: 60,000 images to train on, 10,000 held out."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
    (x, y), (held_x, held_y) = importlib.import_module("fashion").data(folder)
    return {"x": x, "y": y, "held_x": held_x, "held_y": held_y}


def _split(x, y, count):
    order = np.random.default_rng(0).permutation(len(y))
    out, kept = order[:count], order[count:]
    return {"x": x[kept], "y": y[kept], "held_x": x[out], "held_y": y[out]}


TASKS = {"digits": Task(digits, 30, (128, 64)), "table": Task(table, 10, (128, 64)), "fashion": Task(fashion, 2, ())}


def _network(nn, rows, classes, hidden):
    """A network of retrograde's or PyTorch's layers."""
    if not hidden:
        return nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
                             nn.MaxPool2d(2), nn.Flatten(), nn.Linear(32 * 7 * 7, 64), nn.ReLU(), nn.Linear(64, classes))
    sizes, layers = [rows.shape[1], *hidden], []
    for before, after in zip(sizes, hidden, strict=False):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(sizes[-1], classes))


def with_trainer(task, x, y, held_x):
    """retrograde's Trainer."""
    rg = importlib.import_module("retrograde")

    rg.manual_seed(0)
    model = _network(rg.nn, x, int(y.max()) + 1, task.hidden)
    trainer = rg.train.Trainer(model, rg.optim.Adam(model.parameters(), lr=RATE), rg.nn.functional.cross_entropy, progress=False)
    trainer.fit(rg.data.Loader((x, y), BATCH, shuffle=True), epochs=task.epochs)
    return trainer.predict(rg.data.Loader(held_x, BATCH)).argmax(axis=1)


def with_net_classifier(task, x, y, held_x):
    """retrograde's estimator."""
    nn = importlib.import_module("retrograde.nn")
    estimators = importlib.import_module("retrograde.sklearn")

    module = task.hidden or (lambda _, classes: _network(nn, x, classes, ()))
    net = estimators.NetClassifier(module, lr=RATE, batch_size=BATCH, epochs=task.epochs, random_state=0)
    return net.fit(x, y).predict(held_x)


def with_skorch(task, x, y, held_x):
    """skorch, which makes PyTorch's modules estimators."""
    skorch = importlib.import_module("skorch")
    torch = importlib.import_module("torch")

    torch.manual_seed(0)
    net = skorch.NeuralNetClassifier(
        _network(torch.nn, x, int(y.max()) + 1, task.hidden), criterion=torch.nn.CrossEntropyLoss, optimizer=torch.optim.Adam,
        lr=RATE, batch_size=BATCH, max_epochs=task.epochs, train_split=None, iterator_train__shuffle=True, verbose=0)
    return net.fit(x, y).predict(held_x)


def with_keras(task, x, y, held_x):
    """Keras with its JAX backend."""
    keras = importlib.import_module("keras")

    keras.utils.set_random_seed(0)
    layers, classes = keras.layers, int(y.max()) + 1
    if task.hidden:
        inside = [layers.Dense(size, activation="relu") for size in task.hidden]
    else:
        x, held_x = x.transpose(0, 2, 3, 1), held_x.transpose(0, 2, 3, 1)
        inside = [layers.Conv2D(16, 3, padding="same", activation="relu"), layers.MaxPooling2D(2),
                  layers.Conv2D(32, 3, padding="same", activation="relu"), layers.MaxPooling2D(2), layers.Flatten(),
                  layers.Dense(64, activation="relu")]
    model = keras.Sequential([keras.Input(x.shape[1:]), *inside, layers.Dense(classes)])
    model.compile(optimizer=keras.optimizers.Adam(RATE), loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.fit(x, y, batch_size=BATCH, epochs=task.epochs, verbose=0)
    return model.predict(held_x, batch_size=BATCH, verbose=0).argmax(axis=1)


def with_lightning(task, x, y, held_x):
    """Lightning, a loop around PyTorch."""
    lightning = importlib.import_module("lightning")
    torch = importlib.import_module("torch")

    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    model = _network(torch.nn, x, int(y.max()) + 1, task.hidden)

    class Fitted(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.model = model

        def training_step(self, batch):
            return torch.nn.functional.cross_entropy(self.model(batch[0]), batch[1])

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters(), lr=RATE)

    rows = torch.utils.data.TensorDataset(torch.from_numpy(x), torch.from_numpy(y))
    data = torch.utils.data.DataLoader(rows, BATCH, shuffle=True)
    trainer = lightning.Trainer(max_epochs=task.epochs, accelerator="cpu", logger=False, enable_checkpointing=False,
                                enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(Fitted(), data)
    model.eval()
    with torch.no_grad():
        return torch.cat([model(part) for part in torch.from_numpy(held_x).split(BATCH)]).argmax(1).numpy()


PROGRAMS = {"Trainer": with_trainer, "NetClassifier": with_net_classifier, "skorch": with_skorch, "Keras": with_keras,
            "Lightning": with_lightning}


def main():
    """Train, and print how much is right."""
    program, task, file = sys.argv[1:]
    rows = np.load(file)
    found = PROGRAMS[program](TASKS[task], rows["x"], rows["y"], rows["held_x"])
    print(json.dumps(float((found == rows["held_y"]).mean())))


if __name__ == "__main__":
    main()
