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
    """A file with a key and a certificate for loopback and these hosts, which no public authority vouches for."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Keldness harbour board")])
    builder = x509.CertificateBuilder(name, name, key.public_key(), 5, now - timedelta(1), now + timedelta(9))
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    hosts = [x509.IPAddress(ipaddress.ip_address("127.0.0.1")), *map(x509.DNSName, names)]
    signed = builder.add_extension(x509.SubjectAlternativeName(hosts), critical=False).sign(key, hashes.SHA256())
    written = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file = folder / "own.pem"
    file.write_bytes(written + signed.public_bytes(serialization.Encoding.PEM))
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
