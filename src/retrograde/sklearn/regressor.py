"""NetRegressor: a network that predicts numbers, as an estimator of scikit-learn."""

from ..errors import ShapeError
from ..extras import optional
from ..ops.manipulation.movements import reshape
from .making import REGRESSION_LOSSES
from .net import Net

_base = optional("sklearn.base", "sklearn")


class NetRegressor(_base.RegressorMixin, Net):
    """A network as a regressor of scikit-learn, of one target or several.

    loss    "squared_error", "absolute_error" or "huber", or a function of (outputs, targets), both of shape (rows, targets), that
            gives one number for each row

    All else is as for `NetClassifier`. Targets are taken as they are: scale them, for which scikit-learn has
    `TransformedTargetRegressor`.

    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=(200, 2))
    >>> net = NetRegressor(module=(32,), lr=0.01, random_state=0).fit(x, np.sin(x[:, 0]) + x[:, 1])
    >>> net.score(x, np.sin(x[:, 0]) + x[:, 1]) > 0.95
    True
    """

    _losses = REGRESSION_LOSSES

    def __init__(self, module=(100,), *, loss=None, optimizer="adam", lr=0.001, batch_size=128, epochs=100, early_stopping=False,
                 validation_fraction=0.1, patience=10, schedule=None, clip_norm=None, warm_start=False, dtype=None, compiled=True,
                 random_state=None, verbose=False):
        self.module, self.loss, self.optimizer, self.lr = module, loss, optimizer, lr
        self.batch_size, self.epochs, self.early_stopping = batch_size, epochs, early_stopping
        self.validation_fraction, self.patience, self.schedule, self.clip_norm = validation_fraction, patience, schedule, clip_norm
        self.warm_start, self.dtype, self.compiled = warm_start, dtype, compiled
        self.random_state, self.verbose = random_state, verbose

    def fit(self, X, y, sample_weight=None):
        """Train on the rows of X with the targets y; weights count in relation to each other."""
        is_new = not (self.warm_start and hasattr(self, "module_"))
        X, y, weight = self._with_targets(X, y, sample_weight, is_new)
        return self._fit(X, y, weight, self.epochs, is_new)

    def partial_fit(self, X, y, sample_weight=None):
        """Train for one epoch on the rows of X."""
        is_new = not hasattr(self, "module_")
        X, y, weight = self._with_targets(X, y, sample_weight, is_new)
        return self._fit_part(X, y, weight, is_new)

    def _with_targets(self, X, y, sample_weight, is_new):
        """(X, targets of shape (rows, targets), weights)."""
        X, y, weight = self._checked(X, y, sample_weight, is_new, multi_output=True, y_numeric=True)
        y = y.astype(X.dtype, copy=False)
        if is_new:
            self._is_flat = y.ndim == 1
        y = y.reshape(len(y), -1)
        if not is_new and y.shape[1] != self._outputs:
            raise ShapeError(f"{type(self).__name__} was fitted to {self._outputs} targets, got {y.shape[1]}")
        return X, y, weight

    def _outputs_of(self, targets):
        return targets.shape[1]

    def _fitted(self, outputs, targets):
        # A module may give (rows,) for one target, which would be broadcast against (rows, 1).
        if outputs.shape == targets.shape[:1] and targets.shape[1] == 1:
            return reshape(outputs, targets.shape)
        if outputs.shape != targets.shape:
            raise ShapeError(f"the module must give a number for each target, {targets.shape} for this batch, got {outputs.shape}")
        return outputs

    def predict(self, X):
        """The targets of the rows of X."""
        found = self._predicted(X)
        return found.reshape(len(found)) if self._is_flat else found.reshape(len(found), -1)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
