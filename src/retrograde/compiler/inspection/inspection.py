"""Inspection: what can be told of programs whose plan was made in this process."""

from importlib import import_module


class Inspected:
    """What a program tells of its `graph` and its `draft`; it has `parts`, which run alone, and `single_runs`."""

    @property
    def schedule(self):
        """The steps in order."""
        return self.draft.schedule

    def explain(self, passes=False):
        """A report of the kernels, and of what each pass of the compiler has left if `passes` are asked for."""
        report = _inside("report").explained_program(self)
        return report._replace(passes=_inside("stages").stages_of(self.graph)) if passes else report

    def profile(self, arrays, repeats=20):
        """The report of the kernels with the time of each, one after the other, on copies of the state."""
        # Timing runs the steps many times: updates must go to copies, or the user's state would move on with each.
        state = list(self.state_arrays)
        for i, array in enumerate(state):
            self.bind(i, array.copy())
        try:
            self(arrays)
            seconds = _inside("report").measured(self.single_runs(arrays), repeats)
        finally:
            for i, array in enumerate(state):
                self.bind(i, array)
        return _inside("report").explained_program(self, seconds)


def _inside(name):
    """A module of this package, which is loaded when somebody looks into a program: few calls are looked into."""
    return import_module(f"{__package__}.{name}")
