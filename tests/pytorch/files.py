"""Files of `torch.save`, many of them: `python -m tests.torch.files --saved 500 --hostile 2000`; needs PyTorch."""

import argparse
import io
import signal
import time
import warnings
from pathlib import Path

import torch as theirs

import retrograde.torch as ours
from retrograde.errors import RetrogradeError

from .hostile_files import damaged, fault, hostile
from .saved import Maker, described


def exchanged(seed):
    """What is wrong with the object of a seed, from PyTorch to here and from here to PyTorch; None if nothing is."""
    for maker, loader, options in ((theirs, ours, {"pickle_protocol": 2 + seed % 4}), (ours, theirs, {}), (ours, ours, {})):
        made, file = Maker(maker, seed).object(), io.BytesIO()
        maker.save(made, file, **options)
        file.seek(0)
        try:
            found = described(loader, loader.load(file, weights_only=True))
        except Exception as error:  # noqa: BLE001 - any error is an outcome
            return f"{maker.__name__} to {loader.__name__}: {type(error).__name__}: {error}"
        if found != (wanted := described(maker, made)):
            return f"{maker.__name__} to {loader.__name__}: {wanted} became {found}"
    return None


def refused(count):
    """The faults of so many files: those made by hand, and damaged ones."""
    made = hostile()
    files = [path.read_bytes() for path in sorted((Path(__file__).parent / "files").glob("*.pt"))]
    whole = [described(ours, ours.load(io.BytesIO(raw))) for raw in files]
    for name, raw in made.items():
        yield name, fault(ours.load, raw, _is_ours)
    for seed in range(count - len(made)):
        raw, is_checked, which = damaged(files, seed)
        unchanged = (lambda found, i=which: described(ours, found) == whole[i]) if is_checked else lambda _: True
        yield f"damaged {seed}", fault(ours.load, raw, _is_ours, unchanged)


def _is_ours(error):
    return isinstance(error, RetrogradeError)


def write_fixtures():
    """Write the files that the tests read without PyTorch."""
    folder = Path(__file__).parent / "files"
    model = theirs.nn.Sequential(theirs.nn.Linear(3, 2), theirs.nn.BatchNorm1d(2))
    with theirs.no_grad():
        model[0].weight.copy_(theirs.arange(6.0).reshape(2, 3) / 2)
        model[0].bias.zero_()
    theirs.save(model.state_dict(), folder / "state.pt")
    optimizer = theirs.optim.Adam(model.parameters())
    model(theirs.ones(2, 3)).sum().backward()
    optimizer.step()
    whole = theirs.arange(6.0).reshape(2, 3)
    theirs.save({"epoch": 3, "optimizer": optimizer.state_dict(), "shared": [whole, whole[1], whole[:, 2]],
                 "half": theirs.tensor([1.5, -2.0], dtype=theirs.bfloat16), "parameter": theirs.nn.Parameter(theirs.ones(2)),
                 "conjugate": theirs.tensor([1 + 2j]).conj(), "whole": theirs.ones(2, dtype=theirs.uint16)}, folder / "training.pt")


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.torch.files", description=__doc__)
    parser.add_argument("--saved", type=int, default=0, help="how many objects to exchange with PyTorch, in both directions")
    parser.add_argument("--hostile", type=int, default=0, help="how many hostile and damaged files to load")
    parser.add_argument("--first", type=int, default=0, help="the first seed of --saved")
    parser.add_argument("--fixtures", action="store_true", help="write the files that the tests read")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.fixtures:
        write_fixtures()
    saved = ((f"saved {seed}", exchanged(seed)) for seed in range(options.first, options.first + options.saved))
    worst, faults = 0.0, 0
    for name, source in (("objects exchanged", saved), ("hostile files", refused(options.hostile) if options.hostile else ())):
        count, bad, start = 0, 0, time.process_time()
        signal.alarm(600)
        last = start
        for label, found in source:
            worst, last = max(worst, time.process_time() - last), time.process_time()
            count, bad = count + 1, bad + bool(found)
            if found:
                print(f"{label}: {found[:2000]}")
        signal.alarm(0)
        faults += bad
        print(f"{count} {name}, {bad} faults, {time.process_time() - start:.1f} s, the slowest {worst:.2f} s")
        worst = 0.0
    return int(bool(faults))


if __name__ == "__main__":
    raise SystemExit(main())
