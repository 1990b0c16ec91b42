"""Train a small character GPT on a text, and let it write: 4 layers, 4 heads, width 128, context 64, as one compiled step.

The text is a file, or by default the topics of Python's own help.

    python examples/gpt.py --text FILE --steps 3000
"""

import argparse
import math
import time
from pathlib import Path
from pydoc_data.topics import topics

import numpy as np

import retrograde as rg
from retrograde import nn, optim

CONTEXT, WIDTH, HEADS, LAYERS, BATCH = 64, 128, 4, 4, 16


class Attention(nn.Module):
    """Causal attention of a sequence to itself, in several heads."""

    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        batch, length, _ = x.shape
        heads = self.qkv(x).reshape(batch, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        found = nn.functional.scaled_dot_product_attention(heads[0], heads[1], heads[2], is_causal=True)
        return self.out(found.permute(0, 2, 1, 3).reshape(batch, length, WIDTH))


class Block(nn.Module):
    """Attention and a network, each added to what it read."""

    def __init__(self):
        super().__init__()
        self.norm1, self.attention, self.norm2 = nn.LayerNorm(WIDTH), Attention(), nn.LayerNorm(WIDTH)
        self.network = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.network(self.norm2(x))


class GPT(nn.Module):
    """Logits of the next character after each of a sequence of characters, (batch, length)."""

    def __init__(self, characters):
        super().__init__()
        self.token, self.place = nn.Embedding(characters, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.Sequential(*[Block() for _ in range(LAYERS)])
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, characters, bias=False)
        for name, parameter in self.named_parameters():
            if name.endswith("weight") and parameter.ndim > 1:
                nn.init.normal_(parameter, 0, 0.02)
            if name.endswith("bias"):
                nn.init.zeros_(parameter)

    def forward(self, tokens):
        x = self.token(tokens) + self.place.weight[: tokens.shape[1]]
        return self.head(self.norm(self.blocks(x)))


def main():
    """Train on nine tenths of the text, report the loss on the rest, and write."""
    parser = argparse.ArgumentParser(description="Train a small character GPT.")
    parser.add_argument("--text", type=Path, help="the file to learn from")
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--prompt", default="The ")
    parser.add_argument("--length", type=int, default=400, help="how many characters to write")
    options = parser.parse_args()
    rg.manual_seed(0)
    text = options.text.read_text(encoding="utf-8") if options.text else "\n".join(topics.values())
    characters = sorted(set(text))
    tokens = np.array([characters.index(c) for c in text])
    split = len(tokens) * 9 // 10
    model = GPT(len(characters))
    print(f"{len(tokens)} characters, {len(characters)} different; {sum(p.size for p in model.parameters())} weights")
    train(model, tokens[:split], options.steps)
    print(f"held-out loss {held_out_loss(model, tokens[split:]):.3f}")
    print(written(model, characters, options.prompt, options.length))


def drawn(tokens, rng):
    """A batch of pieces of the text, and the characters that follow each of theirs."""
    starts = rng.integers(0, len(tokens) - CONTEXT, BATCH)[:, None] + np.arange(CONTEXT)
    return rg.tensor(tokens[starts]), rg.tensor(tokens[starts + 1])


def loss_of(model, x, y):
    """Mean cross entropy of the next characters."""
    return nn.functional.cross_entropy(model(x).reshape(BATCH * CONTEXT, -1), y.reshape(-1))


def train(model, tokens, steps):
    """Minimise the loss on random pieces; the learning rate rises for a twentieth of the steps and falls to a tenth."""
    optimizer = optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.95), weight_decay=0.1)
    schedule = optim.LambdaLR(optimizer, lambda i: min((i + 1) / max(1, steps // 20), 0.55 + 0.45 * math.cos(math.pi * i / steps)))

    @rg.jit
    def step(x, y):
        optimizer.zero_grad()
        loss = loss_of(model, x, y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss

    rng, start = np.random.default_rng(0), time.perf_counter()
    for i in range(steps):
        loss = step(*drawn(tokens, rng))
        schedule.step()
        if i % 200 == 0 or i == steps - 1:
            print(f"step {i + 1}: loss {loss.item():.3f}, {time.perf_counter() - start:.0f} s")


def held_out_loss(model, tokens, batches=20):
    """The mean loss on pieces of a text that was not learned from."""
    @rg.jit
    def loss(x, y):
        with rg.no_grad():
            return loss_of(model, x, y)

    rng = np.random.default_rng(1)
    return float(np.mean([loss(*drawn(tokens, rng)).item() for _ in range(batches)]))


def written(model, characters, prompt, length):
    """`prompt` and what the model writes after it, a character at a time, each drawn by its probability."""
    @rg.jit
    def chances(window, last):
        with rg.no_grad():
            return nn.functional.softmax(rg.take(model(window)[0], last, axis=0) / 0.8)

    rng, found = np.random.default_rng(0), [characters.index(c) for c in prompt if c in characters] or [0]
    for _ in range(length):
        seen = found[-CONTEXT:]
        window = rg.tensor([seen + [0] * (CONTEXT - len(seen))])  # what comes after the last character is not looked at
        p = chances(window, rg.tensor(len(seen) - 1)).numpy().astype(float)
        found.append(int(rng.choice(len(characters), p=p / p.sum())))
    return "".join(characters[i] for i in found)


if __name__ == "__main__":
    main()
