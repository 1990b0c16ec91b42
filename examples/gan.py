"""A generative adversarial network that learns a ring of eight clusters (Goodfellow et al., https://arxiv.org/abs/1406.2661)."""

import numpy as np

import retrograde as rg
from retrograde import nn, optim

CLUSTERS, SPREAD, NOISE, BATCH, STEPS = 8, 0.1, 8, 256, 2500


def centres():
    """The centres of the clusters, on a circle."""
    angles = 2 * np.pi * np.arange(CLUSTERS) / CLUSTERS
    return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def network(inputs, outputs, width=64):
    """Three layers."""
    return nn.Sequential(nn.Linear(inputs, width), nn.LeakyReLU(0.2), nn.Linear(width, width), nn.LeakyReLU(0.2),
                         nn.Linear(width, outputs))


def points(count):
    """Points of the ring."""
    which = rg.randint(0, CLUSTERS, (count,))
    return rg.take(rg.asarray(centres()), which, axis=0) + SPREAD * rg.randn(count, 2)


def main():
    """Train both networks by turns, and see which clusters the generator reaches."""
    rg.manual_seed(0)
    generator, critic = network(NOISE, 2), network(2, 1)
    optimizers = [optim.Adam(module.parameters(), lr=1e-3, betas=(0.5, 0.99)) for module in (generator, critic)]

    @rg.jit
    def step():
        """One step of the critic and one of the generator, compiled as one; their losses."""
        generating, criticising = optimizers
        real, made = points(BATCH), generator(rg.randn(BATCH, NOISE))
        criticising.zero_grad()
        # The logistic loss, and a penalty on the slope at real points that keeps the game from running round in circles
        # (https://arxiv.org/abs/1801.04406).
        slope = rg.grad(lambda x: critic(x).sum())(real)
        critic_loss = (rg.softplus(-critic(real)) + rg.softplus(critic(made.detach()))).mean() + 0.1 * (slope**2).sum(axis=1).mean()
        critic_loss.backward()
        criticising.step()
        generating.zero_grad()
        generator_loss = rg.softplus(-critic(made)).mean()
        generator_loss.backward()
        generating.step()
        return critic_loss.detach(), generator_loss.detach()

    for number in range(1, STEPS + 1):
        losses = step()
        if number % 500 == 0:
            print(f"step {number}: loss of the critic {losses[0].item():.3f}, of the generator {losses[1].item():.3f}")
    with rg.no_grad():
        made = generator(rg.randn(2000, NOISE)).numpy()
    distances = np.sqrt(((made[:, None] - centres()) ** 2).sum(axis=-1))
    is_near, nearest = distances.min(axis=1) < 4 * SPREAD, distances.argmin(axis=1)
    reached = [int(np.sum(is_near & (nearest == cluster))) for cluster in range(CLUSTERS)]
    print(f"{is_near.mean():.0%} of all points are near a cluster; points of each: {reached}")
    if is_near.mean() < 0.8 or sum(count > 40 for count in reached) < CLUSTERS - 1:
        raise SystemExit("the generator has learned too little")


if __name__ == "__main__":
    main()
