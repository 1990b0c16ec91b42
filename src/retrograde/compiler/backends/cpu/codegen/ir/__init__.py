"""LLVM code as text: types, values, and a builder that writes each instruction as it is asked for.

Names and meaning are those of llvmlite's `ir`, of which this is the part that kernels need. An instruction is kept as the line
that it is, not as an object, which takes a quarter of the time.
"""

from .builder import IRBuilder
from .module import Function, Module, Table
from .types import (
           ArrayType,
           BFloatType,
           DoubleType,
           FloatType,
           FunctionType,
           HalfType,
           IntType,
           LiteralStructType,
           PointerType,
           VectorType,
           VoidType,
)
from .values import Constant, Undefined, Value, Written

__all__ = ["ArrayType", "BFloatType", "Constant", "DoubleType", "FloatType", "Function", "FunctionType", "HalfType", "IRBuilder",
           "IntType", "LiteralStructType", "Module", "PointerType", "Table", "Undefined", "Value", "VectorType", "VoidType",
           "Written"]
