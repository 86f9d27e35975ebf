"""What library functions answer, and what they say when they cannot. Expectations are the official library's."""

import hashlib
from typing import Any

import pytest

from kcl.api import ProgramError, run


def _value(expression: str, module: str = "") -> Any:
    """The value of an expression in a program of its own."""
    imported = f"import {module}\n" if module else ""
    return run(["main.k"], work_dir="/w", texts={"main.k": f"{imported}a = {expression}\n"}).documents[0].get("a")


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("abs(-2.5)", 2.5),
        ("all_true([])", True),
        ("any_true([0, '', 3])", True),
        ("bin(-2)", "-0b10"),
        ("bool('')", False),
        ("dict({a=1}, b=2)", {"a": 1, "b": 2}),
        ("float('1e3')", 1000.0),
        ("hex(-255)", "-0xff"),
        ("int('1Ki')", 1024),
        ("int('-0x10', base=16)", -16),
        ("int(-1.9)", -1),
        ("isnullish(Undefined)", True),
        ("isunique([1, 1.0])", False),
        ("len('é')", 2),
        ("len({a=1})", 1),
        ("list({a=1})", ["a"]),
        ("max(1, 2, 3.5)", 3.5),
        ("min([3, 2])", 2),
        ("multiplyof(4, 2)", True),
        ("oct(8)", "0o10"),
        ("ord('a')", 97),
        ("pow(2, 3, 5)", 3),
        ("range(5, 1, -2)", [5, 3]),
        ("reduce(lambda acc, item { acc + item }, [1, 2], 3)", 6),
        ("round(2.5)", 3),
        ("round(-2.5)", -3),
        ("round(2.675, 2)", 2.68),
        ("sorted([3, 1, 2], reverse=True)", [3, 2, 1]),
        ("str([1, None, True, 1.0])", "[1, None, True, 1.0]"),
        ("str(1e16)", "10000000000000000.0"),
        ("str(None)", "None"),
        ("str()", ""),
        ("sum([1, 2.5])", 3.5),
        ("sum([[1], [2]], [])", [1, 2]),
        ("typeof({})", "dict"),
        ("zip([1, 2], 'ab')", [[1, "a"], [2, "b"]]),
    ],
)
def test_builtins(expression: str, value: Any) -> None:
    assert _value(expression) == value


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("'aéb'.find('b')", 3),
        ("'abc'.find('c', 1, 2)", -1),
        ("'abc'.count('')", 4),
        ("'abc'.split('')", ["", "a", "b", "c", ""]),
        ("' a  b '.split()", ["a", "b"]),
        ("'a,b,c'.rsplit(',', 1)", ["a,b", "c"]),
        ("'aaa'.replace('a', 'b', 2)", "bba"),
        ("'{} {}'.format(1, 'a')", "1 a"),
        ("'{0} {name}'.format('x', name=1)", "x 1"),
        ("'{:.2f}'.format(1.234)", "1.23"),
        ("'{a.b} {c[0]}'.format(a={b=1}, c=[2])", "1 2"),
        ("'{{}}'.format()", "{}"),
        ("','.join(['a', 1])", "a,1"),
        ("'ab'.startswith('b', 1)", True),
        ("'ab'.removeprefix('a')", "b"),
        ('"they\'re".title()', "They'Re"),
        ("'a-B_c'.capitalize()", "A-b_c"),
        ("'xyaxy'.rstrip('yx')", "xya"),
        ("'ab'.chars()", ["a", "b"]),
    ],
)
def test_string_methods(expression: str, value: Any) -> None:
    assert _value(expression) == value


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("math.log(10)", 2),
        ("math.log(100.0, 10.0)", 2.0),
        ("math.floor(-1.5)", -2),
        ("math.modf(-3.5)", [-0.5, -3.0]),
        ("math.gcd(-4, 6)", 2),
        ("base64.decode('YQ')", "a"),
        ("base64.encode('é')", "w6k="),
        ("base32.decode('GAXDGLRQ')", "0.3.0"),
        ("crypto.md5('a')", "0cc175b9c0f1b6a831c399e269772661"),
        ("crypto.blake3('a')", "17762fddd969a453925d65717ac3eea21320b66b54342fde15128d6caf21215f"),
        ("collection.union_all([{a=1}, {b=2}, {a=1}])", {"a": 1, "b": 2}),
        ("datetime.validate('2024-13-01', '%Y-%m-%d')", False),
        ("datetime.is_rfc3339('2024-01-01T00:00:00+08:00')", True),
        ("datetime.is_iso8601('2024-01-01')", False),
        ("json.decode('{\"a\": [1, null]}')", {"a": [1, None]}),
        ("json.decode('99999999999999999999')", 1e20),
        ("json.encode({a=1.0, b=[1, 1e20, {}]})", '{"a": 1.0, "b": [1, 1e+20, {}]}'),
        ("json.encode({_a=1, b=None, c=1}, ignore_private=True, ignore_none=True)", '{"c": 1}'),
        ("json.merge({a={x=1, z=1}}, {a={x=None, y=2}})", {"a": {"z": 1, "y": 2}}),
        ("net.CIDR_host('10.0.0.0/8', -1)", "10.255.255.255"),
        ("net.CIDR_subnets('10.0.0.0/8', [1, 2, 8])", ["10.0.0.0/9", "10.128.0.0/10", "10.192.0.0/16"]),
        ("net.is_global_unicast_IP('10.0.0.1')", False),
        ("net.parse_IP('2001:0db8::0001')", "2001:db8::1"),
        ("net.split_host_port('[::1]:80')", ["::1", "80"]),
        ("net.to_IP4('::ffff:1.2.3.4')", "1.2.3.4"),
        ("regex.findall('a1b2', r'([a-z])(\\d)')", [["a", "1"], ["b", "2"]]),
        ("regex.match('a\\n', r'^a$')", False),
        ("regex.replace('a1b2', r'([a-z])(\\d)', '$2$1')", "1a2b"),
        ("regex.split('a1b2c', r'\\d')", ["a", "b", "c"]),
        ("regex.compile('(')", False),
        ("template.execute('{{a}} {{{a}}} {{b.c}}', {a='<x>', b={c=1}})", "&lt;x&gt; <x> 1"),
        (
            "template.execute('{{#each l}}{{@index}}{{n}}{{#unless @last}},{{/unless}}{{/each}}', {l=[{n='a'},{n=2}]})",
            "0a,12",
        ),
        ("template.execute('{{#if a}}A{{else if b}}C{{else}}B{{/if}}', {a=0, b=1})", "C"),
        ("template.execute('{{#each l as |v i|}}{{i}}{{v}}{{../a}}{{/each}}', {l=['x'], a=1})", "0x1"),
        ("template.execute('{{#if (eq a 1)}}y{{/if}}{{~a~}} x', {a=1})", "y1x"),
        ("units.to_m(1.5)", "1500m"),
        ("units.to_K(1500)", "1K"),
        ("yaml.decode('a: on')", {"a": "on"}),
        ("yaml.encode({b=1, a=2}, sort_keys=True)", "a: 2\nb: 1\n"),
        ("yaml.encode_all([1, {a=1}])", "1\n\n---\na: 1\n"),
        ("runtime.catch(lambda { [][0] })", "list index out of range: 0"),
    ],
)
def test_system_modules(expression: str, value: Any) -> None:
    assert _value(expression, expression.split(".")[0]) == value


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("int('abc')", "invalid literal for int() with base 10: 'abc'"),
        ("len(None)", "object of type 'NoneType' has no len()"),
        ("range(1, 5, 0)", "range() step argument must not be zero"),
        ("'a'.index('b')", "substring not found"),
        ("'{}'.format()", "argument tuple index out of range"),
        ("'{a.__class__}'.format(a=1)", "nothing at '__class__'"),
        ("math.factorial(25)", "factorial() result overflow"),
        ("multiplyof(4, 0)", "attempt to calculate the remainder with a divisor of zero"),
        ("base64.decode('!!')", "the text is not base64"),
        ("json.decode('{\"a\": }')", "expected value at line 1 column 7"),
        (r"""json.decode('"\\ud83d"')""", "unexpected end of hex escape at line 1 column 8"),
        (r"""json.decode('"\\ude00"')""", "lone leading surrogate in hex escape at line 1 column 7"),
        ("yaml.decode('a: b: c')", "mapping values are not allowed in this context at line 1 column 5"),
        ("net.CIDR_subnet('10.0.0.0/8', 1, 5)", "additional_bits of 1 does not accommodate a net_num of 5"),
        ("regex.match('a', '(')", "invalid regular expression '('"),
        ("template.execute('{{#if a}}x', {})", "the block 'if' is not closed"),
        ("template.execute('x {{a', {a=1})", "a tag is not closed"),
        ("reduce(None, [], 5)", "reduce() argument 'reducer' must be a function"),
        ("sorted([1, 'a'])", "cannot compare"),
    ],
)
def test_failures_name_the_cause_and_the_line(expression: str, message: str) -> None:
    module = expression.split(".")[0]
    with pytest.raises(ProgramError) as caught:
        _value(expression, module if module.isalnum() else "")
    diagnostic = caught.value.diagnostics[0]
    assert message in diagnostic.message
    assert diagnostic.primary is not None
    assert f"a = {expression}" in caught.value.render()


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("'a'.upper(_x)", "takes 0 positional argument but 1 were given"),
        ("'a'.replace(_x, _x)", "expect str, got int"),
        ("'a'.replace('a')", "expected 2 positional arguments, found 1"),
        ("'a'.strip(nope=_x)", "got an unexpected keyword argument 'nope'"),
        ("'a'.find('a', sub='b')", "got multiple values for argument 'sub'"),
    ],
)
def test_arguments_are_held_to_the_declaration(expression: str, message: str) -> None:
    with pytest.raises(ProgramError) as caught:
        run(["main.k"], work_dir="/w", texts={"main.k": f"_x: any = 1\na = {expression}\n"})
    assert message in caught.value.diagnostics[0].message


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("regex.match(_n, '^$')", True),
        ("regex.match('a', Undefined)", True),
        ("net.is_IP(_n)", False),
        ("regex.match('a', _number)", True),
        ("regex.match(_number, '5')", False),
        ("regex.replace('5', _number, 'a')", "a5a"),
    ],
)
def test_modules_take_nothing_and_what_is_no_text_for_the_empty_string(expression: str, value: Any) -> None:
    program = f"import regex\nimport net\n_n: any = None\n_number: any = 5\na = {expression}\n"
    assert run(["main.k"], work_dir="/w", texts={"main.k": program}).documents == ({"a": value},)
    with pytest.raises(ProgramError, match="expect str, got NoneType"):
        run(["main.k"], work_dir="/w", texts={"main.k": "_n: any = None\na = 'a'.find(_n)\n"})


def test_options_are_converted_and_required() -> None:
    program = (
        'a = option("n", type="int")\nb = option("n", type="str")\nc = option("l", type="list")\n'
        'd = option("none", default=3)\ne = option("none")\n'
    )
    result = run(["main.k"], work_dir="/w", texts={"main.k": program}, options={"n": "12", "l": [1]})
    assert result.documents == ({"a": 12, "b": "12", "c": [1], "d": 3, "e": None},)
    with pytest.raises(ProgramError, match=r"option\('k'\) must be initialized, try '-D k=\?' argument"):
        run(["main.k"], work_dir="/w", texts={"main.k": 'a = option("k", required=True)\n'})
    with pytest.raises(ProgramError, match="cannot use 'x' as type 'int'"):
        run(["main.k"], work_dir="/w", texts={"main.k": 'a = option("k", type="int")\n'}, options={"k": "x"})


@pytest.mark.parametrize(
    ("pattern", "matches"),
    [
        (r"^[[:alpha:]_]+$", True),
        (r"^[[:^digit:]]+$", True),
        (r"^[a-z&&[^xyz]]+$", True),
        (r"^[a-z&&[bc]]+$", False),
        (r"^[^\p{Lu}]+$", True),
        (r"^\p{Ll}+$", True),
        (r"^\P{Lu}+$", True),
        (r"^(?<first>a)b?c?\w*$", True),
        (r"^[\p{Greek}\p{Han}]+$", False),
        (r"^[]abcd]+$", True),
        (r"^[a--z~~||]+$", False),
    ],
)
def test_classes_of_patterns(pattern: str, matches: bool) -> None:
    assert _value(f"regex.match('abcd', r'{pattern}')", "regex") is matches


@pytest.mark.parametrize("pattern", [r"[[:nope:]]", r"\p{Nope}", r"\x{ffffffff}", "[a", "[a&&", "("])
def test_pattern_that_is_none(pattern: str) -> None:
    with pytest.raises(ProgramError, match="invalid regular expression"):
        _value(f"regex.match('a', r'{pattern}')", "regex")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "EOF while parsing a value at line 1 column 0"),
        ("{", "EOF while parsing an object at line 1 column 1"),
        ("[1,", "EOF while parsing a value at line 1 column 3"),
        ("[1", "EOF while parsing a list at line 1 column 2"),
        ("[1,]", "trailing comma at line 1 column 4"),
        ('{"a": 1, }', "trailing comma at line 1 column 10"),
        ("[1 2]", "expected `,` or `]` at line 1 column 4"),
        ("{a: 1}", "key must be a string at line 1 column 2"),
        ("1 2", "trailing characters at line 1 column 3"),
        ("NaN", "expected value at line 1 column 1"),
        ("1e400", "number out of range at line 1 column 5"),
    ],
)
def test_text_that_is_not_json(text: str, problem: str) -> None:
    with pytest.raises(ProgramError) as caught:
        _value(f"json.decode(r'{text}')", "json")
    assert caught.value.diagnostics[0].message == problem


@pytest.mark.parametrize("name", ["md5", "sha1", "sha224", "sha256", "sha384", "sha512"])
def test_short_and_long_texts_have_the_hashes_that_python_knows(name: str) -> None:
    for text in ("", "ä", "x" * 65_536, "x" * 65_537):
        assert _value(f"crypto.{name}('{text}')", "crypto") == hashlib.new(name, text.encode()).hexdigest()
