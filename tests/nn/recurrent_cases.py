"""The recurrent networks that are compared with PyTorch's: small ones, with numbers that anybody can draw again."""

import numpy as np

#: (name of the class, its options, shape of the input, whether it is handed a state)
CASES = [
    ("RNN", {}, (5, 2, 3), True),
    ("RNN", {"nonlinearity": "relu", "num_layers": 2, "bias": False}, (5, 2, 3), False),
    ("RNN", {"bidirectional": True, "batch_first": True}, (2, 5, 3), True),
    ("LSTM", {}, (5, 2, 3), True),
    ("LSTM", {"num_layers": 2, "bidirectional": True}, (5, 2, 3), True),
    ("LSTM", {"batch_first": True, "bias": False}, (2, 5, 3), False),
    ("LSTM", {}, (5, 3), True),
    ("GRU", {}, (5, 2, 3), True),
    ("GRU", {"num_layers": 2, "bidirectional": True, "batch_first": True}, (2, 5, 3), True),
    ("GRU", {"bias": False}, (5, 3), False),
]
#: (name of the class, its options, shape of the input)
CELLS = [("RNNCell", {}, (2, 3)), ("RNNCell", {"nonlinearity": "relu"}, (3,)), ("LSTMCell", {}, (2, 3)), ("LSTMCell", {"bias": False}, (3,)),
         ("GRUCell", {}, (2, 3)), ("GRUCell", {}, (3,))]
WIDTH, HIDDEN = 3, 4


def drawn(seed, shape):
    """Numbers between -1 and 1, float32."""
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32)


def figures(library, case):
    """What a network of `library`, retrograde or torch, makes of a case: outputs, states and all gradients, as arrays."""
    name, options, shape, *has_state = case
    network = getattr(library.nn, name)(WIDTH, HIDDEN, **options)
    network.load_state_dict({key: library.tensor(drawn(i, tuple(value.shape)))
                             for i, (key, value) in enumerate(network.state_dict().items())})
    x = library.tensor(drawn(100, shape), requires_grad=True)
    states = _states(library, name, options, shape) if not has_state or has_state[0] else ()
    hx = () if not states else (states,) if name.startswith("LSTM") else (states[0],)
    found = _leaves(network(x, *hx))
    loss = sum([(value * library.tensor(drawn(200 + i, tuple(value.shape)))).sum() for i, value in enumerate(found)])
    loss.backward()
    gradients = [value.grad for value in (x, *states, *network.parameters())]
    return [np.asarray(value.detach().numpy()) for value in (*found, *gradients)]


def _states(library, name, options, shape):
    batch = shape[:-1]
    if not name.endswith("Cell"):
        layers = options.get("num_layers", 1) * (1 + options.get("bidirectional", False))
        batch = (layers, *((shape[0] if options.get("batch_first") else shape[1],) if len(shape) == 3 else ()))
    count = 2 if name.startswith("LSTM") else 1
    return tuple([library.tensor(drawn(300 + i, (*batch, HIDDEN)), requires_grad=True) for i in range(count)])


def _leaves(found):
    if isinstance(found, tuple):
        return [leaf for part in found for leaf in _leaves(part)]
    return [found]
