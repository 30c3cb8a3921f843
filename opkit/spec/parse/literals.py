"""Literals: the values that number, character and string tokens stand for."""

from __future__ import annotations

from opkit.spec.runtime.arithmetic import f32

_ESCAPES = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "0": "\0",
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "v": "\v",
    "\\": "\\",
    "'": "'",
    '"': '"',
    "?": "?",
}


def number(text: str) -> tuple[str, int | float] | None:
    """Return the kind (int, unsigned, long, unsigned long, float, double) and value of a number token."""
    plain = text.replace("'", "").lower()
    is_hex = plain.startswith("0x")
    if is_hex or not any(mark in plain for mark in ".e"):
        digits = plain.rstrip("ul")
        suffix = plain[len(digits) :]
        if not is_hex and digits.endswith("f"):
            return _real(digits[:-1], "float")
        octal = len(digits) > 1 and digits[0] == "0" and digits.isdigit()
        try:
            value = int(digits, 8) if octal else int(digits, 0)
        except ValueError:
            return None
        return _integer_kind(value, suffix, is_hex or octal), value
    if plain.endswith("f"):
        return _real(plain[:-1], "float")
    return _real(plain.rstrip("l"), "double")


def _real(digits: str, kind: str) -> tuple[str, int | float] | None:
    try:
        return kind, f32(float(digits)) if kind == "float" else float(digits)
    except ValueError:
        return None


def _integer_kind(value: int, suffix: str, may_be_unsigned: bool) -> str:
    is_long = "l" in suffix or value > 0x7FFFFFFF
    is_unsigned = "u" in suffix
    if may_be_unsigned and not is_unsigned and "l" not in suffix and 0x7FFFFFFF < value <= 0xFFFFFFFF:
        return "unsigned"
    if value > 0x7FFFFFFFFFFFFFFF:
        is_unsigned = True
    if is_unsigned:
        return "unsigned long" if (is_long and value > 0xFFFFFFFF) or "l" in suffix else "unsigned"
    return "long" if is_long else "int"


def string(text: str) -> str:
    """Return the characters of one string literal, prefixes and escapes resolved."""
    at = text.index('"')
    if text[:at].endswith("R"):
        opening = text.index("(", at)
        delimiter = text[at + 1 : opening]
        return text[opening + 1 : len(text) - len(delimiter) - 2]
    return _unescape(text[at + 1 : -1])


def character(text: str) -> int:
    """Return the value of a character literal."""
    inner = _unescape(text[text.index("'") + 1 : -1])
    return ord(inner[0]) if inner else 0


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    out: list[str] = []
    at = 0
    while at < len(text):
        if text[at] != "\\" or at + 1 >= len(text):
            out.append(text[at])
            at += 1
            continue
        mark = text[at + 1]
        if mark == "x":
            end = at + 2
            while end < len(text) and text[end] in "0123456789abcdefABCDEF":
                end += 1
            out.append(chr(int(text[at + 2 : end] or "0", 16) & 0xFF))
            at = end
        elif mark in "\r\n":
            at += 3 if text[at + 1 : at + 3] == "\r\n" else 2
        else:
            out.append(_ESCAPES.get(mark, mark))
            at += 2
    return "".join(out)
