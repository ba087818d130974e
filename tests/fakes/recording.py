"""Servers that write down what they are sent: a proxy, one that takes anything, one that hangs up.

Standard library only.
"""
import contextlib
import http.server
import select
import socket
import socketserver
import threading
import urllib.parse

# Only against hanging.
PATIENCE = 120


class Quiet(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def record(self):
        """The whole request, as it came."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.recorder.requests.append((self.requestline, self.headers.items(), body))
        return body


class Sink(Quiet):
    """Takes anything, gives 200."""

    def do_PUT(self):
        self.record()
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_HEAD = do_POST = do_PUT


class Proxy(Quiet):
    """CONNECT and absolute-form requests; all hosts are reached at `upstream`, which stands for them."""

    def do_CONNECT(self):
        self.record()
        self.close_connection = True
        if self.server.recorder.status != 200:
            self.send_error(self.server.recorder.status)
            return
        with socket.create_connection(self.server.recorder.upstream, PATIENCE) as upstream:
            self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            self.wfile.flush()
            self.tunnel(upstream)

    def tunnel(self, upstream):
        pair = {self.connection: upstream, upstream: self.connection}
        while True:
            ready, _, _ = select.select(list(pair), [], [], PATIENCE)
            if not ready:
                return
            for end in ready:
                data = end.recv(65536)
                if not data:
                    return
                pair[end].sendall(data)

    def do_PUT(self):
        body = self.record()
        self.close_connection = True
        parts = urllib.parse.urlsplit(self.path)
        path = self.path[len(f"{parts.scheme}://{parts.netloc}"):]
        lines = [f"{self.command} {path} HTTP/1.1", "Connection: close"]
        lines += [f"{name}: {value}" for name, value in self.headers.items()
                  if name.lower() not in ("connection", "proxy-connection")]
        with socket.create_connection(self.server.recorder.upstream, PATIENCE) as upstream:
            upstream.sendall("\r\n".join([*lines, "", ""]).encode("latin-1") + body)
            while data := upstream.recv(65536):
                self.wfile.write(data)

    do_GET = do_HEAD = do_PUT


class HangUp(socketserver.BaseRequestHandler):
    """Ends a connection as soon as something was said."""

    def handle(self):
        self.request.settimeout(PATIENCE)
        self.request.recv(1)


class Listener(http.server.ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def finish_request(self, request, client_address):
        with contextlib.suppress(OSError):
            super().finish_request(request, client_address)


class Recorder:
    """
    `requests` has (request line, headers, body) of each. Of a proxy: `upstream` is an address, `status`
    what CONNECT is answered.
    """

    def __init__(self, handler, upstream=None, status=200):
        self.requests = []
        self.upstream = upstream
        self.status = status
        self.listener = Listener(("127.0.0.1", 0), handler)
        self.listener.recorder = self
        self.url = f"http://127.0.0.1:{self.listener.server_address[1]}"
        self.thread = threading.Thread(target=self.listener.serve_forever, kwargs={"poll_interval": 0.02})
        self.thread.start()

    def lines(self):
        return [line for line, _, _ in self.requests]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.shutdown()
        self.thread.join(PATIENCE)
        self.listener.server_close()
