"""Solve the heat equation by a network that is trained to satisfy it (Raissi et al., https://doi.org/10.1016/j.jcp.2018.10.045).

u_t = u_xx / 10 for x between 0 and 1, with u = 0 at both ends and u = sin(pi x) at first; the solution is known, to compare with.
"""

import numpy as np

import retrograde as rg
from retrograde import nn, optim

DIFFUSION, POINTS, STEPS = 0.1, 256, 2000


class Solution(nn.Module):
    """u(x, t): the start, and what a network adds to it, by factors that keep the start and both ends as they are."""

    def __init__(self, width=32):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(2, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, x, t):
        added = self.layers(rg.stack([2 * x - 1, 2 * t - 1], axis=-1))[..., 0]
        return rg.sin(np.pi * x) + t * x * (1 - x) * added


def residual(solution, x, t):
    """u_t - u_xx / 10 at points. Each number of the result depends on its own x and t alone, so that a derivative along all of them
    at once (`jvp`) has the derivative at each.
    """
    ones = rg.ones_like(x)

    def slope(x):
        return rg.jvp(lambda x: solution(x, t), (x,), (ones,))[1]

    curvature = rg.jvp(slope, (x,), (ones,))[1]
    return rg.jvp(lambda t: solution(x, t), (t,), (ones,))[1] - DIFFUSION * curvature


def main():
    """Train, and compare with the known solution on a grid."""
    rg.manual_seed(0)
    solution = Solution()
    optimizer = optim.Adam(solution.parameters(), lr=3e-3)
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)

    @rg.jit
    def step():
        optimizer.zero_grad()
        loss = (residual(solution, rg.rand(POINTS), rg.rand(POINTS)) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    for number in range(1, STEPS + 1):
        loss = step()
        schedule.step()
        if number % 500 == 0:
            print(f"step {number}: mean square of the residual {loss.item():.2e}")
    x, t = (a.ravel().astype(np.float32) for a in np.meshgrid(np.linspace(0, 1, 41), np.linspace(0, 1, 41)))
    with rg.no_grad():
        found = solution(rg.tensor(x), rg.tensor(t)).numpy()
    exact = np.exp(-DIFFUSION * np.pi**2 * t) * np.sin(np.pi * x)
    error = np.abs(found - exact).max()
    print(f"greatest error on a grid of 41 x 41 points: {error:.1e}")
    if error > 0.01:
        raise SystemExit("the network does not solve the equation")


if __name__ == "__main__":
    main()
