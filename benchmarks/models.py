"""The models suite: language models, fine-tuning, half precision, image models and a recommender, on one thread and on two.

Rivals compute the same: losses, tokens and their probabilities are compared before anything is timed.
"""

import importlib
import os
from pathlib import Path

from . import model_file
from .case import Bytes, Difference, Growth, Steps
from .workloads import autocast, finetuning, gpt, image_networks, language, recommender
from .workloads.image_networks import F4, Task

ROUNDS = 5
#: Numbers of bfloat16 have eight bits.
_HALF = {"tolerance": 0.02, "compared": 10}
#: Rounding grows through many norms: PyTorch's third loss differs by 3e-4 from its own with channels in the other order.
_NORMS = 1e-3


def _halves(name, title, rivals, least):
    """A step in bfloat16; where the processor multiplies float32 faster nothing is asked of it beside that."""
    beside_float32 = {"retrograde, float32": least} if _gains_by_bfloat16() else {}
    return Steps(name, title, rivals, goals={**beside_float32, "torch": 1.3}, **_HALF)


def _gains_by_bfloat16():
    try:
        return importlib.import_module("retrograde.compiler.backends.cpu.host").target().gains_by_bfloat16
    except ImportError:  # in the process of a rival, which may lack what retrograde needs, and judges nothing
        return False


def _images(name, title, task, goals, made=image_networks.EAGER, tolerance=None):
    return Steps(name, title, image_networks.rivals(task, made), goals=goals, tolerance=tolerance, packages=image_networks.PACKAGES)


def _most_of_loading():
    """The goal of loading: a tenth more than the file, and 60 MB, in MB."""
    file = os.environ.get(model_file.FILE)
    return {} if file is None else {"retrograde": round((1.1 * Path(file).stat().st_size + 60e6) / 1e6)}


def _recommender(rows):
    rivals, small = recommender.rivals("SparseAdam", rows), recommender.SMALL
    goals = {"torch": 5.0, **({small: 0.8} if small in rivals else {})}
    return Steps(f"recommender-{rows // 1000}k", f"a recommender, table of {rows:,}×64: a step with SparseAdam, batch 1,024",
                 rivals, goals=goals, parts=recommender.BATCHES, compared=1, apart=(small,) if small in rivals else ())


def _written(short):
    """A token after the other, with kept keys and values."""
    kind, title, goals, _, tolerance = _KINDS[short]
    return Steps(f"token-{short}", f"a token of SmolLM2-135M in {title}: the mean of 64 after a prompt of 4",
                 language.written(kind, _TOKENS), goals=goals, parts=_TOKENS, compared=1, tolerance=tolerance)


def _read(short):
    kind, title, _, goals, tolerance = _KINDS[short]
    return Steps(f"prompt-{short}", f"a prompt of 256 tokens, SmolLM2-135M in {title}: up to the token after it",
                 language.read(kind), goals=goals, compared=1, tolerance=tolerance)


_TOKENS = 64
#: By kind of weights what they are called, what is asked when a token is written and when a prompt is read, and how far off
#: probabilities may be: by quantised weights integers of eight bits are multiplied, which are not quite the same ones.
_KINDS = {"q4": ("file", "Q4_1", {"llama.cpp": 1.0}, {"llama.cpp": 1.0}, 0.1),
          "q8": ("Q8_0", "Q8_0", {"llama.cpp": 1.0}, {"llama.cpp": 1.0}, 0.1),
          "f32": ("float32", "float32", {"torch": 1.3}, {"torch": 1.4}, 1e-3)}
_RESNET = {"torch": 1.3, "torch.compile": 1.3, f"torch / {F4}": 1.6, f"torch.compile / {F4}": 1.6}

CASES = [
    *map(_written, _KINDS),
    *map(_read, _KINDS),
    Difference("logits", "logits of SmolLM2-135M in float32: the greatest difference", language.LOGITS, goals={"torch": 1e-4}),
    Growth("loading", "loading SmolLM2-135M: peak memory", language.LOADING, goals=_most_of_loading()),
    Steps("finetune-all", "all weights of SmolLM2-135M in float32: an AdamW step of 4×128 tokens", finetuning.ALL,
          goals={"torch": 1.5}, compared=2),
    Steps("finetune-lora", "LoRA of rank 8 on SmolLM2-135M in float32: an AdamW step of 4×128 tokens", finetuning.LORA,
          goals={"torch": 1.5}, compared=1),
    Steps("finetune-qlora", "LoRA of rank 8 on SmolLM2-135M in Q4_1: an AdamW step of 4×128 tokens; PyTorch has float32",
          finetuning.QLORA, goals={"torch": 1.5}, compared=1),
    Bytes("qlora-memory", "LoRA of rank 8 on SmolLM2-135M in Q4_1: weights, gradients and moments; the others have float32",
          finetuning.MEMORY, goals={"retrograde, LoRA on float32": round(1 / 0.35, 2)}),
    _halves("bfloat16-mlp", "a 512-512-512-512 perceptron under autocast: an SGD step in bfloat16, batch 512", autocast.PERCEPTRONS,
            1.6),
    _halves("bfloat16-gpt", "a character GPT of 4 layers under autocast: an AdamW step in bfloat16, width 128, batch 16",
            autocast.GPTS, 1.3),
    _images("resnet18-32", "ResNet-18 on 32 images of 32×32: a training step; its first convolution is 3×3",
            Task("resnet18", (32, 3, 32, 32), 10, options={"small": True}), _RESNET, image_networks.CONVOLVED),
    _images("resnet18-224", "ResNet-18 on 4 images of 224×224: a training step", Task("resnet18", (4, 3, 224, 224), 1000), _RESNET,
            image_networks.CONVOLVED),
    _images("unet", "U-Net on 2 images of 128×128: a training step; 32 channels and more",
            Task("unet", (2, 3, 128, 128), 2, is_of_pixels=True, options={"width": 32}), {"torch": 1.7}),
    _images("vit-tiny", "ViT-tiny on 32 images of 224×224: an AdamW step",
            Task("vit_tiny_patch16_224", (32, 3, 224, 224), 1000, optimizer="AdamW"), {"torch": 1.5}),
    _images("mobilenet", "MobileNetV2 on 8 images of 224×224: a training step",
            Task("mobilenet_v2", (8, 3, 224, 224), 1000, options={"dropout": 0.0}, is_channels_last=True), {},
            tolerance=_NORMS),
    Steps("transformer", "a character GPT of 12 layers: an AdamW step, width 128, context 64, batch 16", gpt.deep(12),
          goals={"torch": 1.7}, compared=10),
    *map(_recommender, recommender.ROWS),
]
