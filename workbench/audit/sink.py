"""Where entries of the audit trail go beside the disk: a syslog that others keep, so that the trail has an anchor.

Datagrams as RFC 3164 has them, facility local0, severity info: to a local socket, or by UDP. An entry is on disk before
it is sent. One that cannot be sent is a failure as one that cannot be written: no further step is started. What a
network loses of UDP on the way nobody learns; who needs every entry points this at a local daemon that forwards.
"""

from __future__ import annotations

import socket
from datetime import UTC, datetime

from workbench.audit.trail import Sink
from workbench.engine.errors import ReleaseFailure
from workbench.settings import BadSetting

_PRIORITY = 16 * 8 + 6
_TAG = "konfig-workbench-audit"


def sink(where: str) -> Sink | None:
    """Returns what sends entries to `where`, a socket's path or HOST:PORT; None for none. Raises `BadSetting`."""
    if not where:
        return None
    if where.startswith("/"):
        return lambda entry: _send(socket.AF_UNIX, where, entry, where)
    host, _, port = where.rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise BadSetting(
            f"WB_AUDIT_SYSLOG needs to be a path such as /dev/log, or HOST:PORT; got {where!r}",
            hint="unset WB_AUDIT_SYSLOG",
        )
    name, number = host.strip("[]"), int(port)
    family = socket.AF_INET6 if ":" in name else socket.AF_INET
    return lambda entry: _send(family, (name, number), entry, where)


def _send(family: socket.AddressFamily, address: str | tuple[str, int], entry: bytes, where: str) -> None:
    stamp = f"{datetime.now(UTC):%b %d %H:%M:%S}"
    message = f"<{_PRIORITY}>{stamp} {socket.gethostname()} {_TAG}: ".encode() + entry
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as channel:
            channel.sendto(message, address)
    except OSError as error:
        raise ReleaseFailure(
            f"an entry of the audit trail cannot be sent: {error.strerror or error}",
            where=where,
            hint="start the syslog daemon, or unset WB_AUDIT_SYSLOG",
        ) from error
