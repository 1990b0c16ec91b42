"""Planned programs: what can be told of programs whose plan was made in this process."""

from .report import explained_program, measured


class Planned:
    """What a program tells of its `draft`; it has `parts`, its steps as things that run alone, and `single_runs`."""

    @property
    def schedule(self):
        """The steps in order."""
        return self.draft.schedule

    def explain(self):
        """A report of the kernels."""
        return explained_program(self)

    def profile(self, arrays, repeats=20):
        """The report of the kernels with the time of each, one after the other, on copies of the state."""
        state = list(self.state_arrays)
        for i, array in enumerate(state):
            self.bind(i, array.copy())
        try:
            self(arrays)
            seconds = measured(self.single_runs(arrays), repeats)
        finally:
            for i, array in enumerate(state):
                self.bind(i, array)
        return explained_program(self, seconds)
