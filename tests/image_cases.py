"""Small image models for tests: what each is made of, its weights, which any library can draw, and what comes out of it."""

import zlib
from pathlib import Path

import numpy as np

import retrograde as rg
from retrograde.models import images

#: What torchvision and timm give for each case, and what keys their networks have; written by tests/oracle/record_image_models.py.
RECORDED = Path(__file__).parent / "models" / "image_models.npz"
#: How far a number of float32 may lie from theirs, as a part of one plus the greatest of them.
TOLERANCE = 2e-5
#: By case how our network is made, and the shape of its images.
CASES = {
    "ResNet of basic blocks": (lambda: images.ResNet(images.BasicBlock, (2, 1, 1, 1), num_classes=10), (2, 3, 64, 64)),
    "ResNet of bottlenecks": (lambda: images.ResNet(images.Bottleneck, (1, 2, 1, 1), num_classes=10), (2, 3, 64, 64)),
    "MobileNetV2": (lambda: images.MobileNetV2(10, width=0.75, dropout=0.0, stages=((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 1, 1))),
                    (2, 3, 32, 32)),
    "VisionTransformer": (lambda: images.VisionTransformer(32, 8, 10, embed_dim=24, depth=2, num_heads=3), (2, 3, 32, 32)),
    "UNet": (lambda: images.UNet(num_classes=3, in_channels=2, width=4), (2, 2, 32, 48)),
    "UNet by interpolation, of an odd size": (lambda: images.UNet(num_classes=3, width=4, bilinear=True), (2, 3, 37, 50))}


def weight(name, shape):
    """Numbers for the parameter or buffer of a name."""
    rng, last = np.random.default_rng(zlib.crc32(name.encode())), name.rpartition(".")[2]
    if last == "num_batches_tracked":
        return np.array(3)
    if last == "running_var" or last == "weight" and len(shape) == 1:
        return rng.uniform(0.5, 1.5, shape).astype(np.float32)
    spread = 0.2 if len(shape) == 1 or last in ("cls_token", "pos_embed") else (2 / np.prod(shape[1:])) ** 0.5
    return (rng.standard_normal(shape, np.float32) * np.float32(spread)).astype(np.float32)


def drawn(shape, seed):
    """Numbers for images, or for the cotangent of logits."""
    return np.random.default_rng([7, seed]).standard_normal(shape, np.float32)


def ours_of(case):
    """Our network of a case with its weights."""
    network = CASES[case][0]()
    network.load_state_dict({name: weight(name, x.shape) for name, x in network.state_dict().items()})
    return network


def results_of(case, compiles=False):
    """Logits of our network after `eval()` and while training; then the gradients, and the statistics of batch norm."""
    network, x = ours_of(case), rg.tensor(drawn(CASES[case][1], 0))

    def learned(x):
        logits = network(x)
        (logits * drawn(logits.shape, 1)).sum().backward()
        return logits

    evaluated, trained = (rg.jit(network), rg.jit(learned)) if compiles else (network, learned)
    network.eval()
    with rg.no_grad():
        found = {"eval": evaluated(x).numpy()}
    network.train()
    found["train"] = trained(x).detach().numpy()
    found.update({f"gradient {name}": parameter.grad.numpy() for name, parameter in network.named_parameters()})
    found.update({f"statistic {name}": x.numpy() for name, x in network.named_buffers()})
    return found


def summed(found):
    """Results as few numbers: of what has more than thirty, its size and its product with random numbers."""
    return {name: np.ravel(x) if np.size(x) <= 30 else _few(name, np.asarray(x, np.float64)) for name, x in found.items()}


def _few(name, x):
    direction = np.random.default_rng(zlib.crc32(name.encode())).standard_normal(x.shape, np.float32) / np.sqrt(x.size)
    return np.array([np.linalg.norm(x), (x * direction).sum()])


def assert_agree(found, expected):
    """Fail unless two sets of results have the same names, and nearly the same numbers."""
    assert found.keys() == expected.keys()
    for name, x in expected.items():
        scale = 1 + np.abs(x).max()
        np.testing.assert_allclose(found[name] / scale, x / scale, rtol=0, atol=TOLERANCE, err_msg=name)


def spelled(state):
    """A line for each tensor of a state: its key, shape and dtype."""
    return [f"{name} {list(x.shape)} {str(x.dtype).removeprefix('torch.')}" for name, x in state.items()]


def recorded():
    """By case the results that are recorded, as few numbers."""
    with np.load(RECORDED) as file:
        return {case: dict(zip(file[f"{case}/names"].tolist(),
                               np.split(file[f"{case}/numbers"], np.cumsum(file[f"{case}/sizes"])[:-1]), strict=True))
                for case in CASES}


def recorded_keys(name):
    """The lines of `spelled` for the network of torchvision or timm: a case, or a network whose keys are renamed here."""
    with np.load(RECORDED) as file:
        return file[f"{name}/keys"].tolist()


def recorded_sums():
    """By large network the CRC of all the lines of `spelled`."""
    with np.load(RECORDED) as file:
        return dict(zip(file["large/names"].tolist(), file["large/keys"].tolist(), strict=True))
