"""A vocabulary."""


class Vocabulary:
    def __init__(self, words):
        self.words, self.positions = words, {word: i for i, word in enumerate(words)}

    def set_default_index(self, index):
        self.default = index

    def __len__(self):
        return len(self.words)

    def __call__(self, tokens):
        return [self.positions.get(token, self.default) for token in tokens]


def build_vocab_from_iterator(iterator, min_freq=1, specials=(), special_first=True):
    seen = dict.fromkeys(token for tokens in iterator for token in tokens)
    return Vocabulary([*specials, *seen])
