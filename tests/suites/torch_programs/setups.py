"""Data that the programs read from files: small, seeded, laid out in the folder of the copy."""

import numpy as np


def words(folder):
    """Three texts of a small vocabulary, with the sentence structure of a Markov chain."""
    generator = np.random.default_rng(0)
    (folder / "words").mkdir()
    vocabulary = [f"word{i}" for i in range(40)]
    following = generator.integers(0, 40, (40, 4))
    for name, lines in (("train", 120), ("valid", 20), ("test", 20)):
        rows = []
        for _ in range(lines):
            at, row = generator.integers(40), []
            for _ in range(10):
                row.append(vocabulary[at])
                at = following[at, generator.integers(4)]
            rows.append(" ".join(row))
        (folder / "words" / f"{name}.txt").write_text("\n".join(rows) + "\n")


def _picture(generator, size):
    """Smooth colours with some edges, as bytes."""
    y, x = np.mgrid[:size, :size] / size
    waves = [np.sin(2 * np.pi * (generator.uniform(1, 4) * x + generator.uniform(1, 4) * y) + generator.uniform(0, 6)) for _ in range(3)]
    return ((np.stack(waves, -1) + 1) * 127).astype(np.uint8)


def _written(path, picture):
    from PIL import Image  # only these programs need Pillow

    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(picture).save(path)


def photographs(folder):
    """What super_resolution would have downloaded: a few images in two folders."""
    generator = np.random.default_rng(1)
    for name, count in (("train", 8), ("test", 1)):
        for i in range(count):
            _written(folder / "dataset" / "BSDS300" / "images" / name / f"{i}.png", _picture(generator, 256))


def images(folder):
    """A folder of images in one class, and an image whose style is taken."""
    generator = np.random.default_rng(2)
    for i in range(4):
        _written(folder / "images" / "class" / f"{i}.png", _picture(generator, 48))
    _written(folder / "style.png", _picture(generator, 48))


def waves(folder):
    """The sines of time_sequence_prediction, fewer and shorter, as its own script saves them."""
    import torch  # the file is one of PyTorch's, whoever reads it

    generator = np.random.default_rng(2)
    data = np.sin((np.arange(40) + generator.integers(-80, 80, 12).reshape(-1, 1)) / 20.0).astype("float64")
    torch.save(data, folder / "traindata.pt")


def citations(folder):
    """A graph in the files of the Cora data set: 1,700 papers, 60 words, 7 subjects."""
    generator = np.random.default_rng(3)
    papers, features = 1700, 60
    subjects = generator.integers(0, 7, papers)
    has_word = generator.random((papers, features)) < 0.05 + 0.3 * (np.arange(features) % 7 == subjects[:, None])
    (folder / "cora").mkdir()
    rows = [f"{1000 + i}\t" + "\t".join(map(str, has_word[i].astype(int))) + f"\tsubject{subjects[i]}" for i in range(papers)]
    (folder / "cora" / "cora.content").write_text("\n".join(rows) + "\n")
    edges = {tuple(sorted(pair)) for pair in generator.integers(0, papers, (4000, 2)).tolist() if pair[0] != pair[1]}
    (folder / "cora" / "cora.cites").write_text("".join(f"{1000 + a}\t{1000 + b}\n" for a, b in sorted(edges)))
