"""Secrets with the token of a ServiceAccount: filled in where it is there, deleted where it is not or was another."""

from __future__ import annotations

import base64
from collections.abc import Iterable

from runtimes.sandbox.controllers.base import Controller, Key, key_of
from runtimes.sandbox.store import Change, Object, copied
from runtimes.sandbox.tokens import unsigned

TYPE = "kubernetes.io/service-account-token"
ACCOUNT = "kubernetes.io/service-account.name"
ACCOUNT_UID = "kubernetes.io/service-account.uid"


class AccountTokens(Controller):
    name = "tokens-controller"
    watches = ("secrets", "serviceaccounts")

    def concerned(self, change: Change) -> Iterable[Key]:
        if change.resource[1] == "secrets":
            if (change.object or {}).get("type") == TYPE:
                yield change.key
            return
        for secret in self.hands.all("secrets", change.key[0]):
            if secret.get("type") == TYPE and _annotations(secret).get(ACCOUNT) == change.key[1]:
                yield key_of(secret)

    def reconcile(self, key: Key) -> None:
        secret = self.hands.find("secrets", *key)
        if secret is None or secret.get("type") != TYPE or secret["metadata"].get("deletionTimestamp"):
            return
        name, uid = _annotations(secret).get(ACCOUNT, ""), _annotations(secret).get(ACCOUNT_UID)
        account = self.hands.find("serviceaccounts", key[0], name)
        if account is None or uid not in (None, "", account["metadata"]["uid"]):
            self.hands.delete("secrets", secret)
            return
        data = secret.get("data") or {}
        missing = {part: text for part, text in _contents(secret, account).items() if part not in data}
        if not missing and uid:
            return
        filled = copied(secret)
        filled["metadata"]["annotations"] = {**_annotations(secret), ACCOUNT_UID: account["metadata"]["uid"]}
        filled["data"] = {**data, **{part: base64.b64encode(text.encode()).decode() for part, text in missing.items()}}
        self.hands.update("secrets", filled)


def _annotations(secret: Object) -> dict[str, str]:
    return secret["metadata"].get("annotations") or {}


def _contents(secret: Object, account: Object) -> dict[str, str]:
    namespace, name = account["metadata"]["namespace"], account["metadata"]["name"]
    of = "kubernetes.io/serviceaccount"
    claims = {
        "iss": "kubernetes/serviceaccount",
        f"{of}/namespace": namespace,
        f"{of}/secret.name": secret["metadata"]["name"],
        f"{of}/service-account.name": name,
        f"{of}/service-account.uid": account["metadata"]["uid"],
        "sub": f"system:serviceaccount:{namespace}:{name}",
    }
    # the certificate is that of the ConfigMap which every namespace has: none
    return {"ca.crt": "", "namespace": namespace, "token": unsigned(claims)}
