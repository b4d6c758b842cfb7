"""A small origin on 127.0.0.1 that can break off, ignore ranges or lie, and a wheel to match."""

from __future__ import annotations

import hashlib
import threading
import time
import zipfile
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from alignset.data.sources import DataSource, File

CONTENT = bytes(range(256)) * 4096  # 1 MiB


@dataclass
class Origin:
    """What the server sends, and what it was asked for."""

    content: bytes = CONTENT
    break_after: int | None = None  # bytes of one answer, then the line goes dead
    breaks: int = 10**9  # how many answers break off
    ranges: bool = True
    status: int | None = None
    seconds: float = 0.0  # pause between pieces
    hold_after: int | None = None  # bytes of one answer, then it waits for ``release``
    release: threading.Event = field(default_factory=threading.Event)
    asked: list[str | None] = field(default_factory=list)
    url: str = ""


def _handler(origin: Origin) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *args: object) -> None:
            pass

        def do_GET(self) -> None:
            asked = self.headers.get("Range")
            origin.asked.append(asked)
            if origin.status is not None:
                self.send_error(origin.status)
                return
            start = int(asked.removeprefix("bytes=").rstrip("-")) if asked and origin.ranges else 0
            body = origin.content[start:]
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if origin.break_after is not None and origin.breaks > 0:
                origin.breaks -= 1
                body = body[: origin.break_after]
            try:
                for offset in range(0, len(body), 1 << 16):
                    if origin.hold_after is not None and offset >= origin.hold_after:
                        origin.release.wait()
                    self.wfile.write(body[offset : offset + (1 << 16)])
                    time.sleep(origin.seconds)
            except (BrokenPipeError, ConnectionResetError):
                pass
            self.close_connection = True

    return Handler


@contextmanager
def serve(origin: Origin):
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(origin))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    origin.url = f"http://127.0.0.1:{server.server_port}/toy.bin"
    try:
        yield origin
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def toy_source(url: str | None, content: bytes = CONTENT) -> DataSource:
    file = File("toy.bin", len(content), hashlib.sha256(content).hexdigest())
    origin = None if url is None else url.removesuffix("/toy.bin")
    wheel = "alignset-toy-data==1.0"
    return DataSource("toy", "Toy", "made up for tests", (file,), wheel, "toy_data", origin)


def write_wheel(folder: Path, content: bytes = CONTENT) -> None:
    """Write a wheel that pip accepts."""
    info = "alignset_toy_data-1.0.dist-info"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "alignset_toy_data-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("toy_data/toy.bin", content)
        wheel.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: alignset-toy-data\nVersion: 1.0\n"
        )
        wheel.writestr(
            f"{info}/WHEEL",
            "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        wheel.writestr(f"{info}/RECORD", "")
