"""Write what PyTorch gives for each case of layers to tests/nn/layers.npz: `PYTHONPATH=tests python tests/oracle/record_layers.py`.

PyTorch computes in float64, so that the tests compare float32 with the right numbers. Needs the extra `oracle`.
"""

import warnings

import numpy as np
import torch
from torch_layers import Theirs

from layer_cases import CASES, RECORDED, packed, run


def main():
    """Run all cases and write the file."""
    warnings.simplefilter("ignore")
    found = {repr(case): run(case, Theirs(torch.float64)) for case in CASES}
    np.savez_compressed(RECORDED, **packed(found))
    print(f"{len(CASES)} cases, {RECORDED.stat().st_size} bytes")


if __name__ == "__main__":
    main()
