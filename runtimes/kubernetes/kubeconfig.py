"""Kubeconfig files: which cluster to reach, how, and as whom.

Several files merge as kubectl merges them: the first that names a cluster, user or context wins, and a path inside a
file is relative to that file (https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/).
Everything is parsed here into frozen values; nothing is fetched and no program is run.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlsplit

from kcl.records import dataclass, field
from runtimes.base import ClusterIdentity, Misconfigured
from runtimes.base.clusters import SYSTEM_TRUST
from runtimes.base.documents import DocumentError, OverLimit, load_yaml, read_text


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the API server is. `ca_pem` is None where the machine's trust store decides."""

    server: str
    ca_pem: str | None = field(default=None, repr=False)
    skip_verify: bool = False
    tls_server_name: str | None = None
    proxy: str | None = field(default=None, repr=False)

    @property
    def shown(self) -> str:
        """The address without anything secret that a URL may hold."""
        parts = urlsplit(self.server)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"

    @property
    def authority(self) -> str:
        """A digest of the certificates that vouch for the server; empty where nothing does, however it is reached."""
        if self.skip_verify or not self.server.startswith("https://"):
            return ""
        if self.ca_pem is None:
            return SYSTEM_TRUST
        return hashlib.sha256("".join(self.ca_pem.split()).encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class ClientCertificate:
    certificate_pem: str = field(repr=False)
    key_pem: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Token:
    value: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class TokenFile:
    path: Path


@dataclass(frozen=True, slots=True)
class Password:
    username: str
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class ExecPlugin:
    """A program that prints an ExecCredential. `environment` is added to ours; `install_hint` is for people."""

    command: str
    arguments: tuple[str, ...] = field(repr=False)
    environment: tuple[tuple[str, str], ...] = field(repr=False)
    api_version: str
    provides_cluster_info: bool = False
    needs_terminal: bool = False
    install_hint: str = ""


Credential = Token | TokenFile | Password | ExecPlugin | None


@dataclass(frozen=True, slots=True)
class Connection:
    """One context, resolved. `namespace` is where objects without one go.

    `cluster_file` and `user_file` are the files that say which server it is and as whom to ask it; `user` is the name
    that the latter has for that.
    """

    context: str
    namespace: str
    endpoint: Endpoint
    credential: Credential = None
    certificate: ClientCertificate | None = None
    impersonate: tuple[tuple[str, str], ...] = ()
    cluster_file: Path | None = None
    user_file: Path | None = None
    user: str = ""

    @property
    def identity(self) -> ClusterIdentity:
        """Which cluster it is as far as the file tells, without asking it."""
        acting = next((value for name, value in self.impersonate if name == "Impersonate-User"), "")
        user = f"{self.user} for {acting}" if acting else self.user
        shown, authority = self.endpoint.shown, self.endpoint.authority
        return ClusterIdentity(self.context, shown, user, authority=authority, unknown="it was not queried")


MayName = Callable[[Path, Path], bool]


def _every_file(kubeconfig: Path, named: Path) -> bool:
    """A user's own kubeconfig names what its user likes."""
    return True


class Kubeconfig:
    """One or several merged files. Raises `Misconfigured` where a file or a name in it cannot be used.

    `may_name` says whether a kubeconfig may name a file with a certificate or a key, which is read then.
    """

    def __init__(self, files: Sequence[Path], may_name: MayName = _every_file) -> None:
        self.files = tuple(files)
        self._may_name = may_name
        self._contexts: dict[str, Mapping[str, Any]] = {}
        self._clusters: dict[str, tuple[Mapping[str, Any], Path]] = {}
        self._users: dict[str, tuple[Mapping[str, Any], Path]] = {}
        self.current_context = ""
        found = [file for file in files if file.exists()]
        if not found:
            raise Misconfigured(
                f"no kubeconfig at {', '.join(map(str, files)) or 'any place'}",
                hint="name one with --kubeconfig or in KUBECONFIG",
            )
        for file in found:
            self._read(file)

    @classmethod
    def found(cls, environment: Mapping[str, str] | None = None, may_name: MayName = _every_file) -> Kubeconfig:
        """Reads the files that kubectl would: those of KUBECONFIG, else `~/.kube/config`."""
        environment = os.environ if environment is None else environment
        listed = [Path(part).expanduser() for part in environment.get("KUBECONFIG", "").split(os.pathsep) if part]
        return cls(listed or [Path("~/.kube/config").expanduser()], may_name)

    @property
    def contexts(self) -> tuple[str, ...]:
        return tuple(self._contexts)

    def place(self, context: str | None = None) -> ClusterIdentity:
        """Returns where a context leads, by name, without its credentials and without reading any other file."""
        cluster, user = self._names(context or self.current_context)
        server = str(self._clusters[cluster][0].get("server") or "")
        self._check_address(cluster, server)
        shown = Endpoint(server.rstrip("/")).shown
        return ClusterIdentity(context or self.current_context, shown, user, unknown="it was not queried")

    def connection(self, context: str | None = None) -> Connection:
        """Resolves a context by name; None means the current one."""
        name = context or self.current_context
        cluster_name, user_name = self._names(name)
        entry = self._contexts[name]
        cluster, cluster_file = self._clusters[cluster_name]
        user, user_file = self._users.get(user_name, ({}, cluster_file))
        for owner, section, shape in (
            (f"context {name!r}", entry, _CONTEXT),
            (f"cluster {cluster_name!r}", cluster, _CLUSTER),
            (f"user {user_name!r}", user, _USER),
        ):
            self._check_shape(owner, section, shape)
        return Connection(
            context=name,
            namespace=str(entry.get("namespace") or "default"),
            endpoint=self._endpoint(cluster_name, cluster, cluster_file),
            credential=self._credential(user_name, user, user_file.parent),
            certificate=self._certificate(user_name, user, user_file),
            impersonate=self._impersonation(user_name, user),
            cluster_file=cluster_file,
            user_file=user_file,
            user=user_name,
        )

    def _names(self, name: str) -> tuple[str, str]:
        """Returns the cluster and the user of a context, the latter empty where it names none."""
        if not name:
            raise self._refused("no context was named and the file has no current-context", "name one with --context")
        if name not in self._contexts:
            known = ", ".join(self._contexts) or "none"
            raise self._refused(f"there is no context {name!r}", f"known contexts: {known}")
        entry = self._contexts[name]
        cluster_name, user_name = str(entry.get("cluster") or ""), str(entry.get("user") or "")
        if cluster_name not in self._clusters:
            raise self._refused(f"context {name!r} names cluster {cluster_name!r}, which is not there", "")
        if user_name and user_name not in self._users:
            raise self._refused(f"context {name!r} names user {user_name!r}, which is not there", "")
        return cluster_name, user_name

    def _check_shape(self, owner: str, section: Mapping[str, Any], shape: Mapping[str, _Kind]) -> None:
        """Refuses what kubectl could not read either. No value is quoted: it may be a token."""
        for key, kind in shape.items():
            value = section.get(key)
            if value is not None and not kind.holds(value):
                raise self._refused(f"{key} of {owner} is not {kind.is_called}", kind.hint)

    def _refused(self, message: str, hint: str) -> Misconfigured:
        return Misconfigured(f"kubeconfig {', '.join(map(str, self.files))}: {message}", hint=hint)

    def _read(self, file: Path) -> None:
        try:
            document = load_yaml(read_text(file, takes_pipes=True)) or {}
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "not UTF-8 text"
            raise Misconfigured(f"kubeconfig {file} cannot be read: {reason}") from None
        except DocumentError as error:
            # what the parser says may quote the line, which may hold a token
            why = error.problem if isinstance(error, OverLimit) else "is not valid YAML"
            where = f", line {error.line}" if error.line else ""
            raise Misconfigured(f"kubeconfig {file}{where} {why}") from None
        if not isinstance(document, Mapping):
            raise Misconfigured(f"kubeconfig {file} is not a mapping")
        if document.get("kind") not in (None, "Config"):
            raise Misconfigured(f"kubeconfig {file} is of another kind than Config: it is no kubeconfig")
        self.current_context = self.current_context or str(document.get("current-context") or "")
        for name, body in _named(document, "contexts", "context", file):
            self._contexts.setdefault(name, body)
        for name, body in _named(document, "clusters", "cluster", file):
            self._clusters.setdefault(name, (body, file))
        for name, body in _named(document, "users", "user", file):
            self._users.setdefault(name, (body, file))

    def _endpoint(self, name: str, cluster: Mapping[str, Any], said_in: Path) -> Endpoint:
        server = str(cluster.get("server") or "")
        if not server.startswith(("https://", "http://")):
            raise self._refused(f"cluster {name!r} has no server URL", "it should read https://HOST:PORT")
        self._check_address(name, server)
        ca_pem = self._pem(f"cluster {name!r}", cluster, "certificate-authority", said_in)
        skip_verify = bool(cluster.get("insecure-skip-tls-verify"))
        if ca_pem and skip_verify:
            raise self._refused(
                f"cluster {name!r} has a certificate-authority, and is not to be verified by it",
                "take out insecure-skip-tls-verify, or the certificate-authority that would not count",
            )
        proxy = cluster.get("proxy-url") or None
        if proxy and not proxy.startswith(("http://", "https://", "socks5://")):
            raise self._refused(
                f"the proxy-url of cluster {name!r} is none (not shown here)",
                "it should read http://HOST:PORT, https://HOST:PORT or socks5://HOST:PORT",
            )
        return Endpoint(
            server=server.rstrip("/"),
            ca_pem=ca_pem,
            skip_verify=skip_verify,
            tls_server_name=cluster.get("tls-server-name") or None,
            proxy=proxy,
        )

    def _check_address(self, name: str, server: str) -> None:
        """Refuses an address that can't be used, or should not be: what is in one comes up in many places."""
        try:
            parts = urlsplit(server)
            # no name server is asked for a name that can't be written down for it
            is_usable = bool(parts.hostname and parts.hostname.encode("idna")) and parts.port != 0
        except ValueError:
            is_usable = False
        if "@" in server.partition("://")[2].partition("/")[0]:
            raise self._refused(
                f"the server's address of cluster {name!r} holds a user or a password (not shown here)",
                "take USER:PASSWORD@ out of it, and write username and password into the user of the context",
            )
        if not is_usable or not server.isprintable():
            raise self._refused(
                f"the server's address of cluster {name!r} is no URL", "it should read https://HOST:PORT"
            )

    def _credential(self, name: str, user: Mapping[str, Any], folder: Path) -> Credential:
        if user.get("username") and (user.get("token") or user.get("tokenFile")):
            raise self._refused(
                f"user {name!r} has a token and a password, and one of them alone can be sent",
                "take out username and password, or the token",
            )
        match user:
            case {"token": str(token)} if token:
                return Token(token)
            case {"tokenFile": str(path)} if path:
                return TokenFile(folder / Path(path).expanduser())
            case {"exec": Mapping() as plugin}:
                return self._plugin(name, plugin, folder)
            case {"auth-provider": _}:
                raise self._refused(
                    f"user {name!r} uses an auth-provider, which Kubernetes has removed",
                    "let your provider's tool write an exec section instead",
                )
            case {"username": str(username), "password": str(password)}:
                return Password(username, password)
        return None

    def _plugin(self, name: str, plugin: Mapping[str, Any], folder: Path) -> ExecPlugin:
        self._check_shape(f"the exec section of user {name!r}", plugin, _EXEC)
        command, api_version = str(plugin.get("command") or ""), str(plugin.get("apiVersion") or "")
        if not command or not api_version:
            raise self._refused(f"user {name!r} has an exec section without command or apiVersion", "")
        return ExecPlugin(
            # a command with a separator is a path relative to the file, a bare name is looked up in PATH
            command=str(folder / command) if os.sep in command else command,
            arguments=tuple(str(each) for each in plugin.get("args") or ()),
            environment=tuple((str(each["name"]), str(each.get("value") or "")) for each in plugin.get("env") or ()),
            api_version=api_version,
            provides_cluster_info=bool(plugin.get("provideClusterInfo")),
            needs_terminal=plugin.get("interactiveMode") == "Always",
            install_hint=str(plugin.get("installHint") or ""),
        )

    def _impersonation(self, name: str, user: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
        """As headers. Raises `Misconfigured` where more than a name is to be taken on, and no name."""
        uid, groups, extra = user.get("as-uid"), user.get("as-groups"), user.get("as-user-extra")
        if not user.get("as"):
            if uid or groups or extra:
                raise self._refused(f"user {name!r} takes on a uid, groups or extras, but no user", "add `as`")
            return ()
        taken_on = (
            ("Impersonate-User", user["as"]),
            *([("Impersonate-Uid", uid)] if uid else ()),
            *(("Impersonate-Group", group) for group in groups or ()),
            *(
                (f"Impersonate-Extra-{quote(str(key), safe='')}", value)
                for key, values in (extra or {}).items()
                for value in values
            ),
        )
        if not all(value.isprintable() for _, value in taken_on):  # a line break would begin another header
            raise self._refused(f"user {name!r} takes on a name with control characters in it", "correct `as`")
        return taken_on

    def _certificate(self, name: str, user: Mapping[str, Any], said_in: Path) -> ClientCertificate | None:
        certificate = self._pem(f"user {name!r}", user, "client-certificate", said_in)
        key = self._pem(f"user {name!r}", user, "client-key", said_in)
        if certificate and not key:
            raise self._refused(f"user {name!r} has a client-certificate, and no client-key for it", "add client-key")
        return ClientCertificate(certificate, key) if certificate and key else None

    def _pem(self, owner: str, section: Mapping[str, Any], key: str, said_in: Path) -> str | None:
        if data := section.get(f"{key}-data"):
            try:
                return base64.b64decode(data, validate=True).decode("ascii")
            except (binascii.Error, UnicodeDecodeError, TypeError, ValueError):
                raise self._refused(f"{key}-data of {owner} is not base64 of a PEM text", "") from None
        if path := section.get(key):
            file = said_in.parent / Path(str(path)).expanduser()
            if not self._may_name(said_in, file):
                raise self._refused(
                    f"{key} of {owner} is {file}, outside of the repository that {said_in} came with: not read",
                    "read that file; if you trust it as your own: wb trust kubeconfig FILE, or WB_ALLOW_EXEC=1",
                )
            try:
                text = read_text(file)
                text.encode("ascii")
                return text
            except (OSError, ValueError) as error:
                reason = getattr(error, "strerror", None) or "not a PEM text"
                raise self._refused(f"{key} of {owner}, {file}, cannot be read: {reason}", "") from None
        return None


def _named(document: Mapping[str, Any], plural: str, singular: str, file: Path) -> list[tuple[str, Mapping[str, Any]]]:
    """Returns the entries of one kind. Raises `Misconfigured` for two of a name: which one is meant?"""
    entries = document.get(plural)
    found = [
        (str(entry["name"]), entry.get(singular) or {})
        for entry in (entries if isinstance(entries, list) else ())
        if isinstance(entry, Mapping) and entry.get("name") and isinstance(entry.get(singular) or {}, Mapping)
    ]
    names = [name for name, _ in found]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise Misconfigured(
            f"kubeconfig {file} has two {plural} with the name {twice!r}",
            hint="which one is meant nobody can tell: rename one, or take it out",
        )
    return found


def _is_variables(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(each, Mapping) and isinstance(each.get("name"), str) and isinstance(each.get("value", ""), str)
        for each in value
    )


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


@dataclass(frozen=True, slots=True)
class _Kind:
    """What kubectl takes for a field: it refuses a file with anything else, and so the whole of what that may mean."""

    is_called: str
    holds: Callable[[Any], bool]
    hint: str = ""


_TEXT: Final = _Kind("text", lambda value: isinstance(value, str), "put it into quotes")
_FLAG: Final = _Kind("true or false", lambda value: isinstance(value, bool), "write true or false without quotes")
_TEXTS: Final = _Kind("a list of texts", _is_texts)
_SECTION: Final = _Kind("a mapping", lambda value: isinstance(value, Mapping))
_LISTS: Final = _Kind(
    "a mapping of lists of texts", lambda value: isinstance(value, Mapping) and all(map(_is_texts, value.values()))
)
_CONTEXT: Final = dict.fromkeys(("cluster", "user", "namespace"), _TEXT)
_CLUSTER: Final = {
    **dict.fromkeys(
        ("server", "tls-server-name", "proxy-url", "certificate-authority", "certificate-authority-data"), _TEXT
    ),
    "insecure-skip-tls-verify": _FLAG,
}
_USER: Final = {
    **dict.fromkeys(
        (
            *("token", "tokenFile", "username", "password", "as", "as-uid"),
            *("client-certificate", "client-certificate-data", "client-key", "client-key-data"),
        ),
        _TEXT,
    ),
    "as-groups": _TEXTS,
    "as-user-extra": _LISTS,
    "exec": _SECTION,
}
_EXEC: Final = {
    **dict.fromkeys(("command", "apiVersion", "installHint", "interactiveMode"), _TEXT),
    "args": _TEXTS,
    "env": _Kind("a list of {name: ..., value: ...}, both texts", _is_variables),
    "provideClusterInfo": _FLAG,
}
