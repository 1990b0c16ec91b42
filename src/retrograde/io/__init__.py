"""Files: weights as safetensors."""

from .weights import load, save
