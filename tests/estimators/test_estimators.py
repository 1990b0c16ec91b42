"""Estimators: scikit-learn's own checks in full, and what its users do with them."""

import copy
import os
import pickle
import pickletools
import subprocess
import sys
import threading

import numpy as np
import pytest

import retrograde as rg
from retrograde import nn, optim
from retrograde.errors import ArgumentError, ShapeError

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.datasets import load_digits, make_classification, make_regression
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.estimator_checks import parametrize_with_checks

from retrograde.sklearn import NetClassifier, NetRegressor


# Every check there is, for the estimators as they come; none is expected to fail.
@parametrize_with_checks([NetClassifier(), NetRegressor()])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning", "ignore::FutureWarning", "ignore::UserWarning")
def test_an_estimator_passes_every_check_of_scikit_learn(estimator, check):
    check(estimator)


def perceptron(inputs, outputs):
    return nn.Sequential(nn.Linear(inputs, 24), nn.BatchNorm1d(24), nn.Tanh(), nn.Dropout(0.2), nn.Linear(24, outputs))


def convolutional(inputs, outputs):
    return nn.Sequential(nn.Conv2d(inputs[0], 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                         nn.Linear(8 * (inputs[1] // 2) * (inputs[2] // 2), outputs))


def linear(inputs, outputs):
    return nn.Linear(inputs, outputs)


def decayed(optimizer):
    return optim.lr_scheduler.ExponentialLR(optimizer, 0.9)


def tensors_of(net):
    return [np.asarray(value) for value in net.module_.state_dict().values()]


def are_equal(one, other):
    pairs = zip(tensors_of(one), tensors_of(other), strict=True)
    return all(np.array_equal(a, b) for a, b in pairs)


@pytest.fixture(scope="module")
def classes():
    X, y = make_classification(300, 8, n_informative=6, n_classes=3, random_state=0)
    return X.astype(np.float32), np.array(["cat", "dog", "owl"])[y]


@pytest.fixture(scope="module")
def numbers():
    X, y = make_regression(200, 5, n_targets=2, noise=0.1, random_state=0)
    return X.astype(np.float32), (y / y.std(axis=0)).astype(np.float32)


def test_a_linear_network_finds_what_logistic_regression_finds(classes):
    X, y = classes
    net = NetClassifier(linear, lr=0.1, epochs=600, batch_size=300, random_state=0).fit(X.astype(np.float64), y)
    exact = LogisticRegression(C=np.inf, tol=1e-8, max_iter=1000).fit(X.astype(np.float64), y)
    assert net.predict_proba(X.astype(np.float64)) == pytest.approx(exact.predict_proba(X.astype(np.float64)), abs=2e-3)
    assert [*net.predict(X[:20].astype(np.float64))] == [*exact.predict(X[:20].astype(np.float64))]


def test_a_linear_network_finds_what_weighted_least_squares_finds(numbers):
    X, y = (a.astype(np.float64) for a in numbers)
    weight = np.random.default_rng(0).uniform(0.1, 5, len(X))
    net = NetRegressor(linear, lr=0.1, epochs=500, batch_size=200, random_state=0).fit(X, y**3, sample_weight=weight)
    exact = Ridge(alpha=0, tol=1e-10).fit(X, y**3, sample_weight=weight)
    assert net.predict(X) == pytest.approx(exact.predict(X), abs=1e-4)
    unweighted = Ridge(alpha=0).fit(X, y**3)
    assert np.abs(unweighted.predict(X) - exact.predict(X)).max() > 0.01


def test_balanced_classes_weigh_what_scikit_learn_says(classes):
    X, y = classes
    X, y = X[np.flatnonzero((y != "owl") | (np.arange(len(y)) % 4 == 0))], y[(y != "owl") | (np.arange(len(y)) % 4 == 0)]
    made = lambda **options: NetClassifier((8,), epochs=3, random_state=0, dtype="float64", **options)
    balanced = made(class_weight="balanced").fit(X, y)
    weighted = made().fit(X, y, sample_weight=compute_sample_weight("balanced", y))
    assert balanced.predict_proba(X) == pytest.approx(weighted.predict_proba(X), rel=1e-9)
    named = made(class_weight={"owl": 4.0}).fit(X, y)
    assert named.predict_proba(X) == pytest.approx(made().fit(X, y, np.where(y == "owl", 4.0, 1.0)).predict_proba(X), rel=1e-9)
    assert not np.allclose(named.predict_proba(X), balanced.predict_proba(X), rtol=1e-3)


def test_probabilities_decisions_and_labels_agree(classes):
    X, y = classes
    net = NetClassifier(epochs=5, random_state=0).fit(X, y)
    proba, scores = net.predict_proba(X), net.decision_function(X)
    assert proba.shape == scores.shape == (300, 3)
    assert proba.dtype == np.float32
    assert np.array_equal(net.classes_[proba.argmax(1)], net.predict(X))
    assert net.predict_log_proba(X) == pytest.approx(np.log(proba), rel=1e-4, abs=1e-5)
    two = NetClassifier(epochs=5, random_state=0).fit(X, y == "cat")
    assert two.predict_proba(X)[:, 1] == pytest.approx(1 / (1 + np.exp(-two.decision_function(X))), rel=1e-5)
    assert np.array_equal(two.predict(X), two.decision_function(X) > 0)


def test_equal_seeds_give_equal_bits_and_nothing_outside_is_disturbed(classes):
    X, y = classes
    rg.manual_seed(5)
    expected = rg.rand(3).tolist()
    rg.manual_seed(5)
    one = NetClassifier(perceptron, epochs=3, random_state=7).fit(X, y)
    assert rg.rand(3).tolist() == expected
    other = NetClassifier(perceptron, epochs=3, random_state=7).fit(X, y)
    assert are_equal(one, other)
    assert not are_equal(one, NetClassifier(perceptron, epochs=3, random_state=8).fit(X, y))


def test_fits_in_threads_give_the_bits_of_fits_alone(classes):
    X, y = classes
    alone = [NetClassifier(perceptron, epochs=4, random_state=seed).fit(X, y) for seed in range(3)]
    nets = [NetClassifier(perceptron, epochs=4, random_state=seed) for seed in range(3)]
    threads = [threading.Thread(target=net.fit, args=(X, y)) for net in nets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(are_equal(one, other) for one, other in zip(alone, nets, strict=True))


def test_an_unpickled_estimator_predicts_and_goes_on_to_the_same_bits(classes):
    X, y = classes
    net = NetClassifier(perceptron, optimizer=optim.AdamW, schedule=decayed, random_state=3)
    net.partial_fit(X, y, classes=np.unique(y)).partial_fit(X[:100], y[:100])
    saved = pickle.dumps(net)
    again, copied = pickle.loads(saved), copy.deepcopy(net)
    assert np.array_equal(again.predict_proba(X), net.predict_proba(X))
    for each in (net, again, copied):
        each.partial_fit(X, y)
    assert are_equal(net, again)
    assert are_equal(net, copied)
    assert again.n_iter_ == 3
    assert again.history_[-1]["loss"] == net.history_[-1]["loss"]


def test_a_pickle_holds_arrays_and_parameters_and_no_objects_of_ours_but_the_estimator(classes):
    net = NetClassifier(epochs=2, random_state=0, early_stopping=True).fit(*classes)
    strings = [argument for op, argument, _ in pickletools.genops(pickle.dumps(net)) if isinstance(argument, str)]
    assert {name for name in strings if name.startswith("retrograde")} == {"retrograde.sklearn.classifier"}


def test_an_estimator_that_was_never_fitted_is_pickled_too():
    assert pickle.loads(pickle.dumps(NetRegressor(lr=0.5))).lr == 0.5


def test_it_works_in_pipelines_and_cross_validation(classes):
    X, y = classes
    pipe = make_pipeline(StandardScaler(), NetClassifier((32,), lr=0.01, epochs=30, random_state=0))
    assert cross_val_score(pipe, X, y, cv=3).mean() > 0.75
    proba = cross_val_predict(pipe, X, y, cv=3, method="predict_proba")
    assert log_loss(y, proba) < 0.9


SEARCH = """
import numpy as np
from sklearn.model_selection import GridSearchCV
from retrograde.sklearn import NetClassifier
from sklearn.datasets import make_classification
if __name__ == "__main__":
    X, y = make_classification(120, 6, random_state=0)
    search = GridSearchCV(NetClassifier((8,), random_state=0, epochs=20), {"lr": [1e-6, 1e-2]}, cv=2, n_jobs=2)
    search.fit(X.astype(np.float32), y)
    print(search.best_params_, search.predict(X[:3].astype(np.float32)).shape)
"""


def test_a_grid_search_runs_in_processes(tmp_path):
    script = tmp_path / "search.py"
    script.write_text(SEARCH)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert done.stdout.strip() == "{'lr': 0.01} (3,)", done.stderr


def test_a_grid_search_gives_what_fits_by_hand_give(classes):
    X, y = classes
    search = GridSearchCV(NetClassifier((8,), random_state=0, epochs=5), {"lr": [1e-5, 1e-2]}, cv=2).fit(X, y)
    assert search.best_params_ == {"lr": 0.01}
    assert are_equal(search.best_estimator_, NetClassifier((8,), random_state=0, epochs=5, lr=0.01).fit(X, y))


def test_partial_fits_are_epochs_of_what_they_are_given(classes):
    X, y = classes
    net = NetClassifier(lr=0.01, random_state=0)
    for start in (0, 100, 200) * 10:
        net.partial_fit(X[start : start + 100], y[start : start + 100], classes=["cat", "dog", "owl"])
    assert net.n_iter_ == 30
    assert net.score(X, y) > 0.8


def test_partial_fit_sees_classes_that_come_later(classes):
    X, y = classes
    net = NetClassifier(random_state=0).partial_fit(X[y == "cat"], y[y == "cat"], classes=["cat", "dog", "owl"])
    assert net.predict_proba(X).shape == (300, 3)
    with pytest.raises(ArgumentError, match=r"no classes.*cow"):
        net.partial_fit(X, np.where(y == "cat", "cow", y))
    with pytest.raises(ArgumentError, match="first call of partial_fit needs classes"):
        NetClassifier().partial_fit(X, y)
    with pytest.raises(ArgumentError, match="since the first call"):
        net.partial_fit(X, y, classes=["cat", "dog"])


def test_early_stopping_keeps_the_weights_of_the_best_epoch(classes):
    X, y = classes
    rng = np.random.default_rng(0)
    noisy = np.where(rng.random(300) < 0.4, rng.permutation(y), y)
    net = NetClassifier((256,), lr=0.02, early_stopping=True, validation_fraction=0.3, patience=4, random_state=0).fit(X, noisy)
    losses = [logs["validation_loss"] for logs in net.history_]
    assert net.n_iter_ == len(losses) == int(np.argmin(losses)) + 1 + 4 < 100
    best = NetClassifier((256,), lr=0.02, early_stopping=True, validation_fraction=0.3, random_state=0, epochs=int(np.argmin(losses)) + 1)
    assert are_equal(net, best.fit(X, noisy))


def test_rows_held_out_are_of_all_classes():
    from retrograde.sklearn.rows import held_out

    labels = np.repeat([0, 1, 2], [900, 80, 20])
    kept, out = held_out(1000, 0.1, 5, labels)
    assert sorted([*kept, *out]) == list(range(1000))
    assert np.bincount(labels[out]).tolist() == [90, 8, 2]
    assert held_out(1000, 0.1, 6, labels)[1].tolist() != out.tolist()
    assert [len(part) for part in held_out(2, 0.01, 0)] == [1, 1]


def test_warm_start_goes_on(numbers):
    X, y = numbers
    net = NetRegressor(epochs=3, warm_start=True, random_state=0).fit(X, y)
    first = net.score(X, y)
    assert net.fit(X, y).n_iter_ == 6
    assert net.score(X, y) > first
    assert net.set_params(warm_start=False).fit(X, y).n_iter_ == 3


def test_rows_may_be_images():
    X, y = load_digits(return_X_y=True)
    X = (X.reshape(-1, 1, 8, 8) / 16).astype(np.float32)
    net = NetClassifier(convolutional, lr=0.01, epochs=8, random_state=0).fit(X[:1000], y[:1000])
    assert net.score(X[1000:], y[1000:]) > 0.85
    with pytest.raises(ArgumentError, match=r"hidden sizes are for rows of numbers.*\(1, 8, 8\)"):
        NetClassifier().fit(X, y)
    with pytest.raises(ShapeError, match="fitted on rows of shape"):
        net.predict(X[:, :, :4])


@pytest.mark.parametrize("optimizer", ["sgd", "rmsprop", "adamw", lambda parameters, lr: optim.SGD(parameters, lr=lr, momentum=0.9)])
def test_optimizers_by_name_or_made(numbers, optimizer):
    X, y = numbers
    net = NetRegressor(linear, optimizer=optimizer, lr=0.02, epochs=60, batch_size=20, random_state=0)
    assert net.fit(X, y).score(X, y) > 0.9


@pytest.mark.parametrize("loss", ["absolute_error", "huber", lambda x, y: rg.abs(x - y).sum(axis=1)])
def test_losses_by_name_or_made(numbers, loss):
    X, y = numbers
    assert NetRegressor(linear, loss=loss, lr=0.02, epochs=60, batch_size=20, random_state=0).fit(X, y).score(X, y) > 0.9


def test_one_target_is_flat_and_several_are_columns(numbers):
    X, y = numbers
    assert NetRegressor(epochs=1).fit(X, y).predict(X).shape == (200, 2)
    assert NetRegressor(epochs=1).fit(X, y[:, 0]).predict(X).shape == (200,)
    assert NetRegressor(epochs=1).fit(X, y[:, :1]).predict(X).shape == (200, 1)
    flat = NetRegressor(lambda inputs, outputs: nn.Sequential(nn.Linear(inputs, outputs), nn.Flatten(0)), lr=0.1, epochs=30,
                        random_state=0)
    straight = NetRegressor(linear, lr=0.1, epochs=30, random_state=0)
    assert flat.fit(X, y[:, 0]).predict(X) == pytest.approx(straight.fit(X, y[:, 0]).predict(X), rel=1e-5)


def test_predictions_do_not_depend_on_the_rows_beside(classes):
    X, y = classes
    net = NetClassifier(perceptron, epochs=2, batch_size=64, random_state=0, dtype="float64").fit(X, y)
    whole = net.predict_proba(X)
    for count in (1, 2, 3, 63, 64, 65, 100):
        assert net.predict_proba(X[:count]) == pytest.approx(whole[:count], rel=1e-12)


@pytest.mark.parametrize(("net", "match"), [
    (NetClassifier(module=nn.Linear(8, 3)), "got the object Linear"),
    (NetClassifier(module=(0,)), r"hidden layers.*got \(0,\)"),
    (NetClassifier(module=lambda inputs, outputs: None), "must return a Module, got NoneType"),
    (NetClassifier(module=lambda inputs, outputs: nn.Linear(inputs, 7)), r"one logit for each class, \(128, 3\).*got \(128, 7\)"),
    (NetClassifier(optimizer="adm"), "optimizer is one of .*adam.*got 'adm'"), (NetClassifier(optimizer=3), "got int"),
    (NetClassifier(loss="squared_error"), "loss is one of cross_entropy"), (NetClassifier(loss=3), "got int"),
    (NetClassifier(epochs=0), "epochs must be an integer of at least 1, got 0"), (NetClassifier(batch_size=1.5), "batch_size"),
    (NetClassifier(class_weight={"cow": 1.0}), "no classes.*cow"), (NetClassifier(class_weight="equal"), "got 'equal'"),
    (NetClassifier(class_weight={"cat": -1.0}), r"at least 0, got \{'cat': -1.0\}"), (NetClassifier(class_weight={"cat": np.nan}), "at least 0"),
    (NetClassifier(class_weight={"cat": np.inf}), "finite numbers"), (NetClassifier(clip_norm=-1.0), "clip_norm must be a number greater than 0"),
    (NetClassifier(patience=0), "patience must be an integer of at least 1"), (NetClassifier(schedule=0.9), "schedule is a function.*got float"),
    (NetClassifier(early_stopping=True, validation_fraction=1.0), "validation_fraction must be between 0 and 1"),
    (NetClassifier(loss=lambda x, y: x.mean(), class_weight="balanced"), "one number for each of 128 rows"),
])
def test_what_cannot_be_is_said(classes, net, match):
    with pytest.raises(ValueError, match=match):
        net.fit(*classes)


def test_weights_cannot_be_negative_nor_all_zero(classes):
    X, y = classes
    with pytest.raises(ArgumentError, match="at least 0, got -1"):
        NetClassifier().fit(X, y, sample_weight=np.full(300, -1.0))
    with pytest.raises(ArgumentError, match="zero for all rows"):
        NetClassifier(class_weight=dict.fromkeys(["cat", "dog", "owl"], 0.0)).fit(X, y)
    with pytest.raises(ValueError, match="at least one non-zero"):
        NetClassifier().partial_fit(X, y, ["cat", "dog", "owl"], sample_weight=np.zeros(300))
    with pytest.raises(ArgumentError, match=r"balanced.*dictionary"):
        NetClassifier(class_weight="balanced").partial_fit(X, y, ["cat", "dog", "owl"])
    with pytest.raises(NotFittedError):
        NetClassifier().predict_proba(X)


def test_a_clone_has_the_parameters_and_no_fit(classes):
    net = NetClassifier((5,), lr=0.3, class_weight={"cat": 2.0}, epochs=1).fit(*classes)
    assert clone(net).get_params() == net.get_params()
    assert not hasattr(clone(net), "module_")


def test_weights_are_saved_as_those_of_any_module(classes, tmp_path):
    X, y = classes
    net = NetClassifier((5,), epochs=1, random_state=0).fit(X, y)
    rg.save(net.module_, tmp_path / "net.safetensors")
    model = nn.Sequential(nn.Linear(8, 5), nn.ReLU(), nn.Linear(5, 3))
    model.load_state_dict(rg.load(tmp_path / "net.safetensors"))
    with rg.no_grad():
        assert model(rg.tensor(X)).numpy() == pytest.approx(net._predicted(X), rel=1e-5, abs=1e-6)
