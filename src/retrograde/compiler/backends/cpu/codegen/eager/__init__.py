"""Code that eager ops call: trampolines from Python, kernels of rows of any size, small kernels."""
