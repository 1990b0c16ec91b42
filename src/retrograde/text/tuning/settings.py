"""The settings of a run in its folder: what is there belongs to this run, or nothing is read or written."""

import hashlib
import json
from typing import Any

from ...errors import CheckpointError
from ..files import load, save


def same_run(folder, settings):
    """Note the settings in the folder; a CheckpointError that names what differs, if it holds a run with others."""
    path = folder / "settings.json"
    settings = json.loads(json.dumps(settings, default=repr))
    before: Any = load(path) if path.exists() and (folder / "checkpoint.json").exists() else settings
    other = [f"{name} was {before.get(name)!r:.60}, now {settings.get(name)!r:.60}" for name in {**before, **settings}
             if before.get(name) != settings.get(name)]
    if other:
        raise CheckpointError(f"the run in {folder} had other settings: {'; '.join(other)}; give the same, or another folder")
    folder.mkdir(parents=True, exist_ok=True)
    save(settings, path)


def digest_of(items):
    """A short digest of items."""
    return hashlib.sha256(json.dumps(items).encode()).hexdigest()[:16]
