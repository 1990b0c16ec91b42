"""Quantised weights: their numbers in registers, products by them, and their numbers in memory."""

from .activations import write_activations
from .dots import lanes_of
from .integer_product import write_integer_product
from .plan import Activations, IntegerProduct, Product, Unpacking
from .product import write_product
from .unpacking import write_unpacking
