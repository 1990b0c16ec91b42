"""NetClassifier: a network that tells classes apart, as an estimator of scikit-learn."""

import numpy as np

from ..errors import ArgumentError, ShapeError
from ..extras import optional
from .making import CLASSIFICATION_LOSSES
from .net import Net

_base = optional("sklearn.base", "sklearn")
_multiclass = optional("sklearn.utils.multiclass", "sklearn")


class NetClassifier(_base.ClassifierMixin, Net):
    """A network as a classifier of scikit-learn: two classes or more, with any labels.

    module         the sizes of the hidden layers, or a function of (inputs, outputs) that returns a Module: of the number of
                   features (or the shape of a row, if X has more than two axes) and of classes; its outputs are logits
    loss           "cross_entropy", or a function of (logits, class numbers) that gives one number for each row
    optimizer      a name, such as "adam", or a class or function of (parameters, lr=)
    early_stopping hold `validation_fraction` of the rows out, stop when their loss has not become less for `patience` epochs, and
                   keep the weights of the best epoch
    schedule       a function of the optimizer that returns a schedule, stepped after each epoch
    class_weight   by label, or "balanced": all classes weigh the same
    warm_start     let `fit` go on from the weights that there are
    dtype          to compute with; None: that of X, float32 or float64
    compiled       whether steps are compiled
    random_state   an integer: all results are the same to the bit, whatever else draws random numbers

    Fitted, it has `classes_`, `module_`, `optimizer_`, `n_iter_` and `history_`, what was logged of each epoch.

    >>> x = np.random.default_rng(0).normal(size=(200, 2))
    >>> labels = np.where(x[:, 0] > x[:, 1], "right", "left")
    >>> net = NetClassifier(module=(16,), lr=0.01, epochs=50, random_state=0).fit(x, labels)
    >>> net.score(x, labels) > 0.95
    True
    """

    _losses = CLASSIFICATION_LOSSES

    def __init__(self, module=(100,), *, loss=None, optimizer="adam", lr=0.001, batch_size=128, epochs=100, early_stopping=False,
                 validation_fraction=0.1, patience=10, schedule=None, clip_norm=None, class_weight=None, warm_start=False,
                 dtype=None, compiled=True, random_state=None, verbose=False):
        self.module, self.loss, self.optimizer, self.lr = module, loss, optimizer, lr
        self.batch_size, self.epochs, self.early_stopping = batch_size, epochs, early_stopping
        self.validation_fraction, self.patience, self.schedule, self.clip_norm = validation_fraction, patience, schedule, clip_norm
        self.class_weight, self.warm_start, self.dtype, self.compiled = class_weight, warm_start, dtype, compiled
        self.random_state, self.verbose = random_state, verbose

    def fit(self, X, y, sample_weight=None):
        """Train on the rows of X with the labels y; weights count in relation to each other."""
        is_new = not (self.warm_start and hasattr(self, "module_"))
        X, y, weight = self._checked(X, y, sample_weight, is_new)
        _multiclass.check_classification_targets(y)
        if is_new:
            self.classes_ = np.unique(y)
        numbers = self._numbers(y)
        return self._fit(X, numbers, self._weighted(numbers, weight, X.dtype), self.epochs, is_new, labels=numbers)

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Train for one epoch on the rows of X; the first call needs all `classes` that there will be."""
        is_new = not hasattr(self, "module_")
        X, y, weight = self._checked(X, y, sample_weight, is_new)
        _multiclass.check_classification_targets(y)
        if is_new:
            if classes is None:
                raise ArgumentError("the first call of partial_fit needs classes, all labels that there will be")
            self.classes_ = np.unique(classes)
        elif classes is not None and not np.array_equal(self.classes_, np.unique(classes)):
            raise ArgumentError(f"classes are {list(self.classes_)} since the first call of partial_fit, got "
                                f"{list(np.unique(classes))}")
        if isinstance(self.class_weight, str):
            raise ArgumentError(f"class_weight={self.class_weight!r} needs all labels at once, and partial_fit sees a part; give a "
                                f"dictionary")
        numbers = self._numbers(y)
        return self._fit_part(X, numbers, self._weighted(numbers, weight, X.dtype), is_new)

    def _numbers(self, y):
        """Labels as class numbers."""
        numbers = np.minimum(np.searchsorted(self.classes_, y), len(self.classes_) - 1)
        if unknown := [*np.unique(y[self.classes_[numbers] != y])]:
            raise ArgumentError(f"y has labels that are no classes: {unknown}; classes are {list(self.classes_)}")
        return numbers.astype(np.int64, copy=False)

    def _weighted(self, numbers, weight, dtype):
        """The weights of rows, those of their classes included; None if all are alike."""
        if self.class_weight is None:
            return weight
        weight = np.ones(len(numbers), dtype) if weight is None else weight
        if isinstance(self.class_weight, str):
            if self.class_weight != "balanced":
                raise ArgumentError(f'class_weight is a dictionary, "balanced" or None, got {self.class_weight!r}')
            totals = np.bincount(numbers, weight, len(self.classes_))
            of_class = np.divide(1, totals, out=np.zeros(len(totals)), where=totals > 0)
        else:
            labels = self.classes_.tolist()
            if unknown := [label for label in self.class_weight if label not in labels]:
                raise ArgumentError(f"class_weight has labels that are no classes: {unknown}; classes are {labels}")
            of_class = np.array([self.class_weight.get(label, 1.0) for label in labels], float)
            if not (of_class >= 0).all() or np.isinf(of_class).any():
                raise ArgumentError(f"class_weight must be finite numbers of at least 0, got {self.class_weight}")
        return weight * of_class[numbers].astype(dtype)

    def _outputs_of(self, targets):
        return len(self.classes_)

    def _fitted(self, outputs, targets):
        expected = targets.shape[0], len(self.classes_)
        if outputs.shape != expected:
            raise ShapeError(f"the module must give one logit for each class, {expected} for this batch; got {outputs.shape}")
        return outputs

    def decision_function(self, X):
        """The logits of the classes; of two classes, by how much that of the second is greater."""
        logits = self._predicted(X)
        return logits[:, 1] - logits[:, 0] if logits.shape[1] == 2 else logits

    def predict_proba(self, X):
        """The probabilities of the classes, in the order of `classes_`."""
        logits = self._predicted(X)
        parts = np.exp(logits - logits.max(axis=1, keepdims=True))
        return parts / parts.sum(axis=1, keepdims=True)

    def predict_log_proba(self, X):
        """The logarithms of the probabilities."""
        logits = self._predicted(X)
        logits = logits - logits.max(axis=1, keepdims=True)
        return logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))

    def predict(self, X):
        """The most probable labels."""
        numbers = self._predicted(X).argmax(axis=1)  # first: it says whether there was a fit
        return self.classes_[numbers]
