"""Calls of the built-in functions and modules on values, counts and texts of absurd size; each as its main.k."""

from __future__ import annotations

from typing import Final

_BIG: Final = '_x = "a" * 50000000\n'
_BIGGER: Final = '_x = "ab " * 60000000\n'

CALLS: Final[dict[str, str]] = {
    # numbers
    "a power at once": "a = 2 ** 10000000000\n",
    "a power of a long number": f"a = {'9' * 1000} ** {'9' * 10}\n",
    "a power of a negative": "a = (0 - 7) ** 999999999\n",
    "a power of a fraction": "a = 1.5 ** 999999999\n",
    "a modular power": f"a = pow(3, {'9' * 3000}, {'7' * 3000})\n",
    "a power again and again": "_p = lambda n {\n    3 ** 300 if n == 0 else _p(n - 1) * _p(n - 1)\n}\na = _p(40)\n",
    "a product that doubles": "".join(f"_a{n + 1} = _a{n} * _a{n}\n" for n in range(60)).replace(
        "_a1 =", "_a0 = 10\n_a1 =", 1
    )
    + "a = _a60\n",
    "a left shift of a shift": "a = 1 << (1 << 60)\n",
    "a right shift by far": "a = (0 - 1) >> (1 << 62)\n",
    "a division by almost nothing": "a = 1 / 0.0000000001 // 1e-300\n",
    "an integer of 10 MB": 'a = int("9" * 10000000)\n',
    "an integer of 10 MB to the base of 36": 'a = int("z" * 10000000, 36)\n',
    "an integer of 10 MB to the base of 2": 'a = int("1" * 10000000, 2)\n',
    "a float of 10 MB": 'a = float("9" * 10000000)\n',
    "a float of 10 MB of zeros": 'a = float("0." + "0" * 10000000 + "1")\n',
    "a float with a long exponent": 'a = int(float("1e" + "9" * 1000000))\n',
    "a literal of hexadecimal digits": f"a = 0x{'f' * 1_000_000}\n",
    "a literal of binary digits": f"a = 0b{'1' * 1_000_000}\n",
    "a literal with a long fraction": f"a = 0.{'1' * 1_000_000}\n",
    "a literal with a long exponent": f"a = 1e{'9' * 1_000_000}\n",
    "a literal with a unit": f"a = {'9' * 100_000}Gi\n",
    "a literal of underscores": f"a = 1{'_1' * 1_000_000}\n",
    "rounded to many digits": "a = round(1.5, 1000000000)\n",
    "rounded to many digits before the point": "a = round(1.5, 0 - 1000000000)\n",
    "a factorial of a float": "import math\na = math.factorial(1e300)\n",
    "a factorial without end": "import math\na = math.factorial(1 << 62)\n",
    "a greatest common divisor": f"import math\na = math.gcd({'9' * 4000}, {'7' * 4000})\n",
    "math.pow without end": "import math\na = math.pow(1e300, 1e300)\n",
    "an exponential": "import math\na = math.exp(1e300)\n",
    "a unit of a long number": "import units\na = units.to_Ki(10 ** 4000)\n",
    "hexadecimal text of a long number": "a = hex(10 ** 300000)\n",
    "a long number as text": "a = str(7 ** 3000000)\n",
    "a long number in a text": 'a = "${7 ** 3000000}"\n',
    "a range far away": "a = range(1 << 62, (1 << 62) + 5)\n",
    "a range down": "a = range(10 ** 12, 0, 0 - 1)\n",
    "a range without a step": "a = range(0, 10, 0)\n",
    # formats
    "a width": 'a = "{:>999999999}".format(1)\n',
    "a width of zeros": 'a = "{:0999999999d}".format(1)\n',
    "a precision": 'a = "{:.999999999f}".format(1.5)\n',
    "a precision of a text": 'a = "{:999999999.999999999s}".format("x")\n',
    "a precision of percents": 'a = "{:.999999999%}".format(1.5)\n',
    "a width of a binary number": 'a = "{:>999999999b}".format(1)\n',
    "a width in an interpolation": 'x = 1\na = "${x:>999999999}"\n',
    "a width given by a value": 'a = "{:{}}".format(1, 999999999)\n',
    "a width given by a value of a value": 'a = "{:{:{}}}".format(1, 2, 999999999)\n',
    "a width of many digits": 'a = "{:>' + "9" * 100_000 + '}".format(1)\n',
    "a place of many digits": 'a = "{' + "9" * 100_000 + '}".format(1)\n',
    "an attribute of an attribute": 'a = "{0' + ".a" * 50_000 + '}".format({a = 1})\n',
    "an item of an item": 'a = "{0' + "[0]" * 50_000 + '}".format([1])\n',
    "a class of Python's": 'a = "{0.__class__.__mro__[1].__subclasses__}".format(1)\n',
    "braces without end in a format": 'a = ("{" * 1000000).format(1)\n',
    "a million places": 'a = ("{0}" * 10000000).format("x" * 1000)\n',
    # repetitions
    "a string repeated a string's times": '_x = "x" * 3000000\na = [_x * 3000000 for i in range(100)]\n',
    "a string repeated beyond any number": 'a = "x" * (1 << 62)\n',
    "a string repeated beyond 64 bits": 'a = "x" * 10 ** 40\n',
    "a list repeated beyond any number": "a = [1] * (1 << 62)\n",
    "a list repeated again and again": "a = [[0] * 1000000] * 1000000\n",
    "a list of lists repeated": "a = [[[0] * 1000] * 1000] * 1000\n",
    "a list added to itself": "_a = lambda n, x {\n    x if n == 0 else _a(n - 1, x + x)\n}\na = len(_a(50, [1]))\n",
    "a list extended": "_a = [*range(3000000), *range(3000000), *range(3000000), *range(3000000)]\na = len(_a)\n",
    "a mapping united again and again": (
        '_a = lambda n, x {\n    x if n == 0 else _a(n - 1, x | {"${n}" = x})\n}\na = _a(50, {})\n'
    ),
    "a mapping of 9,000,000 keys": 'a = len({"${i}": i for i in range(9000000)})\n',
    "a slice with a huge step": "a = range(1000000)[::1 << 62]\n",
    "a slice of a slice": _BIG + "a = [len(_x[i:]) for i in range(1000000)]\n",
    "lists zipped": "_r = range(3000000)\na = len(zip(_r, _r, _r, _r, _r))\n",
    "a sum of lists": "a = len(sum([[i] for i in range(300000)], []))\n",
    "a sum of texts": 'a = len(sum(["x" * 1000 for i in range(30000)], ""))\n',
    "lists united one by one": (
        "import collection\na = len(collection.union_all([{a = range(1000)} for i in range(30000)]))\n"
    ),
    "a list reduced": "a = len(reduce(lambda x, y { x + [y] }, range(300000), []))\n",
    # sorting and comparing
    "long texts sorted": 'a = len(sorted(["a" * 100000 + str(i) for i in range(30000)]))\n',
    "lists of lists sorted": "a = len(sorted([[0] * 10000 + [i] for i in range(30000)]))\n",
    "mappings that are unique": "a = isunique([{a = i} for i in range(300000)])\n",
    "lists that are unique": "a = isunique([range(1000) + [i] for i in range(30000)])\n",
    "the least of long texts": 'a = len(min(["a" * 1000000 + str(i) for i in range(3000)]))\n',
    "lists compared again and again": (
        "_x = range(1000000)\n_y = range(1000000)\na = [_x == _y for i in range(100000)]\n"
    ),
    # texts
    "a text split": _BIGGER + 'a = len(_x.split(" "))\n',
    "a text split at each letter": _BIG + 'a = len(_x.split("a"))\n',
    "a text split into lines": 'a = len(("\\n" * 100000000).splitlines())\n',
    "the letters of a text": _BIG + "a = len(_x.chars())\n",
    "a text as a list": _BIG + "a = len(list(_x))\n",
    "a text in capitals": _BIG + "a = [_x.upper().title().lower() for i in range(1000)]\n",
    "a letter that grows in capitals": '_x = "ŉ" * 20000000\na = [len(_x.upper()) for i in range(1000)]\n',
    "a text replaced by nothing": _BIG + 'a = len(_x.replace("", "xxxxxxxxxx"))\n',
    "a text replaced by itself": _BIG + 'a = len(_x.replace("a", _x))\n',
    "a text joined with itself": _BIG + "a = len(_x.join([_x for i in range(100)]))\n",
    "a text found late": (
        '_x = "a" * 3000000\na = [_x.find("a" * 1000000 + "b" + "a" * 1000000) for i in range(10000)]\n'
    ),
    "a text stripped": '_x = " " * 50000000\na = [len(_x.strip()) for i in range(10000)]\n',
    "a text stripped of many letters": _BIG + 'a = len(_x.strip("b" * 10000000 + "a"))\n',
    "a text taken apart by its own": '_x = "a" * 3000000\na = [_x in _x + "b" for i in range(1000000)]\n',
    # patterns
    "a pattern of 10 MB": 'import regex\na = regex.match("a", "a" * 10000000)\n',
    "a pattern of a million groups": 'import regex\na = regex.match("a", "(a)" * 1000000)\n',
    "a pattern 100,000 deep": 'import regex\na = regex.match("a", "(" * 100000 + "a" + ")" * 100000)\n',
    "a pattern of 100,000 alternatives": (
        'import regex\na = regex.match("x" * 100000, "|".join(["a${i}" for i in range(100000)]))\n'
    ),
    "a pattern repeated a million times": 'import regex\na = regex.match("a", "(a{1000}){1000}")\n',
    "repetitions in one another": 'import regex\na = regex.match("a" * 40, "((a{1,100}){1,100}){1,100}b")\n',
    "a look behind": 'import regex\na = regex.findall("a" * 100000, "(?<=a{1000})b")\n',
    "a look ahead in everything": 'import regex\na = regex.findall("a" * 100000, "(?=a*b)a")\n',
    "a match of everything again": 'import regex\na = regex.findall("a" * 100000, "a*?b|a")\n',
    "an empty pattern": 'import regex\na = len(regex.split("a" * 30000000, ""))\n',
    "a replacement that refers back": 'import regex\na = len(regex.replace("a" * 100000, "(a*)", "\\\\1" * 100000))\n',
    "letters of any case": 'import regex\na = regex.match("ſ" * 100000, "(?i)(s+s+)+$")\n',
    "a class of all letters": 'import regex\na = regex.match("a" * 60, "([\\\\w\\\\W]+[\\\\d\\\\D]+)+!")\n',
    "a pattern compiled again and again": (
        'import regex\na = [regex.compile("(a|b)*" * 1000 + str(i)) for i in range(100000)]\n'
    ),
    # documents
    "JSON of a huge value": "import json\na = len(json.encode(range(9000000)))\n",
    "JSON with a huge indentation": "import json\na = len(json.encode([[1]], indent=999999999))\n",
    "JSON of a huge number": 'import json\na = json.decode("9" * 10000000)\n',
    "JSON with a huge exponent": 'import json\na = json.decode("1e" + "9" * 10000000)\n',
    "JSON of many keys": (
        'import json\na = len(json.decode("{" + ",".join(["\\"${i}\\":1" for i in range(3000000)]) + "}"))\n'
    ),
    "JSON that is none, at its end": 'import json\na = json.validate("[" + "1," * 30000000)\n',
    "JSON of one key again and again": (
        'import json\na = len(json.decode("{" + "\\"a\\":1," * 9000000 + "\\"a\\":1}"))\n'
    ),
    "JSON merged deeply": (
        "import json\n"
        "_d = lambda n, x {\n"
        "    x if n == 0 else _d(n - 1, {a = x})\n"
        "}\n"
        "a = len(json.encode(_d(3000, 1)))\n"
    ),
    "YAML of a huge value": "import yaml\na = len(yaml.encode(range(9000000)))\n",
    "YAML of a long text": 'import yaml\na = len(yaml.encode("a\\n" * 30000000))\n',
    "YAML of a long key": 'import yaml\na = yaml.decode("a" * 10000000 + ": 1")\n',
    "YAML of many documents": 'import yaml\na = len(yaml.decode_all("---\\na: 1\\n" * 1000000))\n',
    "YAML of tags": 'import yaml\na = yaml.decode("!!python/object/apply:os.system [id]")\n',
    "YAML of quotes": 'import yaml\na = len(yaml.decode("\\"" + "\\\\x41" * 3000000 + "\\""))\n',
    "YAML of a huge number": 'import yaml\na = yaml.decode("a: " + "9" * 3000000)\n',
    "YAML of a huge number to the base of 60": 'import yaml\na = yaml.decode("a: 1" + ":59" * 1000000)\n',
    "YAML of merges": 'import yaml\na = yaml.decode("a: &a {<<: *a}")\n',
    "a stream of 300,000 documents": "import manifests\nmanifests.yaml_stream([{a = i} for i in range(300000)])\n",
    # encodings and digests
    "base64 of 150 MB": 'import base64\na = len(base64.encode("x" * 150000000))\n',
    "base64 that is none": 'import base64\na = base64.decode("=" * 50000000)\n',
    "base32 of 50 MB": "import base32\n" + _BIG + "a = len(base32.encode(_x))\n",
    "base32 that is none": 'import base32\na = base32.decode("1" * 50000000)\n',
    "md5 again and again": "import crypto\n" + _BIG + "a = [crypto.md5(_x) for i in range(1000)]\n",
    "blake3 again and again": 'import crypto\na = [crypto.blake3("x" * 100000 + str(i)) for i in range(1000)]\n',
    "an encoding that is none": 'import crypto\na = crypto.md5("x", "' + "u" * 1_000_000 + '")\n',
    "an encoding of Python's": 'import crypto\na = crypto.md5("x" * 10000000, "punycode")\n',
    "an encoding of names": 'import crypto\na = crypto.md5("xÿ" * 300000, "idna")\n',
    "a million identifiers": "import crypto\na = len([crypto.uuid() for i in range(9000000)])\n",
    # templates
    "a template of 10 MB": 'import template\na = len(template.execute("{{a}}" * 3000000, {a = "x" * 1000}))\n',
    "a template 20,000 deep": (
        'import template\na = template.execute("{{#if a}}" * 20000 + "{{/if}}" * 20000, {a = True})\n'
    ),
    "a template that ends nowhere": 'import template\na = template.execute("{{#if a}}" * 100000, {a = True})\n',
    "a template of expressions 20,000 deep": (
        'import template\na = template.execute("{{" + "(not " * 20000 + "a" + ")" * 20000 + "}}", {a = True})\n'
    ),
    "a template of braces": 'import template\na = template.execute("{" * 3000000, {a = True})\n',
    "a template of a path": 'import template\na = template.execute("{{" + "../" * 1000000 + "a}}", {a = True})\n',
    "a template of quotes": 'import template\na = template.execute("{{a \\"" + "\\\\" * 1000000, {a = True})\n',
    "a text made safe": 'import template\na = [len(template.html_escape("<" * 30000000)) for i in range(100)]\n',
    # addresses, dates, files
    "an address of 10 MB": 'import net\na = net.is_IP("1." * 5000000)\n',
    "an address of colons": 'import net\na = net.parse_IP(":" * 10000000)\n',
    "subnets without end": 'import net\na = len(net.CIDR_subnets("::/0", [64 for i in range(3000000)]))\n',
    "a host far away": 'import net\na = net.CIDR_host("::/0", 1 << 127)\n',
    "a host farther away": f'import net\na = net.CIDR_host("::/0", {"9" * 4000})\n',
    "a port of 10 MB": 'import net\na = net.split_host_port("a:" + "9" * 10000000)\n',
    "a name that is looked up": 'import net\na = net.fqdn("a" * 10000000)\n',
    "a date of 10 MB": 'import datetime\na = datetime.validate("1" * 10000000, "%Y")\n',
    "a format of dates": 'import datetime\na = len(datetime.now("%Y" * 10000000))\n',
    "a format of dates in one another": 'import datetime\na = datetime.validate("1" * 60, "%d%m" * 30)\n',
    "a path of 10 MB": 'import file\na = file.exists("a" * 10000000)\n',
    "a path of folders": 'import file\na = file.exists("a/" * 5000000)\n',
    "a pattern of stars": 'import file\na = file.glob("*" * 100000)\n',
    "a pattern of folders": 'import file\na = file.glob("**/" * 10000)\n',
    "a pattern of brackets": 'import file\na = file.glob("[!a" * 100000)\n',
    "the path of 10 MB": 'import file\na = file.abs("../" * 3000000)\n',
    # what catches
    "memory that is caught": (
        'import runtime\na = [runtime.catch(lambda {\n    len("x" * 10 ** 12)\n}) for i in range(100000)]\n'
    ),
    "a loop that is caught": (
        "import runtime\nf = lambda {\n    f()\n}\na = [runtime.catch(f) for i in range(100000)]\n"
    ),
    "an assertion with a message": 'assert False, "x" * 200000000\n',
    "a check with a message": 'schema A:\n    x: int\n    check:\n        x > 1, "${x}" * 200000000\na = A {x = 1}\n',
    "a message of a huge value": "a: int = 1\nb = a + range(9000000)\n",
    "a message of a huge text": 'a: int = "x" * 50000000\n',
    "a key of 50 MB": _BIG + "a = {}[_x]\n",
    "a schema's repetitions": "schema A:\n    x: int = 1\na = len([A {} for i in range(9000000)])\n",
    "a schema's arguments": "schema A[n]:\n    x = [A(n - 1) {} for i in range(9) if n > 0]\na = A(30) {}\n",
}
