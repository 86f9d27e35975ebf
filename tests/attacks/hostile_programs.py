"""KCL programs that take time or memory without end, or far more than a configuration needs; each as files by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from kcl import api
from tests.attacks.hostile_calls import CALLS
from tests.attacks.hostile_trees import TREES


def _lines(count: int, line: Callable[[int], str]) -> str:
    return "".join(f"{line(number)}\n" for number in range(count))


def _doubled(last: str, levels: int = 40, first: str = '["x"]', form: str = "[{0}, {0}]") -> str:
    """Every variable holds the one before it twice, and in memory only once."""
    return f"_a0 = {first}\n" + _lines(levels, lambda n: f"_a{n + 1} = {form.format(f'_a{n}')}") + last + "\n"


_TWICE: Final = '_b0 = ["x"]\n' + _lines(40, lambda n: f"_b{n + 1} = [_b{n}, _b{n}]")
_MAPS: Final = '_m0 = {k = "x"}\n' + _lines(40, lambda n: f"_m{n + 1} = {{l = _m{n}, r = _m{n}}}")
_MAPS_TOO: Final = '_w0 = {k = "x"}\n' + _lines(40, lambda n: f"_w{n + 1} = {{l = _w{n}, r = _w{n}}}")
_ALIASES: Final = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n" + _lines(
    12, lambda n: f"a{n + 1}: &a{n + 1} [{','.join([f'*a{n}'] * 9)}]"
)

PROGRAMS: Final[dict[str, str]] = {
    # what is shared in memory, walked as if it were not
    "doubled lists compared": _doubled(_TWICE + "a = _a40 == _b40"),
    "doubled lists told apart": _doubled(_TWICE + "a = _a40 != _b40"),
    "doubled lists ordered": _doubled(_TWICE + "a = _a40 < _b40"),
    "a doubled list in a list": _doubled(_TWICE + "a = _a40 in [_b40]"),
    "doubled lists that are one another": _doubled(_TWICE + "a = _a40 is _b40"),
    "doubled maps compared": _MAPS + _MAPS_TOO + "a = _m40 == _w40\n",
    "doubled maps united": _MAPS + _MAPS_TOO + "a = _m40 | _w40\n",
    "doubled maps united with themselves": _MAPS + "a = _m40 | _m40\n",
    "doubled lists as output": _doubled("a = _a40"),
    "doubled lists as text": _doubled("a = str(_a40)"),
    "doubled lists in a text": _doubled('a = "${_a40}"'),
    "doubled lists formatted": _doubled('a = "{}".format(_a40)'),
    "doubled lists printed": _doubled("print(_a40)"),
    "doubled lists as JSON": "import json\n" + _doubled("a = json.encode(_a40)"),
    "doubled lists as YAML": "import yaml\n" + _doubled("a = yaml.encode(_a40)"),
    "doubled lists streamed": "import manifests\n" + _doubled("manifests.yaml_stream([{k = _a40}])"),
    "doubled lists in base64": "import base64\n" + _doubled("a = base64.encode(str(_a40))"),
    "doubled lists in a set": _doubled(_TWICE + "a = isunique([_a40, _b40])"),
    "doubled lists sorted": _doubled(_TWICE + "a = sorted([_a40, _b40])"),
    "the least of doubled lists": _doubled(_TWICE + "a = min([_a40, _b40])"),
    "doubled lists assigned to a type": _doubled("a: [[[any]]] = _a40"),
    "doubled lists of a recursive type": (
        "schema N:\n    l?: N\n    r?: N\n_n0 = N {}\n"
        + _lines(40, lambda n: f"_n{n + 1} = N {{l = _n{n}, r = _n{n}}}")
        + "a = _n40\n"
    ),
    # growth
    "a string that doubles": _doubled("a = len(_a40)", first='"xxxxxxxx"', form="{0} + {0}"),
    "a list that doubles": _doubled("a = len(_a40)", form="{0} + {0}"),
    "an interpolation that doubles": _doubled("a = len(_a40)", first='"xxxxxxxx"', form='"${{{0}}}${{{0}}}"'),
    "a replacement that doubles": _doubled("a = len(_a40)", first='"xx"', form='{0}.replace("x", "xx")'),
    "a join that doubles": _doubled("a = len(_a40)", first='"xx"', form='"".join([{0}, {0}])'),
    "a format that doubles": _doubled("a = len(_a40)", first='"xx"', form='"{{0}}{{0}}".format({0})'),
    "a string repeated": 'a = "x" * 10 ** 12\n',
    "a list repeated": "a = [0] * 10 ** 12\n",
    "a width without end": 'a = "{:>1000000000000}".format(1)\n',
    "thirty strings of 200 MB": 'a = [str(i) + "x" * 200000000 for i in range(30)]\n',
    "one string thirty times in the output": '_x = "x" * 200000000\na = [_x for i in range(30)]\n',
    "thirty strings that are kept": _lines(30, lambda n: f'_a{n} = "{n}" + "x" * 200000000') + "a = len(_a0)\n",
    "a text split into characters": 'a = len(("x," * 130000000).split(","))\n',
    "lists of lists without end": "a = [[x, y, str(x)] for x in range(3000) for y in range(3000)]\n",
    "maps without end": 'a = {"${x}": {y = [x]} for x in range(9000000)}\n',
    # loops
    "three loops in one another": (
        "_n = range(3000)\na = sum([x * y * z for x in _n for y in _n for z in _n if x < 0])\n"
    ),
    "a loop of loops": "a = [[[0 for x in range(3000) if x < 0] for y in range(3000)] for z in range(3000)]\n",
    "a check of all items": "_n = range(3000)\na = all x in _n { all y in _n { all z in _n { x + y + z >= 0 } } }\n",
    "a filter of all items": "_n = range(3000)\na = filter x in _n { any y in _n { any z in _n { z < 0 } } }\n",
    "a range without end": "a = range(10 ** 12)\n",
    "a sum of ranges": "a = [sum(range(9000000)) for x in range(1000)]\n",
    "lambdas that call each other without end": (
        "f = lambda n {\n    0 if n == 0 else f(n - 1) + f(n - 1)\n}\na = f(60)\n"
    ),
    "a lambda that calls itself": "f = lambda n {\n    f(n + 1)\n}\na = f(0)\n",
    "Fibonacci": "f = lambda n: int -> int {\n    n if n < 2 else f(n - 1) + f(n - 2)\n}\na = f(60)\n",
    "a schema that doubles": (
        "schema A:\n    n: int\n    l?: A = A {n = n - 1} if n > 0 else None\n"
        "    r?: A = A {n = n - 1} if n > 0 else None\n"
        "a = A {n = 60}\n"
    ),
    "a schema that holds itself": "schema A:\n    b: A = A {}\na = A {}\n",
    "checks without end": (
        "_n = range(3000)\nschema A:\n    x: int\n    check:\n"
        "        all y in _n { all z in _n { all w in _n { x + y + z + w >= 0 } } }\na = A {x = 1}\n"
    ),
    "sorted by nothing cheap": "a = len([sorted(range(1000000)) for x in range(1000)])\n",
    # numbers
    "a power of a power": "a = 10 ** 10 ** 9\n",
    "a function's power": "a = pow(10, 10 ** 9)\n",
    "a shift": "a = 1 << 10 ** 9\n",
    "a literal of many digits": f"a = {'9' * 200_000}\n",
    "a text of many digits": f'a = int("{"9" * 200_000}")\n',
    "a factorial": "import math\na = math.factorial(100000)\n",
    # patterns
    "optional letters": 'import regex\na = regex.match("a" * 36, "a?" * 36 + "a" * 36)\n',
    "a repetition of repetitions": 'import regex\na = regex.match("a" * 60 + "!", "^(a+)+$")\n',
    "alternatives that overlap": 'import regex\na = regex.match("a" * 60 + "!", "^(a|aa)+$")\n',
    "bounded repetitions": (
        'import regex\na = regex.match("a" * 60 + "!", "^(a{1,9}){1,9}(a{1,9}){1,9}(a{1,9}){1,9}$")\n'
    ),
    "four repetitions": 'import regex\na = regex.findall("a" * 3000, "a*a*a*a*b")\n',
    "a repetition behind a look ahead": 'import regex\na = regex.match("a" * 60 + "!", "(?=a)(a+)+$")\n',
    "ten repetitions in one another": (
        'import regex\na = regex.match("a" * 15 + "!", "(?=a)' + "(" * 10 + "a" + "+)" * 10 + '+$")\n'
    ),
    "a repetition of a group's text": 'import regex\na = regex.match("a" * 60 + "!", "^((a+)\\\\2*)+$")\n',
    "a replacement of everything": 'import regex\na = len(regex.replace("a" * 100000, "a", "b" * 100000))\n',
    # width and depth of the text
    "a union of 20,000 types": "a: " + "|".join(f'"v{n}"' for n in range(20_000)) + ' = "v1"\n',
    "a union of 20,000 schemas": (
        _lines(3_000, lambda n: f"schema S{n}:\n    x{n}?: int")
        + "a: "
        + "|".join(f"S{n}" for n in range(3_000))
        + " = S1 {}\n"
    ),
    "3,000 schemas in a line": "schema S0:\n    x0: int = 0\n"
    + _lines(3_000, lambda n: f"schema S{n + 1}(S{n}):\n    x{n + 1}: int = {n}")
    + "a = S3000 {}\n",
    "50,000 errors": _lines(50_000, lambda n: f'a{n}: int = "x"'),
    "50,000 unknown names": _lines(50_000, lambda n: f"a{n} = b{n}"),
    "50,000 imports of nothing": _lines(20_000, lambda n: f"import nothing{n}"),
    "50,000 definitions of one name": _lines(50_000, lambda n: f"a = {n}"),
    "50,000 parts of one configuration": _lines(20_000, lambda n: f"a: {{x{n} = {n}}}" if n else "a: {}"),
    "a configuration united 5,000 times": "a = {x = {y = 1}}" + " | {x = {y = 1}}" * 5_000 + "\n",
    "500 mixins": _lines(500, lambda n: f"schema M{n}Mixin:\n    x{n}: int = {n}")
    + "schema A:\n    mixin ["
    + ", ".join(f"M{n}Mixin" for n in range(500))
    + "]\na = A {}\n",
    "lists 20,000 deep": "a = " + "[" * 20_000 + "]" * 20_000 + "\n",
    "types 5,000 deep": "a: " + "[" * 5_000 + "int" + "]" * 5_000 + " = []\n",
    "indexes 20,000 deep": "_x = [[]]\na = _x" + "[0]" * 20_000 + "\n",
    "calls 20,000 deep": "a = " + "str(" * 20_000 + "1" + ")" * 20_000 + "\n",
    "conditions 20,000 deep": "a = " + "1 if True else " * 20_000 + "2\n",
    "signs 20,000 deep": "a = " + "-" * 20_000 + "1\n",
    "negations 20,000 deep": "a = " + "not " * 20_000 + "True\n",
    "a sum of 100,000": "a = " + " + ".join(["1"] * 100_000) + "\n",
    "brackets without end": "a = " + "[" * 100_000 + "\n",
    "braces without end": "a = " + "{a=" * 50_000 + "\n",
    "interpolations in one another": "a = " + '"${' * 300 + "1" + '}"' * 300 + "\n",
    "a line of dots": "a = b" + ".c" * 50_000 + "\n",
    "a key of dots": "a = {" + ".".join(["k"] * 20_000) + " = 1}\n",
    "indented without end": "".join(" " * n + "if True:\n" for n in range(1, 3_000)),
    # documents and digests
    "aliases of aliases": f'import yaml\na = yaml.decode("""\n{_ALIASES}""")\n',
    "JSON 100,000 deep": 'import json\na = json.decode("[" * 100000 + "]" * 100000)\n',
    "YAML 100,000 deep": 'import yaml\na = yaml.decode("[" * 100000 + "]" * 100000)\n',
    "JSON of a large text": 'import json\na = json.decode("[" + "1," * 30000000 + "1]")\n',
    "YAML of a large text": 'import yaml\na = yaml.decode("- 1\\n" * 30000000)\n',
    "blake3 of 20 MB": 'import crypto\na = crypto.blake3("x" * 20000000)\n',
    "many digests of 200 MB": 'import crypto\n_x = "x" * 200000000\na = [crypto.sha512(_x) for i in range(1000)]\n',
    "base64 of base64": "import base64\n" + _doubled("a = len(_a40)", first='"xxxx"', form="base64.encode({0} + {0})"),
    "a template that grows": (
        'import template\n_t = "{{#each a}}{{#each ../a}}{{#each ../../a}}{{#each ../../../a}}x'
        + "{{/each}}" * 4
        + '"\na = len(template.execute(_t, {a = range(300)}))\n'
    ),
    "prints without end": 'a = [print("x" * 1000) for i in range(9000000)]\n',
    "what is printed 200 MB long": 'print("x" * 200000000)\nprint("x" * 200000000)\nprint("x" * 200000000)\na = 1\n',
    "a list counted again and again": "_x = range(1000000)\na = [x in _x for x in _x]\n",
    "a text searched again and again": '_x = "a" * 9000000\na = [_x.count("a" * i + "b") for i in range(100000)]\n',
    "options without end": 'a = [option("o${i}") for i in range(9000000)]\n',
}


def files_of(name: str) -> Mapping[str, str]:
    """The texts of a hostile program by path, `main.k` first among them."""
    return TREES[name]() if name in TREES else {"main.k": {**PROGRAMS, **CALLS}[name]}


def write(name: str, folder: Path) -> Path:
    """Writes a hostile program and returns the file to be run."""
    for path, text in files_of(name).items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder / "main.k"


NAMES: Final = (*PROGRAMS, *CALLS, *TREES)


def output_length(file: Path) -> int:
    """What is done with each: all of it, to the text."""
    return len(api.run([str(file)], work_dir=file.parent).yaml())
