"""Stands for six."""
