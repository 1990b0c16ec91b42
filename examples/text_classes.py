"""Tell which part of SciPy a line of its documentation is about. Needs `pip install 'retrograde[demo]'`.

The texts are the docstrings of three of SciPy's modules, a line each; the model averages embeddings of words.
"""

import inspect
import re
from collections import Counter

import numpy as np
import scipy.linalg
import scipy.signal
import scipy.stats

import retrograde as rg
from retrograde import data, nn, optim, train

MODULES = [scipy.linalg, scipy.signal, scipy.stats]
LONGEST, RAREST, CHANCE = 16, 3, 1 / len(MODULES)


def lines():
    """(words, number of the module) of each line of documentation with at least six words, in an order by chance."""
    found = set()
    for label, module in enumerate(MODULES):
        for name in module.__all__:
            for line in (inspect.getdoc(getattr(module, name)) or "").splitlines():
                words = tuple(re.findall(r"[a-z]+", line.lower()))
                if len(words) >= 6:
                    found.add((words, label))
    found = sorted(found)
    return [found[i] for i in np.random.default_rng(0).permutation(len(found))]


def vocabulary(texts):
    """A number from 2 on for each word that is not rare; 0 stands for no word, and 1 for all others."""
    counts = Counter(word for words, _ in texts for word in words)
    return {word: number for number, word in enumerate([w for w, n in counts.items() if n >= RAREST], 2)}


def rows(texts, numbers):
    """(numbers of words, padded by zeros; labels)."""
    words = np.zeros((len(texts), LONGEST), np.int64)
    for row, (text, _) in zip(words, texts, strict=True):
        known = [numbers.get(word, 1) for word in text[:LONGEST]]
        row[: len(known)] = known
    return words, np.array([label for _, label in texts])


class Classifier(nn.Module):
    """A linear layer on the mean of the embeddings of all words."""

    def __init__(self, words, classes, width=32):
        super().__init__()
        self.embedding, self.dropout = nn.Embedding(words, width, padding_idx=0), nn.Dropout(0.3)
        self.head = nn.Linear(width, classes)

    def forward(self, words):
        is_word = (words > 0).astype(rg.float32)[..., None]
        mean = (self.embedding(words) * is_word).sum(axis=1) / is_word.sum(axis=1)
        return self.head(self.dropout(mean))


def main():
    """Train, report, and classify sentences of our own."""
    rg.manual_seed(0)
    texts = lines()
    learning, held_out = texts[len(texts) // 5 :], texts[: len(texts) // 5]
    numbers = vocabulary(learning)
    model = Classifier(len(numbers) + 2, len(MODULES))
    trainer = train.Trainer(
        model, optim.AdamW(model.parameters(), lr=5e-3, weight_decay=0.05), nn.functional.cross_entropy, metrics=[train.Accuracy()],
        progress=False)
    trainer.fit(data.Loader(rows(learning, numbers), 128, shuffle=True, drop_last=True), epochs=8)
    accuracy = trainer.evaluate(rows(held_out, numbers))["accuracy"]
    print(f"{len(learning)} lines, {len(numbers)} words; accuracy on {len(held_out)} other lines {accuracy:.1%}, by chance "
          f"{CHANCE:.1%}")
    own = ["compute the eigenvalues of a symmetric matrix", "design a digital filter with this frequency response",
           "the probability that a random variable is smaller"]
    words, _ = rows([(tuple(text.split()), 0) for text in own], numbers)
    for text, label in zip(own, trainer.predict(words).argmax(axis=1), strict=True):
        print(f"{text}: {MODULES[int(label)].__name__}")
    if accuracy < 2 * CHANCE:
        raise SystemExit("the classifier has learned nothing")


if __name__ == "__main__":
    main()
