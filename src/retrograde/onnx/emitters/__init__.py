"""The emitters: how each op of ours is written in ONNX. Importing a module enters its emitters."""

from . import attention, elementwise, loops, products, recurrent, reductions, shapes
