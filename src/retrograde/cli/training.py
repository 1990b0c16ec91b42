"""The network of the demo, how it learns, and how well it reads."""

from dataclasses import dataclass, field

import numpy as np

from .. import nn, optim
from ..core.mode import no_grad
from ..data import batches
from ..nn.functional import cross_entropy, softmax
from ..ops.random.draws import Generator, manual_seed
from ..tensor.creation import asarray
from ..transforms.jit import jit


def build(model, hidden):
    """A new network: "mlp", a perceptron with two hidden layers, or "cnn", two convolutions before one."""
    half = max(hidden // 2, 1)
    if model == "mlp":
        return nn.Sequential(nn.Flatten(), nn.Linear(64, hidden), nn.ReLU(), nn.Dropout(0.2), nn.Linear(hidden, half), nn.ReLU(),
                             nn.Linear(half, 10))
    return nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(512, half), nn.ReLU(), nn.Dropout(0.3), nn.Linear(half, 10))


@dataclass
class History:
    """Loss and accuracy after each epoch."""

    losses: list = field(default_factory=list)
    held_out_losses: list = field(default_factory=list)
    accuracies: list = field(default_factory=list)
    held_out_accuracies: list = field(default_factory=list)


def train(options, digits, told):
    """A trained network and its history; `told(history)` is called after each epoch."""
    manual_seed(options.seed)
    model, history = build(options.model, options.hidden), History()
    optimizer = optim.AdamW(model.parameters(), lr=options.lr)
    step = _step(model, optimizer)
    step = step if options.eager else jit(step)
    minibatches = batches(digits.images, digits.labels, batch_size=options.batch_size, shuffle=True,
                          generator=Generator(options.seed))
    schedule = optim.CosineAnnealingLR(optimizer, options.passes * len(minibatches))
    for _ in range(options.passes):
        loss, accuracy = _epoch(model, step, schedule, minibatches)
        chances = predict(model, digits.held_out_images)
        history.losses.append(loss / len(digits.labels))
        history.accuracies.append(accuracy / len(digits.labels))
        history.held_out_losses.append(_loss_of(chances, digits.held_out_labels))
        history.held_out_accuracies.append(accuracy_of(chances, digits.held_out_labels))
        told(history)
    return model, history


def _step(model, optimizer):
    """A function that learns from one batch, and gives the loss and the logits."""

    def step(images, labels):
        optimizer.zero_grad()
        logits = model(images)
        loss = cross_entropy(logits, labels)
        loss.backward()
        optimizer.step()
        return loss, logits.detach()

    return step


def _epoch(model, step, schedule, minibatches):
    """One pass over the data: the sum of the losses, and how many images were read rightly on the way."""
    model.train()
    total = right = 0
    for images, labels in minibatches:
        loss, logits = step(images, labels)
        schedule.step()
        total += loss.item() * len(labels)
        right += int((logits.numpy().argmax(axis=1) == labels.numpy()).sum())
    return total, right


def predict(model, images):
    """The probability of each class for each image."""
    model.eval()
    with no_grad():
        return softmax(model(asarray(images)), dim=1).numpy()


def accuracy_of(chances, labels):
    """The fraction of images whose likeliest class is their label."""
    return float((chances.argmax(axis=1) == labels).mean())


def _loss_of(chances, labels):
    return float(-np.log(np.maximum(chances[np.arange(len(labels)), labels], 1e-12)).mean())


def confusion_of(chances, labels):
    """How often each class (row) was read as each class (column)."""
    counts = np.zeros((chances.shape[1],) * 2, int)
    np.add.at(counts, (labels, chances.argmax(axis=1)), 1)
    return counts


def worst(chances, labels, count):
    """The images read wrongly, the surest first; and those read rightly, the least sure first; at most `count` of each."""
    truth = chances[np.arange(len(labels)), labels]
    is_wrong = chances.argmax(axis=1) != labels
    order = np.argsort(truth, kind="stable")
    return order[is_wrong[order]][:count], order[~is_wrong[order]][:count]
