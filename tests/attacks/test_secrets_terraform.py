"""Secrets of Terraform resources, short ones and those without a telling name too, with the real terraform."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.attacks.secret_repository import NESTED, WRAPPED, Canaries
from tests.attacks.with_terraform import STACK, TERRAFORM, HostileStack, data

pytestmark = pytest.mark.skipif(TERRAFORM is None, reason="neither terraform nor tofu is on PATH")
STATES = ("terraform.tfstate", "terraform.tfstate.backup", "terraform.tfstate.last")
LISTENING = """#!/bin/sh
tr '\\0' ' ' < /proc/$$/cmdline >> {seen}
echo >> {seen}
env >> {environments}
exec {terraform} "$@"
"""


@pytest.mark.slow
def test_no_command_file_or_command_line_has_a_secret(tmp_path: Path) -> None:
    given = Canaries()
    hook = given.put("token", "hook", "aB3dE6gH9jK2mN5p")
    line = given.put("key", "PEM", "canaryPEM0123456789abcdefghij")
    given.put("number", "a pin", "483920175")
    long = given.put("wrapped", "long", "cnry-long/Aq3Zx7Kp9Lm2Vb5Nc8Rt4Yw6Hs1Jd0Fg+/Ue5Io8Pa2Sx4Dc7Fv9Gb1Hn3Jm6Kl0Qw8")
    plugin, shell = given.strong("plugin", "environment"), given.strong("environment", "of the user")
    given_by_user = {"WB_PLUGIN_SAFE_DOOR": plugin, "AWS_SECRET_ACCESS_KEY": shell}
    written: dict[str, Any] = {
        "password": given.weak("variable", "password"),
        "smtp_auth": given.strong("variable", "smtp_auth"),
        "session_key": given.weak("variable", "session_key"),
        "connection": f"postgres://app:{given.weak('URL', 'postgres')}@db.example/orders",
        "other": f"https://ann:{given.strong('URL', 'https').replace('/', '_')}@git.example/x.git",
        "hook": f"https://hooks.slack.com/services/T0123ABCD/B0123ABCD/{hook}",
        "key": f"-----BEGIN PRIVATE KEY-----\n{line}\n-----END PRIVATE KEY-----",
        "pin_token": 483920175,
        "again": {"user": 483920175, "list": ["a", {"b": "port 483920175;"}]},
        "by_name": {given.put("name of a key", "of a map", "cnry-Key7x9Zt4q"): "on"},
        "key_secret": "cnry-Key7x9Zt4q",
        **{f"wrapped_{name.replace('-', '_')}": wrap(long) for name, wrap in WRAPPED.items()},
        **{f"nested_{name.replace('-', '_')}": wrap(long) for name, wrap in NESTED.items()},
        "long_token": long,
        "secret_name": "orders-secret",
        "passThrough": "on",
    }
    given.put("URL", "https as written", written["other"].split(":")[2].split("@")[0])
    hostile = HostileStack(tmp_path)
    hostile.write(data(attributes={"input": written}))
    listening = tmp_path / "bin" / "terraform"
    listening.parent.mkdir()
    seen = tmp_path / "command lines"
    assert TERRAFORM is not None
    environments = tmp_path / "environments"
    listening.write_text(
        LISTENING.format(seen=f"'{seen}'", environments=f"'{environments}'", terraform=shutil.which(TERRAFORM))
    )
    listening.chmod(0o755)
    path = os.pathsep.join((str(listening.parent), os.environ["PATH"]))
    leaking: dict[str, list[str]] = {}

    def look(*arguments: str) -> None:
        ended = hostile.wb(*arguments, PATH=path, **given_by_user)
        leaking[" ".join(arguments)] = given.leaks(ended.text)
        assert ended.code in (0, 1), ended.text

    for format_ in ("table", "json", "yaml"):
        look("diff", "-o", format_, STACK)
        look("plan", "-o", format_, STACK)
    look("apply", STACK, "--confirm", "yes", "--no-watch")
    shown = hostile.wb("compile", "-o", "yaml", STACK, PATH=path).text
    assert "orders-secret" in shown
    look("explain", STACK, "builtin:terraform:terraform_data:x", "input.connection")
    main = hostile.root / "shop/dev/main.k"
    main.write_text(main.read_text().replace("orders-secret", "other-secret"))
    for format_ in ("table", "json"):
        look("diff", "-o", format_, STACK)
    look("audit", "-o", "json")
    assert not any(leaking.values()), {name: found for name, found in leaking.items() if found}
    kept = given.leaking_files(tmp_path / "state", tmp_path / "cache")
    assert {name: found for name, found in kept.items() if Path(name).name not in (*STATES, "main.tf.json")} == {}
    # what an entry is called, in a map of the user's, terraform has to be told as it is
    (configured,) = (found for name, found in kept.items() if Path(name).name == "main.tf.json")
    assert configured == ["name of a key of a map"]
    assert any(Path(name).name in STATES for name in kept)
    assert "apply" in seen.read_text() and given.leaks(seen.read_text()) == []
    said = environments.read_text()
    assert plugin not in said and shell in said and "WB_STATE_DIR" not in said
