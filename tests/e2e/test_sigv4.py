"""S3 addresses and signatures against botocore's, and gzip against Python's."""
import functools
import gzip
import json
import os
import random
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

import pytest

from helpers import IS_ASAN, PATIENCE, ROOT

HERE = Path(__file__).resolve().parent
SOURCES = [HERE / "sigv4tool.c", *(ROOT / "src" / name for name in (
    "net/s3_address.c", "net/url.c", "net/sigv4.c", "net/hmac.c", "net/gzip.c", "base/buf.c", "base/fmt.c", "base/scan.c"))]
SANITIZERS = ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]

REGIONS = ["us-east-1", "eu-central-1", "eu-west-2", "us-west-2", "ap-southeast-2", "sa-east-1",
           "ca-central-1", "cn-north-1", "us-gov-west-1"]
ENDPOINTS = ["http://127.0.0.1:9000", "https://minio.example:9000/base/", "http://minio",
             "https://storage.example/", "http://127.0.0.1:80", "https://storage.example:443//",
             "https://[::1]:9000/a/b", "http://Storage.Example:8080"]
BUCKETS = ["bucket", "a-b-c", "123", "x" * 63, "with.dots.in-it", "b" * 40]
LETTERS = "abcXYZ0189-._~/ +=%&?#:;,@!$'()*\"<>[]{}|\\^`äßé€😀\u00a0\u2028"
KEYS = ["path/to/object", "a b", "a+b", "a=b", "100%", "%41", "%2F", "a//b", "/leading", "//", "/", ".",
        "..", "a/../b", "a/./b", "trailing/", "ünï/cödé", "日本語", "😀", "~tilde", "*'()!", "a?b=c&d#e",
        "tab\there", "line\nend", "\x01\x7f", "k" * 1024, "ä" * 512, "runs/2024-01-01/part=0001.csv.gz"]


@functools.cache
def oracle_python():
    for python in (sys.executable, "python3", "/usr/bin/python3"):
        if subprocess.run([python, "-c", "import botocore.auth"], stderr=subprocess.DEVNULL).returncode == 0:
            return python
    return None


@pytest.fixture(scope="module")
def tool():
    with tempfile.TemporaryDirectory(prefix="sigv4-") as folder:
        binary = Path(folder) / "sigv4tool"
        subprocess.run([os.environ.get("CC", "gcc"), "-std=gnu11", "-O1", "-D_GNU_SOURCE", f"-I{ROOT}/src",
                        *(SANITIZERS if IS_ASAN else []), "-o", binary, *SOURCES,
                        "-Wl,-Bstatic", "-ldeflate", "-lsodium", "-Wl,-Bdynamic", "-pthread"], check=True)
        yield binary


def ask_oracle(cases):
    if oracle_python() is None:
        pytest.skip("no python3 here has botocore, whose signatures ours are compared with; "
                    "apt-get install python3-botocore, or pip install botocore")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    done = subprocess.run([oracle_python(), HERE / "sigv4_oracle.py"], input=json.dumps(cases).encode(),
                          stdout=subprocess.PIPE, check=True, timeout=5 * PATIENCE,
                          env={**environment, "AWS_CONFIG_FILE": "/dev/null", "AWS_EC2_METADATA_DISABLED": "true",
                               "AWS_SHARED_CREDENTIALS_FILE": "/dev/null"})
    return json.loads(done.stdout)


def ask_tool(tool, cases):
    """For each case (host, url, {header: value}), or None where it was refused."""
    lines = []
    for case in cases:
        uri = f"s3://{case['bucket']}/".encode() + bytes.fromhex(case["key"])
        words = [uri.hex(), *(text.encode().hex() for text in (
            case["region"], case["endpoint"] or "", case["access_key"], case["secret_key"], case["token"])),
            str(case["now"]), case["body"]]
        lines.append(" ".join(word or "-" for word in words))
    done = subprocess.run([tool, "sign"], input="\n".join(lines).encode() + b"\n", stdout=subprocess.PIPE,
                          check=True, timeout=PATIENCE)
    answers = []
    for line in done.stdout.decode("ascii").splitlines():
        host, url, *headers = line.split("\t") if line != "refused" else ("", "")
        pairs = [header.split(": ", 1) for header in headers]
        answers.append((host, url, {name.lower(): value for name, value in pairs}) if host else None)
        assert len(pairs) == len({name.lower() for name, _ in pairs}), "a header occurs once"
    assert len(answers) == len(cases)
    return answers


def make_case(rng, **given):
    token = "".join(rng.choices("ABCabc0189+/=", k=rng.choice([1, 20, 400, 4095])))
    case = {
        "bucket": rng.choice(BUCKETS[:4]),
        "key": "".join(rng.choices(LETTERS, k=rng.randint(1, 200))),
        "region": rng.choice(REGIONS[:7]),
        "endpoint": rng.choice([None, *ENDPOINTS]),
        "access_key": "".join(rng.choices("ABCDEFGHIJ0123456789", k=rng.randint(16, 128))),
        "secret_key": "".join(rng.choices("ABCabc0189+/=", k=rng.choice([1, 40, 59, 60, 61, 124, 255]))),
        "token": rng.choice(["", token]),
        "now": rng.choice([0, 951782399, 951868800, rng.randint(0, 253402300799), rng.randint(1, 2**31)]),
        "body": rng.randbytes(rng.choice([0, 1, 63, 64, 65, 1000, 5000])).hex(),
        "by_client": False,
        **given,
    }
    case["key"] = case["key"].encode()[:1024].decode(errors="ignore").encode().hex()
    return case


def compare(tool, cases):
    for case, ours, theirs in zip(cases, ask_tool(tool, cases), ask_oracle(cases)):
        assert ours is not None, f"refused: {case}"
        host, url, headers = ours
        assert host == theirs["host"], case
        # The usual port and upper case are dropped from an endpoint.
        scheme, _, _, path = theirs["url"].split("/", 3)
        assert url == f"{scheme}//{host}/{path}", case
        assert headers == theirs["headers"], case


def test_t_s3_04_keys_are_signed_as_botocore_does(tool):
    rng = random.Random(1)
    compare(tool, [make_case(rng, key=key, endpoint=endpoint) for key in KEYS for endpoint in (None, ENDPOINTS[0])])


@pytest.mark.parametrize("seed", range(4))
def test_t_s3_04_random_requests_are_signed_as_botocore_does(seed, tool):
    rng = random.Random(seed)
    compare(tool, [make_case(rng) for _ in range(250)])


def test_addresses_are_those_of_a_botocore_client(tool):
    rng = random.Random(2)
    places = [(region, None) for region in REGIONS] + [("eu-central-1", "http://127.0.0.1:9000"),
                                                       ("us-east-1", "https://minio.example:9000/base")]
    compare(tool, [make_case(rng, bucket=bucket, region=region, endpoint=endpoint, key=rng.choice(KEYS),
                             by_client=True) for region, endpoint in places for bucket in BUCKETS])


def test_bytes_that_are_no_text_are_signed_as_botocore_does(tool):
    rng = random.Random(3)
    cases = [make_case(rng) for _ in range(40)]
    for case in cases:
        case["key"] = rng.randbytes(rng.randint(1, 1024)).replace(b"\0", b"/").hex()
    compare(tool, cases)


@pytest.mark.parametrize("field", ["access_key", "secret_key", "token"])
@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\nb", "\ra", "a\x01", "a\x7f", "a\t"])
def test_control_bytes_in_credentials_are_refused(field, value, tool):
    assert ask_tool(tool, [make_case(random.Random(4), **{field: value})]) == [None]


# --- gzip ---

def compressed(tool, data):
    return subprocess.run([tool, "gzip"], input=data, stdout=subprocess.PIPE, check=True, timeout=PATIENCE).stdout


def test_gzip_is_read_by_python(tool):
    rng = random.Random(5)
    rows = "".join(f"{1700000000 + i},{rng.random():.4f},{rng.randint(0, 10**9)}\n" for i in range(20000))
    for data in (b"", b"a", b"\0" * 100000, rng.randbytes(70000), rows.encode()):
        packed = compressed(tool, data)
        assert gzip.decompress(packed) == data
        assert packed[:3] == b"\x1f\x8b\x08" and packed[3] == 0, "no name, no comment"
        assert packed[4:8] == bytes(4), "no time"
        member = zlib.decompressobj(wbits=31)
        member.decompress(packed)
        assert member.eof and member.unused_data == b"", "one member"
        assert compressed(tool, data) == packed
    assert len(packed) < len(rows) / 2
