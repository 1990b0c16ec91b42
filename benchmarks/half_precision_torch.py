"""The training steps of `benchmarks.half_precision` in PyTorch, eager, under its autocast."""

from importlib import import_module
from typing import Any

import numpy as np

# By name: it is there only for comparisons.
torch: Any = import_module("torch")
nn: Any = torch.nn
WIDTH, LAYERS, GPT_WIDTH, HEADS, CONTEXT, BATCH = 512, 4, 128, 4, 64, 16
torch.set_num_threads(1)


def perceptron():
    """A run of a training step of a perceptron of three layers."""
    model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH))
    x, y = (torch.randn(WIDTH, WIDTH) for _ in range(2))
    return _trained(torch.optim.SGD(model.parameters(), lr=0.01), lambda: nn.functional.mse_loss(model(x), y))


def gpt():
    """A run of a training step of the small GPT."""
    model, tokens = _GPT(), torch.from_numpy(np.random.default_rng(0).integers(0, 100, (BATCH, CONTEXT + 1)))
    loss = lambda: nn.functional.cross_entropy(model(tokens[:, :-1]).reshape(BATCH * CONTEXT, -1), tokens[:, 1:].reshape(-1))
    return _trained(torch.optim.AdamW(model.parameters(), lr=1e-3), loss)


def _trained(optimizer: Any, loss):
    def step():
        optimizer.zero_grad()
        with torch.autocast("cpu"):
            found = loss()
        found.backward()
        optimizer.step()
        return found

    return step


class _Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(GPT_WIDTH, 3 * GPT_WIDTH), nn.Linear(GPT_WIDTH, GPT_WIDTH)

    def forward(self, x):
        heads = self.qkv(x).reshape(BATCH, CONTEXT, 3, HEADS, GPT_WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        found = nn.functional.scaled_dot_product_attention(heads[0], heads[1], heads[2], is_causal=True)
        return self.out(found.permute(0, 2, 1, 3).reshape(BATCH, CONTEXT, GPT_WIDTH))


class _Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.attention, self.norm2 = nn.LayerNorm(GPT_WIDTH), _Attention(), nn.LayerNorm(GPT_WIDTH)
        self.network = nn.Sequential(nn.Linear(GPT_WIDTH, 4 * GPT_WIDTH), nn.GELU(), nn.Linear(4 * GPT_WIDTH, GPT_WIDTH))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.network(self.norm2(x))


class _GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.token, self.place = nn.Embedding(100, GPT_WIDTH), nn.Embedding(CONTEXT, GPT_WIDTH)
        self.blocks = nn.Sequential(*[_Block() for _ in range(LAYERS)])
        self.norm, self.head = nn.LayerNorm(GPT_WIDTH), nn.Linear(GPT_WIDTH, 100, bias=False)

    def forward(self, tokens):
        return self.head(self.norm(self.blocks(self.token(tokens) + self.place.weight)))
