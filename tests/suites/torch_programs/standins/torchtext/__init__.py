"""Stands for torchtext: two made-up languages."""
