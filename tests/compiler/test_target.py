"""Code is generated for any target, and a setting names the one of a process."""

import os
import shutil
import struct
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")

import retrograde as rg
from retrograde.compiler import host, machine
from retrograde.compiler.assemble import assemble
from retrograde.compiler.engine import assembly, object_code
from retrograde.compiler.image import linked
from retrograde.compiler.machine import name_for
from retrograde.compiler.outcome import outcome_of
from retrograde.compiler.plan import Plan
from retrograde.compiler.program import Graph
from retrograde.compiler.target import NAMES, describe, lacking, named
from retrograde.core.symbol import Symbol
from retrograde.errors import ArgumentError
