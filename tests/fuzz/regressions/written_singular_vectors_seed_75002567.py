# seed 75002567, differences: different, result 0 by 0.00103: got 0.0013734, wanted 0.00034335
import numpy as np
import retrograde as rg


def program(x2):
    v5 = rg.ops.get('svd_triple').call((np.array([[2.6, 2.161, -2.94, 1.337], [2.351, -1.952, 2.514, 2.572]], 'float64') + 0.05 * rg.tanh(rg.mean(x2))), full_matrices=False)[0]
    v5[None, ..., :] *= 2
    v6 = v5 * 1
    return v6,


def total(x2):
    return (program(x2)[0] * np.array([[1.0, 2.0], [3.0, 4.0]])).sum()


x = np.array(1.9)
wanted = float(total(rg.tensor(x + 1e-6)) - total(rg.tensor(x - 1e-6))) / 2e-6
try:
    got = float(rg.grad(total)(x))
except rg.errors.InplaceError:  # what the rule reads was written to
    got = wanted
assert abs(got - wanted) < 1e-6, (got, wanted)
