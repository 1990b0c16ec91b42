"""A variational autoencoder of handwritten digits in black and white. Needs `pip install 'retrograde[demo]'`.

It is trained to maximise the evidence lower bound (Kingma & Welling, https://arxiv.org/abs/1312.6114), then draws new digits.
"""

import numpy as np
from sklearn.datasets import load_digits

import retrograde as rg
from retrograde import data, nn, optim, train

LATENT = 8
SHADES = " .:-=+*#@"


class Autoencoder(nn.Module):
    """An encoder to the mean and the logarithm of the variance of a normal distribution, and a decoder to logits of pixels."""

    def __init__(self, pixels=64, width=128):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(pixels, width), nn.ReLU(), nn.Linear(width, 2 * LATENT))
        self.decoder = nn.Sequential(nn.Linear(LATENT, width), nn.ReLU(), nn.Linear(width, pixels))

    def encoded(self, images):
        """(mean, logarithm of the variance) for each image."""
        return rg.split(self.encoder(images), 2, axis=1)

    def forward(self, images):
        """Logits of a reconstruction, from a draw that gradients go through."""
        mean, log_variance = self.encoded(images)
        noise = rg.randn(*mean.shape)
        return self.decoder(mean + rg.exp(log_variance / 2) * noise), mean, log_variance


def negative_bound(outputs, images):
    """The mean over images of the reconstruction's cross entropy and the divergence from the standard normal distribution."""
    logits, mean, log_variance = outputs
    missed = nn.functional.binary_cross_entropy_with_logits(logits, images, reduction="none").sum(axis=1)
    divergence = 0.5 * (mean**2 + rg.exp(log_variance) - 1 - log_variance).sum(axis=1)
    return (missed + divergence).mean()


def shown(images):
    """Images of 8 x 8 beside each other, as text."""
    levels = (np.clip(images, 0, 1) * (len(SHADES) - 1)).round().astype(int).reshape(-1, 8, 8)
    return "\n".join("  ".join("".join(SHADES[p] * 2 for p in image[row]) for image in levels) for row in range(8))


def main():
    """Train, compare with a model that knows the frequency of each pixel alone, and draw."""
    rg.manual_seed(0)
    images = (np.asarray(load_digits(return_X_y=True)[0]) > 7)[np.random.default_rng(0).permutation(1797)].astype(np.float32)
    learning, held_out = images[:-297], images[-297:]
    model = Autoencoder()
    trainer = train.Trainer(
        model, optim.Adam(model.parameters(), lr=2e-3), progress=False,
        forward=lambda model, images: (negative_bound(model(images), images), images, images))
    trainer.fit(data.Loader(learning, 100, shuffle=True), epochs=40)

    frequency = learning.mean(axis=0).clip(1e-3, 1 - 1e-3)
    simple = -(held_out * np.log(frequency) + (1 - held_out) * np.log(1 - frequency)).sum(axis=1).mean()
    model.eval()
    with rg.no_grad():
        bound = negative_bound(model(rg.tensor(held_out)), rg.tensor(held_out)).item()
        drawn = rg.sigmoid(model.decoder(rg.randn(5, LATENT))).numpy()
    print(f"nats per held-out image: at most {bound:.1f}, with pixels that do not depend on each other {simple:.1f}")
    print(shown(drawn))
    if bound > simple - 3:
        raise SystemExit("the autoencoder has learned too little")


if __name__ == "__main__":
    main()
