# seed 350004479, lazy backward: crashed, AttributeError: 'NoneType' object has no attribute 'name'
import numpy as np
import retrograde as rg


def program(x):
    v1 = rg.ops.get('qr_pair').call(x)[0]
    v4 = v1 * 1
    v4[np.array([-2, -2, 0], 'int64')] *= v1[np.array([-2, -2, 0], 'int64')]
    return v4


def backward():
    """The gradient that `backward` leaves."""
    x = rg.tensor(np.array([[[-2.0]], [[2.0]]]), requires_grad=True)
    (program(x) ** 2).sum().backward()
    return x.grad


with rg.lazy():
    got = backward()
np.testing.assert_allclose(got.numpy(), backward().numpy(), atol=1e-12)
