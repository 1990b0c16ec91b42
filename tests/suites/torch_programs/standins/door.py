"""The library that the program runs on: PyTorch, or retrograde's module of PyTorch's names."""

import os
from importlib import import_module

torch = import_module(os.environ["PROGRAM_RUNS_ON"])
nn = import_module(f"{torch.__name__}.nn")
