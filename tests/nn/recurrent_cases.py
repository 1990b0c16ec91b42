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
    ("LSTM", {"proj_size": 2, "num_layers": 2, "bidirectional": True, "batch_first": True}, (2, 5, 3), True),
    ("LSTM", {"proj_size": 3, "bias": False}, (5, 3), False),
    ("GRU", {}, (5, 2, 3), True),
    ("GRU", {"num_layers": 2, "bidirectional": True, "batch_first": True}, (2, 5, 3), True),
    ("GRU", {"bias": False}, (5, 3), False),
]
#: (name of the class, its options, shape of the input, whether it is handed a state, lengths of the sequences, which are packed)
PACKED = [
    ("RNN", {}, (5, 4, 3), True, [5, 3, 3, 1]),
    ("RNN", {"bidirectional": True, "num_layers": 2, "batch_first": True}, (4, 5, 3), False, [2, 5, 1, 4]),
    ("LSTM", {"num_layers": 2, "bidirectional": True}, (5, 4, 3), True, [1, 4, 5, 4]),
    ("LSTM", {"bias": False}, (5, 3, 3), False, [5, 5, 5]),
    ("LSTM", {"proj_size": 2, "bidirectional": True}, (5, 3, 3), True, [2, 5, 3]),
    ("GRU", {}, (5, 4, 3), True, [3, 4, 1, 2]),
    ("GRU", {"num_layers": 2, "bidirectional": True}, (5, 3, 3), False, [5, 4, 2]),
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
    name, options, shape, *rest = case
    has_state, lengths = rest[:1] or [True], rest[1] if len(rest) > 1 else None
    network = getattr(library.nn, name)(WIDTH, HIDDEN, **options)
    network.load_state_dict({key: library.tensor(drawn(i, tuple(value.shape)))
                             for i, (key, value) in enumerate(network.state_dict().items())})
    x = library.tensor(drawn(100, shape), requires_grad=True)
    states = _states(library, name, options, shape) if has_state[0] else ()
    hx = () if not states else (states,) if name.startswith("LSTM") else (states[0],)
    found = _leaves(network(x if lengths is None else _packed(library, x, options, lengths), *hx))
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
    sizes = (options.get("proj_size", HIDDEN), HIDDEN)[:count]
    return tuple([library.tensor(drawn(300 + i, (*batch, size)), requires_grad=True) for i, size in enumerate(sizes)])


def _packed(library, x, options, lengths):
    is_sorted = lengths == sorted(lengths, reverse=True)
    return library.nn.utils.rnn.pack_padded_sequence(x, lengths, options.get("batch_first", False), is_sorted)


def _leaves(found):
    if hasattr(found, "batch_sizes"):
        return [found.data]
    if isinstance(found, tuple):
        return [leaf for part in found for leaf in _leaves(part)]
    return [found]
