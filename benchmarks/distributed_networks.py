"""The networks of the benchmark of several processes, written once for retrograde's `nn` and PyTorch's, and how steps are timed."""

import time

import numpy as np

WIDTH, WORDS, LENGTH = 128, 256, 64


def network(nn, kind):
    """A network of retrograde's `nn` or of PyTorch's, and a batch of one process."""
    rng = np.random.default_rng(0)
    if kind == "conv":
        model = nn.Sequential(nn.Conv2d(1, 16, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3), nn.ReLU(), nn.MaxPool2d(2),
                              nn.Flatten(), nn.Linear(32 * 25, 128), nn.ReLU(), nn.Linear(128, 10))
        return model, rng.normal(size=(64, 1, 28, 28)).astype(np.float32), rng.integers(0, 10, 64)
    if kind == "mlp":
        model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
        return model, rng.normal(size=(128, 784)).astype(np.float32), rng.integers(0, 10, 128)
    layers = [nn.TransformerEncoderLayer(WIDTH, 4, 4 * WIDTH, dropout=0.0, batch_first=True, norm_first=True, activation="gelu")
              for _ in range(2)]
    model = nn.Sequential(nn.Embedding(WORDS, WIDTH), *layers, nn.Linear(WIDTH, WORDS))
    return model, rng.integers(0, WORDS, (8, LENGTH)), rng.integers(0, WORDS, 8 * LENGTH)


def timed(step, seconds, agreed):
    """(steps a second, share of a core) of a step, after some that are not counted; `agreed(is_over)` is the same everywhere."""
    for _ in range(5):
        step()
    start, cpu, count = time.perf_counter(), time.process_time(), 0
    while count % 5 or not agreed(time.perf_counter() - start >= seconds):
        step()
        count += 1
    wall = time.perf_counter() - start
    return count / wall, (time.process_time() - cpu) / wall
