"""Fine-tune a classifier of digits to images of another camera, with few examples. Needs `pip install 'retrograde[demo]'`.

The model is loaded from a file. Its head is trained first, while the body keeps its weights; then all of it at a small rate.
"""

from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

import retrograde as rg
from retrograde import data, nn, optim, train

FEW = 4


def digits():
    """Images (count, 1, 8, 8) with numbers from 0 to 1, and labels."""
    images, labels = (np.asarray(part) for part in load_digits(return_X_y=True))
    order = np.random.default_rng(0).permutation(len(labels))
    return images[order].astype(np.float32).reshape(-1, 1, 8, 8) / 16, labels[order]


def photographed(images):
    """Images as the other camera takes them: paler, one pixel to the right, and with noise."""
    noise = np.random.default_rng(1).normal(0, 0.1, images.shape).astype(np.float32)
    return 0.5 * np.roll(images, 1, axis=3) + noise


class Network(nn.Module):
    """A convolutional body, and a linear head."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(128, 64), nn.ReLU())
        self.head = nn.Linear(64, 10)

    def forward(self, images):
        return self.head(self.body(images))


def fitted(model, parameters, rows, steps):
    """The trainer of a model, after so many steps for these parameters, or groups of them."""
    optimizer = optim.Adam(parameters, lr=3e-3)
    trainer = train.Trainer(model, optimizer, nn.functional.cross_entropy, metrics=[train.Accuracy()], progress=False)
    trainer.fit(data.Loader(rows, min(len(rows[1]), 60), shuffle=True, drop_last=True), steps=steps)
    return trainer


def main():
    """Train on many images and save; then compare a start from the file with a start from nothing, on few of the other camera."""
    rg.manual_seed(0)
    path, (images, labels) = Path("digits.safetensors"), digits()
    first, second = slice(0, 1000), slice(1000, None)
    model = Network()
    fitted(model, model.parameters(), (images[first], labels[first]), steps=300)
    rg.save(model.state_dict(), path)
    print(f"trained on {first.stop} images; saved {path}, {path.stat().st_size} bytes")

    images, labels = photographed(images[second]), labels[second]
    few = np.concatenate([np.flatnonzero(labels == label)[:FEW] for label in range(10)])
    others = np.setdiff1d(np.arange(len(labels)), few)
    learning, held_out = (images[few], labels[few]), (images[others], labels[others])

    tuned = Network()
    tuned.load_state_dict(rg.load(path))
    tuned.body.requires_grad_(False)
    head = fitted(tuned, tuned.head.parameters(), learning, steps=40).evaluate(held_out)["accuracy"]
    tuned.body.requires_grad_()
    groups = [{"params": tuned.body.parameters(), "lr": 1e-3}, {"params": tuned.head.parameters(), "lr": 3e-3}]
    whole = fitted(tuned, groups, learning, steps=60).evaluate(held_out)["accuracy"]
    new = Network()
    nothing = fitted(new, new.parameters(), learning, steps=100).evaluate(held_out)["accuracy"]
    print(f"{FEW} images of each digit by the other camera, accuracy on {len(others)} others: head alone {head:.1%}, then all of "
          f"it {whole:.1%}; from nothing {nothing:.1%}")
    if whole < max(0.7, nothing + 0.02):
        raise SystemExit("fine-tuning has gained nothing")


if __name__ == "__main__":
    main()
