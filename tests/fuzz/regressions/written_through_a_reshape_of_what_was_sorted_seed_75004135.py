# seed 75004135, jit: different, result 0 by 1.7: got [[ 0.5 -1.2] [ 0.5  3. ]], wanted [[-1.2 -1.2] [ 0.8  3. ]]
import numpy as np
import retrograde as rg


def program(x1):
    v1 = rg.sort(x1, axis=0)
    v2 = v1 + v1
    v2.reshape(-1)[::2] = 0.5
    return v2,


inputs = (
    np.array([[0.4, -0.6], [-0.6, 1.5]], 'float64'),  # x1
)

tensors = tuple(map(rg.tensor, inputs))


wanted = rg.tree.leaves(program(*tensors))
try:
    got = rg.tree.leaves(rg.jit(program)(*tensors))
except rg.errors.InplaceError:  # the order in memory is not known
    got = wanted
for a, b in zip(wanted, got, strict=True):
    assert np.array_equal(np.asarray(a), np.asarray(b)), (a, b)
