"""Documents that end, fill or stall a process that reads them without limits; each as YAML, TOML or JSON."""

from __future__ import annotations

from typing import Final


def _bomb(first: str, form: str, levels: int = 12) -> str:
    """Every line stands for nine times the line before it."""
    lines = [f"a0: &a0 {first}"]
    lines += [f"a{each}: &a{each} {form % ','.join([f'*a{each - 1}'] * 9)}" for each in range(1, levels)]
    return "\n".join(lines) + "\n"


def _merges() -> str:
    lines = ["a0: &a0 {k: 1}"]
    lines += [f"a{each}: &a{each} {{<<: [{','.join([f'*a{each - 1}'] * 9)}]}}" for each in range(1, 12)]
    return "\n".join(lines) + "\n"


YAML: Final = {
    "aliases of aliases in lists": _bomb("[x,x,x,x,x,x,x,x,x]", "[%s]"),
    "aliases of a long text": f'a: &a "{"x" * 100_000}"\nb: [{",".join(["*a"] * 5_000)}]\n',
    "aliases of merges": _merges(),
    "an alias inside itself": "a: &a [*a]\n",
    "a merge of itself": "a: &a\n  <<: *a\n",
    "brackets without end": "[" * 60_000,
    "mappings without end": "{a: " * 20_000,
    "nested brackets": "a: " + "[" * 900 + "]" * 900 + "\n",
    "nested dashes": "- " * 30_000 + "x\n",
    "nested keys": "? " * 30_000 + "x\n",
    "nested blocks": "".join(" " * each + "a:\n" for each in range(1_500)),
    "nested pairs": "a: " + "!!omap [a: " * 900 + "1" + "]" * 900 + "\n",
    "a number of 100,000 digits": "a: " + "9" * 100_000 + "\n",
    "a number to the base of 16": "a: 0x" + "f" * 100_000 + "\n",
    "a number to the base of 60": "a: 1" + ":59" * 200_000 + "\n",
    "a number that is none": "a: !!int x\n",
    "a truth that is none": "a: !!bool x\n",
    "a moment that is none": "a: !!timestamp x\n",
    "a 13th month": "a: 2020-13-45\n",
    "an object of Python": "a: !!python/object/apply:os.system [exit 7]\n",
    "a key that is a list": "? [a]\n: b\n",
    "an anchor twice": "a: &a 1\nb: &a [*a, *a]\n",
    "two million elements": "a: [" + "x," * 2_000_000 + "]\n",
    "more than the largest size": "a: " + "x" * 17_000_000 + "\n",
}

SLOW_TO_REFUSE: Final = frozenset({"two million elements", "more than the largest size"})
"""Where one reader of a loader shows what all of them do."""

JSON: Final = {
    "brackets without end": "[" * 60_000,
    "nested lists": "[" * 60_000 + "]" * 60_000,
    "nested lists that Python reads": "[" * 700 + "]" * 700,
    "nested objects": '{"a":' * 60_000 + "1" + "}" * 60_000,
    "a number of 100,000 digits": '{"a": ' + "9" * 100_000 + "}",
}

TOML: Final = {
    "brackets without end": "a = " + "[" * 60_000,
    "nested lists": "a = " + "[" * 300 + "]" * 300,
    "nested tables": "a" + ".a" * 20_000 + " = 1\n",
    "a number of 100,000 digits": "a = " + "9" * 100_000 + "\n",
    "more than the largest size": f'a = "{"x" * 1_100_000}"\n',
}
