"""A repository with two hundred secrets of nineteen kinds, each another text, and a way to look for them.

Half of the values are such as nothing else looks like, which are found wherever they are repeated. The others are short
words, which are secret by their place alone: whoever hides them has to know the place.
"""

from __future__ import annotations

import base64
import html
import json
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

from tests.needles import Needles

SPACE = "vault-new"
_VARIABLES = (
    "PGPASSWORD DB_PASS SESSION_KEY AUTH_HEADER JWT SMTP_AUTH DATABASE_DSN MYSQL_PWD GITHUB_TOKEN API_KEY ApiKey "
    "awsSecretAccessKey COOKIE_SECRET HMAC_KEY X-API-KEY ADMIN_PASSPHRASE DOCKER_AUTH_CONFIG BEARER "
    "CONNECTION_STRING clientsecret REDISCLI_AUTH"
)
VARIABLES = tuple(_VARIABLES.split())
ENVIRONMENT = ("ORDERS_DB_PASSWORD", "CI_JOB_TOKEN")
"""What a shell or a CI holds that is for none of this."""
KINDS = (
    "stringData",
    "data",
    "variable",
    "URL",
    "key",
    "registry",
    "token",
    "option",
    "settings",
    "plugin",
    "annotation",
    "name of a key",
    "number",
    "element",
    "wrapped",
    "nested",
    "rule",
    "environment",
    "live",
)

_OF_A_SECRET = 28
"""Texts in a Secret that nothing else looks like, and as many that are words."""
_CONSONANTS = "bdfghjkmnpqrstvwxz"


@dataclass(frozen=True)
class Canary:
    kind: str
    where: str
    value: str


@dataclass
class Canaries:
    """Gives out texts that occur nowhere else, and remembers them."""

    given: list[Canary] = field(default_factory=list)

    def strong(self, kind: str, where: str) -> str:
        return self.put(kind, where, f"cnry-{len(self.given):03}/Kq7+Zx{len(where):02}==w")

    def weak(self, kind: str, where: str) -> str:
        """Five letters, which tell nothing of themselves."""
        first, second = divmod(len(self.given), len(_CONSONANTS))
        return self.put(kind, where, f"q{_CONSONANTS[first]}z{_CONSONANTS[second]}x")

    def put(self, kind: str, where: str, value: str) -> str:
        assert kind in KINDS, kind
        assert value not in {each.value for each in self.given}, value
        self.given.append(Canary(kind, where, value))
        return value

    def leaks(self, said: str | bytes) -> list[str]:
        """Returns which canaries a text gives away, in whatever form."""
        text = said.decode("utf-8", "replace") if isinstance(said, bytes) else said
        unwrapped = _BREAK.sub("", text)
        every = tuple(one for each in self.given for one in forms(each.value))
        long = tuple(one for one in every if len(one) > _NO_ACCIDENT)
        if not (_needles(every).are_in(text) or _needles(long).are_in(unwrapped)):
            return []
        return [
            f"{each.kind} {each.where}"
            for each in self.given
            if any(one in text or (len(one) > _NO_ACCIDENT and one in unwrapped) for one in forms(each.value))
        ]

    def leaking_files(self, *folders: Path) -> dict[str, list[str]]:
        files = (path for folder in folders for path in folder.rglob("*") if path.is_file())
        return {str(path): found for path in files if (found := self.leaks(path.read_bytes()))}


_NO_ACCIDENT = 8
"""Whoever is longer is no accident where lines are joined."""
_BREAK = re.compile(r"(?:\\n|\\?\n|\s|\\$)+", re.M)
"""Where a text goes on in the next line, as it is and as JSON writes it."""


@lru_cache(maxsize=16)
def _needles(texts: tuple[str, ...]) -> Needles:
    return Needles(texts)


@cache
def forms(secret: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_forms(secret)))


def _forms(secret: str) -> Iterator[str]:
    yield from {secret, json.dumps(secret)[1:-1], quote(secret), quote(secret, safe=""), quote_plus(secret)}
    yield from {json.dumps(secret, ensure_ascii=False)[1:-1], json.dumps(json.dumps(secret)[1:-1])[1:-1]}
    yield from {html.escape(secret), secret.encode().hex()}
    data = secret.encode()
    for shift in range(3) if len(data) > 8 else ():
        encoded = base64.b64encode(b"x" * shift + data).decode()
        yield encoded[(0, 4, 4)[shift] : len(encoded) - 4]  # what neighbours have a say in is left out


OUTPUTS = """\
name: dev
outputs:
  encoded: $kusion_path.v1:Secret:texts.data
  decoded: $workbench.base64decode["$kusion_path.v1:Secret:texts.data.text-0"]
  word: of $workbench.join["-", ["$workbench.base64decode[\\"$kusion_path.v1:Secret:texts.data.word-0\\"]"]]
  repeated: $kusion_path.v1:ConfigMap:again.data
  settings: $workbench.jsonencode["$kusion_path.v1:ConfigMap:settings.data"]
  arguments: $kusion_path.apps/v1:Deployment:web.spec.template.spec.containers
  wrong: $workbench.base64decode["$kusion_path.apps/v1:Deployment:web.metadata.name"]
"""
"""What others are given of it: secrets of all kinds, as they are and made into something else."""


@dataclass(frozen=True)
class Vault:
    """The stack vault/dev, all of whose objects are in a namespace that it creates itself."""

    canaries: Canaries
    files: Mapping[str, str]
    arguments: tuple[str, ...]
    environment: Mapping[str, str]

    def write(self, root: Path) -> None:
        for name, text in self.files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)


def vault() -> Vault:
    """Makes the repository again, always the same."""
    given = Canaries()
    texts = {f"text-{index}": given.strong("stringData", str(index)) for index in range(_OF_A_SECRET)}
    texts |= {f"word-{index}": given.weak("stringData", f"word {index}") for index in range(_OF_A_SECRET)}
    data = {f"text-{index}": _encoded(given.strong("data", str(index))) for index in range(_OF_A_SECRET)}
    data |= {f"word-{index}": _encoded(given.weak("data", f"word {index}")) for index in range(_OF_A_SECRET)}
    number = given.put("number", "a pin", "483920175")
    key = given.put("name of a key", "of a ConfigMap", f"cnry{len(given.given):03}KeyQ7x9Zt4")
    element = given.strong("element", "of arguments")
    wrapped = {name: given.put("wrapped", name, f"cnry-{name}/{_LONG[index:]}") for index, name in enumerate(WRAPPED)}
    nested = {name: given.put("nested", name, f'cnry "{name}" <&\'ü\\ 7+/=w') for name in NESTED}
    inside = {
        "pin": number,
        "key": key,
        "element": element,
        **wrapped,
        **{f"in-{name}": each for name, each in nested.items()},
    }
    ruled = {name: given.weak("rule", name) for name in ("licence", "note")}
    pattern = given.put("rule", "pattern", "acme_live_kq7zx")
    config = {
        key: "on",
        **{f"wrapped-{name}": WRAPPED[name](each) for name, each in wrapped.items()},
        **{f"nested-{name}": NESTED[name](each) for name, each in nested.items()},
        "licence": ruled["licence"],
        "pattern": f"use {pattern} here",
        **{f"url-{scheme}": _url(given, scheme) for scheme in ("postgres", "https", "amqp", "mongodb")},
        "url-word": f"redis://:{given.weak('URL', 'word')}@cache.example:6379/0",
        "dsn": f"app:{given.weak('URL', 'mysql')}@tcp(db.example:3306)/orders",
        "libpq": f"host=db user=app password={given.weak('URL', 'libpq')} sslmode=require",
        "odbc": f"Server=db;User Id=app;Password={given.strong('URL', 'odbc')};Encrypt=true",
        **{
            f"pem-{kind.strip() or 'PKCS8'}": _pem(given, kind)
            for kind in ("", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED ")
        },
        "docker.json": json.dumps(
            {"auths": {"registry.example": {"auth": _encoded(given.strong("registry", "auth"))}}}
        ),
        "docker-login.json": json.dumps(
            {"auths": {"registry.example": {"username": "ann", "password": given.weak("registry", "word")}}}
        ),
        **{f"token-{name}": token for name, token in _tokens(given)},
        "options": "".join(f"{name}=%s;" for name in OPTIONS[:2]),
    }
    options = {name: given.strong("option", name) for name in OPTIONS}
    settings = {name: given.strong("settings", name) for name in SETTINGS}
    annotations = {
        "kubectl.kubernetes.io/last-applied-configuration": json.dumps(
            {"kind": "ConfigMap", "data": {"was": given.strong("annotation", "last-applied")}}
        )
    }
    annotations |= {"example.com/repeats": f"basic {_encoded('u:' + texts['text-0'])} {quote_plus(texts['text-1'])}"}
    annotations |= {"example.com/note": ruled["note"], f"example.com/{key}": "on"}
    objects: list[Any] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}},
        _object("v1", "Secret", "texts", stringData=texts),
        _object("v1", "Secret", "encoded", data=data),
        _object("v1", "Secret", "inside", stringData=inside),
        _object(
            "v1",
            "Secret",
            "registry",
            type="kubernetes.io/dockerconfigjson",
            data={
                ".dockerconfigjson": _encoded(
                    json.dumps({"auths": {"registry.example": {"auth": _encoded(given.strong("registry", "Secret"))}}})
                )
            },
        ),
        _object("v1", "ConfigMap", "settings", data=config, annotations=annotations),
        *_workloads(given, number, element),
    ]
    main = "\n".join(
        [
            "import manifests",
            "import kcl_plugin.safe",
            '_plugged = {issued = safe.issued().value, door = safe.setting("door"), file = safe.setting("password")}',
            *(f'_{name} = option("{name}")' for name in (*OPTIONS, *SETTINGS)),
            f"_objects = {json.dumps(objects, indent=2)}",
            f'_space = "{SPACE}"',
            '_given = {apiVersion = "v1", kind = "Secret", metadata = {name = "given", namespace = _space}, '
            f"stringData = {{{', '.join(f'{each} = _{each}' for each in (*OPTIONS, *SETTINGS))}}}}}",
            '_repeated = {apiVersion = "v1", kind = "ConfigMap", metadata = {name = "again", namespace = _space}, '
            f"data = {{{', '.join(map(_repeated, (*OPTIONS, *SETTINGS)))}}}}}",
            *(f'print("{each} is", _{each})' for each in (*OPTIONS, *SETTINGS)),
            "print(_plugged.issued, _plugged.door, _plugged.file)",
            '_of_plugins = {apiVersion = "v1", kind = "ConfigMap", metadata = {name = "plugged", namespace = _space}, '
            "data = _plugged}",
            "manifests.yaml_stream([*_objects, _given, _repeated, _of_plugins])",
        ]
    )
    kcl_options = [{"key": name, "value": value} for name, value in settings.items()]
    files = {
        "kcl.mod": '[package]\nname = "vault"\n',
        "clusters.yaml": "clusters: {hz: {context: one}}\nplacements: [{stacks: ['*/*'], clusters: [hz]}]\n",
        "vault/project.yaml": "name: vault\n",
        "vault/dev/stack.yaml": OUTPUTS,
        "vault/dev/main.k": main + "\n",
        "vault/dev/settings.yaml": json.dumps({"kcl_options": kcl_options}),
    }
    files |= {
        "plugins.yaml": json.dumps({"plugins": {"safe": {"settings": {"password": given.strong("plugin", "file")}}}}),
        "plugins/safe.py": PLUGIN.replace("RETURNED", given.strong("plugin", "return")),
    }
    files["masking.yaml"] = json.dumps(
        {
            "names": ["voucher"],
            "paths": ["ConfigMap data.licence", "* metadata.annotations['example.com/note']"],
            "patterns": ["acme_live_*"],
        }
    )
    files |= {
        "rollout.yaml": '{stages: [{name: all, stacks: ["vault/dev"], timeout: 2s, approval: true}]}',
        "policy.yaml": json.dumps(
            {
                "policies": [
                    {"name": "all", "check": "policies/all.k", "level": "warning"},
                    {"name": "tags", "rule": "image-registries", "with": {"allowed": ["-"]}, "level": "warning"},
                    {
                        "name": "names",
                        "rule": "required-metadata",
                        "with": {"annotations": {"example.com/note": "-"}},
                        "level": "warning",
                    },
                ]
            }
        ),
        "policies/all.k": 'violations = [{message = "${r.attributes}"} for r in option("resources")]\n',
    }
    environment = {"WB_PLUGIN_SAFE_DOOR": given.strong("plugin", "environment"), "WB_TRUST_PLUGINS": "1"}
    environment |= {name: given.strong("environment", name) for name in ENVIRONMENT}
    arguments = ("-Y", "settings.yaml", *(word for each in options.items() for word in ("-D", "=".join(each))))
    return Vault(given, files, arguments, environment)


PLUGIN = """from kcl.plugins import Plugin, PluginError
PLUGIN = Plugin()
@PLUGIN.function("issued() -> {str:str}", is_secret=True)
def issued(call):
    return {"value": "RETURNED"}
@PLUGIN.function("setting(name: str) -> str")
def setting(call, name):
    return call.settings[name]
@PLUGIN.function("fail() -> str")
def fail(call):
    raise PluginError("cannot log in with " + call.settings["door"], hint="is it " + call.settings["password"])
"""
_LONG = "Aq3Zx7Kp9Lm2Vb5Nc8Rt4Yw6Hs1Jd0Fg+/Ue5Io8Pa2Sx4Dc7Fv9Gb1Hn3Jm6Kl0Qw8Er2Tz"
WRAPPED: Mapping[str, Callable[[str], str]] = {
    "base64": lambda secret: "\n".join(textwrap.wrap(_encoded("user:" + secret), 64)),
    "base64-url": lambda secret: "key: |\n" + textwrap.indent("\n".join(textwrap.wrap(_encoded(secret), 76)), "  "),
    "shell": lambda secret: "run --password=" + " \\\n".join(textwrap.wrap(secret, 30)).replace(" \\", "\\") + " now",
    "folded": lambda secret: "text: >-\n  " + "\n  ".join(textwrap.wrap(secret, 40)) + "\n",
    "json": lambda secret: json.dumps({"lines": "\n".join(textwrap.wrap(_encoded(secret), 60))}),
}
"""Secrets that go on in the next line, as tools write them."""
NESTED: Mapping[str, Callable[[str], str]] = {
    "json": lambda secret: json.dumps({"a": json.dumps({"b": secret})}),
    "json-thrice": lambda secret: json.dumps({"a": json.dumps({"b": json.dumps({"c": secret})})}),
    "json-go": lambda secret: json.dumps({"a": secret}).replace("<", "\\u003c").replace("&", "\\u0026"),
    "json-php": lambda secret: json.dumps({"a": secret}).replace("/", "\\/"),
    "yaml": lambda secret: "a: '" + secret.replace("'", "''") + "'\n",
    "xml": lambda secret: f"<a b='{html.escape(secret)}'/>",
    "url-twice": lambda secret: (
        "https://x.example/?next=" + quote(f"https://y.example/?q={quote(secret, safe='')}", safe="")
    ),
    "base64-twice": lambda secret: _encoded(_encoded("user:" + secret)),
    "json-base64": lambda secret: _encoded(json.dumps({"user": "a", "b": secret})),
    "toml": lambda secret: 'a = "' + secret.replace("\\", "\\\\").replace('"', '\\"') + '"\n',
}
"""Secrets in texts in texts."""
OPTIONS = ("door", "db_password", "jwt", "smtp_auth", "parcelKey", "dsn", "session", "sundry")
SETTINGS = ("gate", "pgpassword", "auth_header", "apiKey", "colour", "size")


def _repeated(name: str) -> str:
    return f'in_{name} = "x " + _{name} + " y"'


def _url(given: Canaries, scheme: str) -> str:
    return f"{scheme}://app:{quote(given.strong('URL', scheme), safe='')}@db.example/orders"


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _pem(given: Canaries, kind: str) -> str:
    line = given.put(
        "key", f"{kind}PRIVATE KEY", f"cnry{len(given.given):03}PEM0123456789abcdefghijklmnopqrstuvwxyzABCD+/"
    )
    return f"-----BEGIN {kind}PRIVATE KEY-----\n{line}\n-----END {kind}PRIVATE KEY-----\n"


def _tokens(given: Canaries) -> Iterator[tuple[str, str]]:
    """Tokens whose look tells what they are, under names that say nothing."""
    letters = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7cF0iL"
    header = base64.urlsafe_b64encode(b'{"alg":"HS256","typ":"JWT"}').decode().rstrip("=")
    payload = base64.urlsafe_b64encode(b'{"sub":"canary","exp":1}').decode().rstrip("=")
    for name, token in {
        "jwt": f"{header}.{payload}.{letters}_{letters[:10]}",
        "github": f"ghp_{letters}{letters[4:8]}",
        "gitlab": f"glpat-{letters[:20]}",
        "slack": f"xoxb-123456789012-{letters[:24]}",
        "stripe": f"sk_live_{letters[2:26]}",
        "vault": f"hvs.{letters[:24]}",
        "npm": f"npm_{letters}{letters[1:5]}",
        "google": f"AIza{letters}{letters[3:6]}",
        "bearer": f"Authorization: Bearer {letters[8:30]}",
        "basic": f"Basic {_encoded('ann:' + letters[5:20])}",
        "slack-hook": f"https://hooks.slack.com/services/T0123ABCD/B0123ABCD/{letters[:24]}",
    }.items():
        given.put("token", name, token.rpartition(" ")[2])
        yield name, token


def _object(version: str, kind: str, name: str, *, annotations: Mapping[str, str] = {}, **content: Any) -> Any:
    metadata: dict[str, Any] = {"name": name, "namespace": SPACE}
    if annotations:
        metadata["annotations"] = dict(annotations)
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **content}


def _workloads(given: Canaries, number: str, element: str) -> Iterable[Any]:
    """The variables over all kinds of containers and workloads, every other one with a word for its value."""
    env = [
        {"name": name, "value": (given.weak if index % 2 else given.strong)("variable", name)}
        for index, name in enumerate(VARIABLES)
    ]
    env.append({"name": "VOUCHER", "value": given.weak("rule", "VOUCHER")})
    pod = {
        "securityContext": {"runAsUser": int(number)},
        "initContainers": [{"name": "first", "image": "init:1", "env": env[:4]}],
        "containers": [
            {
                "name": "web",
                "image": "web:1",
                "args": ["serve", "--pin", element, f"--user={number}"],
                "env": env[4:10],
            },
            {"name": "side", "image": "side:1", "env": [{"name": "MODE", "value": "production"}, *env[10:14]]},
        ],
    }
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": pod}
    yield _object("apps/v1", "Deployment", "web", spec={"selector": {"matchLabels": labels}, "template": template})
    last = {"restartPolicy": "Never", "containers": [{"name": "job", "image": "job:1", "env": env[14:]}]}
    job = {"template": {"spec": last}}
    yield _object("batch/v1", "CronJob", "night", spec={"schedule": "0 3 * * *", "jobTemplate": {"spec": job}})
    lone = {
        "containers": [
            {
                "name": "lone",
                "image": "lone:1",
                "env": [{"name": "ROOT_PASSWORD", "value": given.weak("variable", "of a Pod")}],
            }
        ]
    }
    yield _object("v1", "Pod", "lone", spec=lone)
