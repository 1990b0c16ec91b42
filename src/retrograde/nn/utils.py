"""What PyTorch's users look for here."""

from ..optim.clip import clip_grad_norm_, clip_grad_value_
