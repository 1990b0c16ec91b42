"""Several processes that train together, on one machine or on many, started by MPI.

>>> rg.distributed.size()
1
"""

from .collectives import all_gather, all_reduce, all_to_all, barrier, broadcast, recv, reduce_scatter, send, send_recv, sums
from .cost import Prediction, TensorGroup, most_processes, predict
from .data_parallel import DataParallel, average
from .links import link_delay
from .measuring import measure_link
from .mesh import Mesh
from .network import Link
from .parallel_layers import cross_entropy
from .patience import patience
from .rehearsal import Rehearsal
from .runs import save_run
from .tensor_parallel import TensorParallel
from .training_step import TrainingStep
from .world import rank, size, world
