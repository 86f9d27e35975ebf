"""The plugin protocol of terraform for a provider of the package `tf`: handshake, TLS, calls, shutdown.

`tf.runner` does this too, but version 1.2.0 ends all calls under way when terraform asks it to stop, and on a ^C that
the whole process group hears: what was just created is then lost from the state. Here a stop lets the calls end, the
interrupt is not heard, and the process ends when terraform says `Shutdown` or is gone.

The protocol: https://github.com/hashicorp/go-plugin/blob/main/docs/internals.md
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import grpc
from tf.gen import grpc_controller_pb2, grpc_controller_pb2_grpc, grpc_stdio_pb2_grpc, tfplugin_pb2_grpc
from tf.provider import ProviderServicer

from kcl import bounds, whole_file

_COOKIE: Final = ("TF_PLUGIN_MAGIC_COOKIE", "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2")
_CORE_PROTOCOL, _PLUGIN_PROTOCOL = 1, 6
_CALLS: Final = 64
"""At a time: those of terraform's parallelism wait here for latency, and a stop has to get through."""
_VALID_DAYS: Final = 365
_SOCKET: Final = "socket"
_PREFIX: Final = "wb-provider-"


class _Controller(grpc_controller_pb2_grpc.GRPCControllerServicer):  # type: ignore[misc]  # generated, without types
    def __init__(self, ended: threading.Event) -> None:
        self._ended = ended

    def Shutdown(self, request: Any, context: Any) -> Any:
        self._ended.set()
        return grpc_controller_pb2.Empty()


class _Stdio(grpc_stdio_pb2_grpc.GRPCStdioServicer):  # type: ignore[misc]  # generated, without types
    """What a provider prints could be streamed; nothing is printed."""

    def StreamStdio(self, request: Any, context: Any) -> Iterator[Any]:
        return iter(())


def serve(provider: Any) -> int:
    """Serves until terraform is done with it.

    Returns only where terraform did not start it. Otherwise the process ends here, without waiting for calls that are
    still under way: nobody would hear their answers.
    """
    if os.environ.get(_COOKIE[0]) != _COOKIE[1]:
        sys.stderr.write("This is a Terraform provider: terraform starts it, nobody else has use for it.\n")
        return 1
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # terraform hears it too, and says what is to be done
    ended = threading.Event()
    server = grpc.server(ThreadPoolExecutor(_CALLS))
    tfplugin_pb2_grpc.add_ProviderServicer_to_server(ProviderServicer(provider), server)
    grpc_controller_pb2_grpc.add_GRPCControllerServicer_to_server(_Controller(ended), server)
    grpc_stdio_pb2_grpc.add_GRPCStdioServicer_to_server(_Stdio(), server)
    key, certificate = _certificate()
    folder = _new_folder()
    try:
        socket = folder / _SOCKET
        # terraform offers a certificate too, of a curve (P-521) that gRPC's TLS does not know; the folder is private
        server.add_secure_port(f"unix://{socket}", grpc.ssl_server_credentials([(key, certificate)]))
        server.start()
        _shake_hands(socket, certificate)
        _wait(ended, os.getppid())
        server.stop(grace=0.2).wait()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


def _new_folder() -> Path:
    """Makes a private folder that names this process, and removes those of processes that were killed.

    Its name is short, since the path of a socket may have no more than some hundred characters.
    """
    temporary, own = Path(tempfile.gettempdir()), os.getpid()
    for left in temporary.glob(f"{_PREFIX}*"):
        with suppress(OSError, ValueError):
            process = int(left.name.removeprefix(_PREFIX))
            if left.lstat().st_uid == os.getuid() and (process == own or not _runs(process)):
                (left / _SOCKET).unlink(missing_ok=True)
                left.rmdir()  # which keeps what somebody else put there
    folder = temporary / f"{_PREFIX}{own}"
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        return Path(tempfile.mkdtemp())
    return folder


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _shake_hands(socket: Path, certificate: bytes) -> None:
    body = "".join(certificate.decode().splitlines()[1:-1]).rstrip("=")
    parts = (_CORE_PROTOCOL, _PLUGIN_PROTOCOL, "unix", socket, "grpc", body)
    sys.stdout.write("|".join(str(each) for each in parts) + "\n")
    sys.stdout.flush()


def _wait(ended: threading.Event, parent: int) -> None:
    """Returns when terraform said so, or was killed: nobody would end this process then."""
    while not ended.wait(0.25):
        if os.getppid() != parent:
            return


def _certificate() -> tuple[bytes, bytes]:
    """Returns key and certificate in PEM, recreated where there are none or they are old.

    They are kept because making them means importing `cryptography`, and terraform starts a provider several times;
    in a folder of this user alone, and not in one that the installation names: the digest of what is installed would
    differ from place to place, and terraform locks that.
    """
    folder = Path(tempfile.gettempdir()) / f"sandbox-provider-{os.getuid()}"
    file = folder / "certificate.json"
    with suppress(OSError, ValueError, KeyError):
        _own(folder)
        kept = bounds.load_json(file.read_text())
        if time.time() < kept["made"] + (_VALID_DAYS - 1) * 86400:
            return kept["key"].encode(), kept["certificate"].encode()
    key, certificate = _new_certificate()
    with suppress(OSError):  # it then costs time at the next start, no more
        _own(folder)
        made = {"made": time.time(), "key": key.decode(), "certificate": certificate.decode()}
        whole_file.write(file, json.dumps(made).encode(), durable=False)  # one that is not whole is made again
    return key, certificate


def _own(folder: Path) -> None:
    """Makes the folder; raises `PermissionError` where somebody else could have written into it."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or stat.S_IMODE(found.st_mode) & 0o077:
        raise PermissionError(f"{folder} is not ours alone")


def _new_certificate() -> tuple[bytes, bytes]:
    from datetime import UTC, datetime, timedelta

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + timedelta(days=_VALID_DAYS))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return private, certificate.public_bytes(pem)
