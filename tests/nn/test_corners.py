"""Slopes, values and places where functions of nn have corners, ties and nothing to reduce: numbers that follow from the formulas."""

import numpy as np
import pytest

import retrograde as rg
from retrograde import nn
from retrograde.errors import ArgumentError, MissingRuleError, ShapeError
from retrograde.nn import functional

F = functional
FORMS = pytest.mark.parametrize("form", [lambda f: f, rg.jit], ids=["eager", "jit"])
inf, nan = np.inf, np.nan


def slopes(function, x, form):
    return form(rg.grad(lambda x: function(x).sum()))(np.array(x)).tolist()


@FORMS
def test_slopes_at_the_corners_of_functions_with_straight_pieces_are_those_outside(form):
    assert slopes(F.relu6, [0.0, -0.0, 6.0, 3.0], form) == [0, 0, 0, 1]
    assert slopes(F.hardtanh, [-1.0, 1.0, 0.5], form) == [0, 0, 1]
    assert slopes(lambda x: F.hardtanh(x, -2.0, 2.0), [-2.0, 2.0, 1.0], form) == [0, 0, 1]
    assert slopes(F.hardsigmoid, [-3.0, 3.0, 0.0], form) == [0, 0, 1 / 6]
    assert slopes(F.hardswish, [-3.0, 3.0, 0.0], form) == [0, 1, 0.5]
    with pytest.raises(ArgumentError, match="min_val <= max_val"):
        F.hardtanh(rg.ones(2), 1.0, -1.0)


@FORMS
def test_threshold_lets_nan_pass(form):
    found = form(lambda x: F.threshold(x, 1.0, -2.0))(np.array([nan, 1.0, 2.0]))
    np.testing.assert_array_equal(found, [nan, -2, 2])
    assert slopes(lambda x: F.threshold(x, 1.0, -2.0), [nan, 1.0, 2.0], form) == [1, 0, 1]


@FORMS
def test_celu_of_a_negative_alpha_is_its_formula(form):
    x = np.array([-1.0, 0.0, 2.0])
    np.testing.assert_allclose(form(lambda x: F.celu(x, -0.5))(x), [-0.5 * np.expm1(2.0), 0, 2])
    np.testing.assert_allclose(slopes(lambda x: F.celu(x, -0.5), x, form), [np.exp(2.0), 1, 1])
    with pytest.raises(ArgumentError, match="not 0"):
        F.celu(rg.ones(2), 0.0)


@FORMS
def test_prelu_at_infinity_gives_its_weight_no_gradient_and_a_number_stays_one(form):
    x, weight = np.array([inf, -1.0]), np.array([0.5])
    assert form(rg.grad(lambda w: F.prelu(x, w).sum()))(rg.tensor(weight)).tolist() == [-1.0]
    with np.errstate(invalid="ignore"):
        assert slopes(lambda x: F.prelu(x, rg.tensor([inf], dtype=rg.float64)), [1.0, 2.0], form) == [1, 1]
    assert form(F.prelu)(rg.tensor(-2.0), rg.tensor([0.5])).shape == ()


def test_a_softmax_of_three_axes_without_dim_is_refused_and_converts_to_a_dtype():
    x = rg.ones(2, 2, 2)
    for function in (F.softmax, F.log_softmax, F.softmin, nn.Softmax(), nn.LogSoftmax(), nn.Softmin()):
        with pytest.raises(ArgumentError, match="dim="):
            function(x)
        assert function(x[0]).shape == (2, 2)
    assert F.softmax(x, 0, dtype=rg.float64).dtype == F.log_softmax(x, 0, dtype=rg.float64).dtype == rg.float64


@FORMS
@pytest.mark.parametrize("target", [[-100, -100], [1, -100]])
def test_ignored_targets_receive_no_gradient_even_if_all_are_ignored(form, target):
    def loss(x):
        return F.cross_entropy(x, np.array(target)) + F.nll_loss(x, np.array(target))

    with np.errstate(all="ignore"):
        found = form(rg.grad(loss))(np.zeros((2, 2)))
    assert found.tolist() == ([[0, 0], [0, 0]] if target[0] < 0 else [[0.5, -1.5], [0, 0]])


@FORMS
def test_class_weights_have_gradients_with_probabilities_and_with_class_numbers(form):
    x, weight = np.array([[0.0, 0.0], [0.0, np.log(3.0)]]), np.array([1.0, 2.0])
    shares = np.array([[0.5, 0.5], [0.0, 1.0]])
    found = form(rg.grad(lambda w: F.cross_entropy(x, shares, w)))(rg.tensor(weight))
    np.testing.assert_allclose(found, [np.log(2) / 4, (np.log(2) / 2 - np.log(0.75)) / 2])
    for reduction in ("mean", "sum"):
        rg.testing.check_gradients(lambda w: F.cross_entropy(x, np.array([1, 0]), w, reduction=reduction, label_smoothing=0.1), [weight])


@FORMS
def test_a_parameter_without_a_derivative_is_refused_rather_than_given_none(form):
    x, y = np.ones((2, 3)), np.full((2, 3), 0.5)
    for function in (lambda w: F.binary_cross_entropy_with_logits(x, y, w), lambda w: F.nll_loss(x, np.array([0, 1]), w[0]),
                     lambda w: F.leaky_relu(x, w).sum(), lambda w: F.huber_loss(x, y, delta=w[0, 0])):
        with pytest.raises(MissingRuleError, match=r"has no derivative for .*detach"):
            form(rg.grad(function))(np.ones((2, 3)))
    weight = rg.ones(2, 3, requires_grad=True)
    with rg.no_grad():
        F.binary_cross_entropy_with_logits(x, y, weight)
    F.binary_cross_entropy_with_logits(rg.tensor(x, requires_grad=True), y, weight.detach()).backward()


@FORMS
def test_the_norm_of_a_window_of_zeros_has_a_slope_of_zero(form):
    x = np.zeros((1, 1, 4))
    x[0, 0, 2:] = 3.0, 4.0
    np.testing.assert_allclose(slopes(lambda x: F.lp_pool1d(x, 2.0, 2), x, form), [[[0, 0, 0.6, 0.8]]])
    assert slopes(lambda x: F.lp_pool2d(x, 2.0, 2), np.zeros((1, 1, 2, 2)), form) == [[[[0, 0], [0, 0]]]]
    model = nn.Sequential(nn.Conv2d(1, 2, 1), nn.LPPool2d(2, 2)).double()
    model[0].bias.data[...] = 0
    model(rg.zeros(1, 1, 4, 4, dtype=rg.float64)).sum().backward()
    assert np.isfinite(model[0].weight.grad.numpy()).all()


@FORMS
def test_windows_of_minus_infinity_have_their_greatest_element_inside_of_the_image(form):
    x = np.full((1, 4), -inf)
    z, indices = form(lambda x: F.max_pool1d(x, 3, 2, 1, return_indices=True))(x)
    assert z.tolist() == [[-inf, -inf]] and indices.tolist() == [[0, 1]]
    assert slopes(lambda x: F.max_pool1d(x, 3, 2, 1), x, form) == [[1, 1, 0, 0]]
    image = np.full((1, 3, 3), -inf)
    assert form(lambda x: F.max_pool2d(x, 2, 2, 1, return_indices=True)[1])(image).tolist() == [[[0, 1], [3, 4]]]
    image[0, 1, 1] = nan
    z, indices = form(lambda x: F.max_pool2d(x, 2, 2, 1, return_indices=True))(image)
    assert indices.tolist() == [[[0, 1], [3, 4]]] and np.isnan(z.tolist()[0][1][1])


@FORMS
def test_adaptive_means_leave_an_infinity_in_its_windows(form):
    x = np.array([[inf, 1.0, 2.0, 3.0, 4.0]])
    assert form(lambda x: F.adaptive_avg_pool1d(x, 3))(x).tolist() == [[inf, 2.0, 3.5]]
    x[0, 0] = nan
    np.testing.assert_array_equal(form(lambda x: F.adaptive_avg_pool1d(x, 3))(x), [[nan, 2.0, 3.5]])
    assert F.adaptive_avg_pool1d(rg.tensor([[1, 2, 4]]), 2).tolist() == [[1.5, 3.0]]


@FORMS
def test_a_margin_that_is_just_met_has_a_slope(form):
    assert slopes(lambda x: F.margin_ranking_loss(x, np.zeros(2), np.ones(2), 1.0, "none"), [1.0, 2.0], form) == [-1, 0]
    assert slopes(lambda x: F.hinge_embedding_loss(x, -np.ones(2), 1.0, "none"), [1.0, 2.0], form) == [-1, 0]


def test_an_infinite_score_of_the_right_class_meets_every_margin():
    x = np.array([[inf, 0.0, 1.0]])
    with np.errstate(invalid="ignore"):
        assert F.multi_margin_loss(rg.tensor(x), rg.tensor([0]), p=2).item() == 0
        assert slopes(lambda x: F.multi_margin_loss(x, np.array([0]), p=2), x, lambda f: f) == [[0, 0, 0]]


@FORMS
def test_empty_batches_have_empty_norms_and_leave_running_statistics(form):
    layer = nn.BatchNorm1d(3)
    assert form(layer)(rg.zeros(0, 3)).shape == (0, 3)
    assert layer.running_mean.tolist() == [0, 0, 0] and layer.running_var.tolist() == [1, 1, 1]
    assert form(nn.InstanceNorm1d(3))(rg.zeros(0, 3, 4)).shape == (0, 3, 4)
    assert form(F.cross_entropy)(rg.zeros(0, 3), rg.tensor(np.zeros(0, int)), reduction="sum").item() == 0
    assert form(lambda x: F.cross_entropy(x, np.zeros(0, int), reduction="none"))(rg.zeros(0, 3)).shape == (0,)


@FORMS
def test_cosines_of_vectors_shorter_than_eps(form):
    x, y = np.array([[3e-9, 4e-9]]), np.array([[1.0, 0.0]])
    np.testing.assert_allclose(form(lambda x: F.cosine_similarity(x, y))(x), [0.3])
    # 1 / eps along y, less the part along x that a length which goes on has.
    np.testing.assert_allclose(slopes(lambda x: F.cosine_similarity(x, y), x, form), [[1e8 - 0.18e8, -0.24e8]])
    assert F.cosine_similarity(rg.ones(1, 2, 3), rg.ones(2, 1, 3), dim=-2).shape == (2, 3)


@FORMS
def test_points_at_the_border_have_no_slope(form):
    image = np.array([[[[1.0, 3.0, 7.0]]]])
    points = np.array([[[[-1.0, 0.0], [1.0, 0.0], [0.5, 0.0], [1.5, 0.0]]]])
    for padding in ("border", "reflection"):
        found = slopes(lambda g: F.grid_sample(rg.tensor(image), g, padding_mode=padding, align_corners=True), points, form)
        assert [g[0] for g in found[0][0][:3]] == [0, 0, 4]


@FORMS
def test_volumes_are_sampled_between_eight_elements(form):
    volume = np.arange(8.0).reshape(1, 1, 2, 2, 2)
    points = np.array([[0.0, 0.0, 0.0], [-1.0, -1.0, 1.0], [1.0, 0.0, -1.0]]).reshape(1, 1, 1, 3, 3)
    assert form(lambda x, g: F.grid_sample(x, g, align_corners=True))(volume, points).ravel().tolist() == [3.5, 4, 2]
    grid = F.affine_grid(rg.tensor(np.eye(3, 4)[None]), (1, 1, 2, 2, 2), align_corners=True)
    np.testing.assert_array_equal(F.grid_sample(rg.tensor(volume), grid, "nearest", align_corners=True), volume)
    with pytest.raises(ArgumentError, match="bicubic"):
        F.grid_sample(rg.tensor(volume), grid, "bicubic")


def test_a_cubic_between_equal_pixels_is_their_value():
    image, points = rg.full((1, 1, 4, 4), 2.0, dtype=rg.float64), rg.tensor(np.random.default_rng(0).uniform(-0.2, 0.2, (1, 2, 3, 2)))
    np.testing.assert_allclose(F.grid_sample(image, points, "bicubic"), np.full((1, 1, 2, 3), 2.0))


@pytest.mark.parametrize(("p", "length", "slope"), [
    (0.5, (1 + 2**0.5) ** 2, [1 + 2**0.5, 0, (1 + 2**0.5) / 2**0.5]), (0, 2, [0, 0, 0]), (-1, 2 / 3, None), (-inf, 1, None)])
@FORMS
def test_norms_of_any_order(form, p, length, slope):
    x = np.array([1.0, 0.0, -2.0]) if slope else np.array([1.0, -2.0])
    np.testing.assert_allclose(form(lambda x: rg.norm(x, p))(x), length)
    np.testing.assert_allclose(F.pairwise_distance(rg.tensor(x), rg.zeros(len(x), dtype=rg.float64), p, eps=0.0).item(), length)
    if slope:
        np.testing.assert_allclose(slopes(lambda x: rg.norm(x, p), x, form), [slope[0], slope[1], -slope[2]])


def test_weights_of_elements_in_losses_of_differences():
    x, y, weight = rg.tensor([1.0, 3.0]), rg.tensor([0.0, 0.0]), rg.tensor([3.0, 1.0])
    assert F.mse_loss(x, y, weight=weight).item() == 3.0 and F.l1_loss(x, y, weight=weight).item() == 1.5
    assert F.huber_loss(x, y, weight=weight).item() == 2.0
    with pytest.raises(ShapeError, match="one number for each element"):
        F.mse_loss(x, y, weight=weight[:1])


def test_forward_takes_its_input_by_the_name_that_it_has_in_pytorch():
    x = rg.ones(2, 3)
    assert nn.Linear(3, 4)(input=x).shape == (2, 4) and nn.ReLU()(input=x).shape == (2, 3)
    assert nn.Bilinear(3, 3, 1)(input1=x, input2=x).shape == (2, 1) and nn.Sequential(nn.Tanh())(input=x).shape == (2, 3)


def test_examples_without_a_batch_are_the_rows_of_a_batch():
    rng = rg.Generator(0)
    for axes in (1, 2, 3):
        x = rg.randn(2, 4, *[6] * axes, generator=rng)
        for make in (lambda d: getattr(nn, f"Conv{d}d")(4, 4, 3), lambda d: getattr(nn, f"ConvTranspose{d}d")(4, 4, 3),
                     lambda d: getattr(nn, f"MaxPool{d}d")(2), lambda d: getattr(nn, f"AvgPool{d}d")(2),
                     lambda d: getattr(nn, f"LPPool{d}d")(2, 2), lambda d: getattr(nn, f"InstanceNorm{d}d")(4)):
            layer = make(axes)
            np.testing.assert_allclose(layer(x[1]).detach(), layer(x).detach()[1], rtol=2e-5, atol=2e-5)
