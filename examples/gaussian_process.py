"""Regression by a Gaussian process, whose kernel is learned by the evidence (Rasmussen & Williams, chapters 2 and 5)."""

import numpy as np

import retrograde as rg
from retrograde import optim

NOISE, STEPS = 0.2, 300


def wave(x):
    """What is to be found."""
    return np.sin(3 * x) + 0.3 * x


def kernel(x, y, logs):
    """exp(-(x - y)² / 2 l²) times a variance, whose square root and l are given as logarithms."""
    length, size = rg.exp(logs[0]), rg.exp(logs[1])
    return size**2 * rg.exp(-(((x[:, None] - y) / length) ** 2) / 2)


def factor(x, logs):
    """The Cholesky factor of the covariance of noisy values at `x`."""
    return rg.linalg.cholesky(kernel(x, x, logs) + (rg.exp(2 * logs[2]) + 1e-6) * rg.eye(len(x), dtype=x.dtype))


def negative_evidence(x, y, logs):
    """The negative logarithm of the probability density of the values `y`."""
    lower = factor(x, logs)
    white = rg.linalg.solve_triangular(lower, y[:, None], upper=False)
    return 0.5 * (white**2).sum() + rg.log(rg.diagonal(lower)).sum() + 0.5 * len(x) * np.log(2 * np.pi)


def predicted(x, y, new, logs):
    """The mean and the deviation of the function at `new` places."""
    lower = factor(x, logs)
    white = rg.linalg.solve_triangular(lower, y[:, None], upper=False)
    across = rg.linalg.solve_triangular(lower, kernel(x, new, logs), upper=False)
    variance = rg.exp(2 * logs[1]) - (across**2).sum(axis=0)
    return (across.T @ white)[:, 0], rg.sqrt(rg.maximum(variance, 0.0))


def main():
    """Find length, size and noise, then predict between the readings and beyond them."""
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(-3, 3, 60))
    y = wave(x) + NOISE * rng.normal(size=len(x))
    logs = rg.tensor(np.zeros(3), requires_grad=True)
    optimizer = optim.Adam([logs], lr=0.03)

    @rg.jit
    def step(x, y):
        optimizer.zero_grad()
        loss = negative_evidence(x, y, logs)
        loss.backward()
        optimizer.step()
        return loss.detach()

    losses = [step(x, y).item() for _ in range(STEPS)]
    length, size, noise = np.exp(logs.detach().numpy())
    print(f"negative evidence {losses[0]:.1f}, then {losses[-1]:.1f}; length {length:.2f}, size {size:.2f}, noise {noise:.2f} "
          f"(it is {NOISE})")

    with rg.no_grad():
        new = np.linspace(-3, 3, 200)
        mean, deviation = (z.numpy() for z in predicted(rg.tensor(x), rg.tensor(y), rg.tensor(new), logs))
        far = predicted(rg.tensor(x), rg.tensor(y), rg.tensor(np.array([9.0])), logs)[1].item()
    missed = np.sqrt(np.mean((mean - wave(new)) ** 2))
    within = np.mean(np.abs(mean - wave(new)) < 2 * deviation)
    print(f"between the readings: missed {missed:.3f}, {within:.0%} within two deviations; deviation far away {far:.2f}")
    if abs(noise - NOISE) > 0.05 or missed > NOISE / 2 or within < 0.8 or far < 0.9 * size:
        raise SystemExit("the process has learned too little")


if __name__ == "__main__":
    main()
