"""What both estimators are: a network that a Trainer trains."""

from typing import Any

import numpy as np

from .. import tree
from ..core.value import Value
from ..data.loader import Loader
from ..data.orders import key_of
from ..errors import ArgumentError, ShapeError
from ..extras import optional
from ..ops.axes.reductions import mean
from ..ops.random.draws import Generator, drawing_from
from ..tensor.creation import asarray
from ..train.callbacks import EarlyStopping
from ..train.checks import check_numbers
from ..train.steps import called
from ..train.trainer import Trainer
from .making import made_dtype, made_loss, made_optimizer, network
from .rows import batches, held_out, normalised, without_zeros

_base = optional("sklearn.base", "sklearn")
_validation = optional("sklearn.utils.validation", "sklearn")
_utils = optional("sklearn.utils", "sklearn")

#: What is made anew of arrays and parameters when an estimator is unpickled.
_LIVE = ("module_", "optimizer_", "_schedule", "_generator", "_trainer", "_stopping")


class Net(_base.BaseEstimator):
    """Base of the estimators. Those say what targets are, and which losses there are by name."""

    _losses: dict
    module: Any
    loss: Any
    optimizer: Any
    lr: Any
    batch_size: Any
    epochs: Any
    early_stopping: Any
    validation_fraction: Any
    patience: Any
    schedule: Any
    clip_norm: Any
    warm_start: Any
    dtype: Any
    compiled: Any
    random_state: Any
    verbose: Any
    module_: Any
    _trainer: Any
    _schedule: Any
    _stopping: Any
    optimizer_: Any

    # Training.
    def _fit(self, X, targets, weight, epochs, is_new, labels=None):
        """Train for so many epochs on rows that are checked and encoded."""
        if is_new:
            self._begin(X, targets)
        X, targets, weight = without_zeros(weight, X, targets)
        parts, seed = [X, targets] if weight is None else [X, targets, normalised(weight)], key_of(self._seed, self.n_iter_)
        validation, self._stopping = None, None
        if self.early_stopping:
            trained, out = held_out(len(X), self.validation_fraction, seed, None if labels is None else targets)
            validation = Loader(tuple([part[out] for part in parts]), self.batch_size)
            parts = [part[trained] for part in parts]
            self._stopping = EarlyStopping(patience=int(self.patience), restore_best=True)
        self._trainer = self._made_trainer()
        self._run(parts, seed, epochs, validation)
        return self

    def _fit_part(self, X, targets, weight, is_new):
        """Train for one epoch on rows that are checked and encoded; weights count as they are."""
        if is_new:
            self._begin(X, targets)
        X, targets, weight = without_zeros(weight, X, targets)
        if self._trainer is None or self._stopping is not None:
            self._stopping = None
            self._trainer = self._made_trainer()
        self._run([X, targets] if weight is None else [X, targets, weight], key_of(self._seed, self.n_iter_), 1, None)
        return self

    def _run(self, parts, seed, epochs, validation):
        trainer = self._trainer
        with drawing_from(self._generator):
            trainer.fit(Loader(tuple(parts), self.batch_size, shuffle=True, seed=seed), epochs=trainer.epoch + epochs,
                        validation=validation)
        self.module_.eval()
        self.n_iter_, self.history_ = trainer.epoch, trainer.history

    def _begin(self, X, targets):
        """Make the network and all that belongs to it."""
        self._seed = int(_utils.check_random_state(self.random_state).randint(2**31 - 1))
        self._row, self._outputs, self._dtype = X.shape[1:], self._outputs_of(targets), X.dtype
        self._generator, self.n_iter_, self.history_ = Generator(self._seed), 0, []
        self._stopping, self._trainer = None, None
        self._make()

    def _make(self):
        with drawing_from(self._generator):
            inputs = self._row[0] if len(self._row) == 1 else self._row
            self.module_ = network(self.module, inputs, self._outputs, self._dtype)
        self.optimizer_ = made_optimizer(self.optimizer, self.module_.parameters(), self.lr)
        self._schedule = None if self.schedule is None else self.schedule(self.optimizer_)

    def _made_trainer(self):
        """A Trainer for the network, as far as it is trained."""
        trainer = Trainer(
            self.module_, self.optimizer_, forward=_forward(self._loss(), self._fitted), schedule=self._schedule,
            schedule_each="epoch", clip_norm=self.clip_norm, callbacks=[] if self._stopping is None else [self._stopping],
            progress=bool(self.verbose), compiled=self.compiled)
        trainer.epoch, trainer.history = self.n_iter_, list(self.history_)
        return trainer

    def _loss(self):
        return made_loss(next(iter(self._losses)) if self.loss is None else self.loss, self._losses)

    def _outputs_of(self, targets):
        """How many outputs the network has."""
        raise NotImplementedError

    def _fitted(self, outputs, targets):
        """The outputs of the network in the shape that the loss takes; a ShapeError if they cannot be."""
        raise NotImplementedError

    # Rows.
    def _checked(self, X, y, sample_weight, is_new, **options):
        """(X, y, sample_weight) as arrays, checked by scikit-learn."""
        self._check_parameters()
        X, y = _validation.validate_data(self, X, y, reset=is_new, dtype=[np.float64, np.float32], allow_nd=True, **options)
        if not is_new:
            self._check_row(X)
        X = X.astype(made_dtype(self.dtype, X) if is_new else self._dtype, copy=False)
        if sample_weight is not None:
            sample_weight = _validation._check_sample_weight(sample_weight, X, dtype=X.dtype)  # noqa: SLF001 - as its own estimators do
            if (sample_weight < 0).any():
                raise ArgumentError(f"sample_weight must be at least 0, got {sample_weight.min()}")
        return X, y, sample_weight

    def _check_parameters(self):
        for name in ("batch_size", "epochs", "patience"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
                raise ArgumentError(f"{name} must be an integer of at least 1, got {value!r}")
        if self.schedule is not None and not callable(self.schedule):
            raise ArgumentError(f"schedule is a function of the optimizer that returns a schedule, got "
                                f"{type(self.schedule).__name__}")
        check_numbers(self.clip_norm)

    def _check_row(self, X):
        if X.shape[1:] != self._row:
            raise ShapeError(f"{type(self).__name__} was fitted on rows of shape {self._row}, got {X.shape[1:]}")

    def _predicted(self, X):
        """The outputs of the network for the rows of X."""
        _validation.check_is_fitted(self)
        X = _validation.validate_data(self, X, reset=False, dtype=[np.float64, np.float32], allow_nd=True)
        self._check_row(X)
        X = X.astype(self._dtype, copy=False)
        found = self._trainer.predict(asarray(batch) for batch in batches(X, int(self.batch_size)))
        return np.asarray(found)[: len(X)]

    # State.
    def __getstate__(self):
        """The parameters, and the network and its optimizer as arrays, so that nothing but those has to be pickled."""
        state = {**super().__getstate__()}
        if "module_" not in state:
            return state
        saved = {"module": self.module_.state_dict(), "optimizer": self.optimizer_.state_dict(),
                 "schedule": None if self._schedule is None else self._schedule.state_dict(),
                 "generator": self._generator.get_state(), "step": self._trainer.step}
        kept = {name: value for name, value in state.items() if name not in _LIVE}
        return {**kept, "_saved": tree.map(lambda leaf: np.asarray(leaf) if isinstance(leaf, Value) else leaf, saved)}

    def __setstate__(self, state):
        saved = state.get("_saved")
        super().__setstate__({name: value for name, value in state.items() if name != "_saved"})
        if saved is None:
            return
        self._generator, self._stopping = Generator(self._seed), None
        self._make()
        self.module_.load_state_dict(saved["module"])
        self.module_.eval()
        self.optimizer_.load_state_dict(saved["optimizer"])
        if self._schedule is not None:
            self._schedule.load_state_dict(saved["schedule"])
        self._generator.set_state(saved["generator"])
        self._trainer = self._made_trainer()
        self._trainer.step = saved["step"]


def _forward(loss, fitted):
    """What a Trainer computes of a batch: (inputs, targets), or these with weights."""

    def forward(model, batch):
        inputs, targets, *weight = batch
        outputs = fitted(called(model, inputs), targets)
        losses = loss(outputs, targets)
        if losses.shape[:1] == targets.shape[:1]:
            losses = mean(losses, axis=tuple(range(1, losses.ndim))) if losses.ndim > 1 else losses
        elif weight or losses.shape != ():
            raise ShapeError(f"the loss must give one number for each of {targets.shape[0]} rows, so that they can be weighted, as "
                             f'with reduction="none"; got shape {losses.shape}')
        if weight:
            losses = losses * weight[0]
        return mean(losses), outputs, targets

    return forward
