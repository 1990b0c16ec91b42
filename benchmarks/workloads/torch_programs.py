"""Programs in PyTorch's words: each function takes `torch` or `retrograde.torch`, and returns one training step of a model."""

import math


def _step(optimizer, loss_of):
    def step():
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        optimizer.step()
        return loss

    return step


def language_model(torch, nn, functional):
    """An LSTM of two layers on words, as in pytorch/examples' word_language_model: 200 wide, 35 steps, batch 20, clipped SGD."""
    words, width, steps, batch, rate = 2000, 200, 35, 20, 0.5

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.drop, self.encoder = nn.Dropout(0.2), nn.Embedding(words, width)
            self.rnn, self.decoder = nn.LSTM(width, width, 2, dropout=0.2), nn.Linear(width, words)
            nn.init.uniform_(self.encoder.weight, -0.1, 0.1)

        def forward(self, x, hidden):
            output, hidden = self.rnn(self.drop(self.encoder(x)), hidden)
            return functional.log_softmax(self.decoder(self.drop(output)).view(-1, words), dim=1), hidden

    model, loss = Model(), nn.NLLLoss()
    x, y = torch.randint(0, words, (steps, batch)), torch.randint(0, words, (steps * batch,))
    hidden = [(torch.zeros(2, batch, width), torch.zeros(2, batch, width))]

    def step():
        model.zero_grad()
        output, hidden[0] = model(x, tuple(h.detach() for h in hidden[0]))
        found = loss(output, y)
        found.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        for p in model.parameters():
            p.data.add_(p.grad, alpha=-rate)
        return found

    return step


def rows_of_digits(torch, nn, functional):
    """An LSTM on the rows of images, as in pytorch/examples' mnist_rnn: 28 steps, 64 units, batch 64."""

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn, self.batchnorm = nn.LSTM(28, 64, batch_first=True), nn.BatchNorm1d(64)
            self.dropout1, self.dropout2 = nn.Dropout(0.25), nn.Dropout(0.5)
            self.fc1, self.fc2 = nn.Linear(64, 32), nn.Linear(32, 10)

        def forward(self, x):
            output, _ = self.rnn(x.reshape(-1, 28, 28))
            output = functional.relu(self.fc1(self.dropout1(self.batchnorm(output[:, -1, :]))))
            return functional.log_softmax(self.fc2(self.dropout2(output)), dim=1)

    model = Net()
    optimizer = torch.optim.Adadelta(model.parameters(), lr=0.1)
    x, y = torch.randn(64, 1, 28, 28), torch.randint(0, 10, (64,))
    return _step(optimizer, lambda: functional.nll_loss(model(x), y))


def small_gpt(torch, nn, functional):
    """A transformer in minGPT's manner: 3 layers, 48 wide, 3 heads, 64 places, batch 16, with attention written out; AdamW."""
    width, heads, places, batch, count, words = 48, 3, 64, 16, 3, 65

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.drop1, self.drop2 = nn.Dropout(0.1), nn.Dropout(0.1)
            self.register_buffer("bias", torch.tril(torch.ones(places, places)).view(1, 1, places, places))

        def forward(self, x):
            b, t, c = x.size()
            q, k, v = self.c_attn(x).split(width, dim=2)
            q, k, v = (a.view(b, t, heads, c // heads).transpose(1, 2) for a in (q, k, v))
            att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
            att = att.masked_fill(self.bias[:, :, :t, :t] == 0, float("-inf"))
            att = self.drop1(functional.softmax(att, dim=-1))
            return self.drop2(self.c_proj((att @ v).transpose(1, 2).contiguous().view(b, t, c)))

    class NewGELU(nn.Module):
        def forward(self, x):
            return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.ln_1, self.attn, self.ln_2 = nn.LayerNorm(width), Attention(), nn.LayerNorm(width)
            self.mlp = nn.Sequential(nn.Linear(width, 4 * width), NewGELU(), nn.Linear(4 * width, width), nn.Dropout(0.1))

        def forward(self, x):
            x = x + self.attn(self.ln_1(x))
            return x + self.mlp(self.ln_2(x))

    class GPT(nn.Module):
        def __init__(self):
            super().__init__()
            self.wte, self.wpe, self.drop = nn.Embedding(words, width), nn.Embedding(places, width), nn.Dropout(0.1)
            self.h, self.ln_f = nn.ModuleList([Block() for _ in range(count)]), nn.LayerNorm(width)
            self.lm_head = nn.Linear(width, words, bias=False)

        def forward(self, idx):
            pos = torch.arange(0, idx.size(1), dtype=torch.long).unsqueeze(0)
            x = self.drop(self.wte(idx) + self.wpe(pos))
            for block in self.h:
                x = block(x)
            return self.lm_head(self.ln_f(x))

    model = GPT()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.95))
    x, y = torch.randint(0, words, (batch, places)), torch.randint(0, words, (batch, places))
    return _step(optimizer, lambda: functional.cross_entropy(model(x).view(-1, words), y.view(-1), ignore_index=-1))


def diffusion(torch, nn, functional):
    """A small U-Net that takes noise away, as in DDPM: residual blocks with group norm and SiLU, a skip, attention below."""
    base, batch, size = 32, 8, 16

    class Residual(nn.Module):
        def __init__(self, inputs, outputs):
            super().__init__()
            self.norm1, self.conv1 = nn.GroupNorm(8, inputs), nn.Conv2d(inputs, outputs, 3, padding=1)
            self.norm2, self.conv2 = nn.GroupNorm(8, outputs), nn.Conv2d(outputs, outputs, 3, padding=1)
            self.time, self.skip = nn.Linear(128, outputs), nn.Conv2d(inputs, outputs, 1) if inputs != outputs else nn.Identity()

        def forward(self, x, t):
            h = self.conv1(functional.silu(self.norm1(x))) + self.time(functional.silu(t))[:, :, None, None]
            return self.conv2(functional.silu(self.norm2(h))) + self.skip(x)

    class Attention(nn.Module):
        def __init__(self, channels):
            super().__init__()
            self.norm, self.qkv = nn.GroupNorm(8, channels), nn.Conv2d(channels, 3 * channels, 1)
            self.out = nn.Conv2d(channels, channels, 1)

        def forward(self, x):
            b, c, h, w = x.shape
            q, k, v = self.qkv(self.norm(x)).reshape(b, 3, c, h * w).unbind(1)
            weights = torch.softmax(q.transpose(1, 2) @ k / math.sqrt(c), dim=-1)
            return x + self.out((v @ weights.transpose(1, 2)).reshape(b, c, h, w))

    class UNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Sequential(nn.Linear(32, 128), nn.SiLU(), nn.Linear(128, 128))
            self.first = nn.Conv2d(3, base, 3, padding=1)
            self.above, self.down = Residual(base, base), nn.Conv2d(base, 2 * base, 3, stride=2, padding=1)
            self.below, self.attention = Residual(2 * base, 2 * base), Attention(2 * base)
            self.up, self.joined = nn.Conv2d(2 * base, base, 3, padding=1), Residual(2 * base, base)
            self.norm, self.last = nn.GroupNorm(8, base), nn.Conv2d(base, 3, 3, padding=1)

        def forward(self, x, t):
            rates = torch.exp(-math.log(10000) * torch.arange(16) / 16)
            angles = t[:, None] * rates[None]
            t = self.embed(torch.cat([torch.sin(angles), torch.cos(angles)], dim=-1))
            x = self.above(self.first(x), t)
            y = self.attention(self.below(self.down(x), t))
            y = self.up(functional.interpolate(y, scale_factor=2.0, mode="nearest"))
            y = self.joined(torch.cat([x, y], dim=1), t)
            return self.last(functional.silu(self.norm(y)))

    model = UNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-4)
    x, t, noise = torch.randn(batch, 3, size, size), torch.rand(batch), torch.randn(batch, 3, size, size)
    return _step(optimizer, lambda: functional.mse_loss(model(x, t), noise))


PROGRAMS = {"LSTM language model": language_model, "MNIST by rows": rows_of_digits, "small GPT": small_gpt, "DDPM U-Net": diffusion}
