"""Telling names: whether what an option, a variable, a setting or an attribute is called says that its value is secret.

A name is read as words: `PGPASSWORD`, `db-pass`, `sessionKey`, `AUTH_HEADER`. Some words say it wherever they stand
(`password`), some with the word before them (`session key`, but no `primary key`), some at the end only (`smtp auth`).
A last word that tells of a property takes it back: `password file`, `token expiration seconds`, `secret name` and
`authorization mode` are for everybody to read, and so is a switch, such as `use auth`.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ANYWHERE: "Final" = _words(
    "password passwords passwd passcode passphrase pass pwd pw secret secrets token tokens jwt dsn credential "
    "credentials cred creds apikey bearer otp totp psk hmac mnemonic netrc htpasswd keytab dockercfg dockerconfig "
    "dockerconfigjson connectionstring connstring webhooksecret"
)
_AT_THE_END: "Final" = _words("auth authorization cookie cookies pat sas")
_AFTER_AUTH: "Final" = _words("header headers data string value code cookie config key")
_KEYS: "Final" = _words(
    "access account activation admin aes api app application auth client consumer cookie crypto data decrypt "
    "decryption deploy encrypt encryption gpg hmac ingest ingestion integration jwt license licence master pgp "
    "private root rsa sas secret server service session shared signature signing ssh ssl storage subscription tls "
    "webhook writer"
)
"""Words before `key` with which it is one that opens or signs."""
_IN_ONE: "Final" = (
    *("password", "passwd", "passphrase", "passcode", "secret", "secrets", "token", "apikey", "credential"),
    *("credentials", "secretkey", "accesskey", "privatekey", "sessionkey", "signingkey", "encryptionkey", "masterkey"),
    *("accountkey", "dbpass", "userpass", "adminpass", "rootpass", "mysqlpwd", "pgpass", "authheader", "smtpauth"),
)
"""Ends of words that were written without anything between them: PGPASSWORD, clientsecret."""
_PROPERTIES: "Final" = _words(
    "name names ref refs reference file files filename path paths dir directory folder mount url urls uri "
    "endpoint host hostname port ttl expiration expiry expires expire lifetime validity seconds minutes hours "
    "days duration timeout interval period rotation length size count max min limit mode type kind method scheme "
    "strategy enabled disabled enable disable required optional allowed policy version algorithm alg issuer "
    "audience audiences provider namespace store region class arn age format prefix suffix domain description "
    "title label labels annotation annotations template status reset attempts retries through realm backend "
    "selector projection"
)
_SWITCHES: "Final" = _words(
    "is has use uses enable disable require requires allow skip with without no show hide automount manage needs "
    "max min num number total count rotate validate verify"
)
_SUSPICIOUS: "Final" = ("pass", "secret", "token", "key", "cred", "private", "auth", "pwd", "dsn", "jwt", "bearer")
_HARMLESS: "Final" = (
    *("author", "keyboard", "keyspace", "keystone", "keyword", "keycloak", "hotkey", "monkey", "turkey", "donkey"),
    *("jockey", "hockey", "whiskey", "passthrough", "passive", "passenger", "passage", "passport", "compass", "bypass"),
    *("encompass", "surpass", "secretary", "secretariat", "tokeniz", "tokenis", "accredit", "sacred", "incredible"),
    *("authentic",),
)
"""Beginnings and ends of words that have a suspicious part and are about something else."""


def words_of(name: str) -> "list[str]":
    """The words of a name in lower case, wherever it parts them: by a sign, or by a capital after a small letter."""
    parted: list[str] = []
    for at, letter in enumerate(name):
        before, after = name[at - 1 : at], name[at + 1 : at + 2]
        if letter.isupper() and (before.islower() or before.isdigit() or (before.isupper() and after.islower())):
            parted.append(" ")
        parted.append(letter if letter.isalnum() else " ")
    return "".join(parted).lower().split()


def is_secret_name(name: str) -> bool:
    """Whether a name says that its value is secret: DB_PASSWORD, apiKey, AUTH_HEADER, and not secretName."""
    words = words_of(name)
    return bool(words) and not _is_property(words) and (_says_so(words) or _ends_so(words))


def is_secret_block(name: str) -> bool:
    """Whether a name says that all of what is grouped below it is secret: `credentials`, and not `auth`."""
    words = words_of(name)
    return bool(words) and not _is_property(words) and _says_so(words)


def suggests_secret(name: str) -> bool:
    """Whether a value of this name may be secret: good for what is never written down, too broad for what is shown."""
    words = words_of(name)
    if is_secret_name(name):
        return True
    if _is_property(words):
        return False
    plain = "".join(each if each.isalnum() else " " for each in name.lower()).split()
    return any(part in word for word in {*words, *plain} if not _is_harmless(word) for part in _SUSPICIOUS)


def is_about_property(name: str) -> bool:
    """Whether a name says that its value is no secret whatever it belongs to: `url`, `timeout`, `token file`."""
    words = words_of(name)
    return bool(words) and words[-1] in _PROPERTIES


def _says_so(words: "list[str]") -> bool:
    bare = [word.rstrip("0123456789") for word in words]
    if any(word in _ANYWHERE or word.endswith(_IN_ONE) for word in bare):
        return True
    pairs = zip(words, words[1:], strict=False)  # noqa: RUF007 - itertools is one import more
    return any(
        (second in ("key", "keys") and first in _KEYS)
        or (first == "auth" and second in _AFTER_AUTH)
        or (first, second) in (("connection", "string"), ("conn", "string"), ("conn", "str"))
        for first, second in pairs
    )


def _ends_so(words: "list[str]") -> bool:
    return words[-1] in _AT_THE_END


def _is_property(words: "list[str]") -> bool:
    """Whether a name tells of a property of a secret, and not of the secret: its file, how long it is valid."""
    if not words:
        return False
    last = words[-1]
    if len(words) > 1 and (last in _PROPERTIES or words[0] in _SWITCHES):
        return True
    return words[-2:] in (["key", "id"], ["keys", "id"], ["key", "ids"], ["http", "tokens"])


def _is_harmless(word: str) -> bool:
    return word.startswith(_HARMLESS) or word.endswith(_HARMLESS)
