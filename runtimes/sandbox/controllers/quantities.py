"""Resource quantities (`250m`, `1Gi`, `2`) as exact numbers."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

_SUFFIXES = {
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "k": Decimal(10**3),
    "M": Decimal(10**6),
    "G": Decimal(10**9),
    "T": Decimal(10**12),
    "P": Decimal(10**15),
    "E": Decimal(10**18),
    "Ki": Decimal(2**10),
    "Mi": Decimal(2**20),
    "Gi": Decimal(2**30),
    "Ti": Decimal(2**40),
    "Pi": Decimal(2**50),
    "Ei": Decimal(2**60),
}


def quantity(text: str | int | float) -> Decimal:
    """Zero for what is no quantity: the server has refused such before anyone reads it."""
    written = str(text)
    for length in (2, 1):
        if written[-length:] in _SUFFIXES and len(written) > length:
            return _number(written[:-length]) * _SUFFIXES[written[-length:]]
    return _number(written)


def _number(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        return Decimal(0)
