"""The heap: what is freed between two ops, or two steps of a training, stays with this process for the next one.

glibc gives large blocks back to the system as they are freed, and each page of the next ones is a fault: that was a tenth of an
eager step of a language model whose logits take 6 MB. How large such blocks must be it learns from those that were freed so far.
"""

import numpy as np

#: Larger blocks glibc always gives back (`DEFAULT_MMAP_THRESHOLD_MAX`, with its own words before them and a page to spare).
_LARGEST_KEPT_BYTES = (32 << 20) - (8 << 10)


def keep_freed_blocks():
    """Have blocks of up to 32 MB reused, and give memory back once 64 MB at the end of the heap are free.

    It frees one such block, which is never written to, and so takes no memory. Whoever has set thresholds of their own in the
    environment (`MALLOC_TRIM_THRESHOLD_` and others) keeps them. Other C libraries do as they always do.
    """
    np.empty(_LARGEST_KEPT_BYTES, np.uint8)
