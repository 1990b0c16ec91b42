"""An unpickler that makes plain containers and calls nothing but functions of ours: the machine of pickle's opcodes.

Its stack is a list, and each MARK lays it aside for a new one, so that nested data need no recursion. What an opcode has not got
here, it cannot do: there is none that imports, makes an object of a class, or sets its attributes, but through `names`.
"""

import pickletools
from collections import Counter, OrderedDict

from ...core.value import Value
from ...errors import CheckpointError

#: Kinds of keys that are no tuples, and whose hashes differ as a rule.
_PLAIN_KEYS = (str, int, float, bool, bytes, complex, type(None))
#: A tuple of more parts than this, each counted as often as it is reached, is no key: tuples of tuples could take forever to hash.
_MOST_PARTS = 1000
#: So many keys of one container may share a hash: more of them, which never come by chance, would take forever to enter.
_MOST_ALIKE = 1000


class Machine:
    """Runs one pickle.

    named       what stands for a global of a name; raises for names that it does not know
    called      what a call of such a thing with a tuple of arguments gives
    updated     what becomes of an object by a state
    persistent  what stands for a persistent identity
    """

    def __init__(self, named, called, updated, persistent):
        self.named, self.called, self.updated, self.persistent = named, called, updated, persistent
        self.stack, self.outer, self.memo, self._alike = [], [], {}, {}
        self._length = 0

    def run(self, pickled):
        """The object of a pickle, given as bytes."""
        self._length = len(pickled)
        try:
            for opcode, argument, position in pickletools.genops(pickled):
                if opcode.name == "STOP":
                    if position is None or position + 1 != len(pickled):
                        raise CheckpointError(f"data.pkl goes on after its end at byte {position}")
                    return self._result()
                step = _STEPS.get(opcode.name)
                if step is None:
                    raise CheckpointError(f"data.pkl uses the opcode {opcode.name} at byte {position}, which files of weights do "
                                          "not need; only plain containers and tensors can be read")
                step(self, argument)
        except IndexError:
            raise CheckpointError("data.pkl is damaged: it takes more from its stack than there is") from None
        except (ValueError, OverflowError) as error:
            if isinstance(error, CheckpointError):
                raise
            raise CheckpointError(f"data.pkl is damaged: {error}") from None
        raise CheckpointError("data.pkl is damaged: it has no end")

    def check_frame(self, length):
        """Raise if a frame, of which nothing else is needed, is longer than the pickle."""
        if length > self._length:
            raise CheckpointError(f"data.pkl is damaged: a frame has {length} bytes, and the pickle {self._length}")

    def _result(self):
        if len(self.stack) != 1 or self.outer:
            raise CheckpointError("data.pkl is damaged: it leaves more than one object")
        return self.stack.pop()

    def marked(self):
        """What was pushed since the last mark, which goes."""
        found, self.stack = self.stack, self.outer.pop()
        return found

    def top(self, kinds, what):
        """The top of the stack, which must be of one of `kinds`."""
        found = self.stack[-1]
        if type(found) not in kinds:
            raise CheckpointError(f"data.pkl adds {what} to {_told(found)}")
        return found

    def extend(self, items):
        """Add to the list on the top of the stack."""
        self.top((list,), "items").extend(items)

    def update(self, pairs):
        """Add keys and values, one after the other, to the dictionary on the top of the stack."""
        target = self.top((dict, OrderedDict, Counter), "entries")
        if len(pairs) % 2:
            raise CheckpointError("data.pkl is damaged: a key has no value")
        for i in range(0, len(pairs), 2):
            self.check_key(target, pairs[i])
            target[pairs[i]] = pairs[i + 1]

    def add(self, items):
        """Add to the set on the top of the stack."""
        target = self.top((set,), "items")
        for item in items:
            self.check_key(target, item)
            target.add(item)

    def check_key(self, target, key):
        """Raise unless `key` can be hashed and entered into the container `target` in short time."""
        kind = type(key)
        if kind is str or isinstance(key, Value):
            return
        check_parts(key)
        alike = self._alike.setdefault(id(target), (target, Counter()))[1]
        alike[hash(key)] += 1
        if alike[hash(key)] > _MOST_ALIKE:
            raise CheckpointError(f"data.pkl has a container with more than {_MOST_ALIKE} keys of one hash")


def check_parts(key):
    """Raise unless `key` is a plain object or a tuple of few of them."""
    waiting, count = [key], 0
    while waiting:
        part = waiting.pop()
        count += 1
        if count > _MOST_PARTS:
            raise CheckpointError(f"data.pkl has a tuple of more than {_MOST_PARTS} parts as a key")
        if isinstance(part, tuple):
            waiting += part
        elif not isinstance(part, _PLAIN_KEYS):
            raise CheckpointError(f"data.pkl has {_told(part)} as a key or as an item of a set")


def _told(found):
    return f"a {type(found).__name__}"


def _pushed(value):
    return lambda machine, _: machine.stack.append(value())


def _argument(machine, argument):
    machine.stack.append(argument)


def _string(machine, argument):
    if not argument.isascii():
        raise CheckpointError("data.pkl has a string of Python 2 with bytes that are no ASCII; write the file anew with Python 3")
    machine.stack.append(argument)


def _mark(machine, _):
    machine.outer.append(machine.stack)
    machine.stack = []


def _tuple(count):
    def step(machine, _):
        stack = machine.stack
        if len(stack) < count:
            raise IndexError
        stack[-count:] = [tuple(stack[-count:])]

    return step


def _tuple_of_marked(machine, _):
    found = tuple(machine.marked())
    machine.stack.append(found)


def _marked_to(method):
    def step(machine, _):
        items = machine.marked()
        method(machine, items)

    return step


def _popped_to(method, count):
    def step(machine, _):
        items = [machine.stack.pop() for _ in range(count)][::-1]
        method(machine, items)

    return step


def _put(machine, index):
    machine.memo[index] = machine.stack[-1]


def _memoize(machine, _):
    machine.memo[len(machine.memo)] = machine.stack[-1]


def _get(machine, index):
    if index not in machine.memo:
        raise CheckpointError(f"data.pkl is damaged: it refers to object {index} before it made that")
    machine.stack.append(machine.memo[index])


def _global(machine, name):
    machine.stack.append(machine.named(*name.split(" ", 1)))


def _global_of_stack(machine, _):
    name, module = machine.stack.pop(), machine.stack.pop()
    if type(name) is not str or type(module) is not str:
        raise CheckpointError("data.pkl names a global by what is no text")
    machine.stack.append(machine.named(module, name))


def _reduce(machine, _):
    arguments, function = machine.stack.pop(), machine.stack.pop()
    if type(arguments) is not tuple:
        raise CheckpointError(f"data.pkl calls something with {_told(arguments)} in place of a tuple")
    machine.stack.append(machine.called(function, arguments))


def _build(machine, _):
    state, found = machine.stack.pop(), machine.stack.pop()
    machine.stack.append(machine.updated(found, state))


def _persistent(machine, _):
    machine.stack.append(machine.persistent(machine.stack.pop()))


def _nothing(*_):
    return None


#: What each opcode that is known does.
_STEPS = {
    "PROTO": _nothing, "FRAME": Machine.check_frame, "MARK": _mark,
    "NONE": _pushed(lambda: None), "NEWTRUE": _pushed(lambda: True), "NEWFALSE": _pushed(lambda: False),
    **dict.fromkeys(["BININT", "BININT1", "BININT2", "LONG1", "LONG4", "BINFLOAT", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8",
                     "BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8"], _argument),
    "SHORT_BINSTRING": _string, "BINSTRING": _string,
    "EMPTY_TUPLE": _pushed(tuple), "EMPTY_LIST": _pushed(list), "EMPTY_DICT": _pushed(dict), "EMPTY_SET": _pushed(set),
    "TUPLE": _tuple_of_marked, "TUPLE1": _tuple(1), "TUPLE2": _tuple(2), "TUPLE3": _tuple(3),
    "APPEND": _popped_to(Machine.extend, 1), "APPENDS": _marked_to(Machine.extend),
    "SETITEM": _popped_to(Machine.update, 2), "SETITEMS": _marked_to(Machine.update), "ADDITEMS": _marked_to(Machine.add),
    "BINPUT": _put, "LONG_BINPUT": _put, "MEMOIZE": _memoize, "BINGET": _get, "LONG_BINGET": _get,
    "GLOBAL": _global, "STACK_GLOBAL": _global_of_stack, "REDUCE": _reduce, "BUILD": _build, "BINPERSID": _persistent,
}
