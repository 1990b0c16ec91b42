"""Methods for small matrices, as rows of what an `arithmetic` computes with: see `lanes`, and Golub and Van Loan (2013)."""


def cholesky(v, x, is_upper):
    """The factor of the symmetric part of x."""
    n = len(x)
    lower = [[v.constant(0)] * n for _ in range(n)]
    for j in range(n):
        pivot = _without(v, x[j][j], [(lower[j][p], lower[j][p]) for p in range(j)])
        v.fail_unless_positive(pivot)
        lower[j][j] = v.root(pivot)
        inverse = v.over(v.constant(1), lower[j][j])
        for i in range(j + 1, n):
            products = [(lower[i][p], lower[j][p]) for p in range(j)]
            lower[i][j] = v.times(_without(v, v.mean(x[i][j], x[j][i]), products), inverse)
    # Rows and columns are Python lists of registers: to transpose them is no instruction.
    return [list(column) for column in zip(*lower, strict=True)] if is_upper else lower


def cholesky_gradient(v, factor, slope):
    """The symmetric part of L⁻ᵀ Φ(Lᵀ G) L⁻¹: see `definite`."""
    n = len(factor)
    inner = [[v.constant(0)] * n for _ in range(n)]
    for i in range(n):
        for j in range(i + 1):
            # `less` is what there is: the sum of products with the other sign, which the factor of the next line turns round.
            minus = _without(v, v.constant(0), [(factor[p][i], slope[p][j]) for p in range(i, n)])
            inner[i][j] = v.times(minus, v.constant(-0.5 if i == j else -1))
    across = [list(column) for column in zip(*factor, strict=True)]
    half = substituted(v, across, inner, is_upper=True, has_diagonal=True)
    found = substituted(v, across, [list(column) for column in zip(*half, strict=True)], is_upper=True, has_diagonal=True)
    return [[v.mean(found[i][j], found[j][i]) for j in range(n)] for i in range(n)]


def solve_triangular(v, x, y, is_upper):
    """Substitution."""
    return substituted(v, x, y, is_upper=is_upper, has_diagonal=True)


def substituted(v, x, y, *, is_upper, has_diagonal):
    """The solution for one triangle of x; without diagonal, that is one of ones."""
    n, found = len(x), list(y)
    for i in reversed(range(n)) if is_upper else range(n):
        others = range(i + 1, n) if is_upper else range(i)
        row = [_without(v, value, [(x[i][p], found[p][c]) for p in others]) for c, value in enumerate(y[i])]
        if has_diagonal:
            v.fail_if_zero(x[i][i])
            inverse = v.over(v.constant(1), x[i][i])
            row = [v.times(value, inverse) for value in row]
        found[i] = row
    return found


def lu_factor(v, x):
    """Both factors in one matrix, then a row with the permutation and one with its sign."""
    n = len(x)
    rows = [[*row, v.constant(i)] for i, row in enumerate(x)]
    sign = v.constant(1)
    for k in range(n):
        best = v.size(rows[k][k])
        for i in range(k + 1, n):
            size = v.size(rows[i][k])
            is_greater = v.is_greater(size, best)
            best = v.where(is_greater, size, best)
            # Each row that is greater than all before it changes places with the one on top: it stays there if it is the last.
            rows[k], rows[i] = _exchanged(v, is_greater, rows[k], rows[i])
            sign = v.where(is_greater, v.times(sign, v.constant(-1)), sign)
        pivot = rows[k][k]
        # As `elimination` does: a column of zeros is left as it is, and has factors all the same.
        inverse = v.where(v.is_equal(pivot, v.constant(0)), v.constant(0), v.over(v.constant(1), pivot))
        for i in range(k + 1, n):
            factor = v.times(rows[i][k], inverse)
            after = [v.less(x, factor, y) for x, y in zip(rows[i][k + 1 : n], rows[k][k + 1 : n], strict=True)]
            rows[i] = [*rows[i][:k], factor, *after, rows[i][n]]
    return [*[row[:n] for row in rows], [row[n] for row in rows], [sign] + [v.constant(0)] * (n - 1)]


def lu_solve(v, factors, y, is_transposed):
    """The solution by both factors."""
    n = len(factors[0])
    matrix, order = factors[:n], factors[n]
    # Each lane has a permutation of its own, so that rows cannot change places: all are looked at, and the right one is chosen.
    is_at = [[v.is_equal(order[i], v.constant(j)) for j in range(n)] for i in range(n)]  # row i of the factors is row j of x
    if not is_transposed:
        moved = [[_chosen(v, is_at[i], column) for column in zip(*y, strict=True)] for i in range(n)]
        below = substituted(v, matrix, moved, is_upper=False, has_diagonal=False)
        return substituted(v, matrix, below, is_upper=True, has_diagonal=True)
    across = [list(column) for column in zip(*matrix, strict=True)]
    below = substituted(v, across, y, is_upper=False, has_diagonal=True)
    found = substituted(v, across, below, is_upper=True, has_diagonal=False)
    return [[_chosen(v, [is_at[i][j] for i in range(n)], column) for column in zip(*found, strict=True)] for j in range(n)]


def _without(v, x, products):
    for y, z in products:
        x = v.less(x, y, z)
    return x


def _exchanged(v, mask, x, y):
    pairs = list(zip(x, y, strict=True))
    return [v.where(mask, b, a) for a, b in pairs], [v.where(mask, a, b) for a, b in pairs]


def _chosen(v, masks, values):
    """Of some values the one whose mask is set."""
    found = values[0]
    for mask, value in zip(masks[1:], values[1:], strict=True):
        found = v.where(mask, value, found)
    return found
