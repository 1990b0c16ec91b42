"""The settings of a run in its folder: what is there belongs to this run, or nothing is read or written."""

import hashlib
import json
from pathlib import Path
from typing import Any

from ...errors import ArgumentError, CheckpointError, DTypeError
from ..files import load, save


def folder_of(folder):
    """The path of the folder of a run, None for none; an error if it cannot be one."""
    if folder is None:
        return None
    try:
        path = Path(folder)
    except TypeError:
        raise DTypeError(f"folder must be a path, got {type(folder).__name__}") from None
    part = next((part for part in (path, *path.parents) if part.exists() and not part.is_dir()), None)
    if part is not None:
        raise ArgumentError(f"folder must be a folder, or a path where one can be made, and {part} is a file")
    return path


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
