"""A secret in a text in a text, or over several lines, is found by everybody who takes secrets out of what is said."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable

import pytest

from runtimes.base import Resource, RuntimeType, TerraformId
from runtimes.terraform import configuration
from tests.attacks.secret_repository import NESTED, WRAPPED
from workbench.engine.masking import Seal, masked, sealed
from workbench.engine.scrubbing import masked_text, scrubbed

SECRET = "cnry \"Kq7' <&ü\\Zx/" + "Aq3Zx7Kp9Lm2Vb5Nc8Rt4Yw6Hs1Jd0Fg+Ue5Io8Pa2Sx4Dc7Fv9Gb1Hn3=w"
TRACE = "Rt4Yw6Hs1Jd0Fg"
"""A part of it that no form writes otherwise, unless base64 or a line parts it."""
KNOWN = frozenset({SECRET})
RESOURCE = Resource(TerraformId("acme", "cloud", "thing", "db"), RuntimeType.TERRAFORM, {"password": SECRET})
SCRUBBERS: dict[str, Callable[[str], str]] = {
    "messages and logs": lambda text: masked_text(text, KNOWN),
    "events": lambda text: str(scrubbed({"message": (text,)}, KNOWN)),
    "what terraform says": configuration.build([RESOURCE], secrets=KNOWN).scrubbed,
    "bodies": lambda text: str(masked({"a": [text]}, (), Seal.random().knowing(KNOWN))),
    "records": lambda text: str(sealed({"a": [text]}, (), Seal.random().knowing(KNOWN))),
}
FORMS = {f"wrapped {name}": each for name, each in WRAPPED.items()} | {
    f"in {name}": each for name, each in NESTED.items()
}


@pytest.mark.parametrize("who", SCRUBBERS)
@pytest.mark.parametrize("form", FORMS)
def test_no_wrapping_hides_a_secret(form: str, who: str) -> None:
    said = SCRUBBERS[who](f"before\n{FORMS[form](SECRET)}\nafter")
    unwrapped = said.replace("\\", "").replace("\n", "").replace(" ", "")
    encoded = base64.b64encode(b"user:" + SECRET.encode()).decode()[20:40]
    assert TRACE not in unwrapped and encoded not in unwrapped and "Kq7" not in unwrapped
    again = base64.b64encode(base64.b64encode(b"user:" + SECRET.encode())).decode()[20:40]
    assert again not in unwrapped and base64.b64encode(json.dumps(SECRET).encode()).decode()[12:32] not in unwrapped
