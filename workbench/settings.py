"""What the environment and the user's machine say: where state lives, how to show things, whether writing is allowed.

Precedence is flag, then environment, then default. Environment variables:

    WB_STATE_DIR   where releases, locks and keys are kept
    WB_CACHE_DIR   what can be thrown away at any time
    WB_CONTEXT     context to use for repositories without clusters.yaml
    WB_READONLY    1: refuse everything that writes
    WB_ALLOW_WRITES  globs of stacks that may be written although the repository makes them read-only
    WB_RELEASES    where releases are kept: clusters (default; clusters/NAMESPACE for another namespace), local, or a
                   bucket: s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX
    WB_REPOSITORY  the name of this repository in releases, where git knows no remote `origin`
    WB_REASON      why things are applied, such as an incident's number: goes into the audit trail
    WB_AUDIT_SYSLOG  where every entry of the audit trail is sent as well: /dev/log, or HOST:PORT (UDP)
    WB_TIMEOUT     seconds to wait for readiness
    WB_PLAN_AGE    how long a saved plan may be applied, such as 30m, 24h (the default) or 7d; 0: for ever
    WB_DEADLINE    seconds that one evaluation of KCL may take
    WB_MAX_MEMORY  memory that a process which evaluates may need, such as 512M or 2G
    WB_ASCII       1: no glyphs outside of ASCII
    WB_THEME       the theme of the screens
    WB_NO_MOUSE    1: the screens leave the mouse to the terminal
    WB_CONFIG_DIR  the user's own files: keymap.yaml, commands.yaml
    WB_ALLOW_EXEC  1: a kubeconfig inside the repository is trusted as the user's own is
    WB_TERRAFORM   the terraform or tofu to use; else the one on PATH
    WB_TERRAFORM_MIRROR  folders with providers, as `terraform providers mirror` makes them, taken before any registry
    WB_TRUST_BACKENDS  1: Terraform backends that the repository names may be used
    WB_TRUST_SECRETS   1: secrets of Vault that the repository refers to may be read
    WB_TRUST_PROVIDERS  1: so may Terraform providers; or names of those that may, as host/namespace/name, * for any
    WB_TRUST_PLUGINS  1: Python functions of the repository may run when its KCL calls them
    WB_UNTRUSTED   1: look at the repository as data only; 0: do not, whatever the rule for it says (docs/trust.md)
    WB_PLUGIN_NAME_KEY  the setting `key` of the plugin `name`, such as WB_PLUGIN_CMDB_TOKEN
    WB_SECRET_NAME  the secret that `ref://env/NAME` refers to
    WB_SECRETS_DIR  the folder of the files that `ref://file/PATH` refers to
    VAULT_ADDR     the Vault of `ref://vault/MOUNT/PATH/PROPERTY`; VAULT_TOKEN and the others as Vault's own command
    KUBECONFIG     as kubectl reads it
    TF_CLI_CONFIG_FILE  the user's own settings for terraform, such as credentials of registries
    NO_COLOR       any text: no colour
"""

from __future__ import annotations

import getpass
import os
import re
import socket
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Self

from kcl.bounded import Allowance, BadAllowance
from kcl.records import dataclass, field
from workbench.bucket_url import BadBucketUrl, BucketUrl
from workbench.ci import pull_request
from workbench.project import ProjectError

_PATTERN = re.compile(r"[a-z0-9.:-]+(?:/(?:[A-Za-z0-9_.-]+|\*)){2}")
_NAMESPACE = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_LONGEST_NAME = 200
RELEASES_NAMESPACE = "konfig-workbench"
_APPLICATION = "konfig-workbench"
_OF_SECRETS = ("WB_SECRET_", "VAULT_")
_DEFAULT_TIMEOUT_SECONDS = 600.0
_DEFAULT_PLAN_AGE = timedelta(hours=24)
_AGE = re.compile(r"([1-9]\d{0,5})([mhd])")
_AGE_UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}
_ALLOWANCE = Allowance(program="wb")


class BadSetting(ProjectError):
    """An environment variable or flag with a value that cannot be used."""


@dataclass(frozen=True, slots=True)
class Settings:
    """`kubeconfig` empty means: as kubectl finds it. `context` empty means the kubeconfig's current one.

    `writable` are globs of stacks. `plan_age` is how long a saved plan may be applied, None for ever.

    `trusted_providers` are patterns, host/namespace/name. `is_untrusted` None means: by rule; `pull_request` is the
    variable by which a CI says that it builds one. `terraform` empty means the one on PATH. `terraform_environment` is
    added to what terraform gets. `releases_namespace` is where clusters keep releases, empty where this machine does;
    `releases_bucket` is where an object store does. `repository` is the name of the repository in them, empty for what
    git says. `secret_environment` is what the environment says of Vault, and the secrets that are in it.

    `config_dir` is where the user's own files for the screens are; None: none are read.
    """

    state_dir: Path
    cache_dir: Path
    kubeconfig: str = ""
    context: str = ""
    user: str = ""
    host: str = ""
    is_read_only: bool = False
    writable: tuple[str, ...] = ()
    releases_namespace: str = RELEASES_NAMESPACE
    releases_bucket: BucketUrl | None = None
    repository: str = ""
    reason: str = ""
    audit_syslog: str = ""
    has_color: bool = True
    is_ascii: bool = False
    theme: str = ""
    has_mouse: bool = True
    config_dir: Path | None = None
    timeout_seconds: float = _DEFAULT_TIMEOUT_SECONDS
    plan_age: timedelta | None = _DEFAULT_PLAN_AGE
    allowance: Allowance = _ALLOWANCE
    allows_exec_credentials: bool = False
    trusts_plugins: bool = False
    trusts_backends: bool = False
    trusts_providers: bool = False
    trusts_secrets: bool = False
    trusted_providers: tuple[str, ...] = ()
    is_untrusted: bool | None = None
    policy: Path | None = None
    pull_request: str = ""
    terraform: str = ""
    terraform_mirrors: tuple[Path, ...] = ()
    terraform_config: str = ""
    terraform_environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets_folder: Path | None = None
    secret_environment: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def load(cls, environment: Mapping[str, str] | None = None) -> Self:
        """Reads the environment (the process's own if None); raises `BadSetting`."""
        from platformdirs import user_cache_path, user_config_path, user_state_path

        env = os.environ if environment is None else environment
        trusts_providers, trusted_providers = _providers(env)
        return cls(
            state_dir=Path(env["WB_STATE_DIR"]) if env.get("WB_STATE_DIR") else user_state_path(_APPLICATION),
            cache_dir=Path(env["WB_CACHE_DIR"]) if env.get("WB_CACHE_DIR") else user_cache_path(_APPLICATION),
            kubeconfig=env.get("KUBECONFIG", ""),
            context=env.get("WB_CONTEXT", ""),
            user=_user(env),
            host=socket.gethostname(),
            is_read_only=_flag(env, "WB_READONLY"),
            writable=tuple(env.get("WB_ALLOW_WRITES", "").replace(",", " ").split()),
            releases_namespace=_releases_namespace(env),
            releases_bucket=_releases_bucket(env),
            repository=_repository(env),
            reason=env.get("WB_REASON", "").strip(),
            audit_syslog=env.get("WB_AUDIT_SYSLOG", "").strip(),
            has_color=not env.get("NO_COLOR") and env.get("TERM") != "dumb",
            is_ascii=_flag(env, "WB_ASCII"),
            theme=env.get("WB_THEME", ""),
            has_mouse=not _flag(env, "WB_NO_MOUSE"),
            config_dir=Path(env["WB_CONFIG_DIR"]) if env.get("WB_CONFIG_DIR") else user_config_path(_APPLICATION),
            timeout_seconds=_seconds(env, "WB_TIMEOUT", _DEFAULT_TIMEOUT_SECONDS),
            plan_age=_plan_age(env),
            allowance=_allowance(env),
            allows_exec_credentials=_flag(env, "WB_ALLOW_EXEC"),
            trusts_plugins=_flag(env, "WB_TRUST_PLUGINS"),
            trusts_backends=_flag(env, "WB_TRUST_BACKENDS"),
            trusts_secrets=_flag(env, "WB_TRUST_SECRETS"),
            trusts_providers=trusts_providers,
            trusted_providers=trusted_providers,
            is_untrusted=_flag(env, "WB_UNTRUSTED") if env.get("WB_UNTRUSTED", "").strip() else None,
            policy=Path(env["WB_POLICY"]).expanduser().absolute() if env.get("WB_POLICY", "").strip() else None,
            pull_request=pull_request(env),
            terraform=env.get("WB_TERRAFORM", ""),
            terraform_mirrors=tuple(
                Path(each) for each in env.get("WB_TERRAFORM_MIRROR", "").split(os.pathsep) if each
            ),
            terraform_config=env.get("TF_CLI_CONFIG_FILE", ""),
            secrets_folder=Path(env["WB_SECRETS_DIR"]).expanduser() if env.get("WB_SECRETS_DIR") else None,
            secret_environment={key: value for key, value in env.items() if key.startswith(_OF_SECRETS)},
        )


def _releases_namespace(env: Mapping[str, str]) -> str:
    text = env.get("WB_RELEASES", "").strip() or "clusters"
    if text == "local":
        return ""
    if "://" in text:
        return RELEASES_NAMESPACE  # what was released before is there
    kind, separator, namespace = text.partition("/")
    if kind != "clusters" or (separator and not _NAMESPACE.fullmatch(namespace)):
        raise BadSetting(
            f"WB_RELEASES needs to be clusters, clusters/NAMESPACE, local, or s3://BUCKET/PREFIX, got {text!r}",
            hint="unset WB_RELEASES",
        )
    return namespace or RELEASES_NAMESPACE


def _releases_bucket(env: Mapping[str, str]) -> BucketUrl | None:
    text = env.get("WB_RELEASES", "").strip()
    if "://" not in text:
        return None
    try:
        return BucketUrl.parse(text)
    except BadBucketUrl as problem:
        raise BadSetting(
            f"WB_RELEASES names no bucket: {problem}", hint="for example s3://acme-releases/konfig"
        ) from None


def _repository(env: Mapping[str, str]) -> str:
    name = env.get("WB_REPOSITORY", "").strip()
    if len(name) > _LONGEST_NAME or not (name.isprintable() or not name):
        raise BadSetting("WB_REPOSITORY needs to be one short line", hint="unset WB_REPOSITORY")
    return name


def _allowance(env: Mapping[str, str]) -> Allowance:
    deadline, memory = env.get("WB_DEADLINE", "").strip(), env.get("WB_MAX_MEMORY", "").strip()
    try:
        return _ALLOWANCE.limited(deadline or None, memory or None, names=("WB_DEADLINE", "WB_MAX_MEMORY"))
    except BadAllowance as problem:
        raise BadSetting(str(problem), hint=f"unset {str(problem).split()[0]}") from None


def _user(env: Mapping[str, str]) -> str:
    try:
        return env.get("USER") or getpass.getuser()
    except (KeyError, OSError):  # no name for this uid, as in many containers
        return f"uid {os.getuid()}"


def _flag(env: Mapping[str, str], name: str) -> bool:
    value = env.get(name, "").strip().lower()
    if value in ("", "0", "false", "no", "off"):
        return False
    if value in ("1", "true", "yes", "on"):
        return True
    raise BadSetting(f"{name} needs to be 0 or 1, got {value!r}", hint=f"unset {name}")


def _providers(env: Mapping[str, str]) -> tuple[bool, tuple[str, ...]]:
    """Returns whether all providers are trusted, and the patterns of those that are."""
    text = env.get("WB_TRUST_PROVIDERS", "").strip()
    if "/" not in text:
        return _flag(env, "WB_TRUST_PROVIDERS"), ()
    patterns = tuple(each for each in text.replace(",", " ").split() if each)
    for each in patterns:
        if not _PATTERN.fullmatch(each):
            hint = "for example registry.terraform.io/acme/*"
            message = f"WB_TRUST_PROVIDERS needs to be 0, 1 or host/namespace/name, got {each!r}"
            raise BadSetting(message, hint=hint)
    return False, patterns


def _seconds(env: Mapping[str, str], name: str, default: float) -> float:
    text = env.get(name, "").strip()
    try:
        value = float(text) if text else default
    except ValueError:
        value = -1.0
    if not 0 < value < float("inf"):
        raise BadSetting(f"{name} needs to be a number of seconds above 0, got {text!r}", hint=f"unset {name}")
    return value


def _plan_age(env: Mapping[str, str]) -> timedelta | None:
    text = env.get("WB_PLAN_AGE", "").strip()
    if not text:
        return _DEFAULT_PLAN_AGE
    if text == "0":
        return None
    found = _AGE.fullmatch(text)
    if found is None:
        raise BadSetting(f"WB_PLAN_AGE needs to be like 30m, 24h, 7d or 0, got {text!r}", hint="unset WB_PLAN_AGE")
    return int(found[1]) * _AGE_UNITS[found[2]]
