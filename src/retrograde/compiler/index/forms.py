"""Forms: what steps of loops have in common that differ in nothing but the memory they meet, as those of equal layers do.

What is found for the first step of a form, its loops, its plan, its code, holds for all others, with their buffers in the place of
its own. So a layer that repeats is planned once, and each further one costs a walk over its nodes.
"""

from operator import itemgetter

from .box import Box
from .expression import Load


class Form:
    """Loops as a `box` whose `buffers`, in order, stand for those of any step of the form; and what is known of them."""

    def __init__(self, box, buffers):
        self.box, self.buffers, self._known = box, buffers, {}

    def once(self, key, make):
        """What `make()` gives, which depends on the form and on `key` alone; asked for once."""
        if key not in self._known:
            self._known[key] = make()
        return self._known[key]

    def counterparts(self, found, buffers):
        """The buffers of a step with these `buffers` in the place of some, `found`, of the form. Others are themselves: a constant
        that is copied to lie in order is the same for all steps of a form.
        """
        own = dict(zip(map(id, self.buffers), buffers, strict=True))
        return [own.get(id(buffer), buffer) for buffer in found]

    def names(self, buffers):
        """By the identity of each buffer of the form that of its counterpart among `buffers`."""
        return dict(zip(map(id, self.buffers), map(id, buffers), strict=True))

    def box_of(self, buffers):
        """The box of a step with these buffers."""
        if buffers is self.buffers:
            return self.box
        own = dict(zip(map(id, self.buffers), buffers, strict=True))
        placed = lambda part: part._replace(buffer=own.get(id(part.buffer), part.buffer))
        entries = tuple([placed(e) if isinstance(e, Load) else e for e in self.box.entries])
        return Box(self.box.lengths, self.box.is_reduced, entries, tuple([placed(store) for store in self.box.stores]))

    def joined(self, buffers):
        """The form of steps whose buffers are these, of which some are one: there one of them stands for all of those."""
        first = {}
        places = tuple([first.setdefault(id(buffer), place) for place, buffer in enumerate(buffers)])
        if len(first) == len(buffers):
            return self
        return self.once(("joined", places), lambda: self._joined(itemgetter(*places)(self.buffers)))

    def _joined(self, buffers):
        return Form(self.box_of(buffers), buffers)


class Forms:
    """The forms of the steps of a `schedule`; `make(step)` finds the box of the first step of each."""

    def __init__(self, schedule, make):
        self._schedule, self._make = schedule, make
        self._signatures, self._forms, self._of_step = schedule.facts.signatures, {}, {}

    def of(self, step):
        """(form, buffers) of the loops of a step."""
        found = self._of_step.get(step)
        if found is None:
            key, buffers = self._walked(step)
            form = self._forms.get(key)
            if form is None:
                form = self._forms[key] = Form(self._make(step), buffers)
            found = self._of_step[step] = form, buffers
        return found

    def _walked(self, step):
        """What decides what the loops of a step are, as numbers; and its buffers, in the order in which they are met.

        Nodes and constants are numbered as they are met, so that steps with equal keys compute the same of theirs, node by node.
        """
        is_loaded, rounded, stage, signatures = self._schedule.is_loaded, self._schedule.rounded, step.stage, self._signatures
        met = list(dict.fromkeys(step.roots))
        numbers, roots = {id(root): number for number, root in enumerate(met)}, len(met)
        key, buffers = [roots, step.domain, step.reduced], list(met)
        for number, node in enumerate(met):  # which grows meanwhile
            is_read = is_loaded(node, stage)
            if is_read and number >= roots:
                buffers.append(node)
                key += (-1, signatures.number((node.shape, node.dtype)))
                continue
            signature, constants = signatures[node]
            key.append(4 * signature + 2 * is_read + (node in rounded))
            for part in node.inputs:
                place = numbers.setdefault(id(part), len(met))
                if place == len(met):
                    met.append(part)
                key.append(place)
            # Which constants are one object decides how often they are written.
            for constant in constants:
                key.append(numbers.setdefault(id(constant), -len(numbers)))
        return tuple(key), tuple(buffers)
