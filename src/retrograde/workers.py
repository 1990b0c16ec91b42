"""Workers: calls of one function that several processes share out, by joblib or Dask, whose clusters users have."""

from .errors import ArgumentError
from .extras import optional


def results(function, items, backend=None, count=None):
    """(position, what `function` gives) of each of `items`, in the order in which they are ready.

    backend  None: one after the other, in this process; "joblib": its processes; "dask": those of the Dask client that there is, or
             of a cluster of this machine
    count    how many processes, one for each core if it is None

    An error that the function raises is raised here.
    """
    if backend not in _BACKENDS:
        raise ArgumentError(f"backend must be None, {' or '.join(repr(name) for name in _BACKENDS if name)}, got {backend!r}")
    if count is not None and (not isinstance(count, int) or isinstance(count, bool) or count < 1):
        raise ArgumentError(f"the number of workers must be an integer of at least 1, got {count!r}")
    return _BACKENDS[backend](function, list(items), count)


def _here(function, items, _count):
    for position, item in enumerate(items):
        yield position, function(item)


def _by_joblib(function, items, count):
    joblib = optional("joblib", "sweep")
    calls = [joblib.delayed(_Numbered(function))(pair) for pair in enumerate(items)]
    yield from joblib.Parallel(n_jobs=count or -1, return_as="generator_unordered", batch_size=1)(calls)


def _by_dask(function, items, count):
    dask = optional("distributed", "sweep")
    try:
        client, is_ours = dask.get_client(), False
    except ValueError:  # there is none
        client, is_ours = dask.Client(n_workers=count, threads_per_worker=1, dashboard_address=None), True
    try:
        futures = [client.submit(_Numbered(function), pair, pure=False) for pair in enumerate(items)]
        for future in dask.as_completed(futures):
            yield future.result()
    finally:
        if is_ours:
            client.close()
            client.cluster.close()


class _Numbered:
    """A function that gives back the position beside its result."""

    def __init__(self, function):
        self.function = function

    def __call__(self, pair):
        position, item = pair
        return position, self.function(item)


_BACKENDS = {None: _here, "joblib": _by_joblib, "dask": _by_dask}
