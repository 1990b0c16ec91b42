"""Train a small network on handwritten digits, and keep it. Needs `pip install 'retrograde[demo]'`."""

from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

import retrograde as rg
from retrograde import nn, optim


def data():
    """Images as rows of 64 numbers from 0 to 1, and labels; the last 300 are held out."""
    images, labels = (np.asarray(part) for part in load_digits(return_X_y=True))
    order = np.random.default_rng(0).permutation(len(labels))
    images, labels = images[order].astype(np.float32) / 16, labels[order]
    return (images[:-300], labels[:-300]), (images[-300:], labels[-300:])


def train(model, images, labels, epochs=8, batch=64):
    """Minimise the cross entropy, an epoch at a time."""
    optimizer = optim.Adam(model.parameters(), lr=3e-3)
    rng = np.random.default_rng(1)
    for epoch in range(epochs):
        total = 0.0
        for chosen in np.array_split(rng.permutation(len(labels)), len(labels) // batch):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(rg.tensor(images[chosen])), rg.tensor(labels[chosen]))
            loss.backward()
            optimizer.step()
            total += loss.item() * len(chosen)
        print(f"epoch {epoch + 1}: loss {total / len(labels):.4f}")


def accuracy(model, images, labels):
    """The fraction of images that the model names correctly."""
    with rg.no_grad():
        return float(np.mean(model(rg.tensor(images)).argmax(axis=1).numpy() == labels))


def main():
    """Train, report, save."""
    rg.manual_seed(0)
    learning, held_out = data()
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    train(model, *learning)
    print(f"held-out accuracy {accuracy(model, *held_out):.1%}")
    path = Path("digits.safetensors")
    rg.save(model.state_dict(), path)
    print(f"saved {path}, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
