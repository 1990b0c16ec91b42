"""A diffusion model of points in the plane. Needs `pip install 'retrograde[demo]'`.

Noise is added to points in steps, and a network learns to predict it (Ho et al., https://arxiv.org/abs/2006.11239); from noise
alone it then finds the way back to new points.
"""

import numpy as np
from sklearn.datasets import make_moons

import retrograde as rg
from retrograde import data, nn, optim, train

STEPS = 50
#: What part of the variance is still the point's own after each step (the cosine schedule, https://arxiv.org/abs/2102.09672).
KEPT = np.cos(np.linspace(0.02, 0.98, STEPS + 1) * np.pi / 2).astype(np.float32) ** 2


class Denoiser(nn.Module):
    """Predicts the noise in points, given the number of the step as waves of several lengths."""

    def __init__(self, width=96):
        super().__init__()
        self.frequencies = np.pi * 2.0 ** np.arange(-1, 5, dtype=np.float32) / STEPS
        self.layers = nn.Sequential(
            nn.Linear(2 + 2 * len(self.frequencies), width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 2))

    def forward(self, points, steps):
        angles = steps.astype(rg.float32)[:, None] * self.frequencies
        return self.layers(rg.concatenate([points, rg.sin(angles), rg.cos(angles)], axis=1))


def loss(model, points):
    """The mean square of what is missed of the noise, at steps by chance."""
    steps = rg.randint(1, STEPS + 1, (len(points),))
    noise, kept = rg.randn(*points.shape), rg.take(rg.asarray(KEPT), steps, axis=0)[:, None]
    predicted = model(rg.sqrt(kept) * points + rg.sqrt(1 - kept) * noise, steps)
    return nn.functional.mse_loss(predicted, noise), predicted, noise


def drawn(model, count):
    """New points: from noise, step by step, each of which takes a part of the predicted noise out and adds a little new."""

    @rg.jit
    def back(points, step, kept, before, noise):
        predicted = model(points, step)
        change = kept / before
        mean = (points - (1 - change) / rg.sqrt(1 - kept) * predicted) / rg.sqrt(change)
        return mean + rg.sqrt((1 - before) / (1 - kept) * (1 - change)) * noise

    with rg.no_grad():
        points = rg.randn(count, 2)
        for step in range(STEPS, 0, -1):
            noise = rg.randn(count, 2) if step > 1 else rg.zeros((count, 2))
            points = back(points, rg.full((count,), step), rg.tensor(KEPT[step]), rg.tensor(KEPT[step - 1]), noise)
    return points.numpy()


def distance(points, others):
    """The mean distance from each of the `points` to the nearest of the `others`."""
    return float(np.sqrt(((points[:, None] - others) ** 2).sum(-1)).min(axis=1).mean())


def main():
    """Train, draw, and compare with points of the same mean and variance."""
    rg.manual_seed(0)
    points = make_moons(2000, noise=0.05, random_state=0)[0].astype(np.float32)
    points = (points - points.mean(axis=0)) / points.std(axis=0)
    model = Denoiser()
    trainer = train.Trainer(model, optim.Adam(model.parameters(), lr=2e-3), forward=loss, ema=0.995, progress=False)
    trainer.fit(data.Loader(points, 250, shuffle=True), steps=3000)
    found = drawn(trainer.averaged, 300)
    normal = np.random.default_rng(1).normal(size=(300, 2))
    to_data, to_drawn, chance = distance(found, points), distance(points, found), distance(normal, points)
    print(f"mean distance of new points to the nearest given one {to_data:.3f}, of given ones to the nearest new one "
          f"{to_drawn:.3f}; of normal points to the nearest given one {chance:.3f}")
    if max(to_data, to_drawn) > chance / 2:
        raise SystemExit("the model has learned too little")


if __name__ == "__main__":
    main()
