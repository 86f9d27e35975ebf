"""A secret is found in whatever form it is repeated; what tells nothing is not taken for one."""

from __future__ import annotations

import base64
import html
import json
import shlex
import string
import time
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kcl.secrecy.rules import MASK
from runtimes.base.secret_texts import SecretTexts, telling

SECRET = 's3cr/t+"qu\'oted" ü{v}%alue'
_around = st.text(string.ascii_letters + " :/@", max_size=5)


def _is_odd(character: str) -> bool:
    return not character.isalnum() and not character.isspace()


def finder(*secrets: str) -> SecretTexts:
    return SecretTexts(telling(secrets))


@pytest.mark.parametrize(
    "form",
    [
        SECRET,
        json.dumps({"a": SECRET}),
        json.dumps({"a": SECRET}, ensure_ascii=False),
        json.dumps(json.dumps({"a": SECRET})),
        f"postgres://u:{quote(SECRET, safe='')}@h/db",
        f"?q={quote_plus(SECRET)}",
        quote(SECRET).lower().replace("s3cr/t", "s3cr/t"),
        html.escape(SECRET),
        shlex.quote(SECRET),
        f"'{SECRET.replace(chr(39), chr(39) * 2)}'",
        SECRET.encode().hex(),
        base64.urlsafe_b64encode(SECRET.encode()).decode(),
        base64.b64encode(SECRET.encode()).decode().rstrip("="),
    ],
)
def test_a_secret_is_found_in_every_form(form: str) -> None:
    assert finder(SECRET).hides(f"before {form} after")
    assert finder(SECRET).masked(f"before {form} after").startswith("before ")


@settings(max_examples=60, deadline=None)
@given(
    st.text(min_size=8, max_size=30).filter(lambda text: any(map(_is_odd, text)) and finder(text).hides(text)),
    _around,
    _around,
)
def test_a_secret_is_found_wherever_it_is_in_base64(secret: str, before: str, after: str) -> None:
    if len(secret.encode("utf-8", "surrogatepass")) >= 9:
        whole = base64.b64encode((before + secret + after).encode("utf-8", "surrogatepass")).decode()
        assert finder(secret).hides(whole)
    assert MASK in finder(secret).masked(f"{before}{secret}{after}")


@pytest.mark.parametrize("plain", ["true", "1", "", "web", "443", "production", "Default", "postgres", "  "])
def test_what_tells_nothing_is_not_looked_for(plain: str) -> None:
    assert not finder(plain).hides(f"a {plain} b") and not finder(plain).hides(plain)


@pytest.mark.parametrize(
    ("secret", "found", "not_found"),
    [
        ("hunter", "u:hunter@h", "hunters"),
        ("a1b2", "pin=a1b2;", "xa1b2c3"),
        ("482916", "code 482916.", "1482916"),
    ],
)
def test_a_short_secret_is_found_where_it_stands_alone(secret: str, found: str, not_found: str) -> None:
    assert finder(secret).hides(found) and not finder(secret).hides(not_found)
    assert not secret.isdigit() or finder(secret).hides(int(secret))


def test_what_a_secret_wraps_is_secret() -> None:
    assert finder(base64.b64encode(b"inner-secret-1").decode()).hides("x inner-secret-1 y")
    assert finder("postgres://u:p%40ssw0rd9@h/db").hides("p@ssw0rd9")
    key = f"-----BEGIN KEY-----\n{'QWxsIGxpbmVz' * 3}\n-----END KEY-----\n"
    assert finder(key).hides(f"  {'QWxsIGxpbmVz' * 3}") and not finder(key).hides("-----BEGIN KEY-----")


def test_of_what_is_wrapped_the_line_is_taken_out() -> None:
    inner = base64.b64encode(base64.b64encode(b"user:inner-secret-1")).decode()
    assert finder("inner-secret-1").masked(f"one\ntwo {inner}\nthree") == f"one\n{MASK}\nthree"
    assert finder("inner-secret-1").masked("one\ninner-\n  secret-1\nthree") == f"one\n{MASK}\nthree"
    twice = f"one\n{inner}\ntwo\ninner-\nsecret-1\nthree\n{inner}"
    assert finder("inner-secret-1").masked(twice) == f"one\n{MASK}\ntwo\n{MASK}\nthree\n{MASK}"
    many = "\n".join([inner] * 100)
    assert "masked" in finder("inner-secret-1").masked(many) and inner not in finder("inner-secret-1").masked(many)


@pytest.mark.parametrize(
    "plain",
    [
        "registry.example/app@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "first line of hun\nter2 and the next",
        "C:\\new\\table\\unit 100% done &amp; more",
        base64.b64encode(bytes(range(256))).decode(),
        "\\" * 4000 + "%25" * 4000 + base64.b64encode(b"a" * 4000).decode(),
    ],
)
def test_what_looks_wrapped_and_holds_none_stays(plain: str) -> None:
    """Nor is a word of two lines taken for one: short secrets are looked for within lines."""
    assert finder("inner-secret-1", "hunter2").masked(plain) == plain


def test_names_are_no_secrets() -> None:
    assert not SecretTexts(telling(["orders-database"], frozenset({"orders-database"}))).hides("orders-database")


def test_looking_takes_no_longer_for_more_secrets() -> None:
    """Counted in secrets looked at, as clocks differ: ten times as many secrets, about as many looks."""
    text = " ".join(f"word{index} some {index * 7919} other text" for index in range(2000))

    def took(secrets: int) -> float:
        many = SecretTexts(f"{index:08x}-secret" for index in range(secrets))
        many.hides(text)
        started = time.process_time()
        assert not many.hides(text)
        return time.process_time() - started

    few, many = took(20), took(2000)
    assert many < 20 * few + 0.5
