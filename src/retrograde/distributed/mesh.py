"""Mesh: all processes as a grid, of which each row trains one part of a batch, and the processes of a row share one model."""

from ..errors import ArgumentError, DistributedError
from .world import world


class Mesh:
    """All processes as a grid of `data` rows and `tensor` columns.

    data, tensor  how many there are; their product is the number of processes

    The attributes `data` and `tensor` are groups: of the processes that hold the same part of the model and are given different
    parts of a batch, for `DataParallel`, and of those that hold one model together, for `TensorParallel`. Processes whose numbers
    follow each other, which launchers put on one machine, are of one `tensor` group: they talk the most.

    >>> mesh = rg.distributed.Mesh(data=1, tensor=1)
    >>> mesh, mesh.tensor.size
    (Mesh(data=1, tensor=1), 1)
    """

    def __init__(self, data=1, tensor=1):
        for name, count in (("data", data), ("tensor", tensor)):
            if not isinstance(count, int) or isinstance(count, bool) or count < 1:
                raise ArgumentError(f"{name} must be a number of processes of at least 1, got {count!r}")
        group = world()
        if data * tensor != group.size:
            raise DistributedError(f"the sizes of a mesh multiply to the number of processes, got data={data} and tensor={tensor} "
                                   f"with {group.size}")
        group.meet(f"Mesh(data={data}, tensor={tensor})")
        self.data = group.divided(lambda rank: rank % tensor)
        self.tensor = group.divided(lambda rank: rank // tensor)

    def __repr__(self):
        return f"Mesh(data={self.data.size}, tensor={self.tensor.size})"
