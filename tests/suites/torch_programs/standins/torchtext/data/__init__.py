"""Stands for torchtext.data."""
