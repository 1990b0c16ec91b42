"""A tokenizer."""


def get_tokenizer(*_):
    return str.split
