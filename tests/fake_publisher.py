"""A publisher on this machine: recorded answers, good and broken, over real HTTP."""

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Answer = Callable[[BaseHTTPRequestHandler], None]


class Publisher:
    """Answers by path, counts requests, and knows its own address."""

    def __init__(self, server: ThreadingHTTPServer, scheme: str) -> None:
        self.url = f"{scheme}://127.0.0.1:{server.server_port}"
        self.answers: dict[str, Answer] = {}
        self.requests: list[str] = []
        self.stop = threading.Event()


@contextlib.contextmanager
def publisher(context=None) -> Iterator[Publisher]:
    """Serve on a free port of the loopback interface until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            path = self.path.split("?")[0]
            house.requests.append(path)
            house.answers[path](self)

        def log_message(self, *args):
            """Stay quiet."""

    class Server(ThreadingHTTPServer):
        def handle_error(self, request, client_address):
            """Stay quiet: some tests stop the client."""

    server = Server(("127.0.0.1", 0), Handler)
    house = Publisher(server, "https" if context else "http")
    if context:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield house
    finally:
        house.stop.set()
        server.shutdown()
        server.server_close()
        thread.join()


def body(content: bytes, *, status: int = 200, kind: str = "text/csv") -> Answer:
    """Answer with some bytes."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("Content-Type", kind)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    return answer


def page(status: int) -> Answer:
    """Answer with the error page of a gateway."""
    html = b"<html>\n<head><title>502 Bad Gateway</title></head>\n<body>nginx</body>\n</html>\n"
    return body(html, status=status, kind="text/html")


def hang_up(handler: BaseHTTPRequestHandler) -> None:
    """Close the connection without a word."""
    handler.connection.shutdown(socket.SHUT_RDWR)


def half(content: bytes, *, announced: bool) -> Answer:
    """Send half of the content, with or without having said how much there is."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        if announced:
            handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content[: len(content) // 2])
        handler.wfile.flush()
        handler.connection.shutdown(socket.SHUT_RDWR)

    return answer


def silence(house: Publisher) -> Answer:
    """Take the request and never answer."""

    def answer(_: BaseHTTPRequestHandler) -> None:
        house.stop.wait(60)

    return answer


def drip(house: Publisher) -> Answer:
    """Send one byte now and then, so that no time-out of a socket ever strikes."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        until = time.monotonic() + 60
        while time.monotonic() < until and not house.stop.wait(0.2):
            handler.wfile.write(b" ")
            handler.wfile.flush()

    return answer


def uci_answer(number: int, names: list[str], data_url: str | None, **roles: str) -> bytes:
    """Record of what UCI's programming interface answers for a data set it knows."""
    variables = [
        {
            "name": name,
            "role": roles.get(name, "Feature"),
            "type": "Integer",
            "demographic": None,
            "description": None,
            "units": None,
            "missing_values": "yes",
        }
        for name in names
    ]
    data = {
        "uci_id": number,
        "name": "A data set",
        "repository_url": f"https://archive.ics.uci.edu/dataset/{number}",
        "data_url": data_url,
        "variables": variables,
        "additional_info": None,
        "intro_paper": None,
    }
    return json.dumps({"status": 200, "statusmessage": "OK", "data": data}).encode()
