"""VisionTransformer: patches of an image as the words of an encoder, with a vector before them that becomes the class.

Dosovitskiy et al., "An image is worth 16x16 words: Transformers for image recognition at scale" (2020). Attributes are called as
timm's keys are; `load` renames those of torchvision.
"""

from math import isqrt

import numpy as np

from ...errors import ArgumentError
from ...nn import init
from ...nn.activation import GELU
from ...nn.container import Sequential
from ...nn.convolution import Conv2d
from ...nn.dropout import Dropout
from ...nn.functional import scaled_dot_product_attention
from ...nn.linear import Linear
from ...nn.module import Module
from ...nn.normalization import LayerNorm
from ...nn.parameter import Parameter
from ...ops.images.resampling import interpolate
from ...ops.manipulation.joins import concatenate
from ...ops.manipulation.movements import broadcast_to, permute_dims, reshape
from ...tensor.creation import zeros
from .parts import check_images, head_of

#: What norms add to a variance; other than in `LayerNorm`.
_EPS = 1e-6
#: The standard deviation of the first weights.
_SPREAD = 0.02


class PatchEmbedding(Module):
    """A vector for each patch: (batch, patches, width), row by row."""

    def __init__(self, in_channels, width, size):
        super().__init__()
        self.proj = Conv2d(in_channels, width, size, size)

    def forward(self, x):
        x = self.proj(x)
        return permute_dims(reshape(x, (*x.shape[:2], -1)), (0, 2, 1))


class Attention(Module):
    """Attention whose queries, keys and values come from one product."""

    def __init__(self, width, heads, dropout):
        super().__init__()
        self.heads = heads
        self.qkv = Linear(width, 3 * width)
        self.proj = Linear(width, width)
        self.proj_drop = Dropout(dropout)

    def forward(self, x):
        batch, length, width = x.shape
        parts = reshape(self.qkv(x), (batch, length, 3, self.heads, width // self.heads))
        query, key, value = permute_dims(parts, (2, 0, 3, 1, 4))
        mixed = permute_dims(scaled_dot_product_attention(query, key, value), (0, 2, 1, 3))
        return self.proj_drop(self.proj(reshape(mixed, x.shape)))


class Perceptron(Module):
    """A projection to a greater width, and one back."""

    def __init__(self, width, inner, dropout):
        super().__init__()
        self.fc1 = Linear(width, inner)
        self.act = GELU()
        self.drop1 = Dropout(dropout)
        self.fc2 = Linear(inner, width)
        self.drop2 = Dropout(dropout)

    def forward(self, x):
        return self.drop2(self.fc2(self.drop1(self.act(self.fc1(x)))))


class Block(Module):
    """Attention and a perceptron, each with a norm before it; what each makes is added to what it was given."""

    def __init__(self, width, heads, inner, dropout):
        super().__init__()
        self.norm1 = LayerNorm(width, _EPS)
        self.attn = Attention(width, heads, dropout)
        self.norm2 = LayerNorm(width, _EPS)
        self.mlp = Perceptron(width, inner, dropout)

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class VisionTransformer(Module):
    """Logits (batch, num_classes) of images (batch, in_channels, image_size, image_size).

    num_classes           0 leaves the head out: the network gives the vector of the class
    embed_dim, num_heads  of each vector, and of attention: 192 and 3 (tiny), 384 and 6 (small), 768 and 12 (base), of `depth` 12
    mlp_ratio             how much wider the perceptrons are within
    dropout               of what is added in each block, and of the vectors at the start

    >>> sizes = dict(image_size=32, patch_size=8, embed_dim=16, depth=2, num_heads=2)
    >>> network = rg.models.images.VisionTransformer(num_classes=10, **sizes)
    >>> network(rg.ones(2, 3, 32, 32)).shape
    (2, 10)
    """

    def __init__(self, image_size=224, patch_size=16, num_classes=1000, in_channels=3, embed_dim=768, depth=12, num_heads=12,
                 mlp_ratio=4.0, dropout=0.0):
        super().__init__()
        if image_size % patch_size:
            raise ArgumentError(f"patch_size must divide image_size, got {patch_size} and {image_size}")
        if embed_dim % num_heads:
            raise ArgumentError(f"num_heads must divide embed_dim, got {num_heads} and {embed_dim}")
        self.in_channels, self.image_size = in_channels, image_size
        self.cls_token = Parameter(zeros(1, 1, embed_dim))
        self.pos_embed = Parameter(zeros(1, (image_size // patch_size) ** 2 + 1, embed_dim))
        self.patch_embed = PatchEmbedding(in_channels, embed_dim, patch_size)
        self.pos_drop = Dropout(dropout)
        self.blocks = Sequential(*[Block(embed_dim, num_heads, int(embed_dim * mlp_ratio), dropout) for _ in range(depth)])
        self.norm = LayerNorm(embed_dim, _EPS)
        self.head = head_of(embed_dim, num_classes)
        self.reset_parameters()

    def reset_parameters(self):
        """Draw new weights, as timm does."""
        init.normal_(self.cls_token, std=1e-6)
        init.trunc_normal_(self.pos_embed, std=_SPREAD)
        for module in self.modules():
            if isinstance(module, Linear):
                init.trunc_normal_(module.weight, std=_SPREAD)
                init.zeros_(module.bias)

    def fitted(self, state):
        """`state` with the positions of images of another size, if those that it has are of a square, interpolated to this size."""
        positions, count = state.get("pos_embed"), self.pos_embed.shape[1]
        if positions is None or positions.ndim != 3 or positions.shape[1] in (0, count):
            return state
        side, new = isqrt(positions.shape[1] - 1), isqrt(count - 1)
        if side**2 + 1 != positions.shape[1]:
            return state
        positions = positions.astype(np.float32)
        image = permute_dims(reshape(positions[:, 1:], (1, side, side, -1)), (0, 3, 1, 2))
        image = interpolate(image, (new, new), mode="bicubic", antialias=True)
        patches = reshape(permute_dims(image, (0, 2, 3, 1)), (1, count - 1, -1))
        return {**state, "pos_embed": concatenate([positions[:, :1], patches], 1)}

    def forward(self, x):
        check_images(self, x, self.in_channels, (self.image_size, self.image_size))
        x = self.patch_embed(x)
        first = broadcast_to(self.cls_token, (x.shape[0], 1, x.shape[2]))
        x = self.pos_drop(concatenate([first, x], 1) + self.pos_embed)
        return self.head(self.norm(self.blocks(x))[:, 0])
