"""scikit-learn: networks as its estimators, for pipelines, cross-validation and searches. Needs the extra "sklearn"."""

from .classifier import NetClassifier
from .regressor import NetRegressor
