"""What messages of errors name can be imported from `text`, and so can the errors themselves."""

import ast
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

from retrograde import errors, text

FILES = sorted(Path(text.__file__).parent.rglob("*.py"))
MODULES = [importlib.import_module(found.name) for found in pkgutil.walk_packages(text.__path__, "retrograde.text.")]
#: The public classes of the package, by name.
CLASSES = {name: value for module in MODULES for name, value in vars(module).items()
           if inspect.isclass(value) and value.__module__ == module.__name__ and not name.startswith("_")}


def raised(path):
    """(name of the error, its message as far as it is written down, line) for each `raise` in a file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        call = node.exc if isinstance(node, ast.Raise) else None
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
            parts = [part.value for part in ast.walk(call) if isinstance(part, ast.Constant) and isinstance(part.value, str)]
            yield call.func.id, " ".join(parts), node.lineno


def unknown(message):
    """Names in a message that `text` has not got."""
    named = re.findall(r"\btext\.([A-Za-z]\w*)", message)
    classes = [word for word in re.findall(r"\b[A-Z]\w+", message) if word in CLASSES]
    return [name for name in named if not hasattr(text, name)] + [n for n in classes if getattr(text, n, None) is not CLASSES[n]]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(FILES[0].parent)))
def test_what_a_message_names_and_the_error_itself_can_be_imported_from_text(path):
    for error, message, line in raised(path):
        assert not unknown(message), f"{path.name}:{line}: {unknown(message)}"
        if isinstance(getattr(errors, error, None), type):
            assert getattr(text, error, None) is getattr(errors, error), f"{path.name}:{line}: text.{error} is missing"


def test_messages_do_name_classes_and_a_name_that_is_missing_is_found(monkeypatch):
    named = {word for path in FILES for _, message, _ in raised(path) for word in re.findall(r"\b[A-Z]\w+", message) if word in CLASSES}
    assert {"Price", "Budget", "FewShotSearch", "LocalModel", "HTTPModel"} <= named
    monkeypatch.delattr(text, "Price")
    assert unknown("give the model price=Price(prompt, completion)") == ["Price"]
    assert unknown("pass validate=text.Validations(items, score)") == ["Validations"]


def test_every_error_that_is_raised_is_one_of_ours():
    ours = {name for name in vars(errors) if name.endswith("Error")}
    other = {error for path in FILES for error, _, _ in raised(path) if error[0].isupper()} - ours
    assert other <= {"NotImplementedError", "AssertionError"}, other
