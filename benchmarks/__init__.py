"""Benchmarks: `python -m benchmarks eager`, `jit` or `text` runs the suite of that name.

Each rival runs in a process of its own. The rivals of a case take turns, A B A B, and only one of them works at a time;
a figure is the median of its rounds, a ratio the median of the ratios of neighbouring rounds.
"""
