"""Which options hold secrets: by their names, by where their values end up, and where that cannot be told, by doubt.

An option may feed a Secret or a sensitive attribute under any name. Its value is then a secret itself, and is written
down nowhere: not in a saved plan, and in no message.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kcl.secrecy.rules import BUILT_IN, SecretRules
from runtimes.base.secret_texts import inside, secret_texts, texts
from workbench.engine.masking import Seal, is_opaque, masked, secrets_of
from workbench.engine.spec import Spec

_SHORTEST = 3
_NO_SECRETS = frozenset({"true", "false", "none", "null"})

Options = Mapping[str, str]


def named_secret(options: Options, rules: SecretRules = BUILT_IN) -> frozenset[str]:
    """Returns the values of options whose names say that they are secret, and secrets by their look in any.

    Very short ones would hide everything.
    """
    named = {
        value
        for name, value in options.items()
        if rules.suggests(name) and len(value) >= _SHORTEST and value.lower() not in _NO_SECRETS
    }
    return frozenset({*named, *rules.found(options.values())})


def fed_secrets(spec: Spec, options: Options) -> frozenset[str]:
    """Returns the values of options that are in a secret of the Spec, where they look like nothing else."""
    names = spec.names if options else frozenset()
    doubtful = {value for value in options.values() if is_opaque(value) and value not in names}
    secret = every_secret(spec) if doubtful else frozenset()
    return frozenset(value for value in doubtful if any(value in each for each in secret))


def withheld(spec: Spec, options: Options) -> frozenset[str]:
    """Returns the names of options whose values may not be written down.

    Those that are called a secret or have a part in one, unless the value is there for everybody to read; and, as it
    may have been made into a secret (by a digest, say), what looks like one and is seen nowhere.
    """
    secret = every_secret(spec)
    if not secret:
        return frozenset(name for name, value in options.items() if _tells(spec.rules, name, value))
    finder, open_texts = secret_texts(spec.secrets), "\n".join(_open_texts(spec))

    def is_withheld(name: str, value: str) -> bool:
        if _tells(spec.rules, name, value) or finder.hides(value):
            return True
        is_part = value in secret or (len(value) >= _SHORTEST and any(value in each for each in secret))
        return (is_part or is_opaque(value)) and value not in open_texts

    return frozenset(name for name, value in options.items() if is_withheld(name, value))


def _tells(rules: SecretRules, name: str, value: str) -> bool:
    return rules.suggests(name) or rules.is_secret_text(value)


def every_secret(spec: Spec) -> frozenset[str]:
    """All that is secret in a Spec, what is too short to be looked for included."""
    found = {text for each in spec for text in secrets_of(each, spec.rules)} | spec.secrets
    return frozenset({*found, *(part for text in found for part in inside(text))})


def _open_texts(spec: Spec) -> Iterable[str]:
    seal = Seal.random().knowing(spec.secrets, spec.rules)
    for each in spec:
        yield from texts(masked(each.attributes, spec.hidden(each), seal))
