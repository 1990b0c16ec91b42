"""Inspection: what can be told of programs whose plan was made in this process."""

from .report import explained_program, measured
from .stages import stages_of


class Inspected:
    """What a program tells of its `graph` and its `draft`; it has `parts`, which run alone, and `single_runs`."""

    @property
    def schedule(self):
        """The steps in order."""
        return self.draft.schedule

    def explain(self, passes=False):
        """A report of the kernels, and of what each pass of the compiler has left if `passes` are asked for."""
        report = explained_program(self)
        return report._replace(passes=stages_of(self.graph)) if passes else report

    def profile(self, arrays, repeats=20):
        """The report of the kernels with the time of each, one after the other, on copies of the state."""
        # Timing runs the steps many times: updates must go to copies, or the user's state would move on with each.
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
