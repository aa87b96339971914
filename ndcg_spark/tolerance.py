"""Which numbers are equal, and how many digits of a number are compared and printed.

Scores are sums, and the last digits of a sum depend on the order of its terms, which depends on the
engine and on how rows are distributed. So no comparison, no order and no text may depend on those
digits.
"""

#: Scores that differ by at most this are equal, and such a difference is a tie. Relative to the
#: size of the compared numbers, the same holds for sums of any size.
EQUAL = 1e-9
#: The same as a number of decimals, for scores that are rounded before they are compared.
EQUAL_DECIMALS = 9
#: A number that exceeds a limit by at most this does not exceed it. A sum that is smaller than this
#: share of its terms may be only rounding error.
ROUNDING = 1e-12
#: Numbers are rounded to this many decimals before they are ordered or printed.
DECIMALS = 12
