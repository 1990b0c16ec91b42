"""Training: a small loop around a model, its data and its optimizer, with checkpoints that it goes on from, metrics and logs."""

from .callbacks import Callback, EarlyStopping
from .logs import CSVLog, MLflowLog, TensorBoardLog, WandbLog
from .metrics import AUC, F1, R2, Accuracy, Calibration, Mean, Metric, Perplexity, TopK
from .trainer import Trainer
