"""Loader: the batches of a source, epoch after epoch, with the exact place to go on from."""

from typing import Any

from ..errors import ArgumentError, DataError
from .collating import as_tensors, collate
from .delivery import Delivery
from .jobs import Rows
from .orders import Batched, checked_shard, key_of, parts_of
from .sources import source as made_source
from .workers import Inline, Processes, Threads


class Loader:
    """Batches of a source as tensors: iterate over it once an epoch.

    source      arrays, a tuple or dictionary of arrays, a table, a `Source`, or anything with `len` and `[]`
    shuffle     a new order in each epoch, which `seed` and the epoch decide
    drop_last   leave a last batch out that is not full
    collate     makes a batch of a list of rows; `rg.data.Pad()` pads them
    order       which rows make a batch, in place of `batch_size`, `shuffle` and `drop_last`: such as `rg.data.ByLength(...)`
    shard       (i, n): of each batch the part i of n of one size, as n processes share it that train together (`rg.distributed`);
                the place of a loader is the same for any n
    workers     how many threads make batches ahead, or with `processes=True` how many processes; 0: none
    prefetch    how many batches each worker is ahead
    timeout     seconds to wait for a batch of a worker; None: without end
    init        what each worker calls with its number before it starts
    method      how processes are started: "forkserver", "spawn" or "fork"; None: the first of them that does

    Batches do not depend on the workers. `state_dict()` is the place after the batch that was delivered last;
    `load_state_dict(state)` goes on from there.

    >>> loader = rg.data.Loader({"x": np.arange(5), "y": np.arange(5) * 10}, batch_size=2, shuffle=True, seed=0)
    >>> for batch in loader:
    ...     print(batch["x"].tolist(), batch["y"].tolist())
    [0, 4] [0, 40]
    [2, 3] [20, 30]
    [1] [10]
    """

    def __init__(self, source: Any, batch_size=32, *, shuffle=False, seed=0, drop_last=False, collate=collate, order: Any = None,
                 shard=None, workers=0, processes=False, prefetch=2, timeout=None, init=None, method=None):
        self.source = made_source(source)
        self.seed, self.workers, self.processes = int(seed), _checked("workers", workers, 0), processes
        if method is not None and not processes:
            raise ArgumentError(f"method={method!r} says how processes are started; give processes=True")
        self.prefetch, self.timeout, self.method = _checked("prefetch", prefetch, 1), timeout, method
        if order is not None and (shuffle or drop_last):
            raise ArgumentError("order decides which rows make a batch; give shuffle and drop_last to it")
        self.order = Batched(len(self.source), batch_size, shuffle, drop_last) if order is None else order
        self.shard = None if shard is None else checked_shard(shard)
        gather = self.source.gather if self.source.can_gather and collate is _COLLATE else None
        self._job = Rows(self.source, collate, init, gather)
        self._crew: Any = None
        #: The epoch that is being delivered, or comes next; how many of its batches were delivered; whether none was asked for yet.
        self.epoch, self.position = 0, 0
        self.is_fresh = True

    def __len__(self):
        return len(self.order)

    @property
    def keeps_rows(self):
        """Whether an epoch has each row, in the order of the source, as far as the order says."""
        return getattr(self.order, "keeps_rows", True)

    def __iter__(self):
        if not self.is_fresh:
            self.epoch, self.position = self.epoch + 1, 0
        self.is_fresh = False
        key = key_of(self.seed, self.epoch)
        if self.shard is not None and isinstance(self.order, Batched):
            self.order.check_parts(self.shard[1])
        crew, self._crew = self._crew or self._made_crew(), None
        tasks = self.order.batches(key, self.position)
        tasks = tasks if self.shard is None else parts_of(tasks, *self.shard)
        return _Epoch(self, Delivery(crew, tasks, key, as_tensors, self._keep, self.timeout))

    def _made_crew(self):
        if not self.workers:
            return Inline(self._job)
        if self.processes:
            return Processes(self._job, self.workers, self.prefetch, self.seed, self.method)
        return Threads(self._job, self.workers, self.prefetch, self.seed)

    def _keep(self, crew):
        """Keep the workers of an epoch that is over for the next one."""
        if isinstance(crew, Inline) or not crew.close.alive:
            return
        if self._crew is None:
            self._crew = crew
        else:
            crew.close()

    def close(self):
        """End the workers; the next epoch starts new ones. They end by themselves when the loader is gone."""
        if self._crew is not None:
            self._crew.close()
            self._crew = None

    def state_dict(self):
        """The place after the batch that was delivered last, as plain numbers."""
        return {"epoch": self.epoch, "position": self.position, "seed": self.seed, **self._facts()}

    def load_state_dict(self, state):
        """Go on from a place that `state_dict` gave; an error, before anything changes, if it is that of other data."""
        missing = {"epoch", "position", "seed"} - set(state)
        if missing:
            raise DataError(f"the state of a loader has {', '.join(sorted(missing))}; got {sorted(state)}")
        for name, here in self._facts().items():
            if state.get(name) != here:
                raise DataError(f"the state is of a loader with {name}={state.get(name)}, and this one has {name}={here}")
        self.seed, self.epoch, self.position = int(state["seed"]), int(state["epoch"]), int(state["position"])
        self.is_fresh = True

    def _facts(self):
        """What must be the same for a place to mean the same."""
        order = self.order
        facts = {"rows": len(self.source), "batches": len(order)}
        if isinstance(order, Batched):
            facts |= {"batch_size": order.size, "shuffle": order.is_shuffled}
        return facts


class _Epoch:
    """The batches of an epoch; counts those that were delivered, in the loader."""

    def __init__(self, loader, delivery):
        self._loader, self._delivery, self._epoch, self._count = loader, delivery, loader.epoch, loader.position

    def __iter__(self):
        return self

    def __len__(self):
        return len(self._loader) - self._count

    def __next__(self):
        try:
            batch = next(self._delivery)
        except StopIteration:
            self._tell(self._epoch + 1, 0)
            raise
        self._count += 1
        self._tell(self._epoch, self._count)
        return batch

    def _tell(self, epoch, position):
        """Note the place, unless another iterator has been started since."""
        loader = self._loader
        if loader.epoch == self._epoch:
            loader.epoch, loader.position = epoch, position
            loader.is_fresh = epoch != self._epoch


_COLLATE = collate


def _checked(name, value, least):
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ArgumentError(f"{name} must be an integer of at least {least}, got {value!r}")
    return value
