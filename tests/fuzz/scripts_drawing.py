"""Drawing scripts: a model, an optimizer, a step, and what people do between calls of it."""

from dataclasses import dataclass

import numpy as np

X3, X33, X43, WORDS, IMAGES = "draw({n}, 3)", "draw({n}, 4, 3)", "draw({n}, 5, 4)", "rg.tensor(rng.integers(0, 7, ({n}, 5)))", "draw({n}, 1, 6, 6)"
#: Source of each model, and of what it is called with.
MODELS = (
    ("nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))", X3), ("nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2, bias=False))", X3),
    ("nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.SiLU(), nn.Linear(4, 2))", X3), ("nn.Linear(3, 2)", X3), ("Leaves()", X3), ("Leaves()", X3),
    ("nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.Dropout(0.3), nn.Linear(4, 2))", X3),
    ("nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8, 2))", IMAGES),
    ("Recurrent('LSTM')", X33), ("Recurrent('GRU')", X33), ("Recurrent('RNN')", X33), ("Recurrent('LSTM', 2)", X33), ("Words()", WORDS), ("Attending()", X43),
    ("nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3), nn.GroupNorm(1, 3), nn.Linear(3, 2))", X3),
    ("nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(3, 4)), nn.PReLU(), nn.Linear(4, 2))", X3),
    ("nn.Sequential(nn.utils.parametrizations.spectral_norm(nn.Linear(3, 4)), nn.Tanh(), nn.Linear(4, 2))", X3),
    ("Remembering()", X33), ("Remembering()", X33), ("Tied()", X3), ("nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3), nn.Linear(3, 2))", X3),
)
OPTIMIZERS = ("optim.SGD({p}, lr=0.1)", "optim.SGD({p}, lr=0.1, momentum=0.9)", "optim.SGD({p}, lr=0.05, momentum=0.5, nesterov=True, weight_decay=0.01)",
              "optim.Adam({p}, lr=0.01)", "optim.Adam({p}, lr=0.01, amsgrad=True)", "optim.AdamW({p}, lr=0.01)", "optim.RMSprop({p}, lr=0.01)",
              "optim.RMSprop({p}, lr=0.01, momentum=0.5, centered=True)", "optim.Adagrad({p}, lr=0.05)", "optim.Adamax({p}, lr=0.01)",
              "optim.SGD([{{'params': list(model.parameters())[:1], 'lr': 0.05}}, {{'params': list(model.parameters())[1:]}}], lr=0.1, momentum=0.5)",
              "optim.SGD({p}, lr=0.1, maximize=True)", "optim.NAdam({p}, lr=0.01)", "optim.RAdam({p}, lr=0.01)", "optim.Adadelta({p})", "optim.Rprop({p}, lr=0.01)")
SCHEDULERS = ("optim.lr_scheduler.StepLR(optimizer, 2, 0.5)", "optim.lr_scheduler.ExponentialLR(optimizer, 0.9)",
              "optim.lr_scheduler.CosineAnnealingLR(optimizer, 5)", "optim.lr_scheduler.LambdaLR(optimizer, lambda k: 1 / (1 + k))")
LOSSES = ("F.mse_loss(model(x), y)", "(model(x) * y).sum()", "model(x).mean()", "model(x).sum()", "F.huber_loss(model(x), y)", "(model(x) ** 2).mean() + y.mean()",
          "sum((p * p).sum() for p in model.parameters() if p.requires_grad)", "F.cross_entropy(model(x), rg.argmax(y, axis=1))")
#: What a step does between the backward pass and the optimizer.
EDITS = ("", "", "", "nn.utils.clip_grad_norm_(model.parameters(), 0.1)", "nn.utils.clip_grad_value_(model.parameters(), 0.05)",
         "for p in graded(model): p.grad *= 2", "for p in graded(model): p.grad += 0.1 * p.detach()", "for p in graded(model): p.grad[...] = p.grad.clip(-0.1, 0.1)",
         "for p in graded(model)[:1]: p.grad[...] = 0.5", "for p in graded(model): p.grad = p.grad * 0.5", "for p in graded(model)[-1:]: p.grad = None",
         "for p in graded(model)[:1]: p.grad.fill_(0)")
#: What people do between calls.
ACTIONS = (
    "parameter(model, {k}).requires_grad_(False)", "for p in model.parameters(): p.requires_grad_(True)", "model.requires_grad_({flag})",
    "exchange(model, {k}, lambda p: p * 0.5)", "exchange(model, {k}, lambda p: p + 0.1)", "parameter(model, {k}).grad = None",
    "for p in graded(model): p.grad *= 2", "for p in graded(model)[:2]: p.grad.fill_(0)", "parameter(model, {k}).grad = rg.ones_like(parameter(model, {k}))",
    "optimizer.zero_grad(set_to_none={flag})", "model.zero_grad()", "model.zero_grad(set_to_none=False)", "optimizer.param_groups[0]['lr'] = 0.02",
    "optimizer.param_groups[0]['lr'] *= 0.5", "optimizer.param_groups[0]['weight_decay'] = 0.1", "model.eval()", "model.train()", "model.train({flag})",
    "saved = {{k: v.detach().clone() for k, v in model.state_dict().items()}}\nrg.manual_seed(3)", "model.load_state_dict({{k: v * 0.9 for k, v in model.state_dict().items()}})",
    "moments = copy.deepcopy(optimizer.state_dict())\noptimizer.load_state_dict(moments)", "scheduler.step()",
    "handle = model.register_forward_hook(lambda m, i, o: o * 2)", "handle = parameter(model, {k}).register_hook(lambda g: g * 0.5) if parameter(model, {k}).requires_grad else handle",
    "handle is None or handle.remove()", "with rg.no_grad(): model_p = parameter(model, {k}); model_p *= 0.9", "parameter(model, {k}).data = parameter(model, {k}).data * 0.5",
    "parameter(model, {k}).data *= 0.5", "with rg.no_grad(): parameter(model, {k})[...] = 0.25", "kept += [p.grad for p in graded(model)[:1]]",
    "kept += [parameter(model, {k}).detach()]", "extras.append(rg.tensor([0.5, 1.5], dtype=rg.float64, requires_grad=True))", "extras and extras.pop()",
    "flags['fail'] = True", "flags['fail'] = False", "for b in model.buffers(): b += 1", "optimizer.step()",
    "optimizer.add_param_group({{'params': [t for t in extras if not any(t is p for g in optimizer.param_groups for p in g['params'])][:1] or [rg.tensor([1.0], dtype=rg.float64, requires_grad=True)]}})",
    "rg.manual_seed({k})", "state['scale'] = rg.tensor(0.5)", "state['scale'] = state['scale'] * 2", "state['bias'] = rg.tensor([0.1, 0.2])", "state.pop('bias', None)",
    "tie(model, {k})", "tie(model, {k})", "for module in model.modules(): module.register_buffer('extra', rg.tensor([{k}.0]))",
    "for name, b in list(model.named_buffers(recurse=False)): setattr(model, name, b * 0.5 if b.dtype.kind == 'f' else b + 1)",
    "handle = model.register_forward_pre_hook(lambda m, i: tuple(t * 0.5 if t.dtype.kind == 'f' else t for t in i))",
    "handle = model.register_full_backward_hook(lambda m, gi, go: None)",
    "optimizer.state.clear()", "optimizer.param_groups[0]['weight_decay'] = 0.0", "optimizer.param_groups[-1]['lr'] *= 0.5",
    "scheduler.load_state_dict(scheduler.state_dict())", "with rg.no_grad(): nn.init.constant_(parameter(model, {k}), 0.3)",
    "with rg.no_grad(): parameter(model, {k}).copy_(parameter(model, {k}) * 0.5)", "for p in model.parameters(): p.grad = None if p.grad is None else p.grad.clone()",
    "parameter(model, {k}).grad = parameter(model, {k}).detach() * 0.1", "parameter(model, {k}).data = parameter(model, {k}).data.T.copy().T",
    "state['scale'] = rg.tensor(0.5, dtype=rg.float32)", "F.mse_loss(model(last[0]), last[1]).backward()",
    "record(lambda: evaluate(last[0]), model, optimizer, extras, kept)", "record(lambda: evaluate(last[0]), model, optimizer, extras, kept)",
    "with rg.no_grad(): average = [p.detach() * 0.9 for p in model.parameters()]\nkept += average[:1]", "model.requires_grad_(True)",
    "kept += [rg.grad(lambda t: (t * t * state['scale']).sum())(parameter(model, {k}).detach())]", "model.to(rg.float32)", "model.to(rg.float64)",
    "last = (last[0].astype(rg.float32) if last[0].dtype.kind == 'f' else last[0], last[1].astype(rg.float32))",
    "record(lambda: in_threads(step, last), model, optimizer, extras, kept)",
    "step.count = 1 if hasattr(step, '__dict__') else 0", "optimizer.param_groups[0]['momentum'] = 0.3 if 'momentum' in optimizer.param_groups[0] else 0",
)
CALLS = (*["step({x}, {y}{fail})"] * 4, "in_thread(lambda: step({x}, {y}{fail}))", "step(x=last[0], y=last[1]{fail})")


@dataclass(frozen=True)
class Script:
    """What is made first, the step, and the statements that call it and change things between."""

    head: tuple
    step: tuple
    statements: tuple
    seed: int

    @property
    def text(self):
        """The source of the function `script`."""
        lines = [*self.head, "", "def step(x, y, fail=False):", *(f"    {line}" for line in self.step), "", "step = compiled(step)",
                 "evaluate = compiled(lambda x: model(x) * state['scale'])",
                 *(line for statement in self.statements for line in statement.split("\n")), "return record.found"]
        return "\n".join(["def script(compiled, nudge=0.0):", *(f"    {line}" if line else "" for line in lines)])


def drawn(seed):
    """The script of a seed."""
    rng = np.random.default_rng([seed, 2])

    def choice(things):
        return things[int(rng.integers(len(things)))]

    model, inputs = choice(MODELS)
    dtype = choice(("float64", "float64", "float32"))
    head = (
        f"rng = np.random.default_rng({seed})", f"rg.manual_seed({seed})", "record = Record()",
        f"draw = lambda *shape: rg.tensor(nudged(rng.normal(size=shape).round(2), nudge).astype({dtype!r}))",
        f"model = {model}", f"model.to(rg.{dtype})", f"optimizer = {choice(OPTIMIZERS).format(p='model.parameters()')}",
        f"scheduler = {choice(SCHEDULERS)}", "extras, kept, flags, handle = [], [], {'fail': False}, None",
        "state = {'scale': rg.tensor(1.0)}", f"last = ({inputs.format(n=4)}, draw(4, 2))",
    )
    step = _step(rng, choice)
    # A flag that nothing but a branch reads is a constant in a jitted function, as the guide says; as an argument it is not.
    return Script(head, step, tuple(_statements(rng, choice, inputs, "if fail:" in step)), seed)


def _step(rng, choice):
    lines = [choice(("optimizer.zero_grad()", "optimizer.zero_grad(set_to_none=False)", "optimizer.zero_grad()", "pass"))]
    lines.append(f"loss = {choice(LOSSES)} * state['scale']")
    if rng.random() < 0.3:
        lines.append("loss = loss + sum((t * t).sum() for t in extras)")
    if rng.random() < 0.2:
        lines.append("loss = loss + (state['bias'].sum() if 'bias' in state else 0)")
    kind = rng.random()
    if kind < 0.75:
        lines.append("loss.backward()")
    elif kind < 0.85:
        lines += ["loss.backward(retain_graph=True)", "loss.backward()"]
    else:
        lines.append("loss.backward(inputs=[p for p in model.parameters() if p.requires_grad])")
    lines += [line for line in (choice(EDITS), choice(EDITS)) if line]
    if rng.random() < 0.15:
        lines += ["if fail:", "    raise Stop('half-way')"]
    if rng.random() < 0.7:
        lines.append("optimizer.step()")
    lines.append(choice(("return loss", "return loss", "return loss.detach(), model(x)", "return {'loss': loss, 'norm': sum((p * p).sum() for p in model.parameters())}",
                         "return None", "return [p.grad for p in graded(model)][:1]")))
    return tuple(lines)


def _statements(rng, choice, inputs, may_fail):
    for _ in range(int(rng.integers(3, 8))):
        n = choice((4, 4, 4, 4, 3, 1))
        call = choice(CALLS).format(x=inputs.format(n=n), y=f"draw({n}, 2)", fail=", fail=flags['fail']" if may_fail else "")
        yield f"record(lambda: {call}, model, optimizer, extras, kept)"
        for _ in range(choice((0, 1, 1, 2, 3))):
            yield choice(ACTIONS).format(k=int(rng.integers(0, 8)), flag=choice(("True", "False")))
    yield "record(lambda: step(*last), model, optimizer, extras, kept)"
