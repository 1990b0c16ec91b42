"""Which tests are nearest to a mutant: those that come to the place where it differs, then those that enter its function."""

import ast
import json
from pathlib import Path

#: So many tests that come to no place where a mutant differs are tried all the same.
_OTHERS = 12
#: Tests that compare what the compiler decides, and the code that it writes, with what it did before. Each is short, and tells of all
#: decisions about a program, so that many of them run first.
SNAPSHOTS = "tests/compiler/snapshots/"


class Nearest:
    """What `recording` has noted."""

    def __init__(self, folder):
        self.seconds, self._at, self._functions, self._at_import = {}, {}, {}, set()
        for file in sorted(Path(folder).glob("*.json")):
            noted = json.loads(file.read_text())
            tests = list(noted["seconds"])
            self.seconds.update(noted["seconds"])
            self._at_import.update(noted["import"])
            for place, numbers in noted["places"].items():
                self._at.setdefault(place, []).extend([tests[number] for number in numbers])
        for place in self._at:
            path, function, *outcome = place.split(":")
            if not outcome:
                self._functions.setdefault(path, []).append(function)

    def differing(self, mutant):
        """The tests that come to a place where a mutant differs."""
        return list(dict.fromkeys([test for place in mutant.places for test in self._at.get(place, ())]))

    def differs_at_import(self, mutant):
        """Whether a mutant differs while the package is loaded, before any test."""
        return not mutant.function or not self._at_import.isdisjoint(mutant.places)

    def to(self, mutant, most, budget):
        """At most so many tests, for so many seconds: those that come to where a mutant differs, and where these are few, as notes miss
        what a cache in memory has hidden, also others that enter the function, or else what the mutant leaves out. As many snapshots,
        for as many seconds, come before them.
        """
        differing = self._spread(mutant.path, self.differing(mutant))
        snapshots = [test for test in differing if test.startswith(SNAPSHOTS)]
        differing = [test for test in differing if not test.startswith(SNAPSHOTS)]
        enough, others = (0, most) if not mutant.places else (most // 2, _OTHERS)
        others = [] if len(differing) >= enough > 0 else self._spread(mutant.path, self._entering(mutant))[:others]
        return [*self._within(snapshots, most, budget), *self._within(dict.fromkeys([*differing, *others]), most, budget)]

    def _within(self, tests, most, budget):
        found, total = [], 0.0
        for test in tests:
            if len(found) < most and total < budget:
                found.append(test)
                total += self.seconds[test]
        return found

    def _entering(self, mutant):
        if mutant.function:
            return self._at.get(f"{mutant.path}:{mutant.function}", ())
        # What stands in the mutant's place lacks a name, that of a kind, a pass or a rule.
        left_out = set(_names(mutant.old)) - set(_names(mutant.text)) if mutant.rule == "stage left out" else set()
        found = [f"{path}:{function}" for path, functions in self._functions.items() for function in functions
                 if not left_out and path == mutant.path or function.split(".")[0] in left_out]
        return [test for place in found for test in self._at[place]]

    def _spread(self, path, tests):
        """Tests by turns from different files, short ones first. A file that is named after the module has been written for it, and then
        come those of the same folder.
        """
        by_file = {}
        for test in sorted(dict.fromkeys(tests), key=self.seconds.__getitem__):
            by_file.setdefault(test.split("::")[0], []).append(test)
        folder, stem = f"tests/{Path(path).parent.as_posix()}/", Path(path).stem
        files = sorted(by_file, key=lambda file: (stem not in Path(file).stem, not file.startswith(folder)))
        return [by_file[file][turn] for turn in range(max(map(len, by_file.values()), default=0)) for file in files
                if turn < len(by_file[file])]


def _names(text):
    return [node.id if isinstance(node, ast.Name) else node.attr for node in ast.walk(ast.parse(text))
            if isinstance(node, (ast.Name, ast.Attribute))]
