"""Small TREC runs: those that Arrow reads as the engine does, and those that it must leave to the engine."""

import gzip

_LINE, _OTHER = b"q1 Q0 d1 1 7.5 a\n", b"q2 Q0 d2 2 1 a\n"


def _field(at: int, *texts: str) -> bytes:
    """Lines that have these texts as one of their fields, each of another document, and one usual line."""
    lines = [_OTHER]
    for number, text in enumerate(texts, start=3):
        fields = ["q1", "Q0", f"d{number}", "1", "7.5", "a"]
        fields[at] = text
        lines.append(" ".join(fields).encode() + b"\n")
    return b"".join(reversed(lines))


#: By name, what is plain.
PLAIN = {
    "blanks": _LINE + _OTHER,
    "tabs": _LINE.replace(b" ", b"\t"),
    "no last line end": _LINE + _OTHER.strip(),
    "letters of all kinds": _field(2, "日本\u00a0é\u0301\u2028\u0085😀"),
    "quotes": _field(2, 'a"b', '"', "'x'", '"q"'),
    "other marks": _field(2, "a,b;c|d\\e", "#q", "\\"),
    "names that say null": _field(2, "NULL", "nan", "N/A", "null") + _field(1, "NULL"),
    "control characters that are no blanks": _field(2, "a\x0bb\x1cc\x7f"),
    "ranks in other words": _field(3, "007", "1.0", "1e2", "-0", "-3"),
    "scores in other words": _field(4, ".5", "5.", "1E3", "1e+3", "-1e-3", "007", "-7.25"),
    "zeros": _field(4, "-0.0", "-0", "-0e5", "0", "1e-400", "-1e-400"),
    "numbers next to nothing": _field(4, "4.9e-324", "2.5e-324", "2.4e-324", "1e-320"),
    # The exact middle of two numbers, a little more than it, and more digits than are needed.
    "many digits": _field(
        4,
        "9007199254740993",
        "9007199254740993." + "0" * 40 + "1",
        "0.1000000000000000055511151231257827021181583404541015625",
        "1" * 300 + "." + "3" * 300,
        "1.7976931348623157e308",
    ),
    "gzip in two parts": gzip.compress(_LINE, mtime=0) + gzip.compress(_OTHER, mtime=0),
}

#: By name, what is not.
ODD = {
    "two blanks": _LINE + _LINE.replace(b" d1", b"  d1"),
    "two blanks and a field less": b"q1 Q0 d1  7.5 a\n",
    "two tabs": _LINE.replace(b" ", b"\t") + b"q1\tQ0\td1\t1\t\t7.5\ta\n",
    "a blank in front": _LINE + b" " + _LINE,
    "a blank in front of all": b" " + _LINE,
    "a blank in front and a field less": b" Q0 d1 1 7.5 a\n",
    "a blank at the end": _LINE.replace(b"a\n", b"a \n") + _LINE,
    "a blank for the last field": b"q1 Q0 d1 1 7.5 \n",
    "a blank at the end of all": _LINE.strip() + b" ",
    "a tab among blanks": _LINE.replace(b" d1", b"\td1"),
    "a blank among tabs": _LINE.replace(b" ", b"\t").replace(b"d1", b"d 1"),
    "line ends of Windows": _LINE.replace(b"\n", b"\r\n") * 2,
    "line ends of old Macs": _LINE.replace(b"\n", b"\r") * 2,
    "a carriage return in a field": _field(2, "d\r1"),
    "a form feed": _LINE.replace(b" d1", b"\fd1"),
    "a form feed in a field": _field(2, "d\f1"),
    "a form feed at the end": _LINE.strip() + b"\f\n",
    "the character 0": _field(2, "d\x001"),
    "a line of other control characters": _LINE + b"\x0b\n",
    "a byte order mark": "\ufeff".encode() + _LINE,
    "a byte order mark in a line": _field(2, "d\ufeff1"),
    "a byte order mark at the end": _LINE.strip() + "\ufeff\n".encode(),
    "an empty line": _LINE + b"\n" + _LINE,
    "an empty line in front": b"\n" + _LINE,
    "blank lines only": b" \n\n",
    "nothing": b"",
    "a field more": _LINE + _LINE.replace(b"a\n", b"a more\n"),
    "a field more in all lines": _LINE.replace(b"a\n", b"a more\n") * 2,
    "a field less": _LINE + _LINE.replace(b" a\n", b"\n"),
    **{f"the rank {text}": _field(3, text) for text in ("x", "1.5", "0x1F", "nan", "inf", "2147483648", "-2147483649")},
    **{f"the rank {text}": _field(3, text) for text in ("1_0", "1,000", "NULL", "true", "1e400", "\x0b1", "1\u00a0")},
    **{
        f"the score {text}": _field(4, text) for text in ("x", "nan", "NaN", "nan(1)", "inf", "-Infinity", "1e400", "-")
    },
    **{f"the score {text}": _field(4, text) for text in ("1d", "1f", "0x1p3", "1_0", "1,5", "1e", ".", "--1", "+-1")},
    **{f"the score {text}": _field(4, text) for text in ("NULL", "null", "true", '"1"', "\u0663", "1\x0b", "\u00a01")},
}

#: By name, what no evaluation accepts.
DAMAGED = {
    "bytes that are no text": _LINE + b"q1 Q0 d\xff 1 7.5 a\n",
    "half a character": _LINE + b"q1 Q0 d1 1 7.5 \xe2\x82\n",
    "half a pair": _LINE + b"q1 Q0 d\xed\xa0\x80 1 7.5 a\n",
    "gzip that was cut": gzip.compress(_LINE * 1000, mtime=0)[:-9],
    "gzip with other bytes behind it": gzip.compress(_LINE, mtime=0) + b"more",
}


def ending(name: str) -> str:
    """The end of the name of a file with this text."""
    return ".run.gz" if "gzip" in name else ".run"
