"""Calls in PyTorch's spelling, as text: each is run with PyTorch and with `retrograde.torch`, and gives the same.

`x y` are matrices of float32 (3, 4), `p` one of positive numbers, `v` a vector (4,), `w` one of (3,), `a` a square matrix (3, 3), `s` a
symmetric one that is positive definite, `c` of shape (2, 3, 4), `i j` integers (3, 4), `k` small ones, `b` booleans, `n` positions in
range(3) of shape (3, 2), `z` a number without axes. Gradients are taken in the floats.
"""

UNARY = """abs absolute acos acosh arccos arccosh arcsin arcsinh arctan arctanh asin asinh atan atanh ceil conj cos cosh deg2rad digamma erf
erfc erfinv exp exp2 expm1 fix floor frac i0 isfinite isinf isnan lgamma log log10 log1p log2 logical_not logit neg negative positive
rad2deg reciprocal relu round rsqrt selu sgn sigmoid sign signbit sin sinc sinh sqrt square tan tanh trunc""".split()
BINARY = """add atan2 copysign div divide eq equal fmax fmin fmod ge greater gt hypot le less logaddexp logaddexp2 logical_and
logical_or logical_xor lt maximum minimum mul multiply ne not_equal remainder sub subtract true_divide""".split()
CALLS = [
    *[f"torch.{name}(p.detach())" if name == "sgn" else f"torch.{name}(p)" for name in UNARY if name not in ("acosh", "arccosh")], "torch.acosh(p + 1)",
    *[f"torch.{name}(x, y)" for name in BINARY],
    "torch.floor_divide(x.detach(), y.detach())", "torch.heaviside(x.detach(), y.detach())", "torch.xlogy(x, p)", *[f"torch.{name}(x, 2.0)" for name in ("add", "mul", "div", "pow", "eq", "lt")],
    # Reductions.
    "x.sum()", "x.sum(1)", "x.sum(dim=1, keepdim=True)", "x.sum((0, 1))", "torch.sum(x, -1)", "x.sum(axis=0)", "b.sum()", "k.to(torch.int8).sum()",
    "x.sum(0, dtype=torch.float64)", "x.mean()", "x.mean(0)", "x.mean([0, 1], True)", "p.prod()", "p.prod(1)", "i.prod(0)", "x.var()",
    "x.std()", "x.var(1)", "x.var(1, False)", "x.var(unbiased=False)", "x.std(0, keepdim=True)", "torch.var(x, dim=1, correction=0)",
    "torch.var_mean(x, 1)", "torch.std_mean(x)", "x.max()", "x.max(1)", "x.max(dim=0, keepdim=True)", "x.max(y)", "torch.max(x, 1)[0]",
    "x.max(1).indices", "x.min()", "x.min(0)", "torch.min(x, y)", "x.amax(1)", "x.amin((0, 1))", "torch.aminmax(x)", "x.argmax()",
    "x.argmax(1)", "x.argmin(dim=0, keepdim=True)", "x.norm()", "x.norm(1)", "x.norm(2, 1)", "x.norm(dim=0, keepdim=True)",
    "x.norm(float('inf'))", "torch.norm(x, p=3, dim=1)", "x.logsumexp(1)", "x.cumsum(0)", "p.cumprod(1)", "x.logcumsumexp(1)", "x.cummax(1)", "x.cummin(0)",
    "x.all()", "b.all(1)", "b.any(0)", "i.any()", "x.median()", "x.median(1)", "x.nanmedian()", "x.mode(1)", "x.kthvalue(2, 1)", "x.quantile(0.3)",
    "x.quantile(0.5, 1)", "x.nansum()", "x.nanmean(1)", "x.count_nonzero()", "x.count_nonzero(1)", "x.dist(y)", "torch.trace(a)", "x.cov()", "x.corrcoef()",
    "torch.trapezoid(x)", "torch.trapezoid(x, v)", "torch.cumulative_trapezoid(x, dim=0)", "x.renorm(2, 0, 1.0)",
    # Order.
    "x.sort()", "x.sort(0, descending=True)", "x.sort(1)[1]", "x.argsort(1)", "x.argsort(dim=0, descending=True)", "x.topk(2)",
    "x.topk(1, 0)", "x.topk(2, largest=False).indices", "x.msort()", "i.unique()", "torch.unique(k, return_counts=True)",
    "torch.unique(k, return_inverse=True)", "torch.unique_consecutive(k.sort(1).values)", "k.flatten().bincount()", "torch.searchsorted(v.sort().values, x)",
    "torch.bucketize(x, w.sort().values)", "x.histc(5, -2, 2)",
    # Shapes.
    "x.size()", "x.size(0)", "x.size(-1)", "x.shape", "x.numel()", "x.nelement()", "x.dim()", "x.ndim", "len(x)", "x.view(-1)", "x.view(2, 6)", "x.view((6, 2))",
    "x.view(x.size(0), -1)", "x.view_as(y)", "x.reshape(4, 3)", "torch.reshape(x, (2, -1))", "x.reshape_as(y)", "x.t()", "x.T", "c.mT",
    "x.transpose(0, 1)", "torch.transpose(c, 1, 2)", "c.permute(2, 0, 1)", "torch.permute(c, (1, 2, 0))", "c.movedim(0, -1)", "c.swapaxes(0, 1)",
    "x.unsqueeze(0)", "x.unsqueeze(-1)", "x.unsqueeze(1).squeeze()", "x.unsqueeze(1).squeeze(1)", "x.unsqueeze(1).squeeze(0)", "x.flatten()",
    "c.flatten(1)", "c.flatten(0, 1)", "torch.flatten(c, start_dim=1)", "x.unflatten(1, (2, 2))", "x.repeat(2, 1)", "x.repeat(2, 1, 3)",
    "v.repeat(2)", "x.repeat_interleave(2)", "x.repeat_interleave(2, dim=0)", "x.tile(2)", "x.tile((2, 1))", "v.expand(3, 4)", "v.expand(3, -1)",
    "w.unsqueeze(1).expand_as(x)", "v.broadcast_to((3, 4))", "x.split(2)", "x.split(2, dim=1)", "x.split([1, 3], 1)", "torch.split(x, 2)", "x.chunk(2)",
    "x.chunk(3, 1)", "x.tensor_split(2, 1)", "torch.hsplit(x, 2)", "x.unbind()", "x.unbind(1)", "torch.cat([x, y])", "torch.cat((x, y), dim=1)",
    "torch.cat([x, i])", "torch.stack([x, y])", "torch.stack((x, y), 1)", "torch.hstack([x, y])", "torch.vstack([v, v])", "torch.dstack([x, y])",
    "torch.column_stack([w, w])", "x.roll(1)", "x.roll(1, 0)", "x.roll((1, 2), (0, 1))", "x.flip(0)", "x.flip(0, 1)", "torch.flip(x, [1])", "x.fliplr()",
    "x.flipud()", "x.rot90()", "torch.rot90(x, 3)", "x.select(1, 2)", "x.narrow(1, 1, 2)", "v.unfold(0, 2, 1)", "x.unfold(1, 2, 2)", "v.diag_embed()",
    "v.diag_embed(1)", "x.diag_embed(-1)", "v.diagflat()", "v.diag()", "a.diag()", "a.diag(1)", "a.diagonal()", "c.diagonal(dim1=1, dim2=2)", "a.tril()", "a.triu(1)",
    "torch.tril(a, diagonal=-1)", "torch.meshgrid(v, w, indexing='ij')", "torch.meshgrid(v, w, indexing='xy')", "torch.broadcast_tensors(v, x)",
    "torch.atleast_2d(v)", "torch.atleast_3d(x)", "torch.block_diag(x, a)", "torch.cartesian_prod(v, w)", "torch.combinations(v)", "x.ravel()",
    # Positions.
    "x[0]", "x[:, 1]", "x[1:, ::2]", "x[..., 0]", "x[None]", "x[n[:, 0]]", "x[b]", "x[[0, 2]]", "x[n[:, 0], n[:, 1]]", "x[x > 0]", "x.gather(1, n)",
    "torch.gather(x, 1, n)", "x.scatter(1, n, y[:, :2])", "x.scatter(1, n, 2.0)", "torch.zeros(3, 4).scatter_(1, n[:, :1], 1.0)", "x.scatter_add(1, n, y[:, 2:])",
    "x.scatter_reduce(1, n, y[:, :2], 'amax')", "x.scatter_reduce(1, n, y[:, :2], 'mean', include_self=False)", "x.index_select(0, n[:, 0])", "x.index_add(0, n[:, 0], y)",
    "x.index_add(0, n[:, 0], y, alpha=2)", "x.index_copy(0, torch.tensor([2, 0, 1]), y)", "x.index_fill(0, n[0], -1.0)", "x.masked_fill(b, 0.0)",
    "x.masked_fill(b, float('-inf'))", "x.masked_select(b)", "x.masked_scatter(b, y)", "x.take(n)", "x.take_along_dim(n, 1)", "torch.where(b, x, y)",
    "torch.where(b, x, 0.0)", "torch.where(b, 1.0, 0.0)", "torch.where(b)", "x.where(b, y)", "b.nonzero()", "torch.nonzero(b, as_tuple=True)", "b.argwhere()",
    "torch.isin(k, torch.tensor([1, 2]))", "x.index_put((n[:, 0], n[:, 1]), w)", "x.index_put((n[:, 0],), y, accumulate=True)", "x.index_put((b,), torch.tensor(2.0), accumulate=True)", "v.masked_scatter(b, y)",
    "torch.tensor(3.0).unfold(0, 1, 1)", "torch.tensordot(x[:, :1], y, dims=([1], [1]))", "x.select_scatter(w, 1, 0)",
    # Products.
    "x @ y.t()", "x.matmul(v)", "x.mm(y.t())", "torch.mm(x, y.T)", "c.bmm(c.transpose(1, 2))", "x.mv(v)", "v.dot(v)", "torch.inner(x, y)", "v.outer(w)",
    "torch.ger(v, w)", "torch.kron(a, a)", "torch.tensordot(x, y, dims=([1], [1]))", "torch.einsum('ij,kj->ik', x, y)", "torch.einsum('bij->bji', c)", "torch.einsum('...ij,...j->i', c, y[:2])",
    "torch.addmm(a, x, y.t())", "torch.addmm(a, x, y.t(), beta=0.5, alpha=2)", "torch.baddbmm(c @ c.mT, c, c.mT)", "torch.addmv(w, x, v)", "torch.addr(x, w, v)",
    "torch.cdist(x, y)", "torch.cross(a, a.t(), dim=1)", "x.lerp(y, 0.3)", "x.addcmul(x, y, value=0.5)", "x.addcdiv(x, p, value=2)", "torch.det(a)", "torch.logdet(s)",
    "torch.inverse(s)", "torch.linalg.inv(s)", "torch.linalg.solve(s, w)", "torch.linalg.solve(s, x)", "torch.linalg.cholesky(s)", "torch.linalg.norm(x)",
    "torch.linalg.norm(v, 1)", "torch.linalg.norm(x, dim=1)", "torch.linalg.vector_norm(x, 3, dim=0)", "torch.linalg.matrix_norm(x)", "torch.linalg.eigvalsh(s)",
    "torch.linalg.eigh(s).eigenvalues", "torch.linalg.svdvals(x)", "torch.linalg.slogdet(a)", "torch.linalg.matrix_power(a, 3)", "torch.linalg.pinv(x)",
    "torch.linalg.matrix_rank(x)", "torch.linalg.multi_dot([x, y.T, x])", "torch.linalg.solve_triangular(s.tril(), x, upper=False)", "torch.linalg.vander(v)",
    "torch.matrix_exp(a)", "torch.cholesky_solve(x, torch.linalg.cholesky(s).detach())", "torch.vander(v.detach())", "torch.linalg.lstsq(y.T, v).solution", "torch.linalg.qr(s).R.abs()",
    # Types and promotion.
    "i.float()", "x.long()", "x.int()", "x.double()", "x.half()", "i.bool()", "x.to(torch.float64)", "x.to('cpu')", "x.type(torch.float64)", "x.type()", "i.type()",
    "x.type_as(i)", "x.to(i)", "i * 0.5", "i + 1", "i / 2", "i / j", "i // 2", "i % 3", "i ** 2", "b + 1", "b * 2.0", "b + b", "i * x", "x * i", "x + z.double()",
    "x.double() + x", "i + z", "x > i", "i == 1.0", "k.to(torch.uint8) + i", "k.to(torch.int32) * 2.5", "2 ** i.abs()", "1 / i.abs().clamp(min=1)", "1 - x", "2.0 - i", "-i", "~b", "b & (x > 0)",
    "b | b", "b ^ True", "i << 1", "i & 3", "x.half() + x", "torch.arange(3) * 0.5", "torch.sin(i)", "i.abs().sqrt()", "i.exp()", "i.sigmoid()", "torch.true_divide(i, 2)",
    "torch.floor_divide(i, 2)", "torch.div(i, j.abs() + 1, rounding_mode='floor')", "torch.div(i, j.abs() + 1, rounding_mode='trunc')", "torch.div(x, p, rounding_mode='trunc')", "i.clamp(0, 2)",
    "i.clamp(min=0.5)", "x.clamp(-0.5, 0.5)", "x.clamp(min=y)", "x.clip(max=0.1)", "x.clamp_min(0)", "x.round(decimals=1)", "x.add(y, alpha=2)", "torch.sub(x, y, alpha=0.5)", "torch.rsub(x, y)",
    "x.pow(2)", "p.pow(y)", "torch.pow(2, x)", "i.pow(2)", "torch.float_power(i, 2)", "x.eq(y).sum()", "x.ne(0)", "x.equal(x)", "torch.allclose(x, x + 1e-9)", "torch.isclose(x, y)",
    "torch.result_type(i, 0.5)", "torch.result_type(i, x)", "torch.promote_types(torch.int32, torch.float16)", "torch.can_cast(torch.float64, torch.int64)", "x.nan_to_num()", "x.ldexp(k)",
    "torch.softmax(x, 1)", "x.softmax(dim=-1)", "torch.log_softmax(x, dim=1)", "x.log_softmax(0)", "x.softmax(1, dtype=torch.float64)", "torch.polygamma(1, p)", "torch.special.expit(x)",
    "torch.special.entr(p)", "torch.special.ndtr(x)", "torch.special.xlog1py(x, p)", "torch.mvlgamma(p + 2, 2)", "torch.logit(p / 10, eps=0.05)",
    "torch.fft.fft(x)", "torch.fft.rfft(x, dim=0)", "torch.fft.irfft(torch.fft.rfft(x))", "torch.fft.fft2(x)", "torch.fft.fftshift(x)", "torch.fft.fftfreq(5)", "torch.fft.rfft(i)",
    "torch.complex(x, y)", "torch.polar(p, x)", "torch.view_as_real(torch.complex(x, y))", "torch.complex(x, y).abs()", "torch.complex(x, y).angle()", "torch.real(torch.complex(x, y))",
    # New ones.
    "torch.zeros(2, 3)", "torch.zeros((2, 3))", "torch.zeros(size=(2,))", "torch.ones(2, dtype=torch.int64)", "torch.full((2, 2), 3)", "torch.full((2,), 1.5)", "torch.full((2,), True)",
    "torch.arange(5)", "torch.arange(1, 4)", "torch.arange(0, 1, 0.25)", "torch.arange(3.0)", "torch.linspace(0, 1, 5)", "torch.logspace(0, 2, 3)", "torch.eye(3)", "torch.eye(2, 3)",
    "torch.zeros_like(x)", "torch.ones_like(i)", "torch.full_like(x, 2)", "torch.zeros_like(i, dtype=torch.float32)", "x.new_zeros(2, 2)", "x.new_ones((3,))", "i.new_full((2,), 7)", "x.new_tensor([1, 2])",
    "torch.tensor([1.0, 2.0])", "torch.tensor([1, 2])", "torch.tensor([True])", "torch.tensor(3.5)", "torch.tensor([[1, 2], [3, 4]], dtype=torch.float64)", "torch.tensor([1.0, 2])", "torch.as_tensor([1, 2.5])",
    "torch.FloatTensor([1, 2])", "torch.LongTensor([1, 2])", "torch.Tensor([1, 2])", "torch.Tensor(2, 3).shape", "torch.tril_indices(3, 3)", "torch.triu_indices(3, 3, 1)", "torch.hann_window(5)",
    "torch.hamming_window(4, periodic=False)", "torch.blackman_window(6)", "torch.bartlett_window(5)", "torch.kaiser_window(5)", "torch.scalar_tensor(2)",
    # In place.
    "x.clone().add_(1)", "x.clone().mul_(y)", "x.clone().add_(y, alpha=2)", "x.clone().zero_()", "x.clone().fill_(2)", "x.clone().clamp_(0, 1)", "p.clone().sqrt_()", "x.clone().relu_()", "x.clone().sigmoid_()",
    "x.clone().copy_(y)", "x.clone().masked_fill_(b, 1.0)", "x.clone().scatter_(1, n, 0.5)", "x.clone().index_add_(0, n[:, 0], y)", "x.clone().div_(2)", "x.clone().sub_(y).pow_(2)", "i.clone().add_(2)", "x.clone().neg_()",
    "x.clone().lerp_(y, 0.5)", "x.clone().addcmul_(x, y, value=2)", "x.clone().tril_()", "x.detach().clone().requires_grad", "x.data", "x.clone().detach_()", "z.item()", "v.tolist()",
    # Layers as functions.
    "F.relu(x)", "F.gelu(x)", "F.gelu(x, approximate='tanh')", "F.silu(x)", "F.elu(x)", "F.leaky_relu(x, 0.2)", "F.softplus(x)", "F.softmax(x, dim=1)", "F.log_softmax(x, dim=-1)", "F.tanh(x)", "F.sigmoid(x)", "F.hardtanh(x)",
    "F.mse_loss(x, y)", "F.l1_loss(x, y, reduction='sum')", "F.smooth_l1_loss(x, y)", "F.cross_entropy(x, n[:, 0])", "F.nll_loss(F.log_softmax(x, 1), n[:, 0])", "F.binary_cross_entropy(torch.sigmoid(x), b.float())",
    "F.binary_cross_entropy_with_logits(x, b.float())", "F.kl_div(F.log_softmax(x, 1), F.softmax(y, 1), reduction='batchmean')", "F.one_hot(n[:, 0], 4)", "F.normalize(x)", "F.cosine_similarity(x, y)", "F.linear(x, y)",
    "F.linear(x, a[:, :1].expand(3, 4), w)", "F.embedding(n, x)", "F.pad(x, (1, 2))", "F.pad(x, (1, 1, 0, 1), value=2.0)", "F.layer_norm(x, (4,))", "F.conv1d(c, torch.ones(2, 3, 2))", "F.max_pool1d(c, 2)", "F.avg_pool1d(c, 2)",
    "F.interpolate(c, scale_factor=2)", "F.scaled_dot_product_attention(c, c, c)", "F.dropout(x, 0.5, training=False)", "F.glu(x)", "F.pairwise_distance(x, y)", "F.unfold(c[None], 2)", "torch.conv1d(c, torch.ones(2, 3, 2))",
    "torch.layer_norm(x, (4,))", "torch.cosine_similarity(x, y, dim=1)", "torch.dropout(x, 0.5, False)", "torch.embedding(x, n)",
]
