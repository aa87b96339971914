"""When two numbers are equal, and how many of their digits are compared and printed.

Scores are sums, and the last digits of a sum depend on the order of its terms, which depends on the
engine and on how rows are distributed. So no comparison, no order and no text may depend on those
digits.
"""

#: Scores that differ by at most this are equal, and such a difference is a tie. For sums of any
#: size, the limit is relative to the size of the compared numbers.
EQUAL = 1e-9
#: The same limit as a number of decimals, for scores that are rounded before they are compared.
EQUAL_DECIMALS = 9
#: A number that exceeds a limit by at most this is treated as equal to the limit. A sum that is
#: smaller than this fraction of the sizes of its terms may be only a rounding error.
ROUNDING = 1e-12
#: Numbers are rounded to this many decimals before they are ordered or printed.
DECIMALS = 12
