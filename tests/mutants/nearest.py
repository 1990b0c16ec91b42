"""Which tests are nearest to a function: those that enter it, short ones first, by turns from different files."""

import json
from pathlib import Path


class Nearest:
    """What `recording` has noted."""

    def __init__(self, folder):
        self.seconds, self._of_function, self._of_file = {}, {}, {}
        for file in sorted(Path(folder).glob("*.json")):
            for test, (seconds, functions) in json.loads(file.read_text()).items():
                self.seconds[test] = seconds
                for function in functions:
                    self._of_function.setdefault(function, []).append(test)
                    self._of_file.setdefault(function.split(":")[0], {})[test] = True

    def to(self, mutant, most, budget):
        """At most so many tests that enter the function of a mutant, or its file where it is in no function, for so many seconds."""
        entering = self._of_function.get(f"{mutant.path}:{mutant.function}") if mutant.function else None
        tests = entering or self._of_file.get(mutant.path, ())
        by_file = {}
        for test in sorted(tests, key=self.seconds.__getitem__):
            by_file.setdefault(test.split("::")[0], []).append(test)
        # A file that is named after the module has been written for it.
        stem = Path(mutant.path).stem
        files = sorted(by_file.values(), key=lambda found: stem not in found[0].split("::")[0])
        found, total = [], 0.0
        for place in range(max(map(len, files), default=0)):
            for tests_of_file in files:
                if place < len(tests_of_file) and len(found) < most and total < budget:
                    found.append(tests_of_file[place])
                    total += self.seconds[tests_of_file[place]]
        return found
