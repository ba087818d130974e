"""A stand-in for S3 that checks signatures as strictly as S3 does, and misbehaves when told to.

    with S3Server() as s3:
        s3.plan("busy", times=2, status=503, retry_after=7)
        ...
        s3.puts[0].body

Objects are kept in memory: `puts` has every one that was stored, in order, so that duplicates show;
`objects` is what a bucket would hold now, and `confirmed` has the keys whose sender was told.
Signatures are worked out anew with botocore's code from what was received, in a process of its own
(this file, run by a Python that has botocore): the tests may run under one that has not. Both
styles of addresses are served: path-style below `base`, and Amazon's by their host names.

Everything here is the standard library's; certificates and proxies are in fakes of their own.
"""
import atexit
import collections
import contextlib
import datetime
import email.utils
import functools
import hashlib
import http.server
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
from xml.sax.saxutils import escape

# Only against hanging.
PATIENCE = 120
SKEW_MAX_SECS = 15 * 60
AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=([^/,\s]+)/(\d{8})/([a-z0-9-]+)/s3/aws4_request, "
    r"SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})")
AMAZON_HOST = re.compile(r"(?:(.+)\.)?s3(?:\.([a-z0-9-]+))?\.amazonaws\.com(?:\.cn)?")
MUST_BE_SIGNED = {"host", "x-amz-content-sha256", "x-amz-date"}

Put = collections.namedtuple("Put", "bucket key body headers")
Request = collections.namedtuple("Request", "method target headers body")
Account = collections.namedtuple("Account", "secret_key token")


# --- botocore's opinion ---

@functools.lru_cache(maxsize=None)
def python_with_botocore():
    for python in (sys.executable, "python3", "/usr/bin/python3"):
        if subprocess.run([python, "-c", "import botocore.auth"], stderr=subprocess.DEVNULL).returncode == 0:
            return python
    return None


class Verifier:
    """Knows the right signature. Any thread may ask."""

    def __init__(self):
        self.lock = threading.Lock()
        self.process = subprocess.Popen([python_with_botocore(), __file__], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def signature(self, **case):
        """(signature, string to sign, canonical request)"""
        with self.lock:
            self.process.stdin.write(json.dumps(case) + "\n")
            self.process.stdin.flush()
            return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait(PATIENCE)
        self.process.stdout.close()


@functools.lru_cache(maxsize=None)
def shared_verifier():
    """One for all servers: importing botocore takes longer than most tests."""
    verifier = Verifier()
    atexit.register(verifier.close)
    return verifier


def answer_signatures():
    """The other side of a Verifier: one case a line."""
    import botocore.auth
    import botocore.awsrequest
    import botocore.credentials
    import botocore.utils

    for line in sys.stdin:
        case = json.loads(line)
        path = botocore.utils.percent_encode(bytes.fromhex(case["path"]), safe="/~")
        request = botocore.awsrequest.AWSRequest(
            method=case["method"], url=f"http://{case['headers']['host']}{path}", headers=case["headers"])
        request.context["timestamp"] = case["headers"]["x-amz-date"]
        credentials = botocore.credentials.Credentials("unused", case["secret_key"])
        auth = botocore.auth.S3SigV4Auth(credentials, "s3", case["region"])
        canonical = auth.canonical_request(request)
        to_sign = auth.string_to_sign(request, canonical)
        print(json.dumps([auth.signature(to_sign, request), to_sign, canonical]), flush=True)


# --- refusals ---

class Refusal(Exception):
    """An answer that is an error, with S3's own code and the details that S3 tells with it."""

    def __init__(self, status, code, headers=None, **details):
        super().__init__(code)
        self.status = status
        self.code = code
        self.headers = headers or {}
        self.details = details

    def body(self):
        details = "".join(f"<{name}>{escape(text)}</{name}>" for name, text in self.details.items())
        return ('<?xml version="1.0" encoding="UTF-8"?>\n'
                f"<Error><Code>{self.code}</Code><Message>This is what {self.code} means.</Message>"
                f"{details}<RequestId>4442587FB7D0A2F9</RequestId></Error>").encode()


# --- one connection ---

class Misbehaviour(http.server.BaseHTTPRequestHandler):
    """What any server can do wrong, whatever was asked; its owner names these modes in a plan."""

    protocol_version = "HTTP/1.1"
    sys_version = ""

    def log_message(self, *_):
        pass

    def setup(self):
        super().setup()
        self.connection.settimeout(PATIENCE)

    def reply(self, status, body=b"", headers=None, size=None):
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if size is None else size))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def mode_redirect(self, asked, location, status=307):
        self.reply(status, headers={"Location": location})

    def mode_hang(self, asked):
        self.wait()

    def mode_hang_in_body(self, asked, status=200):
        self.reply(status, b"<half", size=1000)
        self.wait()

    def mode_garbage(self, asked, data=b"\x00\xff\x16\x03 no HTTP at all\r\n\r\n"):
        self.wfile.write(data)
        self.close_connection = True

    def mode_endless(self, asked, status=200):
        self.send_response(status)
        self.send_header("Connection", "close")
        self.end_headers()
        self.pour(b"<endless/>" * 1000)

    def mode_endless_headers(self, asked):
        self.wfile.write(b"HTTP/1.1 200 OK\r\n")
        self.pour(b"X-More: and more\r\n" * 100)

    def mode_reset(self, asked):
        """Without a goodbye: http.server's own way of closing says one."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.close_connection = True
        os.close(self.connection.detach())

    def pour(self, data):
        deadline = time.monotonic() + PATIENCE
        with contextlib.suppress(OSError):
            while time.monotonic() < deadline:
                self.wfile.write(data)
        self.close_connection = True

    def wait(self):
        self.server.owner.is_closing.wait(PATIENCE)
        self.close_connection = True


class Handler(Misbehaviour):
    server_version = "AmazonS3"

    def date_time_string(self, timestamp=None):
        return email.utils.formatdate(self.server.s3.now() if timestamp is None else timestamp, usegmt=True)

    # -- what arrives --

    def receive(self):
        """The path as it came: http.server's own drops a slash from "//"."""
        target = self.requestline.split(" ")[1]
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        request = Request(self.command, target, self.headers.items(), body)
        self.server.s3.requests.append(request)
        return target, body

    def locate(self, target):
        """(bucket, key, region in the host's name), all as bytes of the decoded path or text."""
        path, _, query = target.partition("?")
        if query:
            raise Refusal(400, "InvalidRequest")
        path = urllib.parse.unquote_to_bytes(path)
        amazon = AMAZON_HOST.fullmatch(self.headers.get("Host", "").split(":")[0])
        if amazon and amazon[1]:
            return amazon[1], path[1:], amazon[2]
        base = b"" if amazon else self.server.s3.base.encode()
        if not path.startswith(base + b"/"):
            raise Refusal(404, "NoSuchKey")
        bucket, _, key = path[len(base) + 1:].partition(b"/")
        return bucket.decode("ascii", "replace"), key, amazon[2] if amazon else None

    # -- what S3 checks --

    def check_place(self, bucket, host_region):
        region = self.server.s3.region_of(bucket)
        if host_region not in (None, region):
            raise Refusal(301, "PermanentRedirect", {"x-amz-bucket-region": region}, Bucket=bucket)

    def check_clock(self):
        text = self.headers.get("x-amz-date", "")
        try:
            moment = datetime.datetime.strptime(text, "%Y%m%dT%H%M%SZ").replace(tzinfo=datetime.timezone.utc)
        except ValueError:
            raise Refusal(403, "AccessDenied") from None
        if abs(moment.timestamp() - self.server.s3.now()) > SKEW_MAX_SECS:
            raise Refusal(403, "RequestTimeTooSkewed", RequestTime=text,
                          MaxAllowedSkewMilliseconds=str(SKEW_MAX_SECS * 1000))

    def check_scope(self, bucket, date, region):
        right = self.server.s3.region_of(bucket)
        if region != right:
            header = {"x-amz-bucket-region": right} if self.server.s3.tells_region else {}
            raise Refusal(400, "AuthorizationHeaderMalformed", header, Region=right)
        if date != self.headers["x-amz-date"][:8]:
            raise Refusal(400, "AuthorizationHeaderMalformed")

    def check_headers(self, signed):
        """All that S3 wants signed, each once and in order."""
        present = [name.lower() for name in self.headers.keys()]
        needed = MUST_BE_SIGNED | {name for name in present if name.startswith("x-amz-")}
        if signed != sorted(set(signed)) or needed - set(signed) or len(present) != len(set(present)):
            raise Refusal(403, "AccessDenied", HeadersNotSigned=", ".join(needed - set(signed)))

    def check_signature(self, target, account, region, signed, given):
        path = urllib.parse.unquote_to_bytes(target.partition("?")[0])
        right, to_sign, canonical = self.server.s3.verifier.signature(
            method=self.command, path=path.hex(), region=region, secret_key=account.secret_key,
            headers={name: self.headers.get(name, "") for name in signed})
        if given != right:
            # S3 tells all of this, the session token in the canonical request included.
            raise Refusal(403, "SignatureDoesNotMatch", CanonicalRequest=canonical, StringToSign=to_sign,
                          SignatureProvided=given)

    def check_expiry(self, access_key):
        """As S3 does: the answer has the token in it."""
        if access_key in self.server.s3.expired:
            raise Refusal(self.server.s3.expired[access_key], "ExpiredToken",
                          **{"Token-0": self.headers.get("x-amz-security-token", "")})

    def check_token(self, account):
        given = self.headers.get("x-amz-security-token", "")
        if given != account.token:
            raise Refusal(403, "InvalidToken", **{"Token-0": given})

    def check_body(self, body):
        given = self.headers.get("x-amz-content-sha256")
        if given != hashlib.sha256(body).hexdigest():
            raise Refusal(400, "XAmzContentSHA256Mismatch", ClientComputedContentSHA256=given or "")

    def check(self, target, body):
        """(bucket, key) of a request that S3 would take."""
        bucket, key, host_region = self.locate(target)
        if not bucket or not key:
            raise Refusal(405, "MethodNotAllowed")
        self.check_place(bucket, host_region)
        parts = AUTHORIZATION.fullmatch(self.headers.get("Authorization", ""))
        if not parts:
            raise Refusal(403, "AccessDenied")
        access_key, date, region, signed, given = parts.groups()
        account = self.server.s3.accounts.get(access_key)
        if account is None:
            raise Refusal(403, "InvalidAccessKeyId", AWSAccessKeyId=access_key)
        self.check_clock()
        self.check_scope(bucket, date, region)
        self.check_body(body)
        self.check_headers(signed.split(";"))
        self.check_signature(target, account, region, signed.split(";"), given)
        self.check_token(account)
        self.check_expiry(access_key)
        return bucket, key

    # -- answers --

    def refuse(self, refusal, headers=None):
        self.reply(refusal.status, refusal.body(), {"Content-Type": "application/xml", **refusal.headers,
                                                    **(headers or {})})

    def do_PUT(self):
        target, body = self.receive()
        try:
            bucket, key = self.check(target, body)
        except Refusal as refusal:
            self.refuse(refusal)
            return
        put = Put(bucket, key, body, self.headers)
        mode, arguments = self.server.s3.next_mode(key)
        getattr(self, f"mode_{mode}")(put, **arguments)

    def do_HEAD(self):
        target, _ = self.receive()
        bucket, _, _ = self.locate(target)
        region = self.server.s3.region_of(bucket)
        headers = {"x-amz-bucket-region": region} if self.server.s3.tells_region else {}
        self.reply(403, headers=headers)

    # -- how a good PUT may be answered; names for S3Server.plan() --

    def store(self, put):
        self.server.s3.puts.append(put)

    def mode_store(self, put, status=200):
        self.store(put)
        self.reply(status, headers={"ETag": f'"{hashlib.md5(put.body).hexdigest()}"'})
        self.server.s3.confirmed.append((put.bucket, put.key))

    def mode_slow(self, put, delay):
        self.server.s3.is_closing.wait(delay)
        self.mode_store(put)

    def mode_busy(self, put, status=503, retry_after=None, code="SlowDown"):
        self.refuse(Refusal(status, code),
                    {} if retry_after is None else {"Retry-After": str(retry_after)})

    def mode_refuse(self, put, status=403, code="AccessDenied", headers=None, **details):
        self.refuse(Refusal(status, code, headers, **details))

    def mode_page(self, put, body, status=400):
        self.reply(status, body, {"Content-Type": "text/html"})

    def mode_expired(self, put, code="ExpiredToken"):
        """As S3 does: with the token."""
        self.refuse(Refusal(400, code, **{"Token-0": self.headers.get("x-amz-security-token", "")}))

    def mode_moved(self, put, region, status=301):
        self.refuse(Refusal(status, "PermanentRedirect", {"x-amz-bucket-region": region}))

    def mode_truncated(self, put, status=200):
        self.store(put)
        self.reply(status, b"<half", size=1000)
        self.close_connection = True

    def mode_closed(self, put, stored=True):
        """The client cannot know whether the object is there."""
        if stored:
            self.store(put)
        self.close_connection = True


# --- the server ---

class Listener(http.server.ThreadingHTTPServer):
    """Its `owner` has `tls`, `faults` and `is_closing`."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def finish_request(self, request, client_address):
        """TLS begins on the connection's own thread: a client that says nothing holds no one up."""
        with contextlib.suppress(OSError):
            if self.owner.tls is not None:
                request.settimeout(PATIENCE)
                request = self.owner.tls.wrap_socket(request, server_side=True)
            super().finish_request(request, client_address)
            if self.owner.tls is not None:
                request.close()

    def handle_error(self, request, client_address):
        """Clients that go away in the middle are what the tests are about."""
        if not isinstance(sys.exc_info()[1], OSError):
            self.owner.faults.append(repr(sys.exc_info()[1]))


class Reachable:
    """Where a server is that has a `listener`, `tls` and `base`, a path that all of its own begin with."""

    @property
    def port(self):
        return self.listener.server_address[1]

    @property
    def url(self):
        """With TLS by its name, which is in the certificate."""
        return f"https://localhost:{self.port}{self.base}" if self.tls else f"http://127.0.0.1:{self.port}{self.base}"


class S3Server(Reachable):
    """
    `tls` is an ssl.SSLContext for HTTPS. What a test may change while it runs: `accounts` (access key
    to Account), `expired` (access key to the status that says so), `regions` (of buckets), `region` (of
    all others), `tells_region` (whether the header is sent), `clock_offset_secs`, and the answers to come
    (plan, otherwise). `faults` are the server's own mistakes.
    """

    def __init__(self, access_key="AKIDEXAMPLE", secret_key="secret", token="", region="eu-west-3",
                 base="", tls=None):
        self.accounts = {access_key: Account(secret_key, token)}
        self.expired = {}
        self.region = region
        self.regions = {}
        self.tells_region = True
        self.base = base
        self.tls = tls
        self.clock_offset_secs = 0
        self.requests = []
        self.puts = []
        self.confirmed = []
        self.faults = []
        self.is_closing = threading.Event()
        self.modes = []
        self.modes_lock = threading.Lock()
        self.last_mode = ("store", {})
        self.verifier = shared_verifier()
        self.listener = Listener(("127.0.0.1", 0), Handler)
        self.listener.s3 = self.listener.owner = self
        self.thread = threading.Thread(target=self.listener.serve_forever, kwargs={"poll_interval": 0.02})
        self.thread.start()

    @property
    def heads(self):
        return [request.target for request in self.requests if request.method == "HEAD"]

    @property
    def objects(self):
        """(bucket, key) to the body, as of now."""
        return {(put.bucket, put.key): put.body for put in list(self.puts)}

    def plan(self, mode, times=1, key=None, **arguments):
        """
        The next `times` good PUTs (of keys that end with `key`) are answered so; after what was planned,
        all are stored.
        """
        assert hasattr(Handler, f"mode_{mode}"), mode
        self.modes.extend([(mode, arguments, key)] * times)

    def otherwise(self, mode, **arguments):
        """From now on this is the answer to what nothing was planned for."""
        assert hasattr(Handler, f"mode_{mode}"), mode
        self.last_mode = (mode, arguments)

    def next_mode(self, stored_key):
        with self.modes_lock:
            for at, (mode, arguments, key) in enumerate(self.modes):
                if key is None or stored_key.endswith(key.encode()):
                    del self.modes[at]
                    return mode, arguments
        return self.last_mode

    def now(self):
        return time.time() + self.clock_offset_secs

    def region_of(self, bucket):
        return self.regions.get(bucket, self.region)

    def close(self):
        self.is_closing.set()
        self.listener.shutdown()
        self.thread.join(PATIENCE)
        self.listener.server_close()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.close()
        assert kind is not None or not self.faults, self.faults


if __name__ == "__main__":
    answer_signatures()
