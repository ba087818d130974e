"""Objects put into a stand-in for S3 that checks signatures with botocore, and what becomes of it when
servers, networks, clocks and certificates misbehave."""
import collections
import contextlib
import gzip
import http.client
import os
import random
import re
import shutil
import string
import subprocess
import sys
import tempfile
import time
from email.utils import formatdate
from pathlib import Path

import pytest

from helpers import IS_ASAN, PATIENCE, ROOT, Lines, clean_environment

sys.path.insert(0, str(ROOT / "tests" / "fakes"))
from certificates import Certificates  # noqa: E402
from recording import HangUp, Proxy, Recorder, Sink  # noqa: E402
from s3_server import S3Server, python_with_botocore  # noqa: E402

HERE = Path(__file__).resolve().parent
SOURCES = [HERE / "s3tool.c", *sorted((ROOT / "src" / "base").glob("*.c")), *(ROOT / "src" / "net" / name for name in (
    "http.c", "curl.c", "secret.c", "retry.c", "s3_client.c", "s3_address.c", "url.c", "sigv4.c", "hmac.c", "gzip.c"))]
SANITIZERS = ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
# What a hanging server costs a test; it comes to the same if the machine is slower than that.
SHORT_MS = 1500

RNG = random.Random(1)
LETTERS = string.ascii_letters + string.digits
ACCESS_KEY = "ASIAEXAMPLE" + "".join(RNG.choices(string.ascii_uppercase, k=9))
SECRET_KEY = "".join(RNG.choices(LETTERS + "+/", k=40))
TOKEN = "".join(RNG.choices(LETTERS + "+/=", k=700))
# As much of a secret as nobody can know by chance.
PIECE = 10

KEYS = ["path/to/object", "a b", " ", "a+b", "a=b", "100%", "%41", "%2F", "%", "a//b", "/leading", "//", "/", ".",
        "..", "../../etc/passwd", "a/../b", "a/./b", "a/..", "trailing/", "ünï/cödé", "日本語", "😀", "~tilde",
        "*'()!", "a?b=c&d#e", "@:;,$&[]{}|\\^`\"<>", "tab\there", "line\r\nend: x", "\x01\x7f", "k" * 1024, "ä" * 512]

pytestmark = pytest.mark.skipif(
    python_with_botocore() is None, reason="no python3 here has botocore, which checks the signatures; "
    "apt-get install python3-botocore, or pip install botocore")

Result = collections.namedtuple("Result", "outcome status wait_secs limits problem")


# --- the client ---

@pytest.fixture(scope="module")
def tool():
    with tempfile.TemporaryDirectory(prefix="s3-") as folder:
        binary = Path(folder) / "s3tool"
        subprocess.run([os.environ.get("CC", "gcc"), "-std=gnu11", "-O1", "-D_GNU_SOURCE", f"-I{ROOT}/src",
                        *(SANITIZERS if IS_ASAN else []), "-o", binary, *SOURCES, "-Wl,--wrap=http_perform",
                        "-Wl,-Bstatic", "-ldeflate", "-lsodium", "-Wl,-Bdynamic", "-ldl", "-pthread"], check=True)
        yield binary


def environment(**extra):
    """Without the proxies and certificates of this machine."""
    kept = {name: value for name, value in clean_environment().items()
            if not name.lower().endswith("_proxy") and not name.startswith("SSL_CERT_") and name != "CURL_CA_BUNDLE"}
    return {**kept, "S3TOOL_ACCESS_KEY": ACCESS_KEY, "S3TOOL_SECRET_KEY": SECRET_KEY, "S3TOOL_TOKEN": TOKEN, **extra}


def pieces(secret):
    return [secret[at:at + PIECE] for at in range(0, len(secret) - PIECE + 1)]


def assert_no_secrets(text, secrets):
    found = [piece for secret in secrets for piece in pieces(secret) if piece in text]
    assert not found, f"{len(found)} pieces of secrets in {text!r}"


class Client:
    """One s3tool, which keeps what it learns between its puts. All that it says is searched for secrets."""

    def __init__(self, tool, endpoint=None, region_endpoint=None, limit_ms=0, **variables):
        self.environment = environment(**variables)
        self.folder = tempfile.TemporaryDirectory(prefix="s3-")
        self.said = ""
        self.process = subprocess.Popen([tool, endpoint or "-", region_endpoint or "-", str(limit_ms)], cwd="/",
                                        env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT)
        self.lines = Lines(self.process.stdout)

    def put(self, body=b"some rows", uri="s3://bucket/some/key", region="", verb="put"):
        path = Path(self.folder.name) / "body"
        path.write_bytes(body)
        words = [verb, uri.encode().hex(), region.encode().hex() or "-", str(path)]
        self.process.stdin.write(" ".join(words).encode() + b"\n")
        self.process.stdin.flush()
        line = self.lines.next(2 * PATIENCE).decode("ascii")
        self.said += line + "\n"
        assert all(" " <= c <= "~" or c == "\t" for c in line)
        outcome, status, wait_secs, limits, problem = line.split("\t", 4)
        return Result(outcome, int(status), int(wait_secs), [tuple(map(int, pair.split("/")))
                                                             for pair in limits.split(",") if pair], problem)

    def secrets(self):
        return [self.environment[name] for name in ("S3TOOL_SECRET_KEY", "S3TOOL_TOKEN")]

    def close(self):
        command_line = Path(f"/proc/{self.process.pid}/cmdline").read_text()
        self.process.stdin.close()
        self.said += self.lines.remainder().decode(errors="replace")
        self.process.stdout.close()
        assert self.process.wait(PATIENCE) == 0, self.said
        self.folder.cleanup()
        assert_no_secrets(self.said, self.secrets())
        assert_no_secrets(command_line, self.secrets())

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            self.close()
            return
        self.process.kill()
        self.process.wait(PATIENCE)
        self.process.stdin.close()
        self.process.stdout.close()
        self.folder.cleanup()


def account(**extra):
    return {"access_key": ACCESS_KEY, "secret_key": SECRET_KEY, "token": TOKEN, **extra}


@pytest.fixture
def s3():
    """Its region is the one that is signed for where nobody tells another."""
    with S3Server(**account(region="us-east-1")) as server:
        yield server


@pytest.fixture
def client(tool, s3):
    with Client(tool, s3.url) as started:
        yield started


# --- storing ---

def test_t_s3_06_objects_are_stored_as_sent(client, s3):
    bodies = [b"", b"x", RNG.randbytes(1000), RNG.randbytes(65536), RNG.randbytes(5 << 20), bytes(range(256))]
    for index, body in enumerate(bodies):
        assert client.put(body, f"s3://bucket/run/{index}")[:2] == ("stored", 200)
    assert [(put.bucket, put.key, put.body) for put in s3.puts] == [
        ("bucket", f"run/{index}".encode(), body) for index, body in enumerate(bodies)]
    assert [request.method for request in s3.requests] == ["PUT"] * len(bodies), "no region is asked for"


def test_t_s3_06_a_stored_object_has_no_problem(client):
    assert client.put() == ("stored", 200, 0, [(10000, 60000)], "")


def test_t_s3_06_without_a_session_token(tool):
    with S3Server(**account(token="", region="us-east-1")) as server:
        with Client(tool, server.url, S3TOOL_TOKEN="") as client:
            assert client.put().outcome == "stored"
        assert "x-amz-security-token" not in server.puts[0].headers


def test_t_s3_06_below_a_path(tool):
    with S3Server(**account(base="/a/store", region="us-east-1")) as server:
        with Client(tool, server.url + "/") as client:
            assert client.put().outcome == "stored"
        assert server.requests[0].target == "/a/store/bucket/some/key"


def test_t_s3_06_by_the_region_that_is_told(tool):
    with S3Server(**account(region="sa-east-1")) as server, Client(tool, server.url) as client:
        assert client.put(region="sa-east-1").outcome == "stored"
        assert server.heads == []


@pytest.mark.parametrize("status", [200, 201])
def test_either_status_means_stored(status, client, s3):
    s3.plan("store", status=status)
    assert client.put()[:2] == ("stored", status)


def test_t_s3_06_hostile_keys(client, s3):
    for key in KEYS:
        assert client.put(key.encode(), f"s3://bucket/{key}").outcome == "stored", key
    assert [put.key for put in s3.puts] == [key.encode() for key in KEYS]
    assert [put.body for put in s3.puts] == [key.encode() for key in KEYS]
    for request in s3.requests:
        assert len(request.headers) == len({name.lower() for name, _ in request.headers})


def test_t_str_02_objects_are_gzip_and_say_so(client, s3):
    rows = "".join(f"{1700000000 + i},{RNG.random():.4f},{RNG.randint(0, 10**9)}\n" for i in range(5000)).encode()
    assert client.put(rows, verb="pack").outcome == "stored"
    put, = s3.puts
    assert put.headers["Content-Encoding"] == "gzip"
    assert put.headers["Content-Type"] == "text/csv"
    assert "Transfer-Encoding" not in put.headers and "Expect" not in put.headers
    assert gzip.decompress(put.body) == rows
    assert len(put.body) < len(rows) / 2


# --- the stand-in is as strict as S3 ---

def replay(s3, request, change):
    """What a request that was taken before is answered after a change: (status, code)."""
    headers = {name.lower(): value for name, value in request.headers}
    parts = {"method": request.method, "target": request.target, "body": request.body, "headers": headers}
    change(parts)
    connection = http.client.HTTPConnection("127.0.0.1", s3.port, timeout=PATIENCE)
    connection.putrequest(parts["method"], parts["target"], skip_host=True, skip_accept_encoding=True)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders(parts["body"])
    answer = connection.getresponse()
    code = re.search(rb"<Code>(\w+)</Code>", answer.read())
    connection.close()
    return answer.status, code and code[1].decode()


def set_header(name, value):
    return lambda parts: parts["headers"].update({name: value})


def sub_header(name, pattern, text):
    return lambda parts: parts["headers"].update({name: re.sub(pattern, text, parts["headers"][name])})


def drop_header(name):
    return lambda parts: parts["headers"].pop(name)


CHANGES = {
    "nothing": (lambda parts: None, (200, None)),
    "no authorization": (drop_header("authorization"), (403, "AccessDenied")),
    "another scheme": (set_header("authorization", "Basic abc"), (403, "AccessDenied")),
    "an unknown key": (sub_header("authorization", ACCESS_KEY, "AKIDOTHER"), (403, "InvalidAccessKeyId")),
    "another signature": (sub_header("authorization", "Signature=.*", "Signature=" + "0" * 64),
                          (403, "SignatureDoesNotMatch")),
    "another key of the object": (lambda parts: parts.update(target=parts["target"] + "x"),
                                  (403, "SignatureDoesNotMatch")),
    "another host": (set_header("host", "localhost"), (403, "SignatureDoesNotMatch")),
    "another token": (set_header("x-amz-security-token", "other"), (403, "SignatureDoesNotMatch")),
    "no token": (drop_header("x-amz-security-token"), (403, "SignatureDoesNotMatch")),
    "another body": (lambda parts: parts.update(body=b"Some rows"), (400, "XAmzContentSHA256Mismatch")),
    "another hash": (set_header("x-amz-content-sha256", "0" * 64), (400, "XAmzContentSHA256Mismatch")),
    "no hash": (drop_header("x-amz-content-sha256"), (400, "XAmzContentSHA256Mismatch")),
    "an unsigned header": (set_header("x-amz-acl", "public-read"), (403, "AccessDenied")),
    "another region": (sub_header("authorization", "us-east-1", "us-east-2"), (400, "AuthorizationHeaderMalformed")),
    "another day": (sub_header("authorization", r"/\d{8}/", "/20200101/"), (400, "AuthorizationHeaderMalformed")),
    "an old date": (set_header("x-amz-date", "20200101T000000Z"), (403, "RequestTimeTooSkewed")),
    "no date": (drop_header("x-amz-date"), (403, "AccessDenied")),
    "a query": (lambda parts: parts.update(target=parts["target"] + "?acl"), (400, "InvalidRequest")),
}


@pytest.mark.parametrize("name", CHANGES)
def test_the_stand_in_takes_only_what_was_signed(name, client, s3):
    change, expected = CHANGES[name]
    assert client.put().outcome == "stored"
    assert replay(s3, s3.requests[0], change) == expected
    assert len(s3.puts) == (2 if expected[0] == 200 else 1)


# --- refusals ---

@pytest.mark.parametrize("variable, value, code", [
    ("S3TOOL_ACCESS_KEY", "AKIDOTHER", "InvalidAccessKeyId"),
    ("S3TOOL_SECRET_KEY", SECRET_KEY[::-1], "SignatureDoesNotMatch"),
    ("S3TOOL_TOKEN", TOKEN[::-1], "InvalidToken"),
])
def test_t_s3_06_wrong_credentials_are_refused(variable, value, code, tool, s3):
    with Client(tool, s3.url, **{variable: value}) as client:
        result = client.put()
    assert result[:2] == ("refused", 403) and result.problem.startswith("HTTP 403 ") and code in result.problem
    assert s3.puts == []


@pytest.mark.parametrize("status, code", [(403, "AccessDenied"), (404, "NoSuchBucket"), (400, "InvalidBucketName"),
                                          (405, "MethodNotAllowed"), (411, "MissingContentLength"),
                                          (400, "EntityTooLarge"), (412, "PreconditionFailed"), (304, "NotModified"),
                                          (409, "BucketNotEmpty"), (501, "NotImplemented")])
def test_what_will_not_work_again_is_refused(status, code, client, s3):
    s3.plan("refuse", status=status, code=code)
    result = client.put()
    assert result[:3] == ("refused", status, 0) and f"HTTP {status}" in result.problem


@pytest.mark.parametrize("code", ["ExpiredToken", "TokenRefreshRequired"])
def test_expired_credentials_are_told_apart(code, client, s3):
    s3.plan("expired", code=code)
    result = client.put()
    assert result[:2] == ("expired", 400) and code in result.problem
    assert client.put().outcome == "stored"


def test_expired_credentials_with_a_403(client, s3):
    s3.plan("refuse", status=403, code="ExpiredToken")
    assert client.put()[:2] == ("expired", 403)


@pytest.mark.parametrize("endpoint", ["ftp://127.0.0.1", "127.0.0.1:9000", "http://", "http://user@host", "http://a b"])
def test_endpoints_that_are_none_are_refused(endpoint, tool):
    with Client(tool, endpoint) as client:
        result = client.put()
    assert result[:4] == ("refused", 0, 0, []) and "endpoint" in result.problem


@pytest.mark.parametrize("variable", ["S3TOOL_ACCESS_KEY", "S3TOOL_SECRET_KEY", "S3TOOL_TOKEN"])
def test_credentials_with_control_bytes_are_not_sent(variable, tool, s3):
    with Client(tool, s3.url, **{variable: "abcdefghijklmnop\r\nX-Evil: 1"}) as client:
        result = client.put()
    assert result[:4] == ("refused", 0, 0, []) and "credentials" in result.problem
    assert s3.requests == []


# --- trying again ---

@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
def test_what_passes_is_tried_again(status, client, s3):
    s3.plan("busy", status=status, times=2)
    assert [client.put()[:3] for _ in range(2)] == [("try again", status, 0)] * 2
    assert client.put().outcome == "stored"
    assert len(s3.puts) == 1


def test_slow_uploads_that_s3_gave_up_on_are_tried_again(client, s3):
    """The one error of S3's with a status of 400 that passes; SDKs retry it."""
    s3.plan("refuse", status=400, code="RequestTimeout")
    assert client.put()[:2] == ("try again", 400)


@pytest.mark.parametrize("code", ["OperationAborted", "ConditionalRequestConflict"])
def test_conflicts_that_pass_are_tried_again(code, client, s3):
    s3.plan("refuse", status=409, code=code)
    result = client.put()
    assert result[:2] == ("try again", 409) and code in result.problem


# A server that wants an hour is asked again sooner: it may have come back.
@pytest.mark.parametrize("text, secs", [("7", 7), ("0", 0), ("300", 300), ("999999999999999999999999", None),
                                        ("100000", 300), ("-5", 0), ("soon", 0), ("7 s", 0), ("", 0),
                                        ("Wed, 21 Oct 2099 07:28:00 GMT", 300),
                                        ("Wed, 21 Oct 2015 07:28:00 GMT", 0)])
@pytest.mark.parametrize("status", [500, 503])
def test_the_servers_wish_to_wait_is_told(status, text, secs, client, s3):
    s3.plan("busy", status=status, retry_after=text)
    result = client.put()
    assert result[:2] == ("try again", status)
    assert result.wait_secs == secs or secs is None and result.wait_secs in (0, 300)


@pytest.mark.parametrize("offset", [0, 7200])
def test_a_moment_to_wait_for_is_by_the_servers_clock(offset, client, s3):
    s3.clock_offset_secs = offset
    assert client.put().outcome == ("try again" if offset else "stored")
    s3.plan("busy", retry_after=formatdate(time.time() + offset + 200, usegmt=True))
    assert 100 < client.put().wait_secs <= 201


# Status: error pages of any size are errors; what claims to be a success is not.
@pytest.mark.parametrize("status, outcome", [(200, "try again"), (400, "refused"), (403, "refused"), (404, "refused"),
                                             (302, "refused"), (429, "try again"), (500, "try again"),
                                             (501, "refused"), (503, "try again")])
def test_answers_without_an_end_are_judged_by_their_status(status, outcome, tool, s3):
    with Client(tool, s3.url, limit_ms=20000) as client:
        s3.plan("endless", status=status)
        result = client.put()
        assert result[:3] == (outcome, status, 0)
        assert ("too large" if status == 200 else f"HTTP {status}") in result.problem
        assert client.put().outcome == "stored"


@pytest.mark.parametrize("mode", ["truncated", "closed", "reset", "endless_headers", "garbage"])
def test_broken_answers_are_tried_again(mode, tool, s3):
    with Client(tool, s3.url, limit_ms=20000) as client:
        s3.plan(mode)
        result = client.put()
        assert result[:3] == ("try again", 0, 0) and result.problem != ""
        assert client.put().outcome == "stored"


GARBAGE = {
    "an empty line": b"\n",
    "half a word": b"HTTP",
    "another version": b"HTTP/9.9 200 OK\r\n\r\n",
    "no status": b"HTTP/1.1 \xff\r\n\r\n",
    "a negative size": b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
    "too little": b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc",
    "bad chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzzz\r\n",
    "another protocol": b"SSH-2.0-OpenSSH_9.2p1\r\n",
    "zeros": bytes(10000),
    "a long line": b"HTTP/1.1 200 OK\r\nX: " + b"y" * 200000,
}


@pytest.mark.parametrize("name", GARBAGE)
def test_garbage_is_tried_again(name, tool, s3):
    with Client(tool, s3.url, limit_ms=20000) as client:
        s3.plan("garbage", data=GARBAGE[name])
        assert client.put()[:2] == ("try again", 0)
        assert client.put().outcome == "stored"


@pytest.mark.parametrize("mode", ["hang", "hang_in_body"])
def test_servers_that_hang_are_left(mode, tool, s3):
    with Client(tool, s3.url, limit_ms=SHORT_MS) as client:
        s3.plan(mode)
        result = client.put()
        assert result[:3] == ("try again", 0, 0) and result.problem != ""


def test_an_object_that_was_stored_before_the_connection_broke_is_put_again_as_it_was(client, s3):
    s3.plan("closed", stored=True)
    assert client.put(b"rows").outcome == "try again"
    assert client.put(b"rows").outcome == "stored"
    assert len(s3.puts) == 2 and s3.puts[0][:3] == s3.puts[1][:3]


def test_a_server_that_is_not_there_is_tried_again(tool):
    with Recorder(Sink) as gone:
        url = gone.url
    with Client(tool, url, limit_ms=20000) as client:
        assert client.put()[:2] == ("try again", 0)


def test_a_name_that_nobody_has_is_tried_again(tool):
    with Client(tool, "http://nobody.invalid", limit_ms=20000) as client:
        assert client.put()[:2] == ("try again", 0)


# To look a name up takes this long; the test is over much sooner, or it fails.
SLOW_SECS = 40


@pytest.mark.skipif(IS_ASAN, reason="a library cannot be put before the sanitizer's")
@pytest.mark.parametrize("old", [{}, {"SLOWDNS_OLD_CURL": "1"}], ids=["quick exit", "older libcurl"])
def test_a_name_server_that_does_not_answer_is_left(old, tool):
    begin = time.monotonic()
    with Client(tool, "http://name.example", limit_ms=SHORT_MS, SLOWDNS_SECS=str(SLOW_SECS),
                LD_PRELOAD=str(ROOT / "build" / "fakes" / "slowdns.so"), **old) as client:
        result = client.put()
        assert result[:3] == ("try again", 0, 0) and result.problem != ""
        assert client.put().outcome == "try again"
    assert time.monotonic() - begin < SLOW_SECS / 2, "nor does it keep the process from ending"


@pytest.mark.skipif(IS_ASAN, reason="a library cannot be put before the sanitizer's")
@pytest.mark.parametrize("old", [{}, {"SLOWDNS_OLD_CURL": "1"}], ids=["quick exit", "older libcurl"])
def test_a_name_server_that_answers_too_late_does_no_harm(old, tool):
    """Neither while we go on nor when we are done with HTTP."""
    with Client(tool, "http://name.example", limit_ms=200, SLOWDNS_SECS="1", S3TOOL_LINGER_SECS="2",
                LD_PRELOAD=str(ROOT / "build" / "fakes" / "slowdns.so"), **old) as client:
        assert [client.put()[:2] for _ in range(10)] == [("try again", 0)] * 10


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_not_followed(status, client, s3):
    with Recorder(Sink) as elsewhere:
        s3.plan("redirect", status=status, location=f"{elsewhere.url}/bucket/some/key")
        assert client.put()[:2] == ("refused", status)
        assert elsewhere.requests == []
    assert s3.puts == []


# --- the clock ---

@pytest.mark.parametrize("offset", [-86400 * 3650, -86400, -1200, 1200, 86400, 86400 * 3650])
def test_a_wrong_clock_is_learned(offset, client, s3):
    s3.clock_offset_secs = offset
    first = client.put()
    assert first[:2] == ("try again", 403) and "RequestTimeTooSkewed" in first.problem
    assert [client.put().outcome for _ in range(2)] == ["stored"] * 2
    s3.clock_offset_secs = 0
    assert [client.put().outcome for _ in range(2)] == ["try again", "stored"]


@pytest.mark.parametrize("offset", [-600, 600])
def test_a_clock_that_is_a_little_off_does(offset, client, s3):
    s3.clock_offset_secs = offset
    assert client.put().outcome == "stored"


@pytest.mark.parametrize("headers", [{}, {"Date": "yesterday"}, {"Date": ""}])
def test_a_clock_that_nothing_can_be_learned_about_is_refused(headers, client, s3):
    s3.plan("refuse", code="RequestTimeTooSkewed", headers=headers)
    assert client.put()[:2] == ("refused", 403)
    assert client.put().outcome == "stored"


@pytest.mark.parametrize("date", ["Mon, 01 Jan 0001 00:00:00 GMT", "Fri, 31 Dec 9999 23:59:59 GMT"])
def test_an_absurd_date_does_not_keep_us_from_the_server(date, client, s3):
    s3.plan("refuse", code="RequestTimeTooSkewed", headers={"Date": date})
    client.put()
    results = [client.put() for _ in range(2)]
    assert len(s3.requests) == 3, results
    assert results[-1].outcome == "stored"


# --- the region ---

def amazon(certificates):
    """Host names of Amazon's, in a certificate."""
    regions = ["", ".eu-west-3", ".eu-central-1", ".us-west-2"]
    return certificates.make("amazon", [f"{star}s3{region}.amazonaws.com" for star in ("", "*.") for region in regions])


@pytest.fixture(scope="module")
def certificates():
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl command to make certificates with; apt-get install openssl")
    with tempfile.TemporaryDirectory(prefix="certificates-") as folder:
        yield Certificates(folder)


@pytest.fixture(scope="module")
def amazon_certificate(certificates):
    return amazon(certificates)


@contextlib.contextmanager
def at_amazon(tool, certificates, context, region_endpoint=None, **options):
    """(client, server, proxy): a client without an endpoint, whose way to Amazon is a proxy of ours."""
    with S3Server(**account(tls=context, **options)) as server, \
            Recorder(Proxy, upstream=("127.0.0.1", server.port)) as proxy, \
            Client(tool, region_endpoint=region_endpoint, https_proxy=proxy.url,
                   SSL_CERT_FILE=str(certificates.ca_file)) as client:
        yield client, server, proxy


def host_of(request):
    return dict(request.headers)["Host"]


def test_t_s3_05_the_region_is_asked_for_once_per_bucket(tool, certificates, amazon_certificate):
    with at_amazon(tool, certificates, amazon_certificate) as (client, server, _):
        server.regions["other-bucket"] = "us-west-2"
        assert [client.put().outcome for _ in range(3)] == ["stored"] * 3
        assert [client.put(uri="s3://other-bucket/k").outcome for _ in range(3)] == ["stored"] * 3
        assert [(request.method, host_of(request)) for request in server.requests] == [
            ("HEAD", "bucket.s3.amazonaws.com"), *[("PUT", "bucket.s3.eu-west-3.amazonaws.com")] * 3,
            ("HEAD", "other-bucket.s3.amazonaws.com"), *[("PUT", "other-bucket.s3.us-west-2.amazonaws.com")] * 3]
        asked = server.requests[0]
        assert "authorization" not in {name.lower() for name, _ in asked.headers}


def test_t_s3_05_the_region_of_a_bucket_with_dots(tool, certificates, amazon_certificate):
    with at_amazon(tool, certificates, amazon_certificate) as (client, server, _):
        assert client.put(uri="s3://with.dots/k").outcome == "stored"
        assert [(request.method, host_of(request), request.target) for request in server.requests] == [
            ("HEAD", "s3.amazonaws.com", "/with.dots"), ("PUT", "s3.eu-west-3.amazonaws.com", "/with.dots/k")]


def test_t_s3_05_the_region_is_asked_for_where_we_are_told_to(tool, certificates, amazon_certificate):
    with S3Server(**account(region="us-west-2")) as regions, \
            at_amazon(tool, certificates, amazon_certificate, regions.url, region="us-west-2") as (client, server, _):
        assert [client.put().outcome for _ in range(2)] == ["stored"] * 2
        assert regions.heads == ["/bucket"] and server.heads == []


def test_t_s3_05_a_region_that_is_told_is_not_asked_for(tool, certificates, amazon_certificate):
    with at_amazon(tool, certificates, amazon_certificate) as (client, server, _):
        assert client.put(region="eu-west-3").outcome == "stored"
        assert server.heads == []


def test_t_s3_05_a_guessed_region_is_not_kept(tool, certificates, amazon_certificate):
    with at_amazon(tool, certificates, amazon_certificate, region="eu-central-1") as (client, server, _):
        server.tells_region = False
        assert [client.put().outcome for _ in range(2)] == ["stored"] * 2
        assert len(server.heads) == 2
        server.tells_region = True
        assert [client.put().outcome for _ in range(2)] == ["stored"] * 2
        assert len(server.heads) == 3


def test_t_s3_05_a_wrong_region_is_learned(tool, certificates, amazon_certificate):
    with at_amazon(tool, certificates, amazon_certificate) as (client, server, _):
        first = client.put(region="us-west-2")
        assert first[:2] == ("try again", 301) and "PermanentRedirect" in first.problem
        assert [client.put(region="us-west-2").outcome for _ in range(2)] == ["stored"] * 2
        assert server.heads == []


def test_t_s3_05_without_an_answer_the_region_is_guessed(tool, certificates, amazon_certificate):
    with Recorder(HangUp) as regions, at_amazon(tool, certificates, amazon_certificate, regions.url,
                                                region="eu-central-1") as (client, server, _):
        result = client.put()
        assert result.outcome == "stored"
        assert result.limits == [(10000, 10000), (10000, 60000)]


@pytest.mark.parametrize("status", [301, 307, 400, 403])
def test_the_region_is_learned_from_an_endpoint(status, client, s3):
    s3.plan("moved", region="eu-north-1", status=status)
    assert client.put()[:2] == ("try again", status)
    s3.region = "eu-north-1"
    assert client.put().outcome == "stored"


def test_the_region_is_learned_from_a_refused_signature(tool):
    with S3Server(**account(region="ap-southeast-2")) as server, Client(tool, server.url) as client:
        assert client.put()[:2] == ("try again", 400)
        assert client.put().outcome == "stored"


def test_the_region_is_learned_from_the_body_of_a_refusal(tool):
    """VersityGW has no header; botocore looks at both."""
    with S3Server(**account(region="ap-southeast-2")) as server, Client(tool, server.url) as client:
        server.tells_region = False
        assert client.put()[:2] == ("try again", 400)
        assert client.put().outcome == "stored"


def test_a_region_that_is_right_already_is_no_reason_to_try_again(client, s3):
    s3.plan("moved", region="us-east-1", status=403)
    assert client.put()[:2] == ("refused", 403)


def test_servers_that_contradict_each_other_are_refused(client, s3):
    """One says A is right when B was signed for, the other B when A was; the third change is the last."""
    for region in ("eu-north-1", "eu-west-1", "eu-north-1"):
        s3.plan("moved", region=region)
        assert client.put(region=s3.region)[:2] == ("try again", 301)
        s3.region = region
    s3.plan("moved", region="eu-west-1", times=2)
    assert [client.put()[:2] for _ in range(2)] == [("refused", 301)] * 2
    assert client.put().outcome == "stored"
    s3.plan("moved", region="eu-west-1")
    assert client.put()[:2] == ("try again", 301), "what was stored is a new beginning"


def test_changes_of_region_are_counted_per_bucket(client, s3):
    for index, region in enumerate(("eu-north-1", "eu-west-1", "eu-west-2", "eu-west-3", "eu-north-1", "sa-east-1")):
        uri = f"s3://bucket-{index}/k"
        s3.regions[f"bucket-{index}"] = "us-east-1"
        s3.plan("moved", region=region)
        assert client.put(uri=uri, region="us-east-1")[:2] == ("try again", 301)


@pytest.mark.parametrize("region", ["no region", "EU", "../..", "x" * 100, "x" * 5000, "a.b", "@evil.example/"])
def test_regions_that_are_none_are_not_learned(region, client, s3):
    s3.plan("moved", region=region, status=403)
    client.put()
    assert client.put(region="us-east-1").outcome == "stored"


# --- certificates ---

@pytest.fixture(scope="module")
def good_certificate(certificates):
    return certificates.make("good", ["localhost"])


def over_tls(tool, context, **variables):
    """What a put comes to, and what the server has seen of it."""
    with S3Server(**account(tls=context, region="us-east-1")) as server:
        with Client(tool, server.url, **variables) as client:
            result = client.put()
        return result, server.requests


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "CURL_CA_BUNDLE"])
def test_an_authority_of_ones_own_is_trusted(variable, tool, certificates, good_certificate):
    result, requests = over_tls(tool, good_certificate, **{variable: str(certificates.ca_file)})
    assert result.outcome == "stored" and len(requests) == 1


def test_an_authority_in_a_folder_is_trusted(tool, certificates, good_certificate):
    result, _ = over_tls(tool, good_certificate, SSL_CERT_DIR=str(certificates.hashed()))
    assert result.outcome == "stored"


def test_an_unknown_authority_is_not_trusted(tool, good_certificate):
    """It may be installed while a job runs."""
    result, requests = over_tls(tool, good_certificate)
    assert result[:2] == ("try again", 0) and "certificate" in result.problem and requests == []


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "CURL_CA_BUNDLE"])
def test_authorities_that_cannot_be_read_are_not_trusted(variable, tool, certificates, good_certificate):
    result, requests = over_tls(tool, good_certificate, **{variable: str(certificates.folder / "missing.pem")})
    assert result[:2] == ("try again", 0) and result.problem != "" and requests == []


BAD_CERTIFICATES = {
    "another host's": lambda made: made.make("other", ["other.example", "localhost.example"]),
    "expired": lambda made: made.make("expired", ["localhost"], "20200101000000Z", "20200201000000Z"),
    "of the future": lambda made: made.make("future", ["localhost"], "20980101000000Z"),
    "self-signed": lambda made: made.self_signed("self", ["localhost"]),
}


@pytest.mark.parametrize("kind", BAD_CERTIFICATES)
def test_bad_certificates_are_not_trusted(kind, tool, certificates):
    result, requests = over_tls(tool, BAD_CERTIFICATES[kind](certificates), SSL_CERT_FILE=str(certificates.ca_file))
    assert result[:2] == ("try again", 0) and "certificate" in result.problem.lower(), result
    assert requests == []


def test_a_connection_lost_while_tls_begins_is_tried_again(tool, certificates):
    with Recorder(HangUp) as rude:
        with Client(tool, rude.url.replace("http:", "https:"), SSL_CERT_FILE=str(certificates.ca_file)) as client:
            assert client.put()[:2] == ("try again", 0)


@pytest.mark.parametrize("mode", ["closed", "reset", "truncated", "garbage"])
def test_broken_answers_over_tls_are_tried_again(mode, tool, certificates, good_certificate):
    with S3Server(**account(tls=good_certificate, region="us-east-1")) as server:
        with Client(tool, server.url, limit_ms=20000, SSL_CERT_FILE=str(certificates.ca_file)) as client:
            server.plan(mode)
            assert client.put(RNG.randbytes(1 << 20))[:2] == ("try again", 0)
            assert client.put().outcome == "stored"


# --- proxies ---

def test_the_proxy_of_the_environment_is_used(tool, s3):
    with Recorder(Proxy, upstream=("127.0.0.1", s3.port)) as proxy:
        with Client(tool, "http://storage.example", http_proxy=proxy.url) as client:
            assert client.put().outcome == "stored"
        assert proxy.lines() == ["PUT http://storage.example/bucket/some/key HTTP/1.1"]
    assert len(s3.puts) == 1


def test_hosts_without_a_proxy_are_gone_to_directly(tool, s3):
    with Recorder(Proxy, upstream=("127.0.0.1", s3.port)) as proxy:
        with Client(tool, s3.url, http_proxy=proxy.url, no_proxy="example.com,127.0.0.1") as client:
            assert client.put().outcome == "stored"
        assert proxy.requests == []


def test_a_proxy_sees_nothing_of_what_goes_over_tls(tool, certificates, amazon_certificate):
    with at_amazon(tool, certificates, amazon_certificate) as (client, server, proxy):
        assert client.put(region="eu-west-3").outcome == "stored"
        assert proxy.lines() == ["CONNECT bucket.s3.eu-west-3.amazonaws.com:443 HTTP/1.1"]
        names = {name.lower() for _, headers, _ in proxy.requests for name, _ in headers}
        assert not names & {"authorization", "x-amz-security-token", "x-amz-date"}


@pytest.mark.parametrize("status", [403, 407, 502, 503])
def test_a_proxy_that_does_not_let_us_through_is_tried_again(status, tool):
    with Recorder(Proxy, status=status) as proxy, Client(tool, https_proxy=proxy.url) as client:
        assert client.put(region="eu-west-3")[:2] == ("try again", 0)


# --- secrets ---

# S3 itself has the token in the first three; web servers and proxies have been seen to show headers.
LEAKS = {
    "ExpiredToken": {"mode": "expired"},
    "InvalidToken": {"mode": "refuse", "code": "InvalidToken", "Token-0": TOKEN},
    "SignatureDoesNotMatch": {"mode": "refuse", "code": "SignatureDoesNotMatch",
                              "CanonicalRequest": f"PUT\n/\n\nx-amz-security-token:{TOKEN}"},
    "a page": {"mode": "page", "body": f"<pre>x-amz-security-token: {TOKEN}</pre> is too large".encode()},
    "a page that cuts the token": {"mode": "page", "status": 503, "body": TOKEN[50:].encode()},
}


@pytest.mark.parametrize("name", LEAKS)
def test_secrets_that_a_server_repeats_are_not_repeated_by_us(name, tool, s3):
    arguments = dict(LEAKS[name])
    with Client(tool, s3.url) as client:
        s3.plan(arguments.pop("mode"), **arguments)
        result = client.put()
        assert result.outcome != "stored" and f"HTTP {result.status}" in result.problem


# --- limits ---

def test_every_request_has_limits(client):
    result = client.put()
    assert result.limits and all(0 < connect <= total <= 60000 for connect, total in result.limits)
