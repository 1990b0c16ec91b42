"""What users hold: the Tensor, how it is made, and how NumPy's functions find it."""
