"""Files: weights as safetensors and as GGUF."""

from . import gguf
from .weights import load, save
