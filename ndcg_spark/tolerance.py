"""What counts as equal, and how many digits of a number are compared. No other module says so.

Scores are sums, and sums of the same numbers differ in their last digits with the order in which they
are added: between engines, between partitions, and between this program and another tool.
"""

#: Scores and differences of scores that are at most this far apart are equal: a tie. Shares of a
#: number, such as of its mean, are equal within the same distance.
EQUAL = 1e-9
#: Numbers are ordered, and rounded before they are printed, to this many decimals.
DECIMALS = 12
#: A limit holds for a number that is beyond it by no more than this.
ROUNDING = 1e-12
