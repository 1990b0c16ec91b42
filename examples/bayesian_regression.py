"""Bayesian linear regression by Hamiltonian Monte Carlo. Needs `pip install 'retrograde[demo]'`.

The weights and the logarithm of the noise are drawn from their distribution given the data (Neal, https://arxiv.org/abs/1206.1901),
and compared with what is known: given the noise the weights are normal, with the mean and covariance of ridge regression.
"""

import numpy as np
from sklearn.datasets import load_diabetes

import retrograde as rg

CHAINS, DRAWS, WARM_UP, LEAPS = 16, 400, 200, 12


def data():
    """Ten features with a column of ones, and the progression of the disease, all with mean 0 and deviation 1."""
    x, y = (np.asarray(part, np.float64) for part in load_diabetes(return_X_y=True))
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    return np.hstack([x, np.ones((len(x), 1))]), (y - y.mean()) / y.std()


def log_density(place, x, y):
    """The logarithm of the density of (weights, logarithm of the noise), up to a constant: standard normal before the data."""
    weights, log_noise = place[:-1], place[-1]
    missed = (y - x @ weights) / rg.exp(log_noise)
    return -0.5 * (missed**2).sum() - len(y) * log_noise - 0.5 * (place**2).sum()


@rg.jit
def transition(places, step, x, y):
    """The next place of each chain: a path along the slope from a random momentum, taken or not by how well it keeps its energy.
    Also the chance with which it is taken.
    """
    density = rg.vmap(lambda place: log_density(place, x, y))
    slope = rg.grad(lambda places: density(places).sum())
    momenta = rg.randn(*places.shape, dtype=places.dtype)

    def leap(_, state):
        places, momenta, slopes = state
        momenta = momenta + 0.5 * step * slopes
        places = places + step * momenta
        slopes = slope(places)
        return places, momenta + 0.5 * step * slopes, slopes

    ended, left, _ = rg.fori_loop(0, LEAPS, leap, (places, momenta, slope(places)))
    gained = density(ended) - density(places) - 0.5 * (left**2 - momenta**2).sum(axis=1)
    chance = rg.exp(rg.minimum(gained, 0.0))
    is_taken = rg.rand(len(places), dtype=places.dtype) < chance
    return rg.where(is_taken[:, None], ended, places), chance.mean()


def drawn(x, y):
    """(chains, draws, numbers), after a warm-up in which the step is made to fit."""
    places, step, found = rg.randn(CHAINS, x.shape[1] + 1, dtype=rg.float64) * 0.1, 0.01, []
    for number in range(WARM_UP + DRAWS):
        places, chance = transition(places, np.float64(step), x, y)
        if number < WARM_UP:
            step *= np.exp(0.1 * (chance.item() - 0.8))
        else:
            found.append(places.numpy())
    return np.stack(found, axis=1)


def spread(draws):
    """How much wider all chains are together than each alone (Gelman & Rubin's R), 1 where they have found the same."""
    within, between = draws.var(axis=1, ddof=1).mean(axis=0), draws.mean(axis=1).var(axis=0, ddof=1)
    return np.sqrt(1 + between / within - 1 / draws.shape[1])


def main():
    """Draw, and compare with ridge regression."""
    rg.manual_seed(0)
    x, y = data()
    draws = drawn(x, y)
    weights, noise = draws[..., :-1], np.exp(draws[..., -1])
    precision = x.T @ x / noise.mean() ** 2 + np.eye(x.shape[1])
    mean, deviation = np.linalg.solve(precision, x.T @ y / noise.mean() ** 2), np.sqrt(np.diag(np.linalg.inv(precision)))
    off = np.abs(weights.mean(axis=(0, 1)) - mean) / deviation
    ratio = weights.std(axis=(0, 1)) / deviation
    together = spread(draws).max()
    print(f"{CHAINS * DRAWS} draws, R at most {together:.3f}; noise {noise.mean():.3f} ± {noise.std():.3f}")
    print(f"means of weights are off by at most {off.max():.2f} deviations; deviations by {abs(ratio - 1).max():.0%} at most")
    if together > 1.1 or off.max() > 0.25 or abs(ratio - 1).max() > 0.2:
        raise SystemExit("the chains have not found the distribution")


if __name__ == "__main__":
    main()
