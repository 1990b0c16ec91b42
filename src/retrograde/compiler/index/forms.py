"""Forms: what steps of loops have in common that differ in nothing but the memory they meet, as those of equal layers do.

What is found for the first step of a form, its loops, its plan, its code, holds for all others, with their buffers in the place of
its own. So a layer that repeats is planned once, and each further one costs a walk over its nodes.
"""

from operator import itemgetter

import numpy as np

from ...core.symbol import Symbol
from .box import Box
from .expression import Load

_NESTED = frozenset([tuple, list])


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
        self._forms, self._of_step = {}, {}
        self._signatures, self._known = {}, {}

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
        is_loaded, rounded, stage = self._schedule.is_loaded, self._schedule.rounded, step.stage
        met = list(dict.fromkeys(step.roots))
        numbers, roots = {id(root): number for number, root in enumerate(met)}, len(met)
        key, buffers = [roots, step.domain, step.reduced], list(met)
        for number, node in enumerate(met):  # which grows meanwhile
            is_read = is_loaded(node, stage)
            if is_read and number >= roots:
                buffers.append(node)
                key += (-1, self._known_as((node.shape, node.dtype)))
                continue
            signature, constants = self._signature(node)
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

    def _known_as(self, facts):
        """The number of some facts."""
        return self._known.setdefault(facts, len(self._known))

    def _signature(self, node):
        """What a node is by itself, as a number, and the constants among its arguments."""
        found = self._signatures.get(node)
        if found is None:
            constants = []
            facts = node.op, node.shape, node.dtype, _argument_keys(node.args, constants)
            found = self._signatures[node] = self._known_as(facts), constants
        return found


def _argument_keys(args, constants):
    """What arguments are, without the nodes among them; those that may be computed with are added to `constants`."""
    found = []
    for a in args:
        if isinstance(a, Symbol):
            found.append(Symbol)
        elif a.__class__ in _NESTED:
            found.append((a.__class__, _argument_keys(a, constants)))
        elif isinstance(a, (np.dtype, type)):
            found.append(a)
        elif isinstance(a, slice):
            found.append((slice, repr(a)))
        else:
            constants.append(a)
            found.append(_constant_key(a))
    return tuple(found)


def _constant_key(constant):
    if not isinstance(constant, np.ndarray):
        return constant.__class__, repr(constant)
    # What becomes a number is told by that; what lies in memory is the same for all steps of a form.
    if constant.size and (constant.size == 1 or not any(constant.strides)):
        return constant.dtype, constant.shape, constant.flat[0].tobytes()
    return id(constant)
