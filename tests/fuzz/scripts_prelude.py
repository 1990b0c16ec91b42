"""What the sources of stateful scripts may use; it stands in every snippet."""

SCRIPT_PRELUDE = '''
class Recurrent(nn.Module):
    def __init__(self, kind, layers=1):
        super().__init__()
        self.inner = getattr(nn, kind)(3, 4, num_layers=layers, batch_first=True)
        self.head = nn.Linear(4, 2)

    def forward(self, x):
        return self.head(self.inner(x)[0][:, -1])


class Attending(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.MultiheadAttention(4, 2, batch_first=True)
        self.norm, self.head = nn.LayerNorm(4), nn.Linear(4, 2)

    def forward(self, x):
        return self.head(self.norm(x + self.inner(x, x, x)[0]).mean(1))


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.positions, self.head = nn.Embedding(7, 4), nn.Embedding(5, 4), nn.Linear(4, 7)

    def forward(self, x):
        return self.head(self.tokens(x) + self.positions(rg.arange(x.shape[1])))[:, -1, :2]


class Remembering(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.head = nn.GRU(3, 4, batch_first=True), nn.Linear(4, 2)
        self.register_buffer("hidden", rg.zeros((1, 1, 4)))
        self.register_buffer("calls", rg.tensor(0))

    def forward(self, x):
        out, hidden = self.inner(x, rg.broadcast_to(self.hidden, (1, x.shape[0], 4)) * 1)
        self.hidden[...] = hidden.detach().mean(1, keepdims=True)
        self.calls += 1
        return self.head(out[:, -1])


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.head = nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 2)
        self.second.weight = self.first.weight

    def forward(self, x):
        return self.head(rg.tanh(self.second(rg.tanh(self.first(x)))))


class Leaves(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = (nn.Parameter(rg.tensor([0.5, -1.0, 2.0])) for _ in range(3))
        self.scale = nn.Parameter(rg.tensor(1.5))
        self.register_buffer("count", rg.tensor(0.0))

    def forward(self, x):
        self.count += 1
        return (((self.a + self.b) * x + self.c) * self.scale)[:, :2]


def owner(model, k):
    """The module that has parameter k, and its name there."""
    wanted = list(model.parameters())[k % len(list(model.parameters()))]
    return next((module, name) for module in model.modules() for name, p in module.named_parameters(recurse=False) if p is wanted)


def parameter(model, k):
    found = list(model.parameters())
    return found[k % len(found)]


def exchange(model, k, change):
    module, name = owner(model, k)
    setattr(module, name, nn.Parameter(change(getattr(module, name).detach())))


def tie(model, k):
    """Let parameter k also stand in the place of another one of its shape, if there is any."""
    wanted = parameter(model, k)
    for module in model.modules():
        for name, p in module.named_parameters(recurse=False):
            if p is not wanted and p.shape == wanted.shape:
                setattr(module, name, wanted)
                return


def graded(model):
    return [p for p in model.parameters() if p.grad is not None]


def in_thread(function):
    found = []

    def run():
        try:
            found.append(function())
        except Exception as error:
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if isinstance(found[0], Exception):
        raise found[0]
    return found[0]


def in_threads(step, last):
    """Three calls from as many threads, one after another: what each gave, as it was then."""
    copied = lambda z: np.array(z.detach()) if isinstance(z, rg.Tensor) else z
    return [in_thread(lambda: rg.tree.map(copied, step(*last))) for _ in range(3)]


def nudged(x, size):
    return x * (1 + size * np.cos(1e3 * x))


class Stop(Exception):
    pass


class Record:
    """All state after each call, as arrays by name."""

    def __init__(self):
        self.found = []

    def __call__(self, function, model, optimizer, extras, kept):
        state = {}
        try:
            result = function()
            for k, z in enumerate(rg.tree.leaves(result)):
                state[f"result {k}"] = z
        except (Stop, rg.errors.RetrogradeError) as error:
            state["error"] = type(error).__name__
            state["message"] = str(error)[:200]
        memory = {}
        for name, p in [*model.named_parameters(), *((f"extra {k}", t) for k, t in enumerate(extras))]:
            state[f"value {name}"], state[f"gradient {name}"], state[f"requires {name}"] = p, p.grad, p.requires_grad
            memory[f"value {name}"] = p
            memory[f"gradient {name}"] = p.grad
        for name, b in model.named_buffers():
            state[f"buffer {name}"] = b
        for k, g in enumerate(kept):
            state[f"kept {k}"] = memory[f"kept {k}"] = g
        for k, group in enumerate(optimizer.param_groups):
            for option, value in group.items():
                if option != "params":
                    state[f"option {k} {option}"] = value
            for i, p in enumerate(group["params"]):
                for name, value in optimizer.state.get(p, {}).items():
                    state[f"moment {k} {i} {name}"] = value
        arrays = {name: x.detach().numpy() for name, x in memory.items() if x is not None}
        state["aliases"] = str(sorted((a, b) for a in arrays for b in arrays if a < b and np.shares_memory(arrays[a], arrays[b])))
        self.found.append({name: np.array(x.detach()) if isinstance(x, rg.Tensor) else x for name, x in state.items()})


def problem(wanted, got, limit):
    """(call, name, size or words) of the first difference between two records, up to a call that both refuse.

    Compiled code leaves the state as it was where a call fails, eager code stops on the way.
    """
    for call, (a, b) in enumerate(zip(wanted, got, strict=True)):
        if "error" in a and a["error"] == b.get("error"):
            return None
        for name in dict.fromkeys([*a, *b]):
            if name == "message":
                continue
            if name not in a or name not in b:
                return call, name, f"only {'compiled' if name in b else 'eager'}, {a.get('message', '')}{b.get('message', '')}"
            x, y = a[name], b[name]
            if isinstance(x, np.ndarray) and isinstance(y, np.ndarray) and (x.shape, x.dtype) == (y.shape, y.dtype):
                size = float(np.max(np.where((x == y) | (x != x) & (y != y), 0, np.abs(x.astype(float) - y.astype(float))), initial=0))
                if not size <= limit * (1 + float(np.max(np.abs(x.astype(float)), initial=0, where=np.isfinite(x)))):
                    return call, name, size
            elif isinstance(x, float) and isinstance(y, float) and abs(x - y) <= limit * (1 + abs(x)):
                continue
            elif isinstance(x, np.ndarray) or isinstance(y, np.ndarray) or x != y:
                return call, name, f"{y}, not {x}"
    return None
'''
