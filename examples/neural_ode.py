"""Learn the motion of a pendulum with friction as a differential equation (Chen et al., https://arxiv.org/abs/1806.07366).

A network gives the velocity of a state; from noisy readings at a few times it is trained through a solver of Runge and Kutta.
"""

import numpy as np

import retrograde as rg
from retrograde import nn, optim

TIMES, STEP, PATHS, NOISE, STEPS = 40, 0.1, 32, 0.02, 600


def pendulum(state):
    """The velocity of (angle, angular velocity)."""
    angle, velocity = state[..., 0], state[..., 1]
    return rg.stack([velocity, -2 * rg.sin(angle) - 0.2 * velocity], axis=-1)


def solved(velocity, start, count):
    """The states after each of `count` steps from `start`, by Runge and Kutta's method of fourth order."""
    def step(state, _):
        one = velocity(state)
        two = velocity(state + STEP / 2 * one)
        three = velocity(state + STEP / 2 * two)
        four = velocity(state + STEP * three)
        state = state + STEP / 6 * (one + 2 * two + 2 * three + four)
        return state, state

    return rg.scan(step, start, rg.zeros((count,)))[1]


def starts(count, rng):
    """States to begin with."""
    return rg.tensor(rng.uniform(-1.5, 1.5, (count, 2)).astype(np.float32))


def main():
    """Train on short pieces of paths, and predict longer ones from other starts."""
    rg.manual_seed(0)
    rng = np.random.default_rng(0)
    first = starts(PATHS, rng)
    readings = solved(pendulum, first, TIMES) + NOISE * rg.randn(TIMES, PATHS, 2)
    network = nn.Sequential(nn.Linear(2, 48), nn.Tanh(), nn.Linear(48, 2))
    optimizer = optim.Adam(network.parameters(), lr=1e-2)
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
    piece = 8

    @rg.jit
    def step(begin, readings):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(solved(network, begin, piece), readings)
        loss.backward()
        optimizer.step()
        return loss.detach()

    for number in range(1, STEPS + 1):
        at = int(rng.integers(0, TIMES - piece))
        loss = step(readings[at], readings[at + 1 : at + 1 + piece])
        schedule.step()
        if number % 150 == 0:
            print(f"step {number}: missed {np.sqrt(loss.item()):.3f} (the noise is {NOISE})")

    with rg.no_grad():
        begin = starts(100, rng)
        found, exact = (solved(velocity, begin, 60).numpy() for velocity in (network, pendulum))
    missed, still = np.sqrt(np.mean((found - exact) ** 2)), np.sqrt(np.mean((begin.numpy() - exact) ** 2))
    print(f"missed on 60 steps from new starts: {missed:.3f}; if all stood still {still:.3f}")
    if missed > 0.1 * still:
        raise SystemExit("the network has learned too little")


if __name__ == "__main__":
    main()
