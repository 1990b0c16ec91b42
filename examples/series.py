"""Predict a recording of brain waves with an LSTM, compiled. Needs `pip install 'retrograde[demo]'`.

The series is the electroencephalogram that comes with matplotlib: four channels, 800 readings. From the last 32 readings the
network predicts all channels two readings ahead. It is compared, on the last quarter of the recording, with two others: "it
stays as it is", and the best linear prediction from the same 32 readings.
"""

from pathlib import Path

import numpy as np
from matplotlib import cbook

import retrograde as rg
from retrograde import nn, optim

PAST, AHEAD, HELD_OUT = 32, 2, 200


class Forecast(nn.Module):
    """What is to be added to the last reading: a linear layer on the last output of an LSTM."""

    def __init__(self, channels, units=32):
        super().__init__()
        self.lstm, self.head = nn.LSTM(channels, units), nn.Linear(units, channels)

    def forward(self, past):
        outputs, _ = self.lstm(past)
        return past[-1] + self.head(outputs[-1])


def data():
    """Readings (time, channels), each channel with mean 0 and deviation 1 over the part that is learned from."""
    readings = np.frombuffer(Path(str(cbook.get_sample_data("eeg.dat", asfileobj=False))).read_bytes(), float).reshape(800, 4)
    learned = readings[:-HELD_OUT]
    return ((readings - learned.mean(0)) / learned.std(0)).astype(np.float32)


def windows(readings):
    """What went before (32, windows, channels), and what came `AHEAD` readings later (windows, channels)."""
    starts = np.arange(len(readings) - PAST - AHEAD + 1)
    past = np.stack([readings[s : s + PAST] for s in starts], axis=1)
    return past, readings[starts + PAST + AHEAD - 1]


def train(model, past, later, epochs=16, batch=64):
    """Minimise the mean square of what is missed, with noise on the readings so that the network does not learn them by heart."""
    optimizer = optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.1)
    rng = np.random.default_rng(0)

    @rg.jit
    def step(past, later):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(past), later)
        loss.backward()
        optimizer.step()
        return loss.detach()

    for epoch in range(epochs):
        order = rng.permutation(len(later))
        losses = []
        for start in range(0, len(order) - batch + 1, batch):
            chosen = order[start : start + batch]
            noisy = past[:, chosen] + rng.normal(0, 0.1, past[:, chosen].shape).astype(np.float32)
            losses.append(step(noisy, later[chosen]).item())
        if (epoch + 1) % 4 == 0:
            print(f"epoch {epoch + 1}: loss {np.mean(losses):.4f}")


def linear(past, later, past_held_out):
    """The best linear prediction, by least squares with a small penalty."""
    flat = [p.transpose(1, 0, 2).reshape(p.shape[1], -1) for p in (past, past_held_out)]
    x, x_held_out = (np.concatenate([f, np.ones((len(f), 1), f.dtype)], axis=1) for f in flat)
    return x_held_out @ np.linalg.solve(x.T @ x + 10.0 * np.eye(x.shape[1]), x.T @ later)


def missed(predicted, later):
    """The root of the mean square of what is missed, in deviations of a channel."""
    return float(np.sqrt(np.mean((predicted - later) ** 2)))


def main():
    """Train, and compare."""
    rg.manual_seed(0)
    readings = data()
    past, later = windows(readings[:-HELD_OUT])
    past_held_out, later_held_out = windows(readings[-HELD_OUT - PAST - AHEAD + 1 :])
    model = Forecast(readings.shape[1])
    train(model, past, later)
    with rg.no_grad():
        predicted = model(rg.tensor(past_held_out)).numpy()
    print(f"missed on the held-out quarter: it stays as it is {missed(past_held_out[-1], later_held_out):.3f}, "
          f"linear {missed(linear(past, later, past_held_out), later_held_out):.3f}, LSTM {missed(predicted, later_held_out):.3f}")


if __name__ == "__main__":
    main()
