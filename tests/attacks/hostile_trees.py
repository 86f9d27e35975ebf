"""KCL packages that lead nowhere, in circles or to too many places, and files of absurd size; each as files by name.

Each is made when it is written: some are as large as a configuration never is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

Tree = Callable[[], Mapping[str, str]]
_MOD: Final = '[package]\nname = "app"\n'
_LEVELS: Final = 40
"""Of diamonds, each of which doubles the ways through those before it: a million million in all."""


def _lines(count: int, line: Callable[[int], str]) -> str:
    return "".join(f"{line(number)}\n" for number in range(count))


def _tree(main: str, **more: str) -> dict[str, str]:
    """`a__b` is the file b.k of the folder a."""
    files = {f"{name.replace('__', '/')}.k": text for name, text in more.items()}
    return {"kcl.mod": _MOD, "main.k": main, **files}


def _of(main: str) -> Tree:
    return lambda: {"main.k": main}


# --- circles


def _ring_of_packages(size: int) -> dict[str, str]:
    ring = {f"p{n}__m": f"import p{(n + 1) % size}\nx = p{(n + 1) % size}.x\n" for n in range(size)}
    return _tree("import p0\na = p0.x\n", **ring)


def _dependencies(**needs: str) -> dict[str, str]:
    """Packages below `packages`, and the one above them, `app`, each with the names of those it depends on by path."""
    files = {}
    for name, others in needs.items():
        folder, up = ("", "packages/") if name == "app" else (f"packages/{name}/", "../")
        paths = {each: f"{up}../" if each == "app" else f"{up}{each}" for each in others.split()}
        lines = "".join(f'{each} = {{ path = "{path}" }}\n' for each, path in paths.items())
        imports = "".join(f"import {each}\n" for each in paths)
        files[f"{folder}kcl.mod"] = f'[package]\nname = "{name}"\n[dependencies]\n{lines}'
        files[f"{folder}main.k"] = f"{imports}a = {' + '.join([f'{each}.a' for each in paths] or ['1'])}\n"
    return files


def _bases(size: int) -> str:
    return _lines(size, lambda n: f"schema S{n}(S{(n + 1) % size}):\n    x{n}?: int") + "a = S0 {}\n"


_CIRCLES: Final[dict[str, Tree]] = {
    "a package that imports itself": lambda: _tree("import p\na = p.x\n", p__m="import p\nx = p.x\n"),
    "a file that imports itself": lambda: _tree("import main\na = main.a\n"),
    "two packages that import each other": lambda: _ring_of_packages(2),
    "a ring of 300 packages": lambda: _ring_of_packages(300),
    "a folder that imports the one above it": lambda: _tree(
        "import p\na = p.x\n", p__m="import p.q\nx = q.x\n", p__q__m="import p\nx = p.x\n"
    ),
    "two files that read each other": lambda: _tree("import p\na = p.x\n", p__a="x = y\n", p__b="y = x\n"),
    "a dependency on itself": lambda: _dependencies(app="app"),
    "two dependencies on each other": lambda: _dependencies(app="b", b="c", c="b"),
    "a dependency on who needs it": lambda: _dependencies(app="b", b="app"),
    "a schema that is its base": _of("schema A(A):\n    x: int = 1\na = A {}\n"),
    "a ring of two bases": lambda: {"main.k": _bases(2)},
    "a ring of 2,000 bases": lambda: {"main.k": _bases(2_000)},
    "bases across packages": lambda: _tree(
        "import p\nimport q\na = p.A {}\n",
        p__m="import q\nschema A(q.B):\n    x?: int\n",
        q__m="import p\nschema B(p.A):\n    y?: int\n",
    ),
    "a mixin of itself": _of(
        "schema AMixin:\n    mixin [AMixin]\n    x: int = 1\nschema A:\n    mixin [AMixin]\na = A {}\n"
    ),
    "two mixins of each other": _of(
        "schema AMixin:\n    mixin [BMixin]\n    x: int = 1\nschema BMixin:\n    mixin [AMixin]\n    y: int = 1\n"
        "schema A:\n    mixin [AMixin]\na = A {}\n"
    ),
    "a base whose mixin has it for a base": _of(
        "schema AMixin(A):\n    x: int = 1\nschema A:\n    mixin [AMixin]\na = A {}\n"
    ),
    "a protocol of itself": _of(
        "protocol PProtocol(PProtocol):\n    x: int\nmixin AMixin for PProtocol:\n    y = x\n"
        "schema A:\n    mixin [AMixin]\n    x: int = 1\na = A {}\n"
    ),
    "two protocols of each other": _of(
        "protocol PProtocol(QProtocol):\n    x: int\nprotocol QProtocol(PProtocol):\n    z: int\n"
        "mixin AMixin for PProtocol:\n    y = x\nschema A:\n    mixin [AMixin]\n    x: int = 1\na = A {}\n"
    ),
    "a type that is itself": _of("type T = T\na: T = 1\n"),
    "two types that are each other": _of("type T = U | int\ntype U = T | str\na: T = 1\n"),
    "types that are lists of each other": _of("type T = [U]\ntype U = [T]\na: T = [[[]]]\n"),
    "a rule of itself": _of("rule R(R):\n    1 > 0\na = R {}\n"),
    "two values of each other": _of("a = b\nb = a\n"),
    "a ring of 5,000 values": lambda: {"main.k": _lines(5_000, lambda n: f"a{n} = a{(n + 1) % 5_000}")},
    "a line of 20,000 values": lambda: {"main.k": _lines(20_000, lambda n: f"a{n} = a{n + 1}") + "a20000 = 1\n"},
    "attributes of each other": _of("schema A:\n    x: int = y\n    y: int = x\na = A {}\n"),
    "a default of its own schema": _of("schema A:\n    x: A = A {x = A {}}\na = A {}\n"),
    "an index signature of itself": _of("schema A:\n    [str]: A\na = A {b = {c = {d = {}}}}\n"),
    "a link to its own folder": lambda: _tree("import p.p.p.p.p\na = p.x\n", p__m="x = 1\n"),
}

# --- diamonds


def _diamond_of_packages() -> dict[str, str]:
    """Every package imports both of the next level."""
    files = {
        f"{side}{n}__m": f"import l{n + 1}\nimport r{n + 1}\nx = l{n + 1}.x + r{n + 1}.x\n"
        for n in range(_LEVELS)
        for side in "lr"
    }
    return _tree("import l0\nimport r0\na = l0.x\n", **files, **{f"{side}{_LEVELS}__m": "x = 1\n" for side in "lr"})


def _diamond_of_dependencies() -> dict[str, str]:
    names = {"app": "l0 r0"}
    names |= {f"{side}{n}": f"l{n + 1} r{n + 1}" for n in range(_LEVELS) for side in "lr"}
    return _dependencies(**names, **{f"{side}{_LEVELS}": "" for side in "lr"})


def _diamond_of_mixins() -> str:
    both = "".join(
        f"schema {side}{n}Mixin:\n    mixin [L{n - 1}Mixin, R{n - 1}Mixin]\n    {side.lower()}{n}: int = {n}\n"
        for n in range(1, _LEVELS)
        for side in "LR"
    )
    first = "".join(f"schema {side}0Mixin:\n    {side.lower()}0: int = 0\n" for side in "LR")
    return f"{first}{both}schema A:\n    mixin [L{_LEVELS - 1}Mixin, R{_LEVELS - 1}Mixin]\na = A {{}}\n"


def _diamond_of_bases() -> str:
    """Each has the one before it for its base and twice for a mixin's host."""
    lines = ["schema B0:", "    x0: int = 0"]
    for n in range(1, _LEVELS):
        lines += [f"schema M{n}Mixin:", f"    mixin [{f'M{n - 1}Mixin' if n > 1 else ''}]", f"    y{n}: int = {n}"]
        lines += [f"schema B{n}(B{n - 1}):", f"    mixin [M{n}Mixin]", f"    x{n}: int = {n}"]
    return "\n".join(lines).replace("    mixin []\n", "") + f"\na = B{_LEVELS - 1} {{}}\n"


_DIAMONDS: Final[dict[str, Tree]] = {
    "a diamond of packages": _diamond_of_packages,
    "a diamond of dependencies": _diamond_of_dependencies,
    "a diamond of mixins": lambda: {"main.k": _diamond_of_mixins()},
    "a diamond of bases and mixins": lambda: {"main.k": _diamond_of_bases()},
    "a diamond of types": lambda: {
        "main.k": "type T0 = int | str\n"
        + _lines(_LEVELS, lambda n: f"type T{n + 1} = [T{n}] | {{str:T{n}}}")
        + f"a: T{_LEVELS} = []\n"
    },
    "a diamond of unions": lambda: {
        "main.k": "type T0 = int | str\n"
        + _lines(_LEVELS, lambda n: f"type T{n + 1} = T{n} | T{n} | [T{n}]")
        + f"a: T{_LEVELS} = [[1]]\n"
    },
    "a diamond of schemas": lambda: {
        "main.k": "schema S0:\n    x: int = 1\n"
        + _lines(_LEVELS, lambda n: f"schema S{n + 1}:\n    l: S{n} = {{}}\n    r: S{n} = {{}}")
        + f"a = S{_LEVELS} {{}}\n"
    },
    "a diamond of schemas that are compared": lambda: {
        "main.k": "schema S0:\n    x?: int\n"
        + _lines(_LEVELS, lambda n: f"schema S{n + 1}:\n    l?: S{n} | {{str:}}\n    r?: S{n} | {{str:}}")
        + f"a: S{_LEVELS} = {{l = {{r = {{l = {{}}}}}}}}\n"
    },
    "a diamond of lambdas": lambda: {
        "main.k": "f0 = lambda x {\n    x\n}\n"
        + _lines(_LEVELS, lambda n: f"f{n + 1} = lambda x {{\n    f{n}(x) + f{n}(x)\n}}")
        + f"a = f{_LEVELS}(1)\n"
    },
    "a diamond of values": lambda: {"main.k": "a0 = 1\n" + _lines(_LEVELS * 25, lambda n: f"a{n + 1} = a{n} + a{n}")},
}

# --- sizes


def _many_packages(count: int) -> dict[str, str]:
    files = {f"p{n}__m": "x = 1\n" for n in range(count)}
    return _tree(_lines(count, lambda n: f"import p{n}") + "a = 1\n", **files)


_SIZES: Final[dict[str, Tree]] = {
    "a line of 50 MB": lambda: {"main.k": "a = [" + "1, " * 16_700_000 + "]\n"},
    "a string of 50 MB": lambda: {"main.k": 'a = "' + "x" * 50_000_000 + '"\n'},
    "a comment of 50 MB": lambda: {"main.k": "# " + "x" * 50_000_000 + "\na = 1\n"},
    "50 MB of blanks": lambda: {"main.k": " " * 50_000_000 + "\na = 1\n"},
    "50 MB of empty lines": lambda: {"main.k": "\n" * 50_000_000 + "a = 1\n"},
    "50 MB of backslashes": lambda: {"main.k": "a = 1 + \\\n" + "\\\n" * 25_000_000 + "1\n"},
    "a file of 20 MB of data": lambda: {"main.k": _lines(700_000, lambda n: f'a{n} = {{name = "x{n}"}}')},
    "one mapping of 20 MB": lambda: {"main.k": "a = {\n" + _lines(700_000, lambda n: f'    k{n} = "v{n}"') + "}\n"},
    "a million statements": lambda: {"main.k": _lines(1_000_000, lambda n: f"a{n} = {n}")},
    "200,000 schema attributes": lambda: {
        "main.k": "schema A:\n" + _lines(200_000, lambda n: f"    x{n}: int = {n}") + "a = A {}\n"
    },
    "20,000 schemas": lambda: {"main.k": _lines(20_000, lambda n: f"schema S{n}:\n    x: int = {n}") + "a = S1 {}\n"},
    "100,000 imports of one package": lambda: _tree("import p\n" * 100_000 + "a = p.x\n", p__m="x = 1\n"),
    "100,000 imports of nothing": lambda: {"main.k": _lines(100_000, lambda n: f"import nothing{n}")},
    "3,000 packages": lambda: _many_packages(3_000),
    "3,000 files of one package": lambda: {
        "kcl.mod": _MOD,
        "main.k": "import p\na = p.x1\n",
        **{f"p/m{n}.k": f"x{n} = {n}\n" for n in range(3_000)},
    },
    "an import of 20,000 folders": lambda: {"kcl.mod": _MOD, "main.k": "import " + ".".join("a" * 20_000) + "\n"},
    "an import whose name is a million letters long": lambda: {"main.k": f"import {'a' * 1_000_000}\n"},
    "an identifier of a million letters": lambda: {"main.k": f"{'a' * 1_000_000} = 1\n"},
    "an unknown name of a million letters": lambda: {"main.k": f"a = {'b' * 1_000_000}\n"},
    "10,000 identifiers of 10,000 letters": lambda: {
        "main.k": _lines(2_000, lambda n: f"{'a' * 10_000}{n} = 1") + f"b = {'a' * 10_000}\n"
    },
    "an attribute of a million letters": lambda: {"main.k": f"a = {{}}\nb = a.{'c' * 1_000_000}\n"},
    "20,000 near misses of a name": lambda: {
        "main.k": _lines(20_000, lambda n: f"name{n} = {n}") + _lines(2_000, lambda n: f"b{n} = nam{n}")
    },
    "20,000 arguments": lambda: {"main.k": "a = max(" + ", ".join(["1"] * 20_000) + ")\n"},
    "20,000 parameters": lambda: {
        "main.k": "f = lambda " + ", ".join(f"x{n}" for n in range(20_000)) + " {\n    1\n}\na = f(1)\n"
    },
    "20,000 parameters of a schema": lambda: {
        "main.k": "schema A[" + ", ".join(f"x{n}" for n in range(20_000)) + "]:\n    y: int = 1\na = A(1) {}\n"
    },
    "20,000 conditions": lambda: {
        "main.k": "if False:\n    _a = 1\n" + _lines(20_000, lambda n: f"elif {n} < 0:\n    _a = {n}") + "b = 1\n"
    },
    "a text of 20,000 values": lambda: {"main.k": 'x = 1\na = "' + "${x}" * 20_000 + '"\n'},
    "interpolations 3,000 deep": lambda: {"main.k": "a = " + '"${' * 3_000 + "1" + '}"' * 3_000 + "\n"},
    "a comparison of 20,000": lambda: {"main.k": "a = " + " < ".join(map(str, range(20_000))) + "\n"},
    "20,000 truths": lambda: {"main.k": "a = " + " and ".join(["True"] * 20_000) + "\n"},
    "20,000 for clauses": lambda: {"main.k": "a = [1 " + "for x in [1] " * 20_000 + "]\n"},
    "lambdas 3,000 deep": lambda: {"main.k": "a = " + "lambda { " * 3_000 + "1" + " }" * 3_000 + "\n"},
    "schemas 3,000 deep": lambda: {
        "main.k": "schema A:\n    x?: A\na = " + "A {x = " * 3_000 + "A {}" + "}" * 3_000 + "\n"
    },
    "mappings 3,000 deep": lambda: {"main.k": "a = " + "{x = " * 3_000 + "1" + "}" * 3_000 + "\n"},
    "conditions in mappings 3,000 deep": lambda: {
        "main.k": "a = " + "{if True: x = " * 3_000 + "1" + "}" * 3_000 + "\n"
    },
    "100,000 decorators": lambda: {"main.k": "@info(x=1)\n" * 100_000 + "schema A:\n    x: int = 1\na = A {}\n"},
    "a docstring of 20 MB": lambda: {
        "main.k": 'schema A:\n    """' + "x: int\n    " * 1_800_000 + '"""\n    x: int = 1\na = A {}\n'
    },
    "a file that is no text": lambda: {"main.k": "\x00" * 1_000_000},
    "a byte order mark again and again": lambda: {"main.k": "\ufeff" * 1_000_000 + "a = 1\n"},
    "quotes without end": lambda: {"main.k": 'a = "' + "'" * 100_000 + '"""' * 100_000 + "\n"},
    "strings side by side": lambda: {"main.k": "a = " + '"x" ' * 100_000 + "\n"},
    "a union of 20,000 strings of 1,000 letters": lambda: {
        "main.k": "a: " + "|".join(f'"{"v" * 1_000}{n}"' for n in range(20_000)) + ' = "v"\n'
    },
    "settings of 20 MB": lambda: {
        "kcl.yaml": "kcl_options:\n" + _lines(700_000, lambda n: f"  - key: k{n}\n    value: {n}"),
        "main.k": "a = 1\n",
    },
    "a manifest of 20 MB": lambda: {"kcl.mod": _MOD + "# " + "x" * 20_000_000 + "\n", "main.k": "a = 1\n"},
    "a manifest of 10,000 dependencies": lambda: {
        "kcl.mod": _MOD + "[dependencies]\n" + _lines(10_000, lambda n: f'd{n} = {{ path = "./d{n}" }}'),
        "main.k": "a = 1\n",
    },
    "a read of 200 MB": lambda: {
        "main.k": 'import file\na = len(file.read("./data.txt") * 20)\n',
        "data.txt": "x" * 20_000_000,
    },
    "a folder of 3,000 files": lambda: {
        "main.k": 'import file\na = [file.glob("./d/**") for i in range(1000)]\n',
        **{f"d/{n}.txt": "" for n in range(3_000)},
    },
}

TREES: Final[dict[str, Tree]] = {**_CIRCLES, **_DIAMONDS, **_SIZES}
