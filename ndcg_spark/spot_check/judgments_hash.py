"""The hash of a query's judgments in plain Python: Spark's xxhash64, which all engines provide.

XXH64 is by Yann Collet (https://xxhash.com, BSD). Spark hashes several values one after another:
the hash of one value is the seed of the next, and the first seed is 42.
"""

import struct
from collections.abc import Mapping

_MASK = (1 << 64) - 1
_LOW = (1 << 32) - 1
_P1, _P2, _P3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_P4, _P5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
SEED = 42
#: How many bytes the four accumulators read at once, and by how many bits each is then rotated.
_STRIPE = 32
_ROTATIONS = (1, 7, 12, 18)


def judgments_hash(grades: Mapping[str, float]) -> int:
    """The column judgments_hash of QUERY_SCORES for these documents and their merged grades.

    The hashes of the rows are added up, so their order does not matter. Each half is added up
    separately, because 64-bit numbers would overflow in an engine.
    """
    high = low = 0
    for document, grade in grades.items():
        # 0.0 is added because -0.0 and 0.0 are equal, but have different bytes.
        row = xxhash64(struct.pack("<d", grade + 0.0), xxhash64(document.encode(), SEED))
        high += row >> 32
        low += row & _LOW
    total = SEED
    for part in (len(grades), high, low):
        total = xxhash64(struct.pack("<q", part), total)
    return signed(total)


def signed(value: int) -> int:
    """These 64 bits as a signed number, as engines return them."""
    return value - (1 << 64) if value >> 63 else value


def xxhash64(data: bytes, seed: int) -> int:
    """The hash of bytes, from 0 to 2^64 - 1."""
    position = 0
    result = seed + _P5
    if len(data) >= _STRIPE:
        accumulators = [seed + _P1 + _P2, seed + _P2, seed, seed - _P1]
        while position <= len(data) - _STRIPE:
            words = struct.unpack_from("<4Q", data, position)
            accumulators = list(map(_round, accumulators, words))
            position += _STRIPE
        result = sum(map(_rotated, accumulators, _ROTATIONS))
        for accumulator in accumulators:
            result = ((result ^ _round(0, accumulator)) * _P1 + _P4) & _MASK
    return _mixed(_with_last_bytes((result + len(data)) & _MASK, data, position))


def _with_last_bytes(result: int, data: bytes, position: int) -> int:
    """The hash after the remaining bytes, at most 31, in groups of 8, then 4, then 1."""
    while position <= len(data) - 8:
        (word,) = struct.unpack_from("<Q", data, position)
        result = (_rotated(result ^ _round(0, word), 27) * _P1 + _P4) & _MASK
        position += 8
    if position <= len(data) - 4:
        (word,) = struct.unpack_from("<L", data, position)
        result = (_rotated(result ^ (word * _P1 & _MASK), 23) * _P2 + _P3) & _MASK
        position += 4
    for byte in data[position:]:
        result = _rotated(result ^ (byte * _P5 & _MASK), 11) * _P1 & _MASK
    return result


def _round(total: int, word: int) -> int:
    """An accumulator after one more word."""
    return _rotated((total + word * _P2) & _MASK, 31) * _P1 & _MASK


def _rotated(value: int, bits: int) -> int:
    """The 64 bits rotated to the left."""
    return ((value << bits) | (value >> (64 - bits))) & _MASK


def _mixed(value: int) -> int:
    """The last step, after which each bit of the hash depends on all bits of the value."""
    value = (value ^ (value >> 33)) * _P2 & _MASK
    value = (value ^ (value >> 29)) * _P3 & _MASK
    return value ^ (value >> 32)
