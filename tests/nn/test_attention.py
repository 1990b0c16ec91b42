import numpy as np
import pytest

import retrograde as rg
from retrograde import nn
from retrograde.nn import functional
from retrograde.nn.functional import scaled_dot_product_attention as attention


def drawn(*shape, seed=0):
    return rg.tensor(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


def test_attention_is_one_record():
    q = drawn(2, 3, 4).requires_grad_()
    assert attention(q, q, q).record.name == "attention"


def test_attention_is_safe_for_great_products():
    q = drawn(2, 3, 4) * 1e4
    for function in (attention, rg.jit(lambda q, k, v: attention(q, k, v))):
        assert np.isfinite(function(q, q, drawn(2, 3, 4)).numpy()).all()


def test_a_query_that_may_look_nowhere_gives_zeros_and_no_gradient():
    q, k = drawn(2, 4).requires_grad_(), drawn(3, 4, seed=1)
    mask = rg.tensor([[True, False, True], [False, False, False]])
    found = attention(q, k, k, mask)
    found.sum().backward()
    assert found[1].tolist() == q.grad[1].tolist() == [0.0] * 4
    assert q.grad[0].numpy().any()


def test_dropped_attention_is_right_on_average_and_in_its_derivative():
    rg.manual_seed(0)
    q, v = drawn(1, 1, 4), drawn(1, 5, 3)
    k = drawn(1, 5, 4, seed=2)
    many = attention(rg.broadcast_to(q, (20_000, 1, 4)), k, v, dropout_p=0.3)
    np.testing.assert_allclose(many.numpy().mean(0), attention(q, k, v)[0].numpy(), atol=0.02)
    rg.testing.check_gradients(lambda q, k, v: _seeded(attention, q, k, v, dropout_p=0.3),
                               (q.numpy().astype(float), k.numpy().astype(float), v.numpy().astype(float)))


def _seeded(function, *args, **kwargs):
    rg.manual_seed(5)
    return function(*args, **kwargs)


def test_dropped_attention_is_the_same_in_jit():
    q = drawn(2, 3, 4)
    layer = rg.jit(lambda q: attention(q, q, q, dropout_p=0.5))
    found = [_seeded(layer, q).numpy() for _ in range(2)]
    np.testing.assert_allclose(found[0], _seeded(attention, q, q, q, dropout_p=0.5).numpy(), atol=1e-6)
    np.testing.assert_array_equal(found[0], found[1])


def test_dropout_of_a_layer_ends_with_training():
    x = drawn(2, 5, 8)
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.5, batch_first=True)
    assert (layer(x) != layer(x)).numpy().any()
    layer.eval()
    assert (layer(x) == layer(x)).numpy().all()


def test_a_causal_layer_does_not_look_ahead():
    layer, x = nn.MultiheadAttention(8, 2, batch_first=True), drawn(1, 5, 8)
    y = rg.concatenate([x[:, :3], x[:, 3:] * 2], 1)
    for options in ({"need_weights": False}, {}):
        first, second = [layer(z, z, z, is_causal=True, **options)[0].detach().numpy() for z in (x, y)]
        np.testing.assert_allclose(first[:, :3], second[:, :3], atol=1e-6)
        assert not np.allclose(first[:, 3:], second[:, 3:])


def test_layers_of_an_encoder_are_copies():
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2, nn.LayerNorm(8))
    first, second = encoder.layers
    np.testing.assert_array_equal(first.linear1.weight.detach(), second.linear1.weight.detach())
    assert first.linear1.weight is not second.linear1.weight
    assert [name for name in encoder.state_dict() if "linear" not in name and "norm" in name][-2:] == ["norm.weight", "norm.bias"]
    encoder(drawn(2, 5, 8)).sum().backward()
    assert all(p.grad is not None for p in encoder.parameters())


def test_projections_start_as_in_torch():
    rg.manual_seed(0)
    layer = nn.MultiheadAttention(64, 4)
    bound = np.sqrt(6 / (64 + 3 * 64))
    weights = layer.in_proj_weight.detach().numpy()
    assert 0.98 * bound < np.abs(weights).max() <= bound
    assert not layer.in_proj_bias.detach().numpy().any() and not layer.out_proj.bias.detach().numpy().any()


@pytest.mark.parametrize(("call", "message"), [
    (lambda q: attention(q, q, q, rg.ones(3, 3), is_causal=True), "not both"),
    (lambda q: attention(q, rg.ones(2, 3, 5), q), "query"),
    (lambda q: attention(q, q, q, rg.tensor([[1, 0, 1]])), "booleans or floats"),
    (lambda q: attention(q, q, q, dropout_p=1.0), "dropout_p"),
    (lambda q: attention(q, rg.ones(3, 3, 4), rg.ones(3, 3, 4), enable_gqa=True), "divides"),
    (lambda q: nn.MultiheadAttention(6, 4), "divide"), (lambda q: nn.MultiheadAttention(4, 2)(q, q[0], q[0]), "2 or 3 axes"),
    (lambda q: nn.TransformerEncoderLayer(4, 2, activation="tanh"), "activation"),
])
def test_what_does_not_fit_is_an_error(call, message):
    with pytest.raises(ValueError, match=message):
        call(drawn(2, 3, 4))


def test_grouped_queries_share_keys():
    q, k, v = drawn(2, 6, 3, 4), drawn(2, 2, 5, 4, seed=1), drawn(2, 2, 5, 4, seed=2)
    repeated = [rg.repeat(x, 3, axis=1) for x in (k, v)]
    np.testing.assert_allclose(attention(q, k, v, enable_gqa=True).numpy(), attention(q, *repeated).numpy(), atol=1e-6)


def test_functional_names_are_those_of_the_ops():
    assert functional.layer_norm.__wrapped__ is rg.ops.normalization.layer_norm
