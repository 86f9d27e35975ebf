"""Which names say that a value is secret, and which only look so: the one list for all layers."""

from __future__ import annotations

import pytest

from kcl.secrecy.names import is_secret_block, is_secret_name, suggests_secret
from kcl.secrecy.rules import BUILT_IN, SecretRules


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


SECRET = _words("""
    password PGPASSWORD DB_PASSWORD DBPASSWORD DB_PASS dbPass MYSQL_ROOT_PASSWORD POSTGRES_PASSWORD MYSQL_PWD
    PASSWORD_2 password1 PASSWORD_HASH db_password master_password SMTP_PASSWD ADMIN_PASSPHRASE passphrase
    SESSION_KEY sessionKey SESSION_SECRET SECRET_KEY_BASE APP_KEY API_KEY ApiKey apiKey X-API-KEY
    AWS_SECRET_ACCESS_KEY awsSecretAccessKey AWS_SECRET_KEY HMAC_KEY TLS_KEY SSH_KEY MASTER_KEY LICENSE_KEY
    private_key storageAccountKey AUTH_HEADER JWT SMTP_AUTH REDISCLI_AUTH BASIC_AUTH Authorization
    PROXY_AUTHORIZATION DOCKER_AUTH_CONFIG //registry.example/:_auth _authToken authtoken NPM_TOKEN githubToken
    GH_PAT tokens API_TOKENS BEARER OAuthToken DATABASE_DSN dsn CONNECTION_STRING connectionString COOKIE_SECRET
    SESSION_COOKIE CLIENT-SECRET clientsecret credentials creds VAULT_SECRET_ID VAULT_DEV_ROOT_TOKEN_ID
    dockerconfigjson .dockerconfigjson RABBITMQ_ERLANG_COOKIE
""")
PLAIN = _words("""
    http_tokens httpTokens manage_master_user_password
    passThrough keyboard KEYBOARD_LAYOUT author authors authorName secretName secretRef secretKeyRef
    imagePullSecretName tokenExpirationSeconds TOKEN_TTL TOKEN_EXPIRY TOKEN_URL SERVICE_ACCOUNT_TOKEN_PATH
    TOKENIZER_PATH MAX_TOKENS key name value keys authorization_mode authorization-mode AUTHORIZATION_MODE AUTH_MODE
    AUTH_TYPE AUTH_ENABLED AUTH_URL oauth basic_auth_enabled ENABLE_AUTH PRIMARY_KEY PARTITION_KEY SORT_KEY
    PUBLIC_KEY KEY_ID ACCESS_KEY_ID accessKeyId ROUTING_KEY topologyKey labelKey key_prefix KEYSPACE HOTKEY MONKEY
    PASSWORD_FILE PASSWORD_MIN_LENGTH automountServiceAccountToken use_password PASSIVE COMPASS_URL BYPASS SECRETARY
    COOKIE_NAME cookie_domain LOG_LEVEL image replicas hostname path
""")


@pytest.mark.parametrize("name", SECRET)
def test_a_name_tells_a_secret(name: str) -> None:
    assert is_secret_name(name) and suggests_secret(name)


@pytest.mark.parametrize("name", PLAIN)
def test_a_name_that_looks_so_hides_nothing(name: str) -> None:
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    "name", ["author", "passThrough", "secretName", "tokenExpirationSeconds", "keyboard", "compass"]
)
def test_what_is_about_something_else_is_not_even_suspected(name: str) -> None:
    assert not suggests_secret(name)


@pytest.mark.parametrize("name", ["key", "PRIMARY_KEY", "parcelKey", "privateThing", "oauth"])
def test_in_doubt_a_value_is_not_written_down(name: str) -> None:
    assert suggests_secret(name) and not is_secret_name(name)


def test_a_group_of_settings_is_no_secret_for_its_method() -> None:
    assert is_secret_block("credentials") and not is_secret_block("basic_auth") and not is_secret_block("authorization")


def test_a_repository_only_adds() -> None:
    more = SecretRules(names=("voucher", "*_pin"))
    assert more.names_secret("VOUCHER") and more.names_secret("door_pin") and more.suggests("Voucher")
    assert all(more.names_secret(each) for each in SECRET)
    assert not any(more.names_secret(each) for each in PLAIN)


@pytest.mark.parametrize("name", SECRET)
def test_what_a_program_amounts_to_is_sealed_where_a_name_tells(name: str) -> None:
    assert BUILT_IN.may_be_in(f"a: 1\n{name}: x\n") and not BUILT_IN.may_be_in("a: 1\nreplicas: 2\n")
