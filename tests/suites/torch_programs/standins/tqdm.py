"""Stands for tqdm: no bar."""


def tqdm(items, **_):
    return items
