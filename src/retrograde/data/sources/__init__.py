"""Sources of rows: arrays, tables, files, folders, and what is made of them."""

from .base import Source
from .images import image_folder
from .lines import text_lines
from .made import source
from .packing import pack
from .separated import csv
from .tables import arrow, parquet
from .views import Joined, concat

__all__ = ["Joined", "Source", "arrow", "concat", "csv", "image_folder", "pack", "parquet", "source", "text_lines"]
