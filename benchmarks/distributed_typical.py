"""Typical models and networks, as layers and links, for the page that says up to how many machines pay. All of it is assumed."""

from retrograde.distributed import Link, TrainingStep, most_processes, predict

#: Of each machine, say one with 32 cores: operations per second that a step reaches, bytes per second of all cores, which an update
#: is made of, and of the one that adds up gradients; and seconds of each collective, as measured on the machine of the page.
RATE, MEMORY, COPYING, CALL = 1e12, 5e10, 8e9, 2e-4
#: Seconds of latency and of each further message, and bytes per second that arrive of what the name says.
NETWORKS = {
    "1 GbE": Link(50e-6, 0.117e9, 5e-6, CALL, COPYING),
    "10 GbE": Link(25e-6, 1.17e9, 5e-6, CALL, COPYING),
    "25 GbE": Link(15e-6, 2.9e9, 3e-6, CALL, COPYING),
    "InfiniBand, 200 Gb/s": Link(1.5e-6, 24e9, 0.3e-6, CALL, COPYING),
}
_MOST, _SHOWN = 64, 16


def dense(inputs, outputs, rows):
    """(multiplications, numbers of each parameter) of a linear layer."""
    return inputs * outputs * rows, [inputs * outputs, outputs]


def mlp(rows=256):
    """784, 4096, 4096, 10."""
    return [dense(784, 4096, rows), dense(4096, 4096, rows), dense(4096, 10, rows)]


def resnet50(images=64):
    """Of He et al., "Deep residual learning for image recognition" (2016), on images of 224 by 224, with batch norms."""
    def convolution(inputs, outputs, kernel, side):
        return images * side**2 * inputs * outputs * kernel**2, [inputs * outputs * kernel**2, outputs, outputs]

    layers, inputs = [convolution(3, 64, 7, 112)], 64
    for width, blocks, side in ((64, 3, 56), (128, 4, 28), (256, 6, 14), (512, 3, 7)):
        for block in range(blocks):
            before = side if block or width == 64 else 2 * side  # the convolution in the middle has the stride
            layers += [convolution(inputs, width, 1, before), convolution(width, width, 3, side),
                       convolution(width, 4 * width, 1, side)]
            if not block:
                layers.append(convolution(inputs, 4 * width, 1, side))
            inputs = 4 * width
    return [*layers, dense(2048, 1000, images)]


def gpt(blocks, width, length, words, sequences):
    """A GPT, whose table of words also makes the logits, and so has its gradient at the end."""
    rows = sequences * length
    attention = 2 * rows * length * width  # scores and mixtures, of which the causal half is computed all the same
    block = [dense(width, 3 * width, rows), dense(width, width, rows), dense(width, 4 * width, rows), dense(4 * width, width, rows)]
    each = (sum(count for count, _ in block) + attention, [n for _, numbers in block for n in numbers] + 4 * [width])
    return [(0, [words * width, length * width]), *[each] * blocks, (words * width * rows, [width, width])]


MODELS = {
    "MLP 784-4096-4096-10, 256 rows": mlp(),
    "ResNet-50, 64 images": resnet50(),
    "GPT of 6 blocks of 384, 64 texts of 256": gpt(6, 384, 256, 65, 64),
    "GPT-2 small, 8 texts of 1024": gpt(12, 768, 1024, 50257, 8),
}


def step(layers):
    """The step of layers in float32 with AdamW, which reads and writes seven numbers for each parameter."""
    times = [(2 * count / RATE, 4 * count / RATE, [4 * n for n in numbers]) for count, numbers in layers]
    return TrainingStep.of_layers(times, 7 * sum(sum(nbytes) for *_, nbytes in times) / MEMORY)


def table():
    """Rows of a page: by model and network the most machines of which at least 0.8 is left, and what is left of 16."""
    lines = [_row(["model, batch of each machine", "step", "gradients", *NETWORKS]), _row(["---"] * (3 + len(NETWORKS)))]
    for name, layers in MODELS.items():
        model, cells = step(layers), []
        for link in NETWORKS.values():
            most = most_processes(model, link, limit=_MOST)
            cells.append(f"{most}{'+' if most == _MOST else ''} ({predict(model, link, _SHOWN).efficiency:.2f})")
        lines.append(_row([name, f"{model.passes + model.update:.2f} s", f"{sum(model.parameters) / 1e6:.0f} MB", *cells]))
    return "\n".join(lines)


def _row(cells):
    return f"| {' | '.join(cells)} |"
