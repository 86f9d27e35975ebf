"""Which texts tell by their look that they hold a secret, and which only look so."""

from __future__ import annotations

import base64
import json
import time

import pytest

from kcl.secrecy.rules import BUILT_IN, SecretRules
from kcl.secrecy.shapes import secrets_by_shape

LETTERS = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7cF0iL"
BASIC = base64.b64encode(b"ann:pw-of-ann-1").decode()
JWT = f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0.{LETTERS}"
PEM = f"-----BEGIN RSA PRIVATE KEY-----\n{LETTERS * 2}\n-----END RSA PRIVATE KEY-----"
HOLDING = {
    "postgres://app:s3cret@db/orders": "s3cret",
    "redis://:pw1@cache:6379/0": "pw1",
    "amqp://u:p%40ss/word@mq": "p%40ss/word",
    "mongodb+srv://u:pass-1@a.example,b.example/x?w=1": "pass-1",
    "see https://ann:t0ken@git.example/x.git for it": "t0ken",
    "jdbc:postgresql://app:s3cret@db/orders": "s3cret",
    "app:s3cret@tcp(db:3306)/orders?parseTime=true": "s3cret",
    "host=db port=5432 user=app password=s3cret sslmode=require": "s3cret",
    "host=db user=app password='two words'": "two words",
    "Server=db;User Id=app;Password=s3cret;Encrypt=true": "s3cret",
    f"DefaultEndpointsProtocol=https;AccountName=a;AccountKey={LETTERS}==": f"{LETTERS}==",
    PEM: f"\n{LETTERS * 2}\n",
    f"-----BEGIN PRIVATE KEY-----\\n{LETTERS}\\n-----END PRIVATE KEY-----": f"\\n{LETTERS}\\n",
    json.dumps({"auths": {"r.example": {"auth": BASIC}}}): "pw-of-ann-1",
    json.dumps({"auths": {"r.example": {"username": "a", "password": "s3cret"}}}): "s3cret",
    "machine git.example login ann password s3cret": "s3cret",
    JWT: JWT,
    f"Authorization: Bearer {LETTERS}": LETTERS,
    f"Authorization: Basic {BASIC}": "pw-of-ann-1",
    f"ghp_{LETTERS}{LETTERS[:4]}": f"ghp_{LETTERS}{LETTERS[:4]}",
    f"token is glpat-{LETTERS[:20]}.": f"glpat-{LETTERS[:20]}.",
    f"xoxb-12345-{LETTERS}": f"xoxb-12345-{LETTERS}",
    f"sk_live_{LETTERS}": f"sk_live_{LETTERS}",
    f"hvs.{LETTERS}": f"hvs.{LETTERS}",
    f"AIza{LETTERS}abc": f"AIza{LETTERS}abc",
    f"https://hooks.slack.com/services/T0/B0/{LETTERS}": f"T0/B0/{LETTERS}",
    f"https://a.blob.core.windows.net/c?sv=1&sig={LETTERS}": LETTERS,
}
PLAIN = [
    "https://db.example:5432/orders",
    "http://host:8080/path@2x.png",
    "postgres://app@db/orders",
    "postgres://app:$(DB_PASSWORD)@db/orders",
    "postgres://app:${PASSWORD}@db/orders",
    "postgres://app:{{ .Values.pw }}@db/orders",
    "postgres://user:<password>@host/db",
    "registry.example/team/app@sha256:0123456789abcdef",
    "git@github.com:acme/app.git",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
    "basic authentication is on",
    "the bearer of good news",
    "npm_config_registry",
    "sk-learn",
    "password",
    "user=app mode=fast",
    "--authorization-mode=Node,RBAC",
    "mailto:a:b@c",
]


@pytest.mark.parametrize(("text", "secret"), HOLDING.items())
def test_a_look_tells_a_secret(text: str, secret: str) -> None:
    assert secret in set(secrets_by_shape([text]))
    assert BUILT_IN.is_secret_text(text) or len(text) < 8
    masked = BUILT_IN.masked(f"before {text} after", "***")
    assert secret not in masked and "before" in masked and masked.endswith("after")


@pytest.mark.parametrize("text", PLAIN)
def test_what_only_looks_so_is_shown(text: str) -> None:
    assert list(secrets_by_shape([text])) == [] and BUILT_IN.masked(text, "***") == text


@pytest.mark.parametrize(
    "hostile",
    [
        *("://", "://a:", "://a:b", "-----BEGIN PRIVATE KEY-----", "-a", "eyJ", "eyJ.", "Bearer ", "Basic A"),
        *("machine a login ", "host= password= ", "sk-", "?sig=", "xoxa-", '{"auths":', "a:b@tcp(", "SG.", "[" * 9),
    ],
)
def test_no_text_makes_looking_slow(hostile: str) -> None:
    begun = time.process_time()
    list(secrets_by_shape(["-----BEGIN PRIVATE KEY-----" + hostile * (300_000 // len(hostile))]))
    assert time.process_time() - begun < 20


def test_a_repository_adds_patterns() -> None:
    rules = SecretRules(patterns=("acme_live_*",))
    assert rules.masked("key acme_live_12ab, ok", "***") == "key ***, ok"
    assert rules.is_secret_text("acme_live_12ab") and not BUILT_IN.is_secret_text("acme_live_12ab")
    assert rules.is_secret_text("postgres://app:s3cret@db/orders")
