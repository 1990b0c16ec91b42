"""Small networks of five kinds, written with `rg.nn` as users write them."""

import numpy as np

import retrograde as rg
from retrograde import nn

F = nn.functional


class Residual(nn.Module):
    """Two convolutions, added to what they are given."""

    def __init__(self, channels, out, stride):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(channels, out, 3, stride, 1, bias=False), nn.BatchNorm2d(out)
        self.conv2, self.norm2 = nn.Conv2d(out, out, 3, 1, 1, bias=False), nn.BatchNorm2d(out)
        self.shortcut = nn.Sequential(nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out)) if stride > 1 else nn.Identity()

    def forward(self, x):
        y = self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x)))))
        return F.relu(y + self.shortcut(x))


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
        self.layers = nn.Sequential(Residual(8, 8, 1), Residual(8, 16, 2))
        self.pool, self.head = nn.AdaptiveAvgPool2d(1), nn.Linear(16, 10)

    def forward(self, x):
        return self.head(self.pool(self.layers(self.stem(x))).flatten(1))


class Inverted(nn.Module):
    """A wide layer of convolutions channel by channel, between two narrow ones; MobileNet's block."""

    def __init__(self, channels, out, stride, factor=4):
        super().__init__()
        wide = channels * factor
        self.body = nn.Sequential(
            nn.Conv2d(channels, wide, 1, bias=False), nn.BatchNorm2d(wide), nn.Hardswish(),
            nn.Conv2d(wide, wide, 3, stride, 1, groups=wide, bias=False), nn.BatchNorm2d(wide), nn.ReLU6(),
            nn.Conv2d(wide, out, 1, bias=False), nn.BatchNorm2d(out))
        self.is_added = stride == 1 and channels == out

    def forward(self, x):
        return x + self.body(x) if self.is_added else self.body(x)


class MobileNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU6())
        self.blocks = nn.Sequential(Inverted(8, 8, 1), Inverted(8, 12, 2))
        self.head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2), nn.Linear(12, 10))

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)))


class ViT(nn.Module):
    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, 16, 4, 4)
        self.first, self.places = nn.Parameter(rg.randn(1, 1, 16)), nn.Parameter(rg.randn(1, 17, 16))
        layer = nn.TransformerEncoderLayer(16, 2, 32, activation="gelu", batch_first=True, norm_first=True)
        self.encoder, self.head = nn.TransformerEncoder(layer, 2), nn.Linear(16, 10)

    def forward(self, x):
        tokens = self.patches(x).flatten(2).transpose(1, 2)
        first = rg.broadcast_to(self.first, (x.shape[0], 1, 16))
        return self.head(self.encoder(rg.concatenate([first, tokens], 1) + self.places)[:, 0])


class Tagger(nn.Module):
    """An LSTM in both directions over tokens."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(20, 8)
        self.lstm, self.head = nn.LSTM(8, 6, 2, batch_first=True, bidirectional=True), nn.Linear(12, 5)

    def forward(self, tokens):
        return self.head(self.lstm(self.embedding(tokens))[0])


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.places = nn.Embedding(20, 16), nn.Embedding(12, 16)
        self.blocks = nn.ModuleList([Block() for _ in range(2)])
        self.norm, self.head = nn.LayerNorm(16), nn.Linear(16, 20, bias=False)

    def forward(self, tokens):
        x = self.tokens(tokens) + self.places(rg.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(16), nn.LayerNorm(16)
        self.attend, self.out = nn.Linear(16, 48), nn.Linear(16, 16)
        self.mlp = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16))

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.attend(self.norm1(x)).reshape(batch, length, 3, 2, width // 2)
        query, key, value = rg.moveaxis(parts, (2, 3), (0, 2))
        found = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.out(found.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.norm2(x))


def images(batch, rng):
    return rng.normal(size=(batch, 3, 16, 16)).astype(np.float32)


def tokens(batch, rng, length=9):
    return rng.integers(0, 20, (batch, length))


#: {name: (class, what makes its input)}
ARCHITECTURES = {"resnet": (ResNet, images), "mobilenet": (MobileNet, images), "vit": (ViT, images), "lstm": (Tagger, tokens), "gpt": (GPT, tokens)}
