"""Pictures and reports. Needs matplotlib, which the extra `demo` installs."""

from .figures import confusion, curves, tile
from .report import Mistake, Report, page
