"""The memory of a cache of keys and values: as much as is written, and each process its own."""

import os
from pathlib import Path

import numpy as np
import pytest

from retrograde.models.cache import Cache
from retrograde.models.config import Config

SIZES = {"vocab_size": 32, "hidden_size": 256, "intermediate_size": 24, "num_hidden_layers": 24, "num_attention_heads": 4}
CONFIG = Config("llama", **SIZES, num_key_value_heads=4, head_dim=64, max_position_embeddings=8192)


def written(cache, count):
    new = np.ones((24, 1, count, 4, 64), np.float32)
    cache.write(0, 0, new, new, count)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="tells resident memory on Linux")
def test_a_short_text_takes_no_memory_of_a_long_one():
    resident = lambda: int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    before = resident()
    cache = Cache(CONFIG, 1, 8192)  # 400 MB
    written(cache, 16)
    assert cache.keys[:, 0, :16].all() and not cache.keys[:, 0, 16:32].any()
    assert resident() - before < 16e6  # 16 tokens are 0.8 MB; pages of 2 MB for each layer would be 100


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a fork")
def test_a_child_writes_to_a_cache_of_its_own():
    cache = Cache(CONFIG, 1, 64)
    child = os.fork()
    if not child:
        written(cache, 8)
        os._exit(0)
    os.waitpid(child, 0)
    assert not cache.keys.any() and not cache.values.any()


def test_a_cache_without_rows_is_empty():
    assert Cache(CONFIG, 0, 64).keys.shape == (24, 0, 64, 4, 64)
