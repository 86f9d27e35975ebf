"""Pages about errors."""

from __future__ import annotations

from typing import Final

from kcl.diagnostics import Code
from kcl.tools.explain.page import Page, foreign_page, page

_LIBRARY: Final = "schema App:\n    name: str\n"

_CHECKED: Final = "schema Server:\n    replicas: int\n    check:\n        replicas > 0, 'at least one'\n\n"

ERRORS: Final[tuple[Page, ...]] = (
    page(
        Code.INVALID_SYNTAX,
        "The text is no KCL: at this place something else has to stand, or something is missing before it. Names in "
        "quotes after 'expected one of' are what could stand here.",
        "Look at the place and just before it: a bracket that is not closed, a colon that is missing, an indentation "
        "that differs from the line above. The first finding of a file is the one to mend; others may follow from it.",
        "a = {b = 1\n",
        "a = {b = 1}\n",
    ),
    foreign_page(
        Code.TAB,
        "Blanks and tabs are mixed in one indentation. Here it is reported as InvalidSyntax, at the line that does not "
        "line up.",
        "Indent by blanks only.",
    ),
    foreign_page(
        Code.INDENTATION,
        "A line is indented as no line around it is. Here it is reported as InvalidSyntax.",
        "Give the line the indentation of the block it belongs to.",
    ),
    foreign_page(
        Code.ILLEGAL_ARGUMENT_SYNTAX,
        "A top-level argument is not of the form KEY=VALUE. Here the command line says so itself.",
        "Write -D name=value.",
    ),
    page(
        Code.IMMUTABLE,
        "A variable that is part of the output is given a value twice. What a program prints has one place that "
        "decides it; only names that begin with '_' may change on the way. Branches of one 'if' count too.",
        "Decide in one place, or let a private variable change and take its last value.",
        "replicas = 1\nreplicas = 2\n",
        "_replicas = 1\n_replicas = 2\nreplicas = _replicas\n",
    ),
    page(
        Code.ILLEGAL_PARAMETER,
        "Parameters, arguments or loop variables are written in an order or form that means nothing: a parameter "
        "without a default after one with a default, for example.",
        "Put those with defaults last.",
        "total = lambda first=1, second {\n    first + second\n}\n",
        "total = lambda second, first=1 {\n    first + second\n}\n",
    ),
    page(
        Code.INDEX_SIGNATURE,
        "A schema has an index signature ('[...str]: type') for all its attributes, and declares one that does not fit "
        "it, or the name of the signature is that of an attribute.",
        "Make the types agree, or except the declared attributes from the signature with '[...str]'.",
        "schema Labels:\n    [str]: str\n    count: int\n",
        "schema Labels:\n    [...str]: str\n    count: int\n",
    ),
    page(
        Code.NAME,
        "Something has a name that does not go with what it is: what is mixed into a schema is called SomethingMixin.",
        "Give it another name, as the message says.",
        "mixin Port:\n    port?: int\n\nschema Server:\n    mixin [Port]\n    name: str\n",
        "mixin PortMixin:\n    port?: int\n\nschema Server:\n    mixin [PortMixin]\n    name: str\n",
    ),
    foreign_page(
        Code.VALUE,
        "A value is of the right type and yet cannot be used. Here it is reported as EvaluationError, when it is met.",
        "Give another value, as the message says.",
    ),
    foreign_page(
        Code.ATTRIBUTE,
        "A schema has no attribute of this name. Here it is reported as CompileError.",
        "Correct the name, or declare the attribute.",
    ),
    foreign_page(
        Code.INVALID_DECORATOR_TARGET,
        "A decorator stands where it means nothing. Here it is reported as InvalidSyntax or CompileError.",
        "Write it above a schema or an attribute.",
    ),
    page(
        Code.RECURSIVE_LOAD,
        "A file imports itself, so it cannot be read before it is read.",
        "Take the import away: what is in the same package needs none.",
        "import main\n\na = 1\n",
        "a = 1\n",
    ),
    page(
        Code.INVALID_SETTINGS,
        "A settings file (kcl.yaml, -Y) or kcl.mod cannot be used as it is: it is not valid YAML or TOML, or has "
        "something else where a list or table is wanted.",
        "Correct the file at the place named.",
        {"main.k": "a = 1\n", "kcl.mod": "[package\n"},
        {"main.k": "a = 1\n", "kcl.mod": "[package]\n"},
    ),
    page(
        Code.CANNOT_FIND_MODULE,
        "An import names a package that is not there: no folder or file of this name below the folder of kcl.mod, no "
        "dependency, and no module of the standard library.",
        "Correct the path (it starts at the folder of the nearest kcl.mod, or with a dot at the importing file), or "
        "add the dependency to kcl.mod.",
        {"main.k": "import models\n", "model/app.k": _LIBRARY},
        {"main.k": "import model\n", "model/app.k": _LIBRARY},
    ),
    foreign_page(
        Code.PLUGIN,
        "A plugin cannot be loaded. Here it is reported as CannotFindModule or EvaluationError, with its message.",
        "`wb plugins list` says which plugins a repository may use.",
    ),
    page(
        Code.TYPE,
        "A value is not of the type its place asks for. The second place shown, if there is one, is where that type "
        "is declared.",
        "Give a value of that type, convert it ('str(x)', 'int(x)'), or declare the attribute wider ('int | str').",
        'schema Server:\n    port: int\n\nweb = Server {port = "80"}\n',
        "schema Server:\n    port: int\n\nweb = Server {port = 80}\n",
    ),
    page(
        Code.COMPILE,
        "A name or a member is used that is not there, or something is used in a way its declaration does not allow: "
        "an attribute the schema does not have, an argument too many, a private member of another package.",
        "Correct the name (the message offers near ones), declare it, or import the package that has it.",
        'schema Server:\n    image: str\n\nweb = Server {imag = "nginx"}\n',
        'schema Server:\n    image: str\n\nweb = Server {image = "nginx"}\n',
    ),
    page(
        Code.UNIQUE_KEY,
        "Two things of one package have the same name: two schemas, or a schema and a variable.",
        "Give one of them another name.",
        "schema Server:\n    port: int\n\nschema Server:\n    name: str\n",
        "schema Server:\n    port: int\n\nschema Service:\n    name: str\n",
    ),
    page(
        Code.ILLEGAL_ATTRIBUTE,
        "The key of a configuration is no text.",
        "Keys are texts: write str(x) or '${x}'.",
        "a = {1: 'one'}\n",
        "a = {'1': 'one'}\n",
    ),
    page(
        Code.ILLEGAL_INHERIT,
        "A schema cannot be built on this base: a protocol, a mixin, a name that is no schema, or more bases than one.",
        "A schema has one base, a schema. What several schemas share goes into mixins.",
        "schema PortMixin:\n    port: int\n\nschema Server(PortMixin):\n    name: str\n",
        "schema Port:\n    port: int\n\nschema Server(Port):\n    name: str\n",
    ),
    foreign_page(
        Code.CYCLE_INHERIT,
        "Schemas are bases of each other. Here it is reported as CompileError, 'There is a circular reference'.",
        "Take one of the bases away.",
    ),
    page(
        Code.EVALUATION,
        "The program is well-formed, but goes wrong with the values it has: a check or an assertion fails, an "
        "attribute that is required has no value, two values conflict, a number is too large.",
        "The message says which value. Where two places give different values for one attribute, '=' in the later one "
        "overrides the other, ':' wants both to agree.",
        _CHECKED + "web = Server {replicas = 0}\n",
        _CHECKED + "web = Server {replicas = 1}\n",
    ),
)
