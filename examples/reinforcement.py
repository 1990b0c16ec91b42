"""Balance a pole with a policy that is learned by its gradient (PPO). Needs `pip install retrograde gymnasium`.

The environment is Gymnasium's CartPole, 16 of them at once; the method is proximal policy optimization with generalised advantages
(Schulman et al., https://arxiv.org/abs/1707.06347, https://arxiv.org/abs/1506.02438).
"""

import gymnasium
import numpy as np

import retrograde as rg
from retrograde import nn, optim

ENVIRONMENTS, LENGTH, ROUNDS, PASSES, PARTS = 16, 128, 16, 4, 4
DISCOUNT, DECAY, CLIP = 0.99, 0.95, 0.2


class Player(nn.Module):
    """Logits of the actions, and the value of a state."""

    def __init__(self, inputs=4, actions=2, width=64):
        super().__init__()
        self.policy = nn.Sequential(nn.Linear(inputs, width), nn.Tanh(), nn.Linear(width, actions))
        self.value = nn.Sequential(nn.Linear(inputs, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, states):
        return self.policy(states), self.value(states)[..., 0]


def played(games, states, act, rng):
    """What happened in `LENGTH` steps, each an array (steps, environments), and the states after them. A step that only begins a
    new game counts for nothing.
    """
    rows, is_new = [], np.zeros(ENVIRONMENTS, bool)
    for _ in range(LENGTH):
        logits, values = (z.numpy() for z in act(states))
        chances = np.exp(logits - logits.max(axis=1, keepdims=True))
        chances /= chances.sum(axis=1, keepdims=True)
        actions = (rng.random(ENVIRONMENTS) > chances[:, 0]).astype(np.int64)
        after, rewards, ended, stopped, _ = games.step(actions)
        logs = np.log(chances[np.arange(ENVIRONMENTS), actions])
        rows.append((states, actions, logs, values, rewards.astype(np.float32), ended | stopped, ~is_new))
        states, is_new = after, ended | stopped
    return [np.stack(column) for column in zip(*rows, strict=True)], states


def advantages(values, rewards, ended, last):
    """How much better each step was than its state promised, with those after it counted less and less."""
    found, ahead, following = np.zeros_like(values), np.zeros_like(last), last
    for t in reversed(range(LENGTH)):
        goes_on = ~ended[t]
        surprise = rewards[t] + DISCOUNT * following * goes_on - values[t]
        found[t] = ahead = surprise + DISCOUNT * DECAY * goes_on * ahead
        following = values[t]
    return found


def main():
    """Play and learn by turns."""
    rg.manual_seed(1)
    rng = np.random.default_rng(0)
    player = Player()
    optimizer = optim.Adam(player.parameters(), lr=3e-3)

    @rg.jit
    def act(states):
        with rg.no_grad():
            return player(states)

    @rg.jit
    def improve(states, actions, logs, better, returns, weights):
        optimizer.zero_grad()
        logits, values = player(states)
        chances = rg.log_softmax(logits)
        ratio = rg.exp(rg.take_along_axis(chances, actions[:, None], axis=1)[:, 0] - logs)
        gained = rg.minimum(ratio * better, rg.clip(ratio, 1 - CLIP, 1 + CLIP) * better)
        entropy = -(rg.exp(chances) * chances).sum(axis=1)
        loss = -gained + 0.5 * (values - returns) ** 2 - 0.01 * entropy
        (loss * weights).mean().backward()
        optimizer.step()

    games = gymnasium.make_vec("CartPole-v1", num_envs=ENVIRONMENTS, vectorization_mode="vector_entry_point")
    states, lengths = games.reset(seed=0)[0], []
    for number in range(1, ROUNDS + 1):
        (seen, actions, logs, values, rewards, ended, counts), states = played(games, states, act, rng)
        better = advantages(values, rewards, ended, act(states)[1].numpy())
        returns = better + values
        better = (better - better.mean()) / (better.std() + 1e-8)
        columns = [a.reshape(-1, *a.shape[2:]) for a in (seen, actions, logs, better, returns, counts.astype(np.float32))]
        for _ in range(PASSES):
            for rows in np.array_split(rng.permutation(counts.size), PARTS):
                improve(*[column[rows] for column in columns])
        lengths.append(ended.size / max(int(ended.sum()), 1))
        if number % 4 == 0:
            print(f"round {number}: a game lasts {lengths[-1]:.0f} steps on average")
    games.close()
    if lengths[-1] < 4 * lengths[0]:
        raise SystemExit("the player has learned too little")


if __name__ == "__main__":
    main()
