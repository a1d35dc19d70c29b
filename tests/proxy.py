"""A forward proxy on loopback, which sends each host to a server of the test, with TLS for those that CONNECT."""

from __future__ import annotations

import asyncio
import ipaddress
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


def own_authority(folder: Path, *names: str) -> Path:
    """A file with the key and the certificate of loopback and these hosts, and of the authority that vouches for it.

    No public authority vouches for that one.
    """
    keys, now = [ec.generate_private_key(ec.SECP256R1()) for _ in range(2)], datetime.now(UTC)
    board, harbour = (
        x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]) for name in ("Keldness harbour board", "Keldness")
    )

    def certificate(subject: x509.Name, number: int, is_authority: bool, *more: x509.ExtensionType) -> bytes:
        builder = x509.CertificateBuilder(board, subject, keys[number].public_key(), 5 + number)
        builder = builder.not_valid_before(now - timedelta(1)).not_valid_after(now + timedelta(9))
        limits = x509.BasicConstraints(ca=is_authority, path_length=None)
        for extension in (limits, *more):
            builder = builder.add_extension(extension, critical=extension is limits)
        return builder.sign(keys[0], hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    hosts = [x509.IPAddress(ipaddress.ip_address("127.0.0.1")), *map(x509.DNSName, names)]
    written = keys[1].private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    leaf = certificate(harbour, 1, False, x509.SubjectAlternativeName(hosts))
    file = folder / "own.pem"
    file.write_bytes(written + leaf + certificate(board, 0, True))
    return file


@dataclass
class Proxy:
    """What the proxy was asked for, and where it is."""

    url: str
    asked: list[str] = field(default_factory=list)
    """The first line of each request."""
    passwords: list[str] = field(default_factory=list)


@contextmanager
def proxy(ports: Mapping[str, int], certificate: Path | None = None) -> Iterator[Proxy]:
    """A proxy that knows these hosts; others get status 502."""
    loop, here = asyncio.new_event_loop(), Proxy("")
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    server = asyncio.run_coroutine_threadsafe(_listen(here, ports, certificate), loop).result()
    try:
        yield here
    finally:

        async def stop() -> None:
            server.close()
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(stop(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _listen(here: Proxy, ports: Mapping[str, int], certificate: Path | None) -> asyncio.Server:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        opened = [writer]
        try:
            await answer(reader, writer, opened)
        finally:
            for one in opened:
                one.transport.abort()

    async def answer(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter, opened: list[asyncio.StreamWriter]
    ) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            line, _, rest = head.partition(b"\r\n")
            method, target, version = line.decode().split(" ")
            here.asked.append(f"{method} {target}")
            here.passwords += [one.decode() for one in rest.split(b"\r\n") if one.lower().startswith(b"proxy-auth")]
            host = target.removeprefix("http://").partition("/")[0].partition(":")[0]
            if host not in ports:
                writer.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
                await writer.drain()
                writer.close()
                return
            inner, to_server = await asyncio.open_connection("127.0.0.1", ports[host])
            opened.append(to_server)
            if method == "CONNECT":
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                await writer.drain()
                context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
                context.load_cert_chain(str(certificate))
                await writer.start_tls(context)
            else:
                path = "/" + target.removeprefix("http://").partition("/")[2]
                to_server.write(f"{method} {path} {version}\r\n".encode() + rest)
            await asyncio.gather(_relay(reader, to_server), _relay(inner, writer))

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    here.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    return server


async def _relay(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with suppress(OSError, ssl.SSLError):
        while data := await source.read(65_536):
            target.write(data)
            await target.drain()
    with suppress(OSError, ssl.SSLError):
        target.close()
