"""Programs on sequences, graphs and episodes, with the constructions of PyTorch's examples (see `programs`)."""

import math
from collections import namedtuple
from functools import partial

import numpy as np

DRAW = np.random.default_rng


def tokens(torch, seed, count, *shape):
    """Words below `count`."""
    return torch.from_numpy(DRAW(seed).integers(0, count, shape))


def numbers(torch, seed, *shape, dtype=np.float32):
    """Normally distributed numbers."""
    return torch.from_numpy(DRAW(seed).normal(size=shape).astype(dtype))


def language_model(torch, rnn_type):
    """A recurrent language model with tied weights whose state goes on, clipped, and descended by hand."""
    nn, F = torch.nn, torch.nn.functional

    class RNNModel(nn.Module):
        def __init__(self, ntoken=18, ninp=10, nhid=10, nlayers=2, dropout=0.0):
            super().__init__()
            self.ntoken, self.nhid, self.nlayers = ntoken, nhid, nlayers
            self.drop = nn.Dropout(dropout)
            self.encoder = nn.Embedding(ntoken, ninp)
            if rnn_type in ["LSTM", "GRU"]:
                self.rnn = getattr(nn, rnn_type)(ninp, nhid, nlayers, dropout=dropout)
            else:
                self.rnn = nn.RNN(ninp, nhid, nlayers, nonlinearity={"RNN_TANH": "tanh", "RNN_RELU": "relu"}[rnn_type], dropout=dropout)
            self.decoder = nn.Linear(nhid, ntoken)
            self.decoder.weight = self.encoder.weight
            self.init_weights()

        def init_weights(self):
            nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
            nn.init.zeros_(self.decoder.bias)
            nn.init.uniform_(self.decoder.weight, -0.1, 0.1)

        def forward(self, input, hidden):
            output, hidden = self.rnn(self.drop(self.encoder(input)), hidden)
            decoded = self.decoder(self.drop(output)).view(-1, self.ntoken)
            return F.log_softmax(decoded, dim=1), hidden

        def init_hidden(self, bsz):
            weight = next(self.parameters())
            if rnn_type == "LSTM":
                return (weight.new_zeros(self.nlayers, bsz, self.nhid), weight.new_zeros(self.nlayers, bsz, self.nhid))
            return weight.new_zeros(self.nlayers, bsz, self.nhid)

    def repackage_hidden(h):
        return h.detach() if isinstance(h, torch.Tensor) else tuple(repackage_hidden(v) for v in h)

    def batchify(data, bsz):
        nbatch = data.size(0) // bsz
        return data.narrow(0, 0, nbatch * bsz).view(bsz, -1).t().contiguous()

    model, criterion = RNNModel(), nn.NLLLoss()
    source = batchify(tokens(torch, 0, 18, 3 * 42), 3)

    def step(data, targets):
        model.zero_grad()
        hidden = repackage_hidden(model.init_hidden(3))
        output, hidden = model(data, hidden)
        output, hidden = model(data.flip(0), repackage_hidden(hidden))
        loss = criterion(output, targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        for p in model.parameters():
            p.data.add_(p.grad, alpha=-5.0)
        return loss, torch.exp(loss.detach())

    return model, step, [(source[5 * i : 5 * i + 5], source[5 * i + 1 : 5 * i + 6].view(-1)) for i in range(8)]


def transformer_language_model(torch):
    """`nn.Transformer` as an encoder with a mask that is kept as an attribute, and places that are a buffer."""
    nn, F = torch.nn, torch.nn.functional

    class PositionalEncoding(nn.Module):
        def __init__(self, d_model, max_len=50):
            super().__init__()
            pe = torch.zeros(max_len, d_model)
            position = torch.arange(0, max_len, dtype=torch.float).unsqueeze(1)
            div_term = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
            pe[:, 0::2] = torch.sin(position * div_term)
            pe[:, 1::2] = torch.cos(position * div_term)
            self.register_buffer("pe", pe.unsqueeze(0).transpose(0, 1))

        def forward(self, x):
            return x + self.pe[: x.size(0), :]

    class TransformerModel(nn.Transformer):
        def __init__(self, ntoken=18, ninp=12, nhead=2, nhid=16, nlayers=2):
            super().__init__(d_model=ninp, nhead=nhead, dim_feedforward=nhid, num_encoder_layers=nlayers, num_decoder_layers=1, dropout=0.0)
            self.src_mask = None
            self.pos_encoder = PositionalEncoding(ninp)
            self.input_emb = nn.Embedding(ntoken, ninp)
            self.ninp = ninp
            self.decoder = nn.Linear(ninp, ntoken)

        def _generate_square_subsequent_mask(self, sz):
            return torch.log(torch.tril(torch.ones(sz, sz)))

        def forward(self, src, has_mask=True):
            if has_mask:
                device = src.device
                if self.src_mask is None or self.src_mask.size(0) != len(src):
                    self.src_mask = self._generate_square_subsequent_mask(len(src)).to(device)
            else:
                self.src_mask = None
            src = self.pos_encoder(self.input_emb(src) * math.sqrt(self.ninp))
            output = self.encoder(src, mask=self.src_mask)
            return F.log_softmax(self.decoder(output), dim=-1)

    model, criterion = TransformerModel(), nn.NLLLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)

    def step(data, targets):
        optimizer.zero_grad()
        loss = criterion(model(data).view(-1, 18), targets.view(-1))
        loss.backward()
        nn.utils.clip_grad_norm_([p for p in model.parameters() if p.grad is not None], 0.25)
        optimizer.step()
        return loss, loss.detach().exp()

    return model, step, [(tokens(torch, i, 18, 6, 3), tokens(torch, i + 9, 18, 6, 3)) for i in range(8)]


def translation(torch):
    """A translator of encoder and decoder with masks of order and of padding, by Adam."""
    nn = torch.nn

    class Translator(nn.Module):
        def __init__(self, width=12, heads=2, count=15):
            super().__init__()
            self.src_embedding, self.tgt_embedding = nn.Embedding(count, width), nn.Embedding(count, width)
            den = torch.exp(-torch.arange(0, width, 2) * math.log(10000) / width)
            pos = torch.arange(0, 20).reshape(20, 1)
            pos_embedding = torch.zeros((20, width))
            pos_embedding[:, 0::2] = torch.sin(pos * den)
            pos_embedding[:, 1::2] = torch.cos(pos * den)
            self.register_buffer("pos_embedding", pos_embedding.unsqueeze(-2))
            self.transformer = nn.Transformer(d_model=width, nhead=heads, num_encoder_layers=1, num_decoder_layers=1, dim_feedforward=16, dropout=0.0)
            self.ff = nn.Linear(width, count)
            for p in self.parameters():
                if p.dim() > 1:
                    nn.init.xavier_uniform_(p)

        def forward(self, src, trg, src_mask, tgt_mask, src_padding, tgt_padding):
            src_emb = self.src_embedding(src) + self.pos_embedding[: src.size(0), :]
            tgt_emb = self.tgt_embedding(trg) + self.pos_embedding[: trg.size(0), :]
            return self.ff(self.transformer(src_emb, tgt_emb, src_mask, tgt_mask, None, src_padding, tgt_padding, src_padding))

    def square_subsequent_mask(size):
        mask = (torch.triu(torch.ones((size, size))) == 1).transpose(0, 1)
        return mask.float().masked_fill(mask == 0, float("-inf")).masked_fill(mask == 1, 0.0)

    model, loss_fn = Translator(), nn.CrossEntropyLoss(ignore_index=1)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, betas=(0.9, 0.98), eps=1e-9)

    def step(src, tgt):
        tgt_input, tgt_out = tgt[:-1, :], tgt[1:, :]
        tgt_mask = square_subsequent_mask(tgt_input.shape[0])
        src_mask = torch.zeros((src.shape[0], src.shape[0])).type(torch.bool)
        src_padding, tgt_padding = (src == 1).transpose(0, 1), (tgt_input == 1).transpose(0, 1)
        logits = model(src, tgt_input, src_mask, tgt_mask.isinf(), src_padding, tgt_padding)
        optimizer.zero_grad()
        loss = loss_fn(logits.reshape(-1, logits.shape[-1]), tgt_out.reshape(-1))
        loss.backward()
        optimizer.step()
        _, words = torch.max(logits[-1], dim=1)
        return loss, words.float().mean() * 0

    def sentences(seed, length):
        found = DRAW(seed).integers(2, 15, (length, 3))
        found[-2:, 1:] = 1
        return torch.tensor(found)

    return model, step, [(sentences(i, 6), sentences(i + 9, 7)) for i in range(8)]


def time_sequence(torch):
    """Cells step by step in float64, trained by LBFGS with a closure."""
    nn = torch.nn

    class Sequence(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm1, self.lstm2, self.linear = nn.LSTMCell(1, 5), nn.LSTMCell(5, 5), nn.Linear(5, 1)

        def forward(self, input, future=0):
            outputs = []
            h_t = torch.zeros(input.size(0), 5, dtype=torch.double)
            c_t = torch.zeros(input.size(0), 5, dtype=torch.double)
            h_t2 = torch.zeros(input.size(0), 5, dtype=torch.double)
            c_t2 = torch.zeros(input.size(0), 5, dtype=torch.double)
            for input_t in input.split(1, dim=1):
                h_t, c_t = self.lstm1(input_t, (h_t, c_t))
                h_t2, c_t2 = self.lstm2(h_t, (h_t2, c_t2))
                output = self.linear(h_t2)
                outputs += [output]
            for _ in range(future):
                h_t, c_t = self.lstm1(output, (h_t, c_t))
                h_t2, c_t2 = self.lstm2(h_t, (h_t2, c_t2))
                output = self.linear(h_t2)
                outputs += [output]
            return torch.cat(outputs, dim=1)

    model = Sequence()
    model.double()
    criterion = nn.MSELoss()
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=4)

    def step(input, target):
        def closure():
            optimizer.zero_grad()
            loss = criterion(model(input), target)
            loss.backward()
            return loss

        loss = optimizer.step(closure)
        with torch.no_grad():
            pred = model(input, future=3)
            ahead = criterion(pred[:, :-3], target)
        return loss, ahead

    step.is_eager = True  # how many evaluations a step of LBFGS takes is known only as it goes
    waves = torch.from_numpy(np.sin(np.arange(9)[None] / 2 + DRAW(0).normal(size=(4, 1))))
    return model, step, [(waves[:, :-1], waves[:, 1:])] * 8


def regression(torch):
    """A polynomial by a linear layer, whose parameters are moved by hand."""
    F = torch.nn.functional
    target, offset = numbers(torch, 0, 4, 1) * 5, numbers(torch, 1, 1) * 5
    fc = torch.nn.Linear(target.size(0), 1)

    def make_features(x):
        x = x.unsqueeze(1)
        return torch.cat([x**i for i in range(1, 5)], 1)

    def step(x):
        features = make_features(x)
        y = features.mm(target) + offset
        fc.zero_grad()
        output = F.smooth_l1_loss(fc(features), y)
        output.backward()
        for param in fc.parameters():
            param.data.add_(-0.1 * param.grad)
        return output, fc.weight.view(-1)[0].detach() * 1

    return fc, step, [(numbers(torch, i, 32),) for i in range(8)]


def graph_of(torch, n=12):
    """Features of nodes, their classes, and which are neighbours."""
    adjacency = DRAW(3).uniform(size=(n, n)) > 0.7
    return numbers(torch, 4, n, 7), tokens(torch, 5, 3, n), torch.from_numpy((adjacency | adjacency.T | np.eye(n, dtype=bool)).astype(np.float32))


def gcn(torch):
    """Graph convolutions by a normalised matrix of neighbours, on some of the nodes, by Adam with decay."""
    nn, F = torch.nn, torch.nn.functional

    class GraphConv(nn.Module):
        def __init__(self, input_dim, output_dim, use_bias=False):
            super().__init__()
            self.kernel = nn.Parameter(torch.Tensor(input_dim, output_dim))
            nn.init.xavier_normal_(self.kernel)
            self.bias = None
            if use_bias:
                self.bias = nn.Parameter(torch.Tensor(output_dim))
                nn.init.zeros_(self.bias)

        def forward(self, input_tensor, adj_mat):
            output = torch.mm(adj_mat, torch.mm(input_tensor, self.kernel))
            return output if self.bias is None else output + self.bias

    class GCN(nn.Module):
        def __init__(self):
            super().__init__()
            self.gc1, self.gc2, self.dropout = GraphConv(7, 8, use_bias=True), GraphConv(8, 3, use_bias=True), nn.Dropout(0.0)

        def forward(self, x, adj_mat):
            return F.log_softmax(self.gc2(self.dropout(F.relu(self.gc1(x, adj_mat))), adj_mat), dim=1)

    features, targets, adjacency = graph_of(torch)
    degree = torch.sum(adjacency, dim=1)
    degree = 1 / torch.sqrt(degree)
    degree[degree == float("inf")] = 0
    degree = torch.diag(degree)
    adjacency = torch.mm(torch.mm(degree, adjacency), degree)
    idx = torch.arange(12)
    train, val = idx[:8], idx[8:]
    model, criterion = GCN(), nn.NLLLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)

    def step(features, targets, adjacency):
        optimizer.zero_grad()
        output = model(features, adjacency)
        loss = criterion(output[train], targets[train])
        loss.backward()
        optimizer.step()
        return loss, (output[val].argmax(dim=1) == targets[val]).sum()

    return model, step, [(features, targets, adjacency)] * 8


def gat(torch):
    """Attention of nodes to their neighbours with several heads, then with one."""
    nn, F = torch.nn, torch.nn.functional

    class Attention(nn.Module):
        def __init__(self, in_features, out_features, n_heads, concat=False, dropout=0.0, slope=0.2):
            super().__init__()
            self.n_heads, self.concat, self.dropout, self.out_features = n_heads, concat, dropout, out_features
            self.n_hidden = out_features // n_heads if concat else out_features
            self.W = nn.Parameter(torch.empty(size=(in_features, self.n_hidden * n_heads)))
            self.a = nn.Parameter(torch.empty(size=(n_heads, 2 * self.n_hidden, 1)))
            self.leakyrelu = nn.LeakyReLU(slope)
            nn.init.xavier_normal_(self.W)
            nn.init.xavier_normal_(self.a)

        def forward(self, h, adj_mat):
            n_nodes = h.shape[0]
            h = F.dropout(torch.mm(h, self.W), self.dropout, training=self.training)
            h = h.view(n_nodes, self.n_heads, self.n_hidden).permute(1, 0, 2)
            source_scores = torch.matmul(h, self.a[:, : self.n_hidden, :])
            target_scores = torch.matmul(h, self.a[:, self.n_hidden :, :])
            e = self.leakyrelu(source_scores + target_scores.mT)
            e = torch.where(adj_mat > 0, e, -9e16 * torch.ones_like(e))
            h_prime = torch.matmul(F.dropout(F.softmax(e, dim=-1), self.dropout, training=self.training), h)
            if self.concat:
                return h_prime.permute(1, 0, 2).contiguous().view(n_nodes, self.out_features)
            return h_prime.mean(dim=0)

    class GAT(nn.Module):
        def __init__(self):
            super().__init__()
            self.gat1, self.gat2 = Attention(7, 8, 2, concat=True), Attention(8, 3, 1)

        def forward(self, x, adj_mat):
            return F.log_softmax(self.gat2(F.elu(self.gat1(x, adj_mat)), adj_mat), dim=1)

    model, batch = GAT(), graph_of(torch)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)

    def step(features, targets, adjacency):
        model.train()
        optimizer.zero_grad()
        output = model(features, adjacency)
        loss = F.nll_loss(output, targets)
        loss.backward()
        optimizer.step()
        return loss, output.argmax(dim=1).eq(targets).float().mean()

    return model, step, [batch] * 8


def actor_critic(torch):
    """An actor and a critic on episodes that are given, with returns that are discounted and standardised."""
    nn, F = torch.nn, torch.nn.functional
    Saved = namedtuple("Saved", ["log_prob", "value"])

    class Policy(nn.Module):
        def __init__(self):
            super().__init__()
            self.affine1, self.action_head, self.value_head = nn.Linear(4, 8), nn.Linear(8, 2), nn.Linear(8, 1)
            self.saved_actions, self.rewards = [], []

        def forward(self, x):
            x = F.relu(self.affine1(x))
            return F.softmax(self.action_head(x), dim=-1), self.value_head(x)

    model = Policy()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-2)
    eps = np.finfo(np.float32).eps.item()

    def step(states, actions, rewards):
        for state, action, reward in zip(states, actions, rewards, strict=True):
            probs, value = model(state)
            model.saved_actions.append(Saved(torch.log(probs)[action], value))
            model.rewards.append(reward.item())
        R, policy_losses, value_losses, returns = 0, [], [], []
        for r in model.rewards[::-1]:
            R = r + 0.99 * R
            returns.insert(0, R)
        returns = torch.tensor(returns)
        returns = (returns - returns.mean()) / (returns.std() + eps)
        for (log_prob, value), R in zip(model.saved_actions, returns, strict=True):
            policy_losses.append(-log_prob * (R - value.item()))
            value_losses.append(F.smooth_l1_loss(value, torch.tensor([R])))
        optimizer.zero_grad()
        loss = torch.stack(policy_losses).sum() + torch.stack(value_losses).sum()
        loss.backward()
        optimizer.step()
        del model.rewards[:]
        del model.saved_actions[:]
        return loss, returns.max()

    step.is_eager = True  # what an episode returns is read as numbers
    return model, step, [(numbers(torch, i, 5, 4), tokens(torch, i, 2, 5), numbers(torch, i + 30, 5)) for i in range(8)]


def reinforce(torch):
    """A policy whose probabilities of what was done are weighted by returns, with episodes that are given."""
    nn, F = torch.nn, torch.nn.functional
    policy = nn.Sequential(nn.Linear(4, 8), nn.Dropout(p=0.0), nn.ReLU(), nn.Linear(8, 2), nn.Softmax(dim=1))
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)

    def step(states, actions, returns):
        losses = []
        returns = (returns - returns.mean()) / (returns.std() + 1e-7)
        for state, action, R in zip(states, actions, returns, strict=True):
            probs = policy(state.float().unsqueeze(0))
            losses.append(-F.log_softmax(torch.log(probs), 1).gather(1, action.view(1, 1)).squeeze(1) * R)
        optimizer.zero_grad()
        policy_loss = torch.cat(losses).sum()
        policy_loss.backward()
        optimizer.step()
        return policy_loss, returns.std()

    return policy, step, [(numbers(torch, i, 5, 4, dtype=np.float64), tokens(torch, i, 2, 5), numbers(torch, i + 30, 5)) for i in range(8)]


def _of(kind):
    program = partial(language_model, rnn_type=kind)
    program.__name__ = f"language_model_{kind.lower()}"
    return program


PROGRAMS = [*map(_of, ("RNN_TANH", "RNN_RELU", "LSTM", "GRU")), transformer_language_model, translation, time_sequence, regression, gcn, gat,
            actor_critic, reinforce]
