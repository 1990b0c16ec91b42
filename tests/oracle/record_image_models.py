"""Write what torchvision and timm give for small image models, and the keys of great ones, to tests/models/image_models.npz.

`PYTHONPATH=src:tests python tests/oracle/record_image_models.py`; needs torch, torchvision and timm. They compute in float64. Numbers
for UNet, which neither has, are those of `torch_images.py`.
"""

import zlib

import numpy as np
import timm
import torch
import torchvision
from torch_images import results_of_torch
from torchvision.models.resnet import BasicBlock, Bottleneck

from image_cases import CASES, RECORDED, drawn, spelled, summed, weight

THEIRS = {
    "ResNet of basic blocks": lambda: torchvision.models.ResNet(BasicBlock, [2, 1, 1, 1], num_classes=10),
    "ResNet of bottlenecks": lambda: torchvision.models.ResNet(Bottleneck, [1, 2, 1, 1], num_classes=10),
    "MobileNetV2": lambda: torchvision.models.MobileNetV2(
        10, 0.75, [[1, 16, 1, 1], [6, 24, 2, 2], [6, 32, 1, 1]], dropout=0.0),
    "VisionTransformer": lambda: timm.models.VisionTransformer(32, 8, num_classes=10, embed_dim=24, depth=2, num_heads=3)}
LARGE = {
    **{name: getattr(torchvision.models, name)
       for name in ("resnet18", "resnet34", "resnet50", "resnet101", "resnet152", "mobilenet_v2")},
    **{name: lambda name=name: timm.create_model(name)
       for name in ("vit_tiny_patch16_224", "vit_small_patch16_224", "vit_base_patch16_224", "vit_base_patch32_224")}}
#: Networks whose keys are renamed when they are loaded.
OTHERS = {"vit_b_16": torchvision.models.vit_b_16, "mobilenetv2_100": lambda: timm.create_model("mobilenetv2_100")}


def results_of_theirs(case):
    """What `image_cases.results_of` gives, by the network of a library."""
    network = THEIRS[case]()
    network.load_state_dict({name: torch.tensor(weight(name, tuple(x.shape))) for name, x in network.state_dict().items()})
    keys = spelled(network.state_dict())
    network, x = network.double(), torch.tensor(drawn(CASES[case][1], 0)).double()
    found = {"eval": network.eval()(x).detach().numpy()}
    logits = network.train()(x)
    (logits * torch.tensor(drawn(tuple(logits.shape), 1))).sum().backward()
    found["train"] = logits.detach().numpy()
    found.update({f"gradient {name}": parameter.grad.numpy() for name, parameter in network.named_parameters()})
    found.update({f"statistic {name}": x.numpy() for name, x in network.named_buffers()})
    return found, keys


def main():
    """Run all cases and write the file."""
    written = {}
    for case in CASES:
        found, keys = results_of_theirs(case) if case in THEIRS else (results_of_torch(case), None)
        found = summed(found)
        written[f"{case}/names"] = np.array([*found])
        written[f"{case}/numbers"] = np.concatenate([np.ravel(x) for x in found.values()]).astype(np.float32)
        written[f"{case}/sizes"] = np.array([np.size(x) for x in found.values()])
        if keys:
            written[f"{case}/keys"] = np.array(keys)
    with torch.device("meta"):
        lines = {name: spelled(make().state_dict()) for name, make in LARGE.items()}
        written.update({f"{name}/keys": np.array(spelled(make().state_dict())) for name, make in OTHERS.items()})
    written["large/names"] = np.array([*lines])
    written["large/keys"] = np.array([zlib.crc32("\n".join(found).encode()) for found in lines.values()])
    np.savez_compressed(RECORDED, **written)
    print(f"{len(CASES)} cases, {RECORDED.stat().st_size} bytes")


if __name__ == "__main__":
    main()
