"""Native: where ops find compiled code for what takes NumPy long. Who has it is told once, when the package is put together."""

import numpy as np


class Native:
    """Functions of compiled code by name, each `found` when it is first called. They give NotImplemented for what is NumPy's."""

    def __init__(self):
        self._find, self.found = None, {}

    def provide(self, find):
        """Let `find(name)` give the function called `name`."""
        self._find, self.found = find, {}

    def __call__(self, name, *args):
        function = self.found.get(name)
        if function is None:
            if self._find is None:
                return NotImplemented
            function = self.found[name] = self._find(name)
        return function(*args)


native = Native()


class ByElement:
    """What makes functions leave arrays of at least `fewest` elements to compiled code, a kernel for each function."""

    def __init__(self, fewest):
        self.fewest = fewest

    def __call__(self, name, function, traced, parameters):
        """`function` of arrays, and of parameters at the end, for arrays of any size.

        name        what stands for the function in every process
        traced      the same function of values
        parameters  what those at the end are by default; only then compiled code is asked
        """
        fewest, count = self.fewest, len(parameters)
        on_values = (lambda *operands: traced(*operands, *parameters)) if count else traced
        known = _FastByDtype(name, on_values)

        def run(*args):
            x = args[0]
            if x.__class__ is np.ndarray and x.size >= fewest and (not count or _are_usual(args[-count:], parameters)):
                operands = args[:-count] if count else args
                if x.size < SHARED:
                    result = np.empty(x.shape, x.dtype)
                    if known(x.dtype, len(operands))(*operands, result) is result:
                        return result
                found = native("function", name, on_values, operands)
                if found is not NotImplemented:
                    return found
            return function(*args)

        def run_two(x, y):
            # As `run`, for what is called most: rules that read one array.
            if x.__class__ is np.ndarray and x.size >= fewest:
                if x.size < SHARED:
                    result = np.empty(x.shape, x.dtype)
                    if known(x.dtype, 2)(x, y, result) is result:
                        return result
                found = native("function", name, traced, (x, y))
                if found is not NotImplemented:
                    return found
            return function(x, y)

        def run_one(x):
            if x.__class__ is np.ndarray and x.size >= fewest:
                if x.size < SHARED:
                    result = np.empty(x.shape, x.dtype)
                    if known(x.dtype, 1)(x, result) is result:
                        return result
                found = native("function", name, traced, (x,))
                if found is not NotImplemented:
                    return found
            return function(x)

        if count:
            return run
        return {1: run_one, 2: run_two}.get(function.__code__.co_argcount, run)


def _are_usual(given, parameters):
    """Whether parameters are what they are by default, as numbers of Python's: those of NumPy's have a dtype of their own."""
    for a, usual in zip(given, parameters, strict=True):
        if a is not usual and (a.__class__ not in (int, float, bool) or a != usual):
            return False
    return True


class _FastByDtype:
    """The compiled code of a function of arrays by their dtype, made on its first call."""

    def __init__(self, name, traced):
        self._name, self._traced, self._known, self._source = name, traced, {}, None

    def __call__(self, dtype, count):
        if self._source is not native.found:
            self._source, self._known = native.found, {}
        found = self._known.get(dtype)
        if found is None:
            found = native("fast_function", self._name, self._traced, dtype, count)
            found = self._known[dtype] = _none if found is None or found is NotImplemented else found
        return found


def _none(*_):
    """What stands for compiled code where there is none."""


#: From so many elements on threads share work, and others may run meanwhile.
SHARED = 65536
#: With fewer elements NumPy is done before a call of compiled code pays: with several functions of NumPy's, and with a single one.
by_element, by_many_elements = ByElement(256), ByElement(2048)


class ByShape:
    """What makes functions leave work on arrays of at least `fewest` elements to compiled code, made for each shape."""

    def __init__(self, fewest):
        self.fewest = fewest

    def __call__(self, name, function, traced, _):
        """`function` of arrays and of parameters, for arrays of any size; `name` and `traced` as for functions by element."""
        fewest = self.fewest

        def run(*args):
            for x in args[:3]:  # in what a rule is given, a small cotangent may come first, and what is needed second
                if x.__class__ is np.ndarray and x.size >= fewest:
                    found = native("shaped", name, traced, args)
                    return function(*args) if found is NotImplemented else found
            return function(*args)

        return run


#: To plan for another shape takes as long as some calls of NumPy's functions on so many elements.
by_shape = ByShape(1 << 16)
#: For matrices, where there is more to compute for each element than in passes over rows.
expensive_by_shape = ByShape(1 << 14)
#: For what computes with each two rows of its operands.
by_pairs = ByShape(1 << 9)


class ByRows:
    """What makes functions that compute with rows leave arrays to compiled code: small ones to a kernel for rows of any number and
    length, others to `large`, which is a maker of functions too, or None.
    """

    fewest = 0

    def __init__(self, large=None):
        self._large = large

    def __call__(self, name, function, traced, parameters):
        """`function` of arrays and of parameters; the arguments are those for functions by element."""
        large = function if self._large is None else self._large(name, function, traced, parameters)
        names, plans = function.__code__.co_varnames[: function.__code__.co_argcount], _Plans(name, traced)
        # An op is called with its greatest operand first, a rule with a cotangent that may be small.
        fewest = FEWEST if len(name) == 1 else 0

        def run(*args):
            if args[0].__class__ is not np.ndarray or args[0].size < fewest:
                return function(*args)
            # 0 and 0.0 and False are equal, but not all of them are axes.
            key = [(a.shape, a.dtype) if a.__class__ is np.ndarray else (a.__class__, a) for a in args]
            plan = plans(tuple(key), names, args)
            if plan is None:
                return large(*args)
            call, takes, outs, given = plan
            results = [np.empty(shape, dtype) for shape, dtype in outs]
            if call(*[args[i] for i in takes], *results) is not results[-1]:
                return large(*args)
            if given is None:
                return results[0]
            found = iter(results)
            return tuple([next(found) if is_given else None for is_given in given])

        return run


class _Plans:
    """The plans of a function by rows, by the shapes and types of its arguments; None for what has none."""

    #: Plans are cheap to make, and small.
    _MOST = 1024

    def __init__(self, name, traced):
        self._name, self._traced, self._known, self._source = name, traced, {}, None

    def __call__(self, key, names, args):
        if self._source is not native.found:
            self._source, self._known = native.found, {}
        try:
            return self._known[key]
        except KeyError:
            found = self._known[key] = self._made(names, args)
            return found
        except TypeError:  # a list among the arguments
            return None

    def _made(self, names, args):
        if len(self._known) >= self._MOST:
            self._known.clear()
        if not FEWEST <= max([a.size for a in args if a.__class__ is np.ndarray]) < SHARED:
            return None
        found = native("planned_rows", self._name, self._traced, names, args)
        return None if found is NotImplemented else found


#: With fewer elements the compiler is not asked for.
FEWEST = 256
by_rows, by_small_rows = ByRows(by_shape), ByRows()


class _Small:
    """Kernels of small float arrays by name, dtype and sizes, each found on its first call, for arrays of which the greatest has at
    least `fewest` elements and less than `most`.
    """

    #: What is kept for each is small.
    _MOST = 4096

    def __init__(self, fewest, most):
        self._fewest, self._most, self._known, self._source = fewest, most, {}, None

    def __call__(self, name, sizes, arrays, results):
        """Whether compiled code has written `results`, by the kernel called `name`, for `sizes`, which say how many elements each
        of `arrays` and `results` has; the first array says the type. What is not in row-major order is refused, or no array.
        """
        # Kernels refuse what is no array: of all but the first, which must have a dtype, nothing is asked here.
        x = arrays[0]
        if x.__class__ is not np.ndarray:
            return False
        if self._source is not native.found:
            self._known, self._source = {}, native.found
        call = self._known.get((name, x.dtype, sizes))
        if call is None:
            call = self._made(name, sizes, arrays, results)
        return call(*arrays, *results) is results[-1]

    def _made(self, name, sizes, arrays, results):
        # Kernels refuse them: none is made for what stands for a traced array either, and takes no memory.
        if not all([a.__class__ is np.ndarray and a.flags.c_contiguous for a in (*arrays, *results)]):
            return _none
        if len(self._known) >= self._MOST:
            self._known.clear()
        found, dtype = None, arrays[0].dtype
        if self._fewest <= max([a.size for a in (*arrays, *results)]) < self._most:
            found = native("small", name, dtype, sizes, len(arrays) + len(results))
        found = _none if found is None or found is NotImplemented else found
        self._known[name, dtype, sizes] = found
        return found


#: For what one thread computes, and for steps of a layer, whose units are few or many.
small, small_step = _Small(FEWEST, SHARED), _Small(0, float("inf"))
