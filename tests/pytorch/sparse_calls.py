"""Calls on sparse tensors, as texts that both libraries run: of `a` and `b`, matrices of coordinates with indices that occur twice."""

import numpy as np

CALLS = [
    "a.to_dense()", "a.coalesce()", "a.coalesce().values()", "a.coalesce().indices()", "a.t()", "a.transpose(0, 1).to_dense()", "a.T",
    "a @ d", "a @ v", "torch.mm(a, d)", "torch.matmul(a, d)", "torch.spmm(a, d)", "torch.sparse.mm(a, d)", "torch.mv(a, v)", "a.mm(d)",
    "e @ a", "torch.matmul(e, a)", "a.coalesce() @ w.coalesce()", "torch.sparse.mm(a, w)", "a.matmul(d)", "torch.sparse.addmm(f, a, d, beta=2, alpha=3)",
    "torch.addmm(f, a, d)", "m + a", "a + b", "torch.add(m, a)", "a - b", "torch.sub(a, b, alpha=2)", "a * 3", "3.0 * a", "a / 2", "-a", "(a * b).to_dense()",
    "a.coalesce().detach() * m", "torch.mul(a, 2)",
    "a.sum()", "torch.sum(a)", "a.detach().sum(1)", "torch.sparse.sum(a, 0)", "torch.sparse.sum(a, dim=[0, 1])", "torch.sum(a.detach(), dim=1)",
    "torch.sparse.softmax(a, 1)", "torch.sparse.log_softmax(a, 0)",
    "a.float()", "a.double()", "a.to(torch.float64)", "torch.abs(a)", "a.detach().sin()", "a.relu()", "a.pow(2)", "a ** 2", "torch.sqrt(a.detach() * a.detach())",
    "m.to_sparse()", "m.to_sparse().values()", "m.to_sparse_csr()", "m.to_sparse_csr().crow_indices()", "m.to_sparse_csr().col_indices()",
    "m.to_sparse_csr() @ d", "m.to_sparse_csr().values()", "m.to_sparse_csr().to_dense()", "a.coalesce().to_sparse_csr()", "c", "c @ d", "c.to_dense()",
    "c.to_sparse()", "m.sparse_mask(a.coalesce())", "torch.eye(3, 4) + i", "i.to_dense()", "h.to_dense()", "h.coalesce().values()", "h.coalesce()", "torch.sparse.sum(h, 1)",
    "torch.sparse.sum(h, 0)",
    "[a.is_sparse, a.is_coalesced(), a.coalesce().is_coalesced(), a.dim(), a.numel(), a._nnz(), a.coalesce()._nnz(), a.sparse_dim(), a.dense_dim()]",
    "[tuple(a.shape), tuple(a.size()), a.size(1), str(a.layout), str(c.layout), c.is_sparse, m.is_sparse, m.layout == torch.strided, a.layout == torch.sparse_coo]",
    "[repr(a.detach()), repr(c.detach()), repr(i), repr(a.detach().double()), repr(h.detach()), repr(torch.sparse_coo_tensor((2, 3)))]",
    "torch.sparse_coo_tensor((2, 3)).to_dense()", "torch.sparse_coo_tensor(a._indices(), x).to_dense()",
]


def inputs(torch):
    """Equal tensors in either library: `x`, `y`, `z` are values that gradients are taken of, others are made of them."""
    generator = np.random.default_rng(7)

    def draw(*shape):
        return torch.tensor(generator.standard_normal(shape).astype("float32").tolist(), requires_grad=True)

    x, y, z, d, e, f, m, v = draw(5), draw(4), draw(3), draw(4, 2), draw(2, 3), draw(3, 2), draw(3, 4), draw(4)
    places = [[0, 2, 1, 0, 2], [1, 3, 0, 1, 0]]
    return {
        "torch": torch, "x": x, "y": y, "d": d, "e": e, "f": f, "m": m, "v": v, "a": torch.sparse_coo_tensor(places, x, (3, 4)),
        "b": torch.sparse_coo_tensor([[0, 1, 2, 1], [1, 0, 2, 0]], y, (3, 4)), "w": torch.sparse_coo_tensor([[0, 1, 3, 1], [1, 0, 2, 0]], y, (4, 3)),
        "c": torch.sparse_csr_tensor([0, 1, 1, 3], [2, 0, 3], z.detach(), (3, 4)),
        "i": torch.sparse_coo_tensor(places, torch.ones(5), (3, 4), dtype=torch.int64), "z": z,
        "h": torch.sparse_coo_tensor([[1, 0, 1, 2]], d, (3, 2)),
    }
