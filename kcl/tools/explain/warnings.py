"""Pages about warnings: those of a run, of the linter, and of a migration."""

from __future__ import annotations

from typing import Final

from kcl.diagnostics import Code
from kcl.tools.explain.page import Page, Reporter, lint_page, migration_page, page

_OLD: Final = '[expected]\nkclvm_version = "v0.4.6"\n'

_STACK: Final = {"kcl.yaml": "kcl_cli_configs:\n  file:\n    - main.k\n"}


def _old(**files: str) -> dict[str, str]:
    """A program of a repository of 2023; `a__b` stands for the file a/b.k."""
    return {"kcl.mod": _OLD, **{f"{name.replace('__', '/')}.k": text for name, text in files.items()}}


WARNINGS: Final[tuple[Page, ...]] = (
    page(
        Code.COMPILER_WARNING,
        "Something is used that its author wants to take away: the message says since when, and what to use instead.",
        "Use what the message names.",
        "schema Server:\n"
        '    @deprecated(version="1.2", reason="use image", strict=False)\n'
        '    picture?: str\n    image?: str\n\nweb = Server {picture = "nginx"}\n',
        "schema Server:\n"
        '    @deprecated(version="1.2", reason="use image", strict=False)\n'
        '    picture?: str\n    image?: str\n\nweb = Server {image = "nginx"}\n',
    ),
    lint_page(
        Code.DEPRECATED,
        "Something is used that its author wants to take away. A run tells it as CompilerWarning, or as "
        "EvaluationError where the decorator is strict, and only where it comes by.",
        "Use what the message names.",
        'schema Server:\n    @deprecated(reason="use image", strict=False)\n    picture?: str\n    image?: str\n\n'
        'web = Server {picture = "nginx"}\n',
        'schema Server:\n    @deprecated(reason="use image", strict=False)\n    picture?: str\n    image?: str\n\n'
        'web = Server {image = "nginx"}\n',
    ),
    lint_page(
        Code.UNUSED_IMPORT,
        "A file imports a package and does not use it.",
        "Take the import away.",
        "import math\na = 1\n",
        "import math\na = math.ceil(0.5)\n",
    ),
    lint_page(
        Code.REIMPORT,
        "A file imports one package twice.",
        "Take one of the imports away.",
        "import math\nimport math\na = math.ceil(0.5)\n",
        "import math\na = math.ceil(0.5)\n",
    ),
    lint_page(
        Code.IMPORT_POSITION,
        "An import stands below other statements, where readers do not look for it.",
        "Move it to the top of the file.",
        "a = 1\nimport math\nb = math.ceil(0.5)\n",
        "import math\na = 1\nb = math.ceil(0.5)\n",
    ),
    lint_page(
        Code.DEAD_VALUE,
        "A value is replaced by a later one of the same configuration, or the same variable, before anybody reads it.",
        "Take the value away, or the one that replaces it.",
        "a = {\n    replicas = 1\n    replicas = 2\n}\n",
        "a = {\n    replicas = 2\n}\n",
    ),
    lint_page(
        Code.DUPLICATE_KEY,
        "A key is given a literal twice in one configuration. ':' unifies: the same value again says nothing, None "
        "gives way to any value, and two unlike values are an error as soon as the configuration is evaluated.",
        "Keep the one that was meant, or write '=' for the one that is to replace the other.",
        "a = {\n    replicas: 1\n    size: 2\n    replicas: 1\n}\n",
        "a = {\n    replicas: 1\n    size: 2\n}\n",
    ),
    lint_page(
        Code.UNUSED_VARIABLE,
        "A name that nobody outside can see is declared, and nobody inside reads it.",
        "Take it away, or read it where it was meant to be read.",
        "_image = 'nginx'\na = 1\n",
        "_image = 'nginx'\na = _image\n",
    ),
    lint_page(
        Code.SELF_COMPARISON,
        "Both sides of a comparison are the same expression, so it tells nothing.",
        "Compare with what was meant.",
        "x = 1\na = x == x\n",
        "x = 1\ny = 2\na = x == y\n",
    ),
    lint_page(
        Code.CONSTANT_CONDITION,
        "A condition is a literal, so one of the two ways is never taken.",
        "Take away the condition, or the way that is never taken.",
        "a = 1 if True else 2\n",
        "x = option('x')\na = 1 if x else 2\n",
    ),
    lint_page(
        Code.SHADOWED_IMPORT,
        "A parameter, a loop variable or a variable of a lambda has the name of an import, which can't be used there.",
        "Give one of the two another name.",
        "import math\na = [math for math in [1, 2]]\nb = math.ceil(0.5)\n",
        "import math\na = [number for number in [1, 2]]\nb = math.ceil(0.5)\n",
    ),
    Page(
        Code.ALWAYS_OVERRIDDEN,
        "All stacks that were run replace this value: a default that every instance is given another value for, or an "
        "entry that another file of each stack replaces. Looked for only where stacks are named: "
        "kcl lint --stacks ./stacks/...",
        "Take the value away, or make it the one that most of them want and take it away there.",
        {**_STACK, "main.k": "schema Server:\n    replicas: int = 1\n\nweb = Server {replicas = 2}\n"},
        {**_STACK, "main.k": "schema Server:\n    replicas: int = 1\n\nweb = Server {}\n"},
        Reporter.LINT,
    ),
    lint_page(
        Code.BARE_NUMBER,
        "A number of bytes or seconds that nobody reads at a glance: a multiple of 1Mi in digits, or whole hours "
        "under a name that says seconds. A comment in the line, or a constant with a name, is enough.",
        'Write int(1Gi), or "1Gi" where Kubernetes takes a text; say in words how long it is.',
        "cache = {bytes = 1073741824}\n",
        "cache = {bytes = int(1Gi)}\n",
    ),
    lint_page(
        Code.REPEATED_CONDITION,
        "A condition was asked before: further up in a chain of ifs, in the same 'and' or 'or', or by another check.",
        "Ask what was meant, or take it away.",
        "x = option('x')\na = 1 if x == 1 else 2 if x == 1 else 3\n",
        "x = option('x')\na = 1 if x == 1 else 2 if x == 2 else 3\n",
    ),
    lint_page(
        Code.CONTRADICTION,
        "Conditions that exclude each other are joined by 'and', or are both checked, so nothing passes; or their "
        "opposites are joined by 'or', so everything does.",
        "Write 'or' for 'and', or the other way around, or compare with what was meant.",
        "x = option('x')\na = 1 if x != 'dev' or x != 'test' else 2\n",
        "x = option('x')\na = 1 if x != 'dev' and x != 'test' else 2\n",
    ),
    lint_page(
        Code.CHANGED_BELOW,
        "A variable is changed below a statement that reads it. That statement sees the change: it reads what the last "
        "change has left, and not what stands above it.",
        "Give what is changed a name of its own, or read it below the change.",
        "_shared = {tier = 'web'}\na = _shared\n_shared |= {size = 1}\nb = _shared\n",
        "_shared = {tier = 'web'}\na = _shared\nb = _shared | {size = 1}\n",
    ),
    Page(
        Code.MISSING_DOCUMENTATION,
        "A schema has no docstring. Looked for only where it is asked for: kcl lint --select W3005.",
        "Say in the first line of its body what it is for.",
        {"main.k": "schema Server:\n    image: str\n"},
        {"main.k": 'schema Server:\n    """What people write for a server."""\n    image: str\n'},
        Reporter.LINT,
    ),
    lint_page(
        Code.SUPPRESSION,
        "A comment that allows a finding names no code that there is, gives no reason, or allows nothing.",
        "Write '# kcl-lint: allow CODE because REASON' at the line of the finding, or above it.",
        "_image = 'nginx'  # kcl-lint: allow W3002\na = 1\n",
        "_image = 'nginx'  # kcl-lint: allow W3002 because a script reads it\na = 1\n",
    ),
    migration_page(
        Code.LEGACY_PRIVATE,
        "A name that begins with '_' is private to its package. The compiler of 2023 let other packages read it.",
        "Give the variable a public name where it is declared and where it is used. `wb migrate` does.",
        _old(main="import names\na = names._app\n", names__names="_app = 'shop'\n"),
        _old(main="import names\na = names.app\n", names__names="app = 'shop'\n"),
    ),
    migration_page(
        Code.LEGACY_UNKNOWN_NAME,
        "Nothing defines this name. The compiler of 2023 read it as Undefined, so 'b: bool = false' gave no value at "
        "all, and 'Unknown {...}' was the plain configuration.",
        "Say Undefined, or what was meant: False is a value, and changes the result.",
        _old(main="a = {on = false, size = 1}\n"),
        _old(main="a = {on = Undefined, size = 1}\n"),
    ),
    migration_page(
        Code.LEGACY_ARGUMENT,
        "A call gives fewer arguments than the schema or lambda has parameters. In 2023 those that lack were None.",
        "Give them.",
        _old(main="schema S[name, size]:\n    n = name\n    s = size\n\na = S('web') {}\n"),
        _old(main="schema S[name, size]:\n    n = name\n    s = size\n\na = S('web', None) {}\n"),
    ),
    migration_page(
        Code.LEGACY_SHADOWED_IMPORT,
        "The name of an import is also a key of the configuration before the place it is used. In 2023 the import was "
        "meant, today it is the key.",
        "Import it under another name.",
        _old(main="import names\na = {\n    names = 1\n    b = names.app\n}\n", names__names="app = 'shop'\n"),
        _old(main="import names as n\na = {\n    names = 1\n    b = n.app\n}\n", names__names="app = 'shop'\n"),
    ),
    migration_page(
        Code.LEGACY_SHADOWED_ATTRIBUTE,
        "Inside an instance that a schema body writes out, a name is both an attribute of that schema and a key of the "
        "instance before it. In 2023 the attribute was read, today it is the key.",
        "Keep the attribute under a private name, and read that.",
        _old(
            main="schema R:\n    kind: str\n    of: {str:}\n\nschema B:\n    kind: str\n"
            "    r: R = R {\n        kind: 'x'\n        of: {k: kind}\n    }\n\nb = B {kind = 'y'}\n"
        ),
        _old(
            main="schema R:\n    kind: str\n    of: {str:}\n\nschema B:\n    kind: str\n    _own = kind\n"
            "    r: R = R {\n        kind: 'x'\n        of: {k: _own}\n    }\n\nb = B {kind = 'y'}\n"
        ),
    ),
    migration_page(
        Code.LEGACY_NONE,
        "An attribute that must have a value is given None. In 2023 that counted as a value, today as none.",
        "Declare the attribute optional ('name?: type').",
        _old(main="schema Rule:\n    ports: [int]\n\na = Rule {ports = None}\n"),
        _old(main="schema Rule:\n    ports?: [int]\n\na = Rule {ports = None}\n"),
    ),
    migration_page(
        Code.LEGACY_PARTIAL,
        "An instance lacks required attributes, which another statement about the same variable adds. Today each "
        "instance that is written out has to be whole.",
        "Write the plain configuration: the attribute's type makes an instance of it when all is there.",
        _old(
            main="schema D:\n    x: int\n    y: int\n\nschema S:\n    d: D\n\ns: S {d = D {x = 1}}\ns: S {d: {y = 2}}\n"
        ),
        _old(
            main="schema D:\n    x: int\n    y: int\n\nschema S:\n    d: D\n\ns: S {d = {x = 1}}\ns: S {d: {y = 2}}\n"
        ),
    ),
    migration_page(
        Code.LEGACY_IMPORT,
        "A file uses a package that only a file beside it imports. In 2023 imports held for their own file, so the "
        "name meant nothing here.",
        "Import it in this file if it was meant; `wb migrate` keeps what 2023 made of it.",
        _old(
            main="import names\na = names.T {}\n",
            names__a="import math\nschema T:\n    n: int = math.ceil(1.5)\n",
            names__b="schema U:\n    m: int = math.ceil(1.5)\n",
        ),
        _old(
            main="import names\na = names.T {}\n",
            names__a="import math\nschema T:\n    n: int = math.ceil(1.5)\n",
            names__b="import math\nschema U:\n    m: int = math.ceil(1.5)\n",
        ),
    ),
    migration_page(
        Code.LEGACY_INDENTED_STRING,
        "The blanks that all lines of a triple-quoted string begin with, and a line break right after the quotes, are "
        "no part of it today. In 2023 they were.",
        "Write the string so that it says the same today; `wb migrate` does where it can.",
        _old(main='a = """\n  x\n  y"""\n'),
        _old(main='a = "\\n  x\\n  y"\n'),
    ),
    migration_page(
        Code.LEGACY_VERSION,
        "kcl.mod expects a compiler older than 0.5, so the repository is read in the dialect konfig-2023.",
        "Migrate the repository with `wb migrate`, which changes this line last.",
        {"kcl.mod": _OLD, "main.k": "a = 1\n"},
        {"kcl.mod": '[expected]\nkclvm_version = "v0.13.2"\n', "main.k": "a = 1\n"},
    ),
)
