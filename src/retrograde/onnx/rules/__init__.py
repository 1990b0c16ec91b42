"""The rules: what each operator of ONNX means in ops of ours. Importing a module enters its rules."""

from . import (
    control,
    conversions,
    convolution,
    creation,
    drawing,
    elementwise,
    indexing,
    normalization,
    pooling,
    products,
    quantized,
    recurrent,
    reductions,
    resizing,
    sampling,
    sequences,
    shapes,
    signals,
    texts,
    updates,
)
