"""A tracker that streams to servers of our own, and the question that every test of it asks: where is
each row? Beside the stream the tracker writes the same rows to a file; together, what S3 has, what
came with the end of the run and what was saved must be that file, row by row.
"""
import base64
import collections
import contextlib
import functools
import gzip
import os
import re
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from helpers import BINARY, IS_ASAN, PATIENCE, ROOT, before_exec, clean_environment, python, split_stderr, wait_until

sys.path.insert(0, str(ROOT / "tests" / "fakes"))
from api_server import ApiServer  # noqa: E402
from metadata_server import closed_port  # noqa: E402
from s3_server import S3Server, python_with_botocore  # noqa: E402

needs_botocore = pytest.mark.skipif(
    python_with_botocore() is None, reason="no python3 here has botocore, which checks the signatures; "
    "apt-get install python3-botocore, or pip install botocore")

# From the end of the command on.
DEADLINE_SECS = 10
# Starting and ending of processes on a machine that is busy with other tests.
SLACK_SECS = 10 if IS_ASAN else 5
# With a shared libcurl and all that it needs.
RSS_MAX_KIB = 24 * 1024
# The schedule has 0.05 s; stamps are whole seconds.
GAP_MAX_SECS = 3
# Whatever happens, a person still reads it.
MESSAGES_MAX = 20
# As much of a secret as nobody can know by chance.
PIECE = 10
OBJECT = re.compile(r"(\d{6,})\.csv\.gz")

Delivered = collections.namedtuple("Delivered", "stored inline left")
Outcome = collections.namedtuple("Outcome", "pid status stdout stderr end_secs peak_kib")

# Grows a little all the time: no two rows of it are the same. Ends as it is told to: with a status, or
# by a signal when that is negative.
COMMAND = """
import os, select, sys
order, ended = sys.argv[1:]
order = os.open(order, os.O_RDWR)
ballast = []
while not select.select([order], [], [], 0.02)[0]:
    ballast.append(b"x" * 40000)
word = int(os.read(order, 64))
open(ended, "w").close()
if word < 0:
    os.kill(os.getpid(), -word)
sys.exit(word)
"""


def pieces(secret):
    return {secret[at:at + PIECE] for at in range(0, len(secret) - PIECE + 1)}


def is_secret_in(secret, text):
    return any(piece in text for piece in pieces(secret))


def bare_environment(**extra):
    """Without the proxies, certificates and AWS settings of this machine."""
    kept = {name: value for name, value in clean_environment().items()
            if not name.lower().endswith("_proxy") and not name.startswith(("SSL_CERT_", "AWS_"))
            and name != "CURL_CA_BUNDLE"}
    return {**kept, **extra}


def csv_rows(data):
    """(header, rows) of CSV with at least a header; every line must be whole."""
    text = data.decode("ascii") if isinstance(data, bytes) else data
    assert text.endswith("\n"), f"the last line is torn: {text[-200:]!r}"
    header, *rows = text.split("\n")[:-1]
    return header, rows


def seconds(rows):
    return [int(row.partition(",")[0]) for row in rows]


# --- one run of the tracker ---

class Job:
    """A running tracker; `peak_kib` is the most memory it has had."""

    def __init__(self, host, process):
        self.host = host
        self.process = process
        self.pid = process.pid
        self.peak_kib = 0

    def look(self):
        """Whether it still runs. The high-water mark is the kernel's, so looking seldom is enough."""
        with contextlib.suppress(OSError):
            found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{self.pid}/status").read_text())
            self.peak_kib = max(self.peak_kib, int(found[1]) if found else 0)
        return self.process.poll() is None

    def until(self, condition, what="what the test waits for"):
        def is_there():
            assert self.look(), f"the tracker ended before {what}: {self.host.stderr()!r}"
            return condition()
        wait_until(is_there, what)

    def release(self, word=0):
        """The command ends: with this status, or by this signal when it is negative."""
        self.host.order(word)

    def wait(self):
        wait_until(lambda: not self.look(), "the end of the tracker", 2 * PATIENCE)
        end = time.time()
        ended = self.host.ended
        command_end = ended.stat().st_mtime if ended.exists() else end
        return Outcome(self.pid, self.process.returncode, self.host.stdout(), self.host.stderr(),
                       end - command_end, self.peak_kib)


class StreamHost:
    """
    Both servers and a folder for output. `env` and `arguments` are those of the tracker and may be
    changed before it is started; so may be the servers.
    """

    def __init__(self, folder, upload=0.3, s3=None, **api):
        self.folder = Path(folder)
        self.out = self.folder / "out"
        self.spare = self.folder / "spare"
        self.out.mkdir()
        self.spare.mkdir()
        self.output = self.out / "samples.csv"
        self.ended = self.folder / "ended"
        self.fifo = self.folder / "order"
        os.mkfifo(self.fifo)
        self.s3 = S3Server(**(s3 or {}))
        self.s3.accounts.clear()
        self.api = ApiServer(self.s3, **api)
        self.binary = BINARY
        self.step = None
        self.arguments = ["-i", "0.05", "--pss", "always", "--no-gpu", "--no-detect", "-f", "csv",
                          "--csv-columns", "full", "-o", str(self.output)]
        self.env = bare_environment(
            SENTINEL_API_TOKEN=self.api.desk.token, SENTINEL_API_URL=self.api.url,
            TRACKER_UPLOAD_INTERVAL=str(upload), AWS_ENDPOINT_URL_S3=self.s3.url,
            TRACKER_METADATA_ENDPOINT=f"http://127.0.0.1:{closed_port()}", TMPDIR=str(self.spare))

    def close(self):
        self.api.stop()
        self.s3.close()
        os.close(self.order_fd)

    def faults(self):
        return self.api.faults + self.s3.faults

    def upload_at_end(self):
        """No batch before."""
        self.env["TRACKER_UPLOAD_INTERVAL"] = "60"

    # -- running --

    @property
    def command(self):
        """One that runs until it is released."""
        return python(COMMAND, self.fifo, self.ended)

    @functools.cached_property
    def order_fd(self):
        """Kept open for both directions: neither side has to wait for the other."""
        return os.open(self.fifo, os.O_RDWR | os.O_CLOEXEC)

    def order(self, word):
        os.write(self.order_fd, f"{word}\n".encode())

    @contextlib.contextmanager
    def started(self, *command, prefix=(), cwd=None):
        """Without a command of its own: watching. What it says goes to files, so that it never waits."""
        tail = ["--", *command] if command else []
        with (self.folder / "stdout").open("wb") as out, (self.folder / "stderr").open("wb") as err:
            process = subprocess.Popen(
                [*prefix, self.binary, *self.arguments, *tail], stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                env=self.env, cwd=cwd or self.out, preexec_fn=before_exec(self.step))
        try:
            yield Job(self, process)
        finally:
            if process.poll() is None:
                process.kill()
            if process.wait(PATIENCE) < 0:
                # The command outlives a tracker that was killed.
                self.order(0)

    def run(self, until, word=0, **options):
        """A whole run of the command, which ends when `until` holds."""
        with self.started(*self.command, **options) as job:
            job.until(until)
            job.release(word)
            return job.wait()

    def run_short(self, *command, **options):
        """A command that ends by itself."""
        with self.started(*command, **options) as job:
            return job.wait()

    def stdout(self):
        return (self.folder / "stdout").read_bytes()

    def stderr(self):
        return (self.folder / "stderr").read_bytes()

    def messages(self):
        return split_stderr(self.stderr())[1].decode()

    # -- conditions to wait for --

    def stored(self, count):
        return lambda: len(self.s3.objects) >= count

    def registered(self):
        return bool(self.api.runs)

    def has_rows(self, count):
        """That many rows of the stream, in the file beside it."""
        return lambda: self.output.exists() and self.output.read_bytes().count(b"\n") > count

    # -- where the rows are --

    def local(self):
        return csv_rows(self.output.read_bytes())

    def run_record(self):
        """The run that the tracker went on with; earlier ones were never known to it."""
        return self.api.runs[-1] if self.api.runs else None

    def accepted_end(self):
        """What the API took as the end; when it was told twice, it was told the same."""
        record = self.run_record()
        for earlier in self.api.runs[:-1]:
            assert earlier.ends == []
        if record is None or not record.ends:
            return None
        told = [{**end, "finished_at": None} for end in record.ends]
        assert all(end == told[0] for end in told)
        return record.ends[-1]

    def batch_uri(self, number):
        return f"{self.run_record().prefix}/{self.run_record().id}/{number:06d}.csv.gz"

    def stored_uris(self):
        """Those that count: what the end lists; without an end what S3 has confirmed."""
        confirmed = [f"s3://{bucket}/{key.decode()}" for bucket, key in self.s3.confirmed]
        end = self.accepted_end()
        uris = sorted(set(confirmed)) if end is None else end.get("data_uris", [])
        assert uris == [self.batch_uri(number) for number in range(len(uris))], "numbers without gaps, in order"
        assert set(confirmed) <= set(uris), "a batch that was stored is not told"
        return uris

    def stored_rows(self, header):
        objects = {f"s3://{bucket}/{key.decode()}": body for (bucket, key), body in self.s3.objects.items()}
        rows = []
        for uri in self.stored_uris():
            its_header, its_rows = csv_rows(gzip.decompress(objects[uri]))
            assert its_header == header and its_rows, uri
            rows += its_rows
        return rows

    def inline_csv(self):
        data = self.accepted_end()["data_csv"]
        return gzip.decompress(base64.b64decode(data)) if self.run_record().dialect == "specified" else data

    def inline_rows(self, header):
        end = self.accepted_end()
        if end is None or end["data_source"] != "inline":
            return []
        its_header, rows = csv_rows(self.inline_csv())
        assert its_header == header
        return rows

    def leftovers(self, *folders):
        return [path for folder in folders or (self.out, self.spare)
                for path in folder.glob("resource-tracker-*.csv.gz")]

    def spools(self):
        return [path for folder in (self.out, self.spare) for path in folder.glob("resource-tracker-*-??????.csv")]

    def left_rows(self, pid, header):
        """Saved under the right name, and told."""
        found = self.leftovers()
        told = re.findall(r"^resource-tracker: .*?(\d+) rows?\b.* saved in (\S+\.csv\.gz)", self.messages(), re.M)
        if not found:
            assert told == []
            return []
        assert len(found) == 1
        name = pid if self.run_record() is None else self.run_record().id
        assert found[0].name == f"resource-tracker-{name}.csv.gz"
        its_header, rows = csv_rows(gzip.decompress(found[0].read_bytes()))
        assert its_header == header and rows
        assert [(int(count), os.path.realpath(self.out / path)) for count, path in told] == \
            [(len(rows), os.path.realpath(found[0]))], self.messages()
        return rows

    def delivered(self, outcome, local=None):
        """Each row exactly once, in order; where to."""
        header, rows = local or self.local()
        places = Delivered(self.stored_rows(header), self.inline_rows(header), self.left_rows(outcome.pid, header))
        assert not places.stored or not places.inline
        everywhere = places.stored + places.inline + places.left
        assert len(everywhere) == len(rows), f"{len(rows)} rows, {[len(place) for place in places]} delivered"
        assert everywhere == rows
        return places

    # -- what holds for every run --

    def check(self, outcome, status=0, local=None):
        """The whole contract; where the rows are."""
        assert self.faults() == []
        assert outcome.status == status, outcome.stderr
        assert outcome.end_secs < DEADLINE_SECS + SLACK_SECS
        assert IS_ASAN or outcome.peak_kib < RSS_MAX_KIB
        assert len(self.messages().splitlines()) <= MESSAGES_MAX, self.messages()
        assert self.spools() == [], "the spool is removed"
        self.check_secrets(outcome)
        self.check_puts()
        places = self.delivered(outcome, local)
        self.check_schedule((local or self.local())[1])
        return places

    @staticmethod
    def check_schedule(rows):
        stamps = seconds(rows)
        gaps = [after - before for before, after in zip(stamps, stamps[1:])]
        assert all(0 <= gap <= GAP_MAX_SECS for gap in gaps), gaps

    def check_secrets(self, outcome):
        texts = [outcome.stdout, outcome.stderr, *(path.read_bytes() for path in self.out.rglob("*") if path.is_file())]
        for secret in self.api.secrets:
            assert not any(is_secret_in(secret.encode(), text) for text in texts)
        for request in self.s3.requests:
            assert not any(is_secret_in(self.api.desk.token, value) for _, value in request.headers)

    def check_puts(self):
        """One batch after the other, each with the same bytes however often it was sent, and with our keys."""
        bodies = {}
        for request in self.s3.requests:
            if request.method != "PUT":
                continue
            assert bodies.setdefault(request.target, request.body) == request.body, request.target
            assert request.target == list(bodies)[-1], "a batch was sent before the one before it was stored"
            headers = {name.lower(): value for name, value in request.headers}
            assert headers["content-encoding"] == "gzip"
            assert any(f"Credential={key}/" in headers["authorization"] for key in self.api.desk.issued)

    def check_registered_once(self):
        assert len(self.api.asked("register")) == len(self.api.runs) == 1

    def check_quiet(self):
        assert self.messages() == ""


@contextlib.contextmanager
def stream_host(**options):
    """For those who cannot use the fixture."""
    with tempfile.TemporaryDirectory(prefix="stream-") as folder:
        host = StreamHost(folder, **options)
        try:
            yield host
        finally:
            host.close()


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)
