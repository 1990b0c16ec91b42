"""Train a classifier, write it as a file of machine code, and run that in Python and in C. Needs `pip install 'retrograde[demo]'`.

The C program is `deploy.c`; it is built where the system has a C compiler called `cc`.
"""

import shutil
import subprocess
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

import retrograde as rg
from retrograde import data, deploy, nn, optim, runtime, train

#: Images that one call takes: shapes are fixed when a function is exported.
BATCH = 20


def digits():
    """Images as rows of 64 numbers from 0 to 1, and labels."""
    images, labels = (np.asarray(part) for part in load_digits(return_X_y=True))
    order = np.random.default_rng(0).permutation(len(labels))
    return images[order].astype(np.float32) / 16, labels[order]


def built(folder):
    """The C program, built in `folder` beside the exported files; None where there is no compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        return None
    loader = deploy.c_sources()
    sources = [Path(__file__).with_name("deploy.c"), loader / "retrograde_runtime.c"]
    subprocess.run([compiler, "-O2", *sources, f"-I{folder}", f"-I{loader}", "-lm", "-o", folder / "deploy"], check=True)
    return folder / "deploy"


def main():
    """Train, export, and compare."""
    rg.manual_seed(0)
    images, labels = digits()
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    trainer = train.Trainer(model, optim.Adam(model.parameters(), lr=3e-3), nn.CrossEntropyLoss(), progress=False)
    trainer.fit(data.Loader((images[:-300], labels[:-300]), batch_size=64, shuffle=True), epochs=8)

    @rg.jit
    def predict(images):
        return rg.softmax(model(images))

    folder, held_out = Path.cwd(), images[-300:].reshape(-1, BATCH, 64)
    model.eval()
    with rg.no_grad():
        predict.export(folder / "digits.rgx", held_out[0])
        wanted = np.stack([predict(rg.tensor(batch)).numpy() for batch in held_out])
    print(f"exported {(folder / 'digits.rgx').stat().st_size} bytes, for {runtime.load('digits.rgx').target}")

    program = runtime.load(folder / "digits.rgx")
    found = np.stack([program(batch) for batch in held_out])
    print(f"in Python: accuracy {np.mean(found.argmax(-1).ravel() == labels[-300:]):.1%}, "
          f"{'the same numbers' if found.tobytes() == wanted.tobytes() else 'other numbers'}")

    command = built(folder)
    if command is None:
        print("in C: not run, since there is no compiler called cc")
        return
    done = subprocess.run([command, "digits.rgx"], input=held_out.tobytes(), capture_output=True, check=True)
    print(f"in C: {'the same numbers' if done.stdout == wanted.tobytes() else 'other numbers'}")


if __name__ == "__main__":
    main()
