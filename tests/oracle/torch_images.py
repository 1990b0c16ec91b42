"""Image models as functions of PyTorch: a state by its keys, and images. Written from the papers, for tests that need no torchvision."""

import numpy as np
import torch
from torch.nn import functional

from image_cases import CASES, drawn, ours_of

__all__ = ["FORWARD", "results_of_torch"]


class Layers:
    """Layers by their names in a state."""

    def __init__(self, state, is_training):
        self.state, self.is_training = state, is_training

    def has(self, name):
        """Whether there is a tensor of a name."""
        return name in self.state

    def convolution(self, x, name, stride=1, groups=1):
        """A convolution that keeps the size of images where the stride is 1."""
        kernel = self.state[f"{name}.weight"]
        return functional.conv2d(x, kernel, self.state.get(f"{name}.bias"), stride, kernel.shape[-1] // 2, groups=groups)

    def norm(self, x, name):
        """Batch norm."""
        parts = [self.state[f"{name}.{part}"] for part in ("running_mean", "running_var", "weight", "bias")]
        if self.is_training:
            self.state[f"{name}.num_batches_tracked"] += 1
        return functional.batch_norm(x, *parts, training=self.is_training)

    def layer_norm(self, x, name):
        """A norm of vectors."""
        return functional.layer_norm(x, x.shape[-1:], self.state[f"{name}.weight"], self.state[f"{name}.bias"], 1e-6)

    def linear(self, x, name):
        """A product and a bias."""
        return functional.linear(x, self.state[f"{name}.weight"], self.state[f"{name}.bias"])


def resnet(layers, x):
    """Either kind of ResNet: what convolutions a block has is seen by its keys."""
    x = functional.max_pool2d(functional.relu(layers.norm(layers.convolution(x, "conv1", 2), "bn1")), 3, 2, 1)
    for stage in range(1, 5):
        for number in range(2):
            if layers.has(f"layer{stage}.{number}.conv1.weight"):
                x = _block(layers, x, f"layer{stage}.{number}", 2 if stage > 1 and number == 0 else 1)
    return layers.linear(x.mean((2, 3)), "fc")


def _block(layers, x, name, stride):
    is_bottleneck = layers.has(f"{name}.conv3.weight")
    z = functional.relu(layers.norm(layers.convolution(x, f"{name}.conv1", 1 if is_bottleneck else stride), f"{name}.bn1"))
    z = layers.norm(layers.convolution(z, f"{name}.conv2", stride if is_bottleneck else 1), f"{name}.bn2")
    if is_bottleneck:
        z = layers.norm(layers.convolution(functional.relu(z), f"{name}.conv3"), f"{name}.bn3")
    if layers.has(f"{name}.downsample.0.weight"):
        x = layers.norm(layers.convolution(x, f"{name}.downsample.0", stride), f"{name}.downsample.1")
    return functional.relu(z + x)


def mobilenet(layers, x):
    """MobileNetV2 of the stages of the case."""
    def opened(x, name, stride=1, groups=1):
        return functional.relu6(layers.norm(layers.convolution(x, f"{name}.0", stride, groups), f"{name}.1"))

    x = opened(x, "features.0", 2)
    for number, stride in enumerate((1, 2, 1, 1), 1):
        name, z, part = f"features.{number}.conv", x, 0
        if number > 1:
            z, part = opened(z, f"{name}.0"), 1
        z = opened(z, f"{name}.{part}", stride, groups=z.shape[1])
        z = layers.norm(layers.convolution(z, f"{name}.{part + 1}"), f"{name}.{part + 2}")
        x = x + z if x.shape == z.shape else z
    return layers.linear(opened(x, "features.5").mean((2, 3)), "classifier.1")


def vision_transformer(layers, x, heads=3):
    """A vision transformer."""
    kernel = layers.state["patch_embed.proj.weight"]
    x = functional.conv2d(x, kernel, layers.state["patch_embed.proj.bias"], kernel.shape[-1]).flatten(2).transpose(1, 2)
    x = torch.cat([layers.state["cls_token"].expand(len(x), -1, -1), x], 1) + layers.state["pos_embed"]
    for number in range(2):
        name = f"blocks.{number}"
        parts = layers.linear(layers.layer_norm(x, f"{name}.norm1"), f"{name}.attn.qkv").chunk(3, -1)
        query, key, value = [part.unflatten(-1, (heads, -1)).transpose(1, 2) for part in parts]
        weights = torch.softmax(query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5, -1)
        x = x + layers.linear((weights @ value).transpose(1, 2).flatten(2), f"{name}.attn.proj")
        inner = functional.gelu(layers.linear(layers.layer_norm(x, f"{name}.norm2"), f"{name}.mlp.fc1"))
        x = x + layers.linear(inner, f"{name}.mlp.fc2")
    return layers.linear(layers.layer_norm(x, "norm")[:, 0], "head")


def unet(layers, x):
    """A U-Net of either way to double images."""
    def twice(x, name):
        for number in (0, 3):
            x = functional.relu(layers.norm(layers.convolution(x, f"{name}.double_conv.{number}"), f"{name}.double_conv.{number + 1}"))
        return x

    found = [twice(x, "inc")]
    for number in range(1, 5):
        found.append(twice(functional.max_pool2d(found[-1], 2), f"down{number}.maxpool_conv.1"))
    x = found.pop()
    for number in range(1, 5):
        skip = found.pop()
        if layers.has(f"up{number}.up.weight"):
            x = functional.conv_transpose2d(x, layers.state[f"up{number}.up.weight"], layers.state[f"up{number}.up.bias"], 2)
        else:
            x = functional.interpolate(x, scale_factor=2, mode="bilinear", align_corners=True)
        tall, wide = [n - m for n, m in zip(skip.shape[2:], x.shape[2:], strict=True)]
        x = twice(torch.cat([skip, functional.pad(x, (wide // 2, wide - wide // 2, tall // 2, tall - tall // 2))], 1), f"up{number}.conv")
    return layers.convolution(x, "outc.conv")


FORWARD = dict(zip(CASES, (resnet, resnet, mobilenet, vision_transformer, unet, unet), strict=True))


def results_of_torch(case):
    """What `image_cases.results_of` gives, by PyTorch in float64."""
    network = ours_of(case)
    learned = [name for name, _ in network.named_parameters()]
    state = {name: torch.tensor(np.array(x)) for name, x in network.state_dict().items()}
    state = {name: x.double().requires_grad_(name in learned) if x.is_floating_point() else x for name, x in state.items()}
    x, forward = torch.tensor(drawn(CASES[case][1], 0)).double(), FORWARD[case]
    found = {"eval": forward(Layers(state, False), x).detach().numpy()}
    logits = forward(Layers(state, True), x)
    (logits * torch.tensor(drawn(tuple(logits.shape), 1))).sum().backward()
    found["train"] = logits.detach().numpy()
    found.update({f"gradient {name}": state[name].grad.numpy() for name in learned})
    found.update({f"statistic {name}": state[name].detach().numpy() for name in state if name not in learned})
    return found
