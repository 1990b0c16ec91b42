"""Programs in PyTorch's spelling, which run with `import torch` and with `import retrograde.torch as torch`.

Each is a function of the module: it makes a model, and a step that trains it on a batch and returns the loss.
"""

import math

import numpy as np


def digits(torch):
    """A perceptron with batch norm and dropout switched off, on images of digits, by SGD with momentum and a schedule."""
    nn, F, optim = torch.nn, torch.nn.functional, torch.optim

    class Net(nn.Module):
        def __init__(self, hidden=32):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(64, hidden), nn.Linear(hidden, hidden)])
            self.norm = nn.BatchNorm1d(hidden)
            self.drop = nn.Dropout(0.0)
            self.head = nn.Linear(hidden, 10, bias=False)
            self.register_buffer("scale", torch.tensor(16.0))
            self.apply(self._init)

        def _init(self, module):
            if isinstance(module, nn.Linear):
                nn.init.kaiming_uniform_(module.weight, a=math.sqrt(5))
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

        def forward(self, x):
            x = x.view(x.size(0), -1).float() / self.scale
            x = F.relu(self.layers[0](x))
            x = self.drop(self.norm(self.layers[1](x))).tanh()
            return F.log_softmax(self.head(x), dim=1)

    model = Net()
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    draw = np.random.default_rng(0)
    images, labels = draw.integers(0, 17, (8, 32, 8, 8)), draw.integers(0, 10, (8, 32))

    def step(data, target):
        optimizer.zero_grad()
        output = model(data)
        loss = F.nll_loss(output, target)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        pred = output.argmax(dim=1, keepdim=True)
        return loss, pred.eq(target.view_as(pred)).sum()

    return model, step, [(torch.from_numpy(x), torch.from_numpy(y)) for x, y in zip(images, labels, strict=True)]


def language(torch):
    """A language model of two LSTM layers with tied weights, by Adam."""
    nn, F = torch.nn, torch.nn.functional

    class Model(nn.Module):
        def __init__(self, count=20, width=16):
            super().__init__()
            self.width = width
            self.encoder = nn.Embedding(count, width)
            self.rnn = nn.LSTM(width, width, 2)
            self.decoder = nn.Linear(width, count)
            self.decoder.weight = self.encoder.weight
            for weight in self.parameters():
                weight.data.uniform_(-0.1, 0.1)
            self.decoder.bias.data.zero_()

        def init_hidden(self, batch):
            weight = next(self.parameters())
            return weight.new_zeros(2, batch, self.width), weight.new_zeros(2, batch, self.width)

        def forward(self, tokens, hidden):
            out, hidden = self.rnn(self.encoder(tokens), hidden)
            logits = self.decoder(out)
            return logits.view(-1, logits.size(2)), hidden

    model = Model()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    text = np.random.default_rng(1).integers(0, 20, (8 * 6 + 1, 4))

    def step(tokens, targets):
        optimizer.zero_grad(set_to_none=True)
        hidden = tuple(h.detach() for h in model.init_hidden(tokens.size(1)))
        logits, _ = model(tokens, hidden)
        loss = F.cross_entropy(logits, targets.reshape(-1))
        loss.backward()
        optimizer.step()
        values, indices = logits.max(1)
        return loss, (indices == targets.flatten()).float().mean() + 0 * values.std()

    batches = [(torch.tensor(text[6 * i : 6 * i + 6]), torch.tensor(text[6 * i + 1 : 6 * i + 7])) for i in range(8)]
    return model, step, batches


def autoencoder(torch):
    """A variational autoencoder, whose noise is given, by AdamW."""
    nn, F = torch.nn, torch.nn.functional

    class VAE(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc1, self.fc21, self.fc22 = nn.Linear(36, 24), nn.Linear(24, 4), nn.Linear(24, 4)
            self.decode = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 36), nn.Sigmoid())

        def forward(self, x, noise):
            hidden = F.relu(self.fc1(x.view(-1, 36)))
            mu, logvar = self.fc21(hidden), self.fc22(hidden)
            std = torch.exp(0.5 * logvar)
            return self.decode(mu + noise * std), mu, logvar

    model = VAE()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    draw = np.random.default_rng(2)

    def step(x, noise):
        optimizer.zero_grad()
        recon, mu, logvar = model(x, noise)
        entropy = F.binary_cross_entropy(recon, x.view(-1, 36), reduction="sum")
        divergence = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
        loss = (entropy + divergence) / len(x)
        loss.backward()
        optimizer.step()
        return loss, mu.var(dim=0).max()

    return model, step, [(torch.from_numpy(draw.uniform(size=(10, 6, 6)).astype(np.float32)),
                          torch.tensor(draw.normal(size=(10, 4)), dtype=torch.float32)) for _ in range(8)]


def transformer(torch):
    """A small GPT: masked attention written out, weights set in place, groups of parameters, gradients clipped, a schedule."""
    nn, F = torch.nn, torch.nn.functional

    class Attention(nn.Module):
        def __init__(self, width, heads, length):
            super().__init__()
            self.heads = heads
            self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.register_buffer("mask", torch.tril(torch.ones(length, length)).view(1, 1, length, length))

        def forward(self, x):
            B, T, C = x.size()
            q, k, v = self.qkv(x).split(C, dim=2)
            q, k, v = (t.view(B, T, self.heads, C // self.heads).transpose(1, 2) for t in (q, k, v))
            att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
            att = F.softmax(att.masked_fill(self.mask[:, :, :T, :T] == 0, float("-inf")), dim=-1)
            return self.proj((att @ v).transpose(1, 2).contiguous().view(B, T, C))

    class Block(nn.Module):
        def __init__(self, width, heads, length):
            super().__init__()
            self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.attn = Attention(width, heads, length)
            self.mlp = nn.ModuleDict({"fc": nn.Linear(width, 2 * width), "act": nn.GELU(), "proj": nn.Linear(2 * width, width)})

        def forward(self, x):
            x = x + self.attn(self.ln_1(x))
            m = self.mlp
            return x + m["proj"](m["act"](m["fc"](self.ln_2(x))))

    class GPT(nn.Module):
        def __init__(self, count=17, width=16, length=8):
            super().__init__()
            self.wte, self.wpe = nn.Embedding(count, width), nn.Embedding(length, width)
            self.h = nn.ModuleList([Block(width, 2, length) for _ in range(2)])
            self.ln_f, self.head = nn.LayerNorm(width), nn.Linear(width, count, bias=False)
            for name, p in self.named_parameters():
                if name.endswith("proj.weight"):
                    torch.nn.init.normal_(p, mean=0.0, std=0.02)

        def forward(self, idx, targets):
            pos = torch.arange(0, idx.size(1), dtype=torch.long, device=idx.device).unsqueeze(0)
            x = self.wte(idx) + self.wpe(pos)
            for block in self.h:
                x = block(x)
            logits = self.head(self.ln_f(x))
            return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1)

    model = GPT()
    decayed = [p for p in model.parameters() if p.dim() >= 2]
    rest = [p for p in model.parameters() if p.dim() < 2]
    optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}], lr=3e-3, betas=(0.9, 0.95))
    text = torch.tensor(np.random.default_rng(3).integers(0, 17, (8, 4, 9)))

    def step(tokens, targets):
        _, loss = model(tokens, targets)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        total = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss, total

    return model, step, [(rows[:, :-1], rows[:, 1:].contiguous()) for rows in text]


PROGRAMS = [digits, language, autoencoder, transformer]
