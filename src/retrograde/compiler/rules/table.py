"""The tables: rules, which replace one node, and patterns, which replace several together.

Of the rules of one op the first that matches is applied, until none does; each pattern is looked for once, in order.
`tests/compiler/rules/test_rules.py` has an example for each row: a graph that is another one without it, with the same values.
"""

from . import adding, algebra, choosing, folding, layout, pooling, products, row_updates, sums
from .rule import Pattern, Rule

_MOVEMENTS = ("reshape", "broadcast_to", "expand_dims", "squeeze", "transpose", "permute_dims", "moveaxis")
_FOLDS = ("sum", "prod", "max", "min", "any", "all")
_DRAWS = ("random_bits", "random_mask", "random_uniform", "random_normal", "random_integers")

RULES = (
    Rule("no change", ("positive", "contiguous", "contiguous_backward", "copy_to_device"), algebra.operand,
         "nothing is computed"),
    Rule("cast to the same dtype", ("astype",), algebra.operand_of_the_dtype, "nothing is computed"),
    Rule("movement to the same place", _MOVEMENTS, algebra.operand_in_place, "nothing is in the way of what looks through views"),
    Rule("power 1", ("power",), algebra.first_power, "nothing is computed"),
    Rule("small whole power", ("power",), algebra.power_of_products, "products take a few cycles, a power some fifty"),
    Rule("times 1", ("multiply",), algebra.times_one, "derivatives begin with ones"),
    Rule("divided by 1", ("divide",), algebra.divided_by_one, "means of one number"),
    Rule("choice of the same", ("where",), algebra.choice_of_the_same, "where derivatives alone must choose"),
    Rule("inverted truth", ("bitwise_invert",), algebra.inverted_truth, "loops know the logical op"),
    Rule("outer product", ("matmul",), products.outer_product, "an elementwise op is fused with what is around it"),
    Rule("product with equal numbers", ("matmul",), products.product_with_equal_numbers,
         "a sum reads one operand, as where the gradient of a sum meets a product"),
    Rule("product of rows that lie apart", ("matmul",), products.product_of_rows_that_lie_apart,
         "each few rows would meet the whole matrix anew"),
    Rule("equations of a transposed matrix", ("lu_solve",), products.equations_of_a_transposed_matrix,
         "the derivative of a solution needs the same factors"),
    Rule("extremum of truths", ("max", "min"), folding.extremum_of_truths, "loops know the logical folds"),
    Rule("fold of selected elements", ("sum", "prod"), folding.fold_of_selected, "loops select before they fold"),
    Rule("fold in the dtype of the result", _FOLDS, folding.fold_in_the_dtype_of_the_result, "loops fold in one dtype"),
    Rule("fold of single elements", _FOLDS, folding.fold_of_single_elements, "nothing is computed"),
    Rule("sum of runs that lie apart", ("sum",), folding.sum_of_runs_that_lie_apart,
         "memory is read in its order, and a run while it is in cache"),
    Rule("running fold in the dtype of the result", ("cumsum", "cumprod"), folding.running_in_the_dtype_of_the_result,
         "the kernel has one dtype"),
    Rule("running fold along an axis", ("cumsum", "cumprod"), folding.running_along_an_axis, "the kernel goes along one axis"),
    Rule("draw from the first state", _DRAWS, folding.draw_from_the_first_state, "no draw waits for the one before"),
    Rule("positions along one axis", ("getitem",), choosing.positions_along_one_axis, "loops follow positions along one axis"),
    Rule("one of each row", ("getitem",), choosing.one_of_each_row, "as labels choose from scores: rows need no check"),
    Rule("positions along the first axes", ("getitem",), choosing.positions_along_the_first_axes,
         "loops follow positions along one axis"),
    Rule("added in steps", ("scatter_add",), adding.added_in_steps,
         "pieces beside each other are computed where they are needed, without zeros in memory"),
    Rule("added at known positions", ("scatter_add",), adding.added_at_known_positions,
         "no number waits for another one, and the sum is part of a loop"),
    Rule("added along one axis", ("scatter_add",), adding.added_along_one_axis, "the kernel reads the array of positions last"),
    Rule("added to each row", ("scatter_add",), adding.added_to_each_row, "as labels hand back: part of a loop"),
    Rule("added along the first axes", ("scatter_add",), adding.added_along_the_first_axes, "the kernel adds along one axis"),
    Rule("few added along lines", ("add_along_axis",), adding.few_added_along_lines, "comparing with each is part of a loop"),
    Rule("many added along lines", ("add_along_axis",), adding.many_added_along_lines, "the kernel adds along one axis"),
)

PATTERNS = (
    Pattern("sum of scattered arrays", ("scatter_add",), sums.added_at_once,
            "the derivative of a loop over parts of an array writes each part once"),
    Pattern("max pooling before relu", ("max_pool2d_with_taps",), pooling.pooled_first,
            "relu and its slope meet one number of each window"),
    Pattern("written where they are computed", ("set_at",), row_updates.written_where_they_are_computed,
            "a row of a table is read, computed with and written in one pass, and without a copy of the table"),
    Pattern("written as read", ("attention_with_sums",), layout.written_as_read,
            "heads that are joined next are not copied for it"),
)
