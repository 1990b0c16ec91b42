"""Tell malignant from benign tumours by a table with gaps, with pandas. Needs `pip install 'retrograde[demo]' pandas`."""

from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer

import retrograde as rg
from retrograde import data, nn, optim, train


def table():
    """The table as a DataFrame, in an order by chance, with one cell in twenty missing, and a column of categories."""
    found: Any = load_breast_cancer(as_frame=True)
    frame = found.frame.sample(frac=1, random_state=0, ignore_index=True)
    features = frame.columns.drop("target")
    missing = np.random.default_rng(0).random((len(frame), len(features))) < 0.05
    frame[features] = frame[features].mask(missing)
    frame["texture"] = pd.cut(frame.pop("mean texture"), [0, 16, 20, np.inf], labels=["smooth", "middle", "rough"])
    return frame


class Preparation:
    """What columns are brought to, known from the rows that are learned from: numbers to mean 0 and deviation 1, with a column that
    says where one was missing; categories to numbers from 1 on, 0 where it is missing.
    """

    def __init__(self, frame):
        self.numbers = frame.select_dtypes("number").columns.drop("target")
        self.categories = frame.select_dtypes("category").columns
        self.mean, self.deviation = frame[self.numbers].mean(), frame[self.numbers].std()

    def __call__(self, frame):
        scaled = ((frame[self.numbers] - self.mean) / self.deviation).astype("float32")
        numbers = np.hstack([scaled.fillna(0).to_numpy(), scaled.isna().to_numpy(np.float32)])
        codes = np.stack([frame[name].cat.codes.to_numpy(np.int64) + 1 for name in self.categories], axis=1)
        return {"numbers": numbers, "codes": codes, "labels": frame["target"].to_numpy(np.int64)}


class Network(nn.Module):
    """Two layers on numbers and embeddings of categories."""

    def __init__(self, numbers, categories, width=4):
        super().__init__()
        self.embeddings = nn.ModuleList([nn.Embedding(count, width) for count in categories])
        self.layers = nn.Sequential(nn.Linear(numbers + width * len(categories), 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 2))

    def forward(self, numbers, codes):
        embedded = [embedding(codes[:, i]) for i, embedding in enumerate(self.embeddings)]
        return self.layers(rg.concatenate([numbers, *embedded], axis=1))


def forward(model, rows):
    """(loss, outputs, labels) of rows."""
    outputs = model(rows["numbers"], rows["codes"])
    return nn.functional.cross_entropy(outputs, rows["labels"]), outputs, rows["labels"]


def main():
    """Train with early stopping, and report."""
    rg.manual_seed(0)
    frame = table()
    learning, validation, held_out = frame[:340], frame[340:440], frame[440:]
    prepare = Preparation(learning)
    counts = [len(learning[name].cat.categories) + 1 for name in prepare.categories]
    model = Network(2 * len(prepare.numbers), counts)
    trainer = train.Trainer(
        model, optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.1), forward=forward, metrics=[train.Accuracy()],
        callbacks=[train.EarlyStopping(monitor="validation_loss", patience=5)], progress=False)
    history = trainer.fit(data.Loader(prepare(learning), 20, shuffle=True), epochs=30, validation=prepare(validation))
    accuracy, most = trainer.evaluate(prepare(held_out))["accuracy"], held_out["target"].value_counts(normalize=True).max()
    print(f"{len(history)} epochs; accuracy on {len(held_out)} held-out rows {accuracy:.1%}, of one answer for all {most:.1%}")
    if accuracy < 0.9:
        raise SystemExit("the network has learned too little")


if __name__ == "__main__":
    main()
