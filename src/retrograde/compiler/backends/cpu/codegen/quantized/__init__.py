"""Quantised weights: their numbers in registers, products by them, and their numbers in memory."""

from .plan import Product, Unpacking
from .product import write_product
from .unpacking import write_unpacking
