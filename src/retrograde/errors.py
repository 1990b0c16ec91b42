"""The errors of retrograde. Each is also the builtin that a user would catch.

RetrogradeError
├── ShapeError (ValueError)             shapes do not fit an operation
├── DTypeError (TypeError)              a data type or kind of object does not fit
├── ArgumentError (ValueError)          an argument has a value that is not allowed
│   └── LinAlgError                     a matrix has no inverse, factor or eigenvalues; NumPy's LinAlgError too
├── OutOfRangeError (IndexError)        an index lies outside its axis
│   └── AxisError (ValueError)          an array has no such axis; NumPy's AxisError too
├── RegistryError (LookupError)         an op is unknown, or registered twice
├── GraphError (RuntimeError)           the graph cannot be differentiated in this way
│   ├── FreedGraphError                 a graph was used again after `backward` freed it
│   ├── InplaceError                    writing in place would make a gradient wrong
│   └── LostGradientError               a value that is differentiated is turned into plain numbers
├── TraceError (TypeError)             a value was read, or leaked, while it was being traced
├── LeavesGraphWarning (UserWarning)    a tensor that requires gradients is turned into an array
├── RetraceWarning (UserWarning)        a compiled function is traced anew at every call
├── BroadcastWarning (UserWarning)      shapes that should be equal differ, and are broadcast
├── MemoryLimitError (MemoryError)      compiled code would need more memory than there is
├── CompilerError (RuntimeError)        the compiler made code that cannot be used
│   └── VerifierError                   a pass of the compiler left something that is not what it must be
├── MissingRuleError (NotImplementedError)  an op has no derivative for an input
├── GradientCheckError (AssertionError) a derivative disagrees with finite differences
├── CompiledCheckError (AssertionError) compiled code disagrees with the eager op
├── AnomalyError (FloatingPointError)   the first NaN or infinity, found by `detect_anomaly` or in a training
├── DeviceError (RuntimeError)          a device or its library is not available
├── MissingExtraError (ImportError)     a library that an extra installs is missing
├── MissingModuleError (ModuleNotFoundError)  a module that PyTorch has in this place is elsewhere here
├── DistributedError (RuntimeError)     processes that work together do not agree, or one of them is missing
├── ParseError (ValueError)             a text does not have the structure that was asked for
├── ProgramError (ValueError, RuntimeError)  a function cannot be exported, or an exported program cannot be loaded or run here
├── CheckpointError (ValueError, RuntimeError)  a file of weights cannot be read or does not fit the model
│   └── StorageError (OSError)          the system cannot write or read it: a full disk, no permission, no such file
├── DataError (ValueError)              data cannot be read, or do not fit what a loader was before
├── OnnxError (ValueError)              a model in ONNX is damaged, or a value does not fit it
│   └── UnsupportedOnnxError (NotImplementedError)  an operator, or a use of it, has no counterpart
├── WorkerError (RuntimeError)          a worker of a loader died, or took too long
└── ModelError (RuntimeError)           a language model could not answer
    ├── TransientModelError             a fault that may pass: a rate limit, a server's fault, a cut connection
    ├── AnswerError                     an answer that is not what was agreed
    ├── BudgetError                     the call would pass a limit on calls, tokens or money
    ├── ReplayError (LookupError)       a recording holds no answer to the request
    └── UnsupportedError (NotImplementedError)  the model has not got what the request asks for
"""

from . import array_errors


class RetrogradeError(Exception):
    """Base of all errors raised by retrograde on purpose."""

    #: Whether the message says already which op it is about.
    names_op = False


class ShapeError(RetrogradeError, ValueError):
    """Shapes do not fit an operation."""


class DTypeError(RetrogradeError, TypeError):
    """A data type or kind of object does not fit an operation."""


class ArgumentError(RetrogradeError, ValueError):
    """An argument has a value that is not allowed."""


class LinAlgError(ArgumentError, array_errors.LinAlgError):
    """There is no answer for a matrix: it is singular or not positive definite, or an iteration does not end."""


class OutOfRangeError(RetrogradeError, IndexError):
    """An index lies outside its axis."""


class AxisError(OutOfRangeError, array_errors.AxisError):
    """An array has no such axis."""


class RegistryError(RetrogradeError, LookupError):
    """An op is unknown, or registered twice."""


class GraphError(RetrogradeError, RuntimeError):
    """The graph cannot be differentiated in this way."""


class FreedGraphError(GraphError):
    """A graph was used again after `backward` freed it."""


class InplaceError(GraphError):
    """Writing in place would make a gradient wrong."""


class LostGradientError(GraphError):
    """A value that is being differentiated is turned into plain numbers, which have no gradient."""


class TraceError(RetrogradeError, TypeError):
    """A value was read, or leaked, while it was being traced."""


class LeavesGraphWarning(RetrogradeError, UserWarning):  # noqa: N818 - it is a warning
    """A tensor that requires gradients is turned into an array, which has none."""


class RetraceWarning(RetrogradeError, UserWarning):  # noqa: N818 - it is a warning
    """A compiled function is traced anew at every call, which costs far more than it saves."""


class BroadcastWarning(RetrogradeError, UserWarning):  # noqa: N818 - it is a warning
    """Shapes that should be equal, such as those of a prediction and its target, differ, and are broadcast."""


class MemoryLimitError(RetrogradeError, MemoryError):
    """Compiled code would need more memory than this process can get."""


class CompilerError(RetrogradeError, RuntimeError):
    """The compiler made code that LLVM refuses: a fault of ours, worth a report."""


class VerifierError(CompilerError):
    """A pass of the compiler left a graph, or a schedule, that is not what it must be."""


class MissingRuleError(RetrogradeError, NotImplementedError):
    """An op has no derivative for one of its inputs."""


class GradientCheckError(RetrogradeError, AssertionError):
    """A derivative disagrees with finite differences."""


class CompiledCheckError(RetrogradeError, AssertionError):
    """Compiled code disagrees with the eager op."""


class AnomalyError(RetrogradeError, FloatingPointError):
    """The first NaN or infinity, found by `detect_anomaly` or in a training."""


class DeviceError(RetrogradeError, RuntimeError):
    """A device, or the library that drives it, is not available."""


class MissingExtraError(RetrogradeError, ImportError):
    """A library that an extra installs is missing."""


class MissingModuleError(RetrogradeError, ModuleNotFoundError):
    """A module that PyTorch has in this place is elsewhere here."""


class ProgramError(RetrogradeError, ValueError, RuntimeError):
    """A function cannot be exported, or an exported program cannot be loaded or run here."""


class CheckpointError(RetrogradeError, ValueError, RuntimeError):
    """A file of weights cannot be read, or does not fit the model."""


class StorageError(CheckpointError, OSError):
    """The system cannot write or read a file of weights: the disk is full, the file is not there."""


class DataError(RetrogradeError, ValueError):
    """Data cannot be read, or do not fit what was asked of them; where it is a file, it names the file and the row."""


class OnnxError(RetrogradeError, ValueError):
    """A model in ONNX is damaged, or what it is given does not fit it."""


class UnsupportedOnnxError(OnnxError, NotImplementedError):
    """What a model in ONNX asks for, or what it would have to hold, has no counterpart."""


class WorkerError(RetrogradeError, RuntimeError):
    """A worker of a loader died, or did not answer in time."""


class DistributedError(RetrogradeError, RuntimeError):
    """Processes that work together do not agree on what to do, or one of them is missing."""

    #: What is wrong is between processes, and told as it is, by one of them.
    names_op = True


class ParseError(RetrogradeError, ValueError):
    """A text does not have the structure that was asked for."""


class ModelError(RetrogradeError, RuntimeError):
    """A language model could not answer."""

    #: Whether the provider may have done the work, and charged for it.
    is_billed = False


class TransientModelError(ModelError):
    """A language model could not answer for a reason that may pass: a rate limit, a server's fault, a cut connection."""

    #: The seconds that the server asks to wait; None where it does not say.
    retry_after: float | None = None


class AnswerError(ModelError):
    """A language model gave an answer that is not what was agreed."""

    is_billed = True


class BudgetError(ModelError):
    """A call was not made, because it would pass a limit on calls, tokens or money."""


class ReplayError(ModelError, LookupError):
    """A recording holds no answer to a request."""


class UnsupportedError(ModelError, NotImplementedError):
    """A language model has not got what a request asks for."""
