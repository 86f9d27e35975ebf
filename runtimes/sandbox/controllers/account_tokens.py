"""Secrets with the token of a ServiceAccount: filled in where it is there, deleted where it is not or was another."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Final

from runtimes.sandbox.controllers.base import Controller, Key, key_of
from runtimes.sandbox.store import Change, Object, copied
from runtimes.sandbox.tokens import ACCOUNT_NAME, ACCOUNT_UID, TOKEN_SECRET, unsigned

_PARTS: Final = ("ca.crt", "namespace", "token")


class AccountTokens(Controller):
    name = "tokens-controller"
    watches = ("secrets", "serviceaccounts")

    def concerned(self, change: Change) -> Iterable[Key]:
        if change.resource[1] == "secrets":
            if change.object.get("type") == TOKEN_SECRET:
                yield change.key
            return
        for secret in self.hands.all("secrets", change.key[0]):
            if secret.get("type") == TOKEN_SECRET and _annotations(secret).get(ACCOUNT_NAME) == change.key[1]:
                yield key_of(secret)

    def reconcile(self, key: Key) -> None:
        secret = self.hands.find("secrets", *key)
        if secret is None or secret.get("type") != TOKEN_SECRET or secret["metadata"].get("deletionTimestamp"):
            return
        name, uid = _annotations(secret).get(ACCOUNT_NAME, ""), _annotations(secret).get(ACCOUNT_UID)
        account = self.hands.find("serviceaccounts", key[0], name)
        if account is None or uid not in (None, "", account["metadata"]["uid"]):
            self.hands.delete("secrets", secret)
            return
        data = secret.get("data") or {}
        missing = [part for part in _PARTS if part not in data]
        if not missing and uid:
            return
        filled = copied(secret)
        filled["metadata"]["annotations"] = {**_annotations(secret), ACCOUNT_UID: account["metadata"]["uid"]}
        filled["data"] = dict(data)
        for part in missing:
            text = self._content(part, secret, account)
            filled["data"][part] = base64.b64encode(text.encode()).decode()
        self.hands.update("secrets", filled)

    def _content(self, part: str, secret: Object, account: Object) -> str:
        match part:
            case "namespace":
                return str(account["metadata"]["namespace"])
            case "token":
                return unsigned(_claims(secret, account), self.hands.cluster.rng)
        return ""  # the certificate is that of the ConfigMap which every namespace has: none


def _annotations(secret: Object) -> dict[str, str]:
    return secret["metadata"].get("annotations") or {}


def _claims(secret: Object, account: Object) -> dict[str, str]:
    namespace, name = account["metadata"]["namespace"], account["metadata"]["name"]
    of = "kubernetes.io/serviceaccount"
    return {
        "iss": "kubernetes/serviceaccount",
        f"{of}/namespace": namespace,
        f"{of}/secret.name": secret["metadata"]["name"],
        f"{of}/service-account.name": name,
        f"{of}/service-account.uid": account["metadata"]["uid"],
        "sub": f"system:serviceaccount:{namespace}:{name}",
    }
