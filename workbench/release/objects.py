"""A bucket of an object store, through obstore: read, list, and write only over what was read. The one user of obstore.

Every write is bound to a version (the ETag, and what else the store names it by). One whose answer was lost is looked
for by its content, which no other write has. What a server says is never quoted: of an error only its code, as it may
hold what was sent. An empty list is believed only of a server that also says of an object that it is not there: a login
page has no entries either. Requests run in threads: what obstore has for event loops may end the process with a signal
when it is on its way out.
"""

from __future__ import annotations

import builtins
import json
import re
import secrets
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from anyio import to_thread

from kcl.records import dataclass
from runtimes.base import (
    Forbidden,
    Misconfigured,
    Moved,
    NotThere,
    Overloaded,
    RuntimeFailure,
    Unauthenticated,
    Unreachable,
)
from workbench.bucket_url import BucketUrl

if TYPE_CHECKING:
    from obstore.store import ObjectStore

MOST_OBJECTS: Final = 4000
MOST_BYTES: Final = 4_000_000
_CODE = re.compile(r"<Code>([A-Za-z]{1,64})</Code>")
_STATUS = re.compile(r"status code: (\d{3})\b")
_CLOCK: Final = frozenset({"RequestTimeTooSkewed", "RequestExpired"})
_NO_BUCKET: Final = frozenset({"NoSuchBucket", "ContainerNotFound", "InvalidBucketName"})
_NO_OBJECT: Final = frozenset({"NoSuchKey", "BlobNotFound"})
_CREDENTIALS: Final = frozenset(
    {"InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken", "AuthenticationFailed",
     "TokenRefreshRequired", "InvalidAuthenticationInfo"}
)  # fmt: skip
_NOT_CONDITIONAL: Final = frozenset({"NotImplemented", "UnsupportedHeader"})
_ANSWER_SECONDS = 10
_RETRYING_SECONDS = 10
_VARIABLES: Final = {
    "s3": "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS",
    "az": "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY",
}


@dataclass(frozen=True, slots=True)
class Listed:
    key: str
    size: int


class Objects:
    """The objects below the prefix of a URL. Connects when it is first asked; all raise `RuntimeFailure`."""

    def __init__(self, url: BucketUrl) -> None:
        self.url = url
        self._store: ObjectStore | None = None
        self._is_proven = False

    @property
    def place(self) -> str:
        return str(self.url)

    async def list(self, folder: str) -> list[Listed]:
        """Returns what lies directly in a folder."""
        found = await to_thread.run_sync(self._list, folder)
        if not found and await self.read(f"{folder}/nothing-{secrets.token_hex(8)}") is not None:
            raise self._no_store()
        return [each for each in found if each.key.rpartition("/")[0] == folder]

    async def folders(self, prefix: str) -> tuple[str, ...]:
        """Returns the names of the folders directly below the prefix of the URL that begin so."""
        found = await to_thread.run_sync(self._folders)
        if not found and await self.read(f"{prefix}nothing-{secrets.token_hex(8)}") is not None:
            raise self._no_store()
        return tuple(each for each in found if each.startswith(prefix))

    async def read(self, key: str) -> tuple[bytes, str] | None:
        """Returns content and version, None if there is none. What is too large is cut off after `MOST_BYTES` + 1."""
        return await to_thread.run_sync(self._read, key)

    async def write(self, key: str, content: bytes, version: str = "") -> str:
        """Makes an object, or writes over that version; returns the new one. Raises `Moved`, `NotThere`.

        `content` has to be one that nobody else writes.
        """
        written = await self._put(key, content, version)
        if written is not None:
            return written
        there = await self.read(key)
        if there is None:
            raise NotThere("it is gone", target=self.place, subject=key)
        if there[0] == content:
            return there[1]  # it was ours: its answer was lost, and it was sent again
        raise Moved("somebody else wrote it meanwhile", target=self.place, subject=key)

    async def remove(self, key: str) -> None:
        """Deletes it, whatever it is by now; absent already is success."""
        await to_thread.run_sync(self._remove, key)

    async def prove(self, folder: str) -> None:
        """Raises `Misconfigured` where writes are not refused that should be: no lock holds there. Asks once."""
        if self._is_proven:
            return
        key = f"{folder}/probe-{secrets.token_hex(8)}"
        first = await self._put(key, b"1", "")
        if first is None or await self._put(key, b"2", "") is not None:
            raise self._not_conditional()
        if await self._put(key, b"3", first) is None or await self._put(key, b"4", first) is not None:
            raise self._not_conditional()
        await self.remove(key)
        self._is_proven = True

    async def _put(self, key: str, content: bytes, version: str) -> str | None:
        """Returns None where the store refuses it: there already, or another version, or none."""
        return await to_thread.run_sync(self._put_now, key, content, version)

    def _list(self, folder: str) -> builtins.list[Listed]:
        store = self._opened()
        found: builtins.list[Listed] = []
        try:
            for chunk in store.list(prefix=folder):
                found += [Listed(str(each["path"]), int(each["size"])) for each in chunk]
                if len(found) > MOST_OBJECTS:
                    raise Misconfigured(
                        f"{folder} has more than {MOST_OBJECTS} objects, which no stack's releases are",
                        target=self.place,
                        hint="delete there what is not the workbench's",
                    )
        except Exception as error:
            raise self._failure(error) from None
        return found

    def _folders(self) -> builtins.list[str]:
        store = self._opened()
        from obstore import list_with_delimiter

        try:
            return [str(each).rstrip("/") for each in list_with_delimiter(store)["common_prefixes"]]
        except Exception as error:
            raise self._failure(error) from None

    def _read(self, key: str) -> tuple[bytes, str] | None:
        store = self._opened()
        from obstore import get

        try:
            result = get(store, key)
            version, content = _version(result.meta), b""
            for chunk in result.stream():
                content += bytes(chunk)
                if len(content) > MOST_BYTES:
                    break
        except FileNotFoundError as error:
            if _code(error) not in _NO_OBJECT:
                raise self._failure(error) from None
            return None
        except Exception as error:
            raise self._failure(error) from None
        return content[: MOST_BYTES + 1], version

    def _remove(self, key: str) -> None:
        store = self._opened()
        from obstore import delete

        try:
            delete(store, key)
        except FileNotFoundError as error:
            if _code(error) not in _NO_OBJECT:
                raise self._failure(error) from None
        except Exception as error:
            raise self._failure(error) from None

    def _put_now(self, key: str, content: bytes, version: str) -> str | None:
        store = self._opened()
        from obstore import put
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        mode: Any = json.loads(version) if version else "create"
        try:
            result = put(store, key, content, mode=mode, use_multipart=False)
        except (AlreadyExistsError, PreconditionError):
            return None
        except Exception as error:
            if _status(error) in (409, 412):
                return None
            raise self._failure(error) from None
        return _version(result)

    def _opened(self) -> ObjectStore:
        if self._store is None:
            try:
                self._store = _open(self.url)
            except ImportError:
                raise Misconfigured(
                    "obstore is not installed, which releases in an object store need",
                    target=self.place,
                    hint="pip install 'konfig-workbench[bucket]'",
                ) from None
            except Exception as error:
                raise self._failure(error) from None
        return self._store

    def _failure(self, error: Exception) -> RuntimeFailure:
        """Returns what to say of an error, without anything of its text."""
        if isinstance(error, RuntimeFailure):
            return error
        text, code, status = _said(error), _code(error), _status(error)
        coded = f" ({code})" if code else ""
        if code in _CLOCK:
            return Unauthenticated(
                f"the clock of this machine is not that of the store{coded}", target=self.place, hint="set the clock"
            )
        if code in _NO_BUCKET:
            return Misconfigured(
                f"there is no such bucket{coded}", target=self.place, hint="make it, or correct WB_RELEASES"
            )
        if code in _CREDENTIALS or status == 401:
            return Unauthenticated(f"it refuses the credentials{coded}", target=self.place, hint=self._variables())
        if status == 403 and "169.254.169.254" not in text:
            return Forbidden(f"it denies this{coded}", target=self.place)
        if status == 404 or "ETag Header missing" in text or "invalid list response" in text:
            return self._no_store()
        if "169.254" in text or "metadata" in text or "Account must be" in text or "redential" in text:
            return Unauthenticated("no credentials for it are known", target=self.place, hint=self._variables())
        if code in _NOT_CONDITIONAL or status == 501 or type(error).__name__ == "NotSupportedError":
            return self._not_conditional()
        if status in (429, 503):
            return Overloaded(f"it asks to come back later{coded}", target=self.place)
        if "redirect" in text or status in (301, 307):
            return Misconfigured(
                f"it is elsewhere{coded}", target=self.place, hint="name its region: ?region=..., or AWS_REGION"
            )
        if status:
            return Unreachable(f"it answers with status {status}{coded}", target=self.place)
        return Unreachable("it does not answer", target=self.place, hint="is the address right, and the network there?")

    def _variables(self) -> str:
        return f"set what the provider's own tools read: {_VARIABLES[self.url.scheme]}"

    def _no_store(self) -> Misconfigured:
        return Misconfigured(
            "what answers there is no object store",
            target=self.place,
            hint="is the endpoint right, or a proxy before it?",
        )

    def _not_conditional(self) -> Misconfigured:
        return Misconfigured(
            "it does not refuse writes over what somebody else wrote (conditional writes), so no lock can hold there",
            target=self.place,
            hint="use a store that heeds If-Match and If-None-Match on writes, or WB_RELEASES=clusters",
        )


def _open(url: BucketUrl) -> ObjectStore:
    """Credentials are what obstore finds in the environment; raises what obstore raises, `ImportError` without it."""
    from obstore.store import AzureStore, GCSStore, S3Store

    client: Any = {
        "timeout": timedelta(seconds=_ANSWER_SECONDS),
        "connect_timeout": timedelta(seconds=5),
        "allow_http": url.endpoint.startswith("http://"),
    }
    retrying: Any = {"max_retries": 3, "retry_timeout": timedelta(seconds=_RETRYING_SECONDS)}
    common: dict[str, Any] = {"prefix": url.prefix or None, "client_options": client, "retry_config": retrying}
    match url.scheme:
        case "gs":
            return GCSStore(url.bucket, config=_given(base_url=url.endpoint), **common)
        case "az":
            return AzureStore(url.bucket, config=_given(account_name=url.account, endpoint=url.endpoint), **common)
        case _:
            config = _given(endpoint=url.endpoint, region=url.region, conditional_put="etag")
            return S3Store(url.bucket, config=config, **common)


def _given(**config: str) -> Any:
    return {name: value for name, value in config.items() if value}


def _version(meta: Any) -> str:
    """Returns the text by which a version is asked for again, empty where the store tells none."""
    named = {name: value for name in ("e_tag", "version") if isinstance(value := meta.get(name), str) and value}
    return json.dumps(named) if named else ""


def _said(error: Exception) -> str:
    return str(error).partition("Debug source")[0]


def _code(error: Exception) -> str:
    found = _CODE.search(_said(error))
    return found[1] if found else ""


def _status(error: Exception) -> int:
    found = _STATUS.search(_said(error))
    return int(found[1]) if found else 0
