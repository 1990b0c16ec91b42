"""Data: sources of rows, the loader that makes batches of them, and data sets to begin with: digits, and small tasks of text."""

from ..tensor.elsewhere import absent_from
from .batches import Batches, batches
from .collating import Pad, collate
from .digits import Digits, digits
from .loader import Loader
from .orders import ByLength
from .sample import WorkerInfo, sample_generator, worker_info
from .sources import Source, arrow, concat, csv, image_folder, pack, parquet, source, text_lines
from .tasks import TASKS, TextTask, text_task

__getattr__ = absent_from(__name__)
