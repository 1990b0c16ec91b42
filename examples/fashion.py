"""Train a convolutional network on Fashion-MNIST: 60,000 images of clothes to learn from, 10,000 held out.

Needs the four files of the data set, named as their authors name them, in a folder: the Debian package
dataset-fashion-mnist puts them where this looks by default.

    python examples/fashion.py --data FOLDER --epochs 6
"""

import argparse
import gzip
import time
from pathlib import Path

import numpy as np

import retrograde as rg
from retrograde import nn, optim

FOLDER = Path("/usr/share/datasets/fashion-mnist")


def main():
    """Train, and say after each epoch how many of the images held out are recognised."""
    options = arguments()
    rg.manual_seed(0)
    (images, labels), (unseen, answers) = data(options.data)
    model = network()
    optimizer = optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)

    @rg.jit
    def step(x, y):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    @rg.jit
    def classes(x):
        with rg.no_grad():
            return model(x).argmax(axis=1)

    rng, batch, start = np.random.default_rng(0), options.batch, time.perf_counter()
    schedule = optim.CosineAnnealingLR(optimizer, options.epochs * (len(labels) // batch))
    for epoch in range(options.epochs):
        total = 0.0
        model.train()
        order = rng.permutation(len(labels))
        for i in range(len(labels) // batch):
            chosen = order[i * batch : (i + 1) * batch]
            total += step(rg.tensor(images[chosen]), rg.tensor(labels[chosen])).item()
            schedule.step()
        model.eval()
        right = correct(classes, unseen, answers)
        seconds = time.perf_counter() - start
        print(f"epoch {epoch + 1}: loss {total / (len(labels) // batch):.3f}, held out {right:.2%}, {seconds:.0f} s")


def arguments():
    """What the command line says."""
    parser = argparse.ArgumentParser(description="Train a convolutional network on Fashion-MNIST.")
    parser.add_argument("--data", type=Path, default=FOLDER, help="the folder with the four files")
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--batch", type=int, default=64)
    return parser.parse_args()


def network():
    """Two convolutions with batch norm, each halved by pooling, and two linear layers."""
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Dropout(0.25), nn.Linear(64 * 7 * 7, 128), nn.ReLU(), nn.Linear(128, 10),
    )


def data(folder):
    """(images, labels) to learn from, and (images, labels) held out."""
    if not folder.is_dir():
        raise SystemExit(f"there is no folder {folder}; install the package dataset-fashion-mnist, or say --data FOLDER")
    return [
        (pixels(folder / f"{part}-images-idx3-ubyte.gz"), numbers(folder / f"{part}-labels-idx1-ubyte.gz").astype(np.int64))
        for part in ("train", "t10k")
    ]


def pixels(path):
    """Images (count, 1, 28, 28) with a mean near 0 and a deviation near 1."""
    return ((numbers(path)[:, None] / np.float32(255) - np.float32(0.286)) / np.float32(0.353)).astype(np.float32)


def numbers(path):
    """The array in an idx file: two zeros, the type (8: bytes), the number of axes, the size of each, then the elements."""
    with gzip.open(path) as file:
        content = file.read()
    if content[:3] != b"\0\0\x08":
        raise ValueError(f"{path} is no idx file of bytes")
    shape = np.frombuffer(content, ">u4", content[3], 4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * content[3]).reshape(shape)


def correct(classes, images, labels, batch=500):
    """The part of the images that `classes` recognises."""
    batch = min(batch, len(labels))
    found = [classes(rg.tensor(images[i : i + batch])).numpy() for i in range(0, len(labels), batch)]
    return float((np.concatenate(found) == labels).mean())


if __name__ == "__main__":
    main()
