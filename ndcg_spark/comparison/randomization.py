"""The randomization test of paired differences: how often random signs give a sum as large as the one that was seen.

The sign of a unit (a query, or a bucket of queries) in a replicate is a bit of a hash of the unit, the replicate and a
seed. So it depends on no order of rows and no engine, and the same scores give the same p value everywhere.
"""

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

#: How many times the signs are drawn.
REPLICATES = 10_000
#: Up to this many queries each is a unit; above, this many buckets of queries are. Flipping buckets is a subgroup of
#: flipping queries, so the test stays valid.
UNITS = 4_096
#: Sums that differ by less are equal.
EQUAL = 1e-9

_BITS = 64
#: The constants of splitmix64 (Steele, Lea and Flood 2014).
_STEP, _FIRST, _SECOND = (np.uint64(each) for each in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))
#: The number of units that are drawn at once, and of comparisons that take part: 10,000 numbers of each are 40 MB.
_AT_ONCE = 512


def p_values(units: Sequence[str], differences: NDArray[np.float64], seed: int = 0) -> NDArray[np.float64]:
    """The two-sided p value of each comparison: (1 + as large sums) / (REPLICATES + 1).

    `differences` has a row per unit and a column per comparison: the sum of the differences of the unit's queries. A
    comparison whose sum is 0 has the p value 1.
    """
    # The order of the rows changes the last digits of a sum.
    order = np.argsort(np.asarray(units))
    values = np.ascontiguousarray(np.asarray(differences, np.float64)[order])
    keys = _keys([units[at] for at in order], seed)
    parts = range(0, values.shape[1], _AT_ONCE)
    return np.concatenate([np.zeros(0), *(_p_values(keys, values[:, at : at + _AT_ONCE]) for at in parts)])


def _p_values(keys: NDArray[np.uint64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    sums = np.zeros((REPLICATES, values.shape[1]))
    for start in range(0, len(keys), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        sums += _signs(keys[part]) @ values[part]
    seen = np.abs(values.sum(axis=0))
    equal = EQUAL * np.maximum(1.0, np.abs(values).sum(axis=0))
    as_large = np.count_nonzero(np.abs(sums) >= seen - equal, axis=0)
    return np.asarray((1 + as_large) / (REPLICATES + 1))


def _keys(units: Sequence[str], seed: int) -> NDArray[np.uint64]:
    """A number of 64 bits per unit."""
    salt = str(seed).encode()
    digests = (hashlib.blake2b(unit.encode(), digest_size=8, key=salt).digest() for unit in units)
    return np.frombuffer(b"".join(digests), "<u8").astype(np.uint64)


def _signs(keys: NDArray[np.uint64]) -> NDArray[np.float64]:
    """The sign, 1 or -1, of every unit (columns) in every replicate (rows)."""
    words = np.arange(1, -(-REPLICATES // _BITS) + 1, dtype=np.uint64)
    mixed = keys[None, :] + words[:, None] * _STEP
    mixed = (mixed ^ (mixed >> np.uint64(30))) * _FIRST
    mixed = (mixed ^ (mixed >> np.uint64(27))) * _SECOND
    mixed ^= mixed >> np.uint64(31)
    # Little-endian bytes, so that the bits are the same on every machine.
    of_bytes = mixed.astype("<u8")[..., None].view(np.uint8)
    bits = np.unpackbits(of_bytes, axis=2, bitorder="little")
    rows = bits.transpose(0, 2, 1).reshape(-1, len(keys))[:REPLICATES]
    return rows.astype(np.float64) * 2.0 - 1.0
