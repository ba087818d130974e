"""All that can go wrong while a run is streamed. Each fault is a run of its own, and of each the same
is asked: every row is delivered once or saved, the command's status is the command's, the end comes
in time, memory stays small and no secret is told (StreamHost.check).

Faults mostly wait, so that all which are asked for run at the same time.
"""
import concurrent.futures
import gzip
import os
import resource
import signal
import sys
import time
from pathlib import Path

import pytest

from helpers import IS_ASAN, ROOT, ordinary_user, unshare_prefix

pytest.register_assert_rewrite("streamhost")
from streamhost import csv_rows, needs_botocore, stream_host  # noqa: E402

sys.path.insert(0, str(ROOT / "tests" / "fakes"))
from api_server import DeafPort  # noqa: E402
from certificates import Certificates  # noqa: E402
from metadata_server import closed_port  # noqa: E402
from recording import Recorder, Sink  # noqa: E402

pytestmark = needs_botocore

FAKES = ROOT / "build" / "fakes"
# More of them at once would be a test of the machine.
AT_ONCE = 10
# Not one of anything that a test could mistake for success.
STATUS = 3
# Long enough for the first look at the host and a try or two: 3 s.
A_WHILE = 60

FAULTS = {}


def fault(*arguments, **options):
    """Registers a fault; `options` are those of the servers, `arguments` make several of one."""
    def register(function):
        name = function.__name__.replace("_", " ")
        for values in arguments or [()]:
            values = values if isinstance(values, tuple) else (values,)
            label = " ".join([name, *(str(value) for value in values)])
            FAULTS[label] = (function, values, options)
        return function
    return register


def run_fault(label):
    function, values, options = FAULTS[label]
    with stream_host(**options) as host:
        function(host, *values)


@pytest.fixture(scope="module")
def runs(request):
    wanted = [item.callspec.params["label"] for item in request.session.items
              if getattr(item, "originalname", "") == "test_fault"]
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        yield {label: pool.submit(run_fault, label) for label in wanted}


def go(host, until, **options):
    """A run that ends with STATUS; where its rows are."""
    return host.check(host.run(until, STATUS, **options), STATUS)


def stored_after(host, condition, count=2):
    """Once the condition held, that many objects more."""
    seen = []

    def is_there():
        if not seen and condition():
            seen.append(len(host.s3.objects))
        return bool(seen) and len(host.s3.objects) >= seen[0] + count
    return is_there


def waits(requests):
    """Seconds between one and the next."""
    return [after.at - before.at for before, after in zip(requests, requests[1:])]


def preload(host, library):
    if IS_ASAN:
        pytest.skip("the sanitizer must come first, and needs what this takes away")
    host.env["LD_PRELOAD"] = str(FAKES / library)


# --- the API at the start ---

@fault(is_up=False)
def api_comes_up_late(host):
    """It is registered late, and nothing is missing."""
    def is_up():
        if host.api.thread is None and host.has_rows(A_WHILE)():
            host.api.listen()
        return host.stored(2)()
    places = go(host, is_up)
    assert places.stored and not places.left
    host.check_registered_once()


@fault(is_up=False)
def api_is_down_for_ever(host):
    assert go(host, host.has_rows(A_WHILE)).left


@fault(is_up=False)
def api_comes_up_in_the_last_moment(host):
    """After the command has ended, while we still try."""
    with host.started(*host.command) as job:
        job.until(host.has_rows(20))
        job.release(STATUS)
        job.until(host.ended.exists)
        host.api.listen()
        places = host.check(job.wait(), STATUS)
    assert places.inline and not places.left


@fault()
def api_does_not_take_connections(host):
    with DeafPort() as port:
        host.env["SENTINEL_API_URL"] = port.url
        assert go(host, host.has_rows(A_WHILE)).left


@fault()
def api_has_no_address(host):
    host.env["SENTINEL_API_URL"] = "http://nowhere.invalid"
    assert go(host, host.has_rows(A_WHILE)).left


@fault("now", "before 7.87")
def api_has_an_address_that_nobody_finds_with_libcurl_of(host, age):
    """The name server never answers, and there is no way to stop asking it: the thread is left behind."""
    preload(host, "slowdns.so")
    host.env["SENTINEL_API_URL"] = "https://api.example.com"
    if age != "now":
        host.env["SLOWDNS_OLD_CURL"] = "1"
    assert go(host, host.has_rows(A_WHILE)).left


@fault(500, 502, 503, 504, 404, 409, 301, 204, 100)
def api_answers_twice_with(host, status):
    """204 is success without what a run needs to know; 100 promises an answer that never comes."""
    if status == 100:
        host.api.plan("register", "garbage", times=2, data=b"HTTP/1.1 100 Continue\r\n\r\n")
    else:
        host.api.plan("register", "status", times=2, status=status, body=b"" if status == 204 else None)
    if status in (404, 409, 301):
        # The same again would hardly help, so that it may be tried slowly.
        go(host, host.has_rows(A_WHILE))
        return
    places = go(host, host.stored(2))
    assert places.stored and not places.left and len(host.api.asked("register")) == 3


@fault()
def api_answers_500_for_ever(host):
    host.api.otherwise("register", "status", status=500)
    assert go(host, host.has_rows(100)).left
    gaps = waits(host.api.asked("register"))
    # From 0.5 s on, doubled, with some chance in it: 15 s hold few.
    assert 2 <= len(gaps) <= 16
    assert gaps[0] >= 0.2, "not at once"


@fault(429, 503)
def api_asks_for_patience_with(host, status):
    host.api.plan("register", "status", status=status, retry_after=3)
    places = go(host, host.stored(1))
    assert places.stored and not places.left
    first, second = host.api.asked("register")
    assert second.at - first.at >= 2.9


@fault("86400", "-1", "soon", "9" * 40, "Wed, 21 Oct 2099 07:28:00 GMT")
def api_asks_for_patience_until(host, retry_after):
    """However long that is, the end is not put off for it."""
    host.api.plan("register", "status", status=429, retry_after=retry_after)
    go(host, host.has_rows(A_WHILE))


@fault(401, 403)
def api_refuses_the_token_with(host, status):
    host.api.otherwise("register", "status", status=status)
    assert go(host, host.has_rows(100)).left
    assert "SENTINEL_API_TOKEN" in host.messages()
    assert len(host.api.asked("register")) <= 5, "tried slowly"


@fault("hang", "hang_in_body", "closed", "reset", "garbage", "endless_headers", "endless", "truncated")
def api_never_gets_it_right(host, mode):
    host.api.otherwise("register", mode)
    # What was done without our knowing is none of ours.
    host.api.desk.runs = Forgetful()
    assert go(host, host.has_rows(A_WHILE)).left


class Forgetful(list):
    """Of a run that was begun and never told of, nothing is to be found."""

    def append(self, _):
        pass


@fault("closed", "reset", "garbage", "truncated", "endless", "endless_headers")
def api_gets_it_right_the_second_time(host, mode):
    host.api.plan("register", mode)
    places = go(host, host.stored(2))
    assert places.stored and not places.left


@fault("hang", "hang_in_body")
def api_hangs_once(host, mode):
    """The command is long over when that is given up: the rows are there all the same, or saved."""
    host.api.plan("register", mode)
    go(host, host.has_rows(A_WHILE))


PAGES = {
    "nothing": b"", "a list": b"[]", "an object": b"{}", "null": b"null", "a number as id": b'{"run_id": 5}',
    "an empty id": b'{"run_id": ""}', "an id with a slash": b'{"run_id": "../../x"}',
    "an id with a line end": b'{"run_id": "a\\r\\nb"}', "an id with NUL": b'{"run_id": "a\\u0000b"}',
    "an endless id": b'{"run_id": "' + b"a" * 100000 + b'"}', "half": b'{"run_id": "x", "upload_',
    "a web page": b"<!DOCTYPE html><title>Sign in</title>", "bytes": bytes(range(256)) * 16,
    "deep": b"[" * 100000, "deep objects": b'{"a":' * 50000, "bad text": b'{"run_id": "\xff\xfe"}',
    "huge number": b'{"run_id": 1e999999}', "twice": b'{"run_id": "x"}{"run_id": "y"}',
}


@fault(*PAGES)
def api_says(host, page):
    """That is no run: asked again."""
    host.api.plan("register", "page", body=PAGES[page])
    places = go(host, host.stored(1))
    assert places.stored and not places.left and len(host.api.asked("register")) == 2


@fault(307, 308, 302, 301)
def api_redirects_with(host, status):
    """Nobody else gets the token."""
    with Recorder(Sink) as elsewhere:
        host.api.otherwise("register", "redirect", location=elsewhere.url + "/runs", status=status)
        assert go(host, host.has_rows(A_WHILE)).left
        assert elsewhere.requests == []


@fault(dialect="deployed")
def api_does_not_like_our_dialect(host):
    places = go(host, host.stored(2))
    assert places.stored and not places.left and len(host.api.asked("register")) == 2


BAD_CERTIFICATES = {
    "self-signed": lambda own: own.self_signed("self", ["localhost"]),
    "of another host": lambda own: own.make("other", ["elsewhere.example.com"]),
    "expired": lambda own: own.make("old", ["localhost"], "20200101000000Z", "20200201000000Z"),
}


@fault(*BAD_CERTIFICATES)
def api_has_a_certificate_that_is(host, name):
    """It gets no token."""
    own = Certificates(host.spare)
    with stream_host(tls=BAD_CERTIFICATES[name](own)) as other:
        other.env["SSL_CERT_FILE"] = str(own.ca_file)
        assert go(other, other.has_rows(A_WHILE)).left
        assert other.api.requests == [] and "certificate" in other.messages().lower()


@fault()
def api_is_behind_a_proxy_that_knows_nothing(host):
    """The environment's is used for the API, not for the metadata service, which only this host can ask."""
    with Recorder(Sink) as proxy:
        host.env.update(http_proxy=proxy.url)
        assert go(host, host.has_rows(A_WHILE)).left
        assert host.api.requests == [] and proxy.requests
        assert all(line.startswith("POST") for line in proxy.lines())


# --- what is left over ---

@fault("-", "/dev/stdout")
def rows_are_saved_where_we_are_when_the_output_is(host, output):
    """A device is no file, and its folder no place for files."""
    host.arguments = [*host.arguments[:-2], "-o", output]
    host.api.otherwise("register", "status", status=500)
    outcome = host.run(lambda: host.stdout().count(b"\n") > 40, STATUS)
    astray = list(Path("/dev").glob(f"resource-tracker-{outcome.pid}*"))
    for path in astray:
        path.unlink()
    assert astray == []
    places = host.check(outcome, STATUS, local=csv_rows(outcome.stdout))
    assert places.left and host.leftovers(host.out)


def open_to_all(host):
    for path in (host.folder, host.out, host.spare, host.fifo):
        path.chmod(0o777)


def patient(host):
    """The command in a shell: whoever starts it need not have our Python."""
    script = 'read -r word < "$0"; : > "$1"; exit "$word"'
    return ["sh", "-c", script, str(host.fifo), str(host.ended)]


@fault(is_up=False)
def rows_cannot_be_saved_beside_the_output(host):
    """As in a folder of which only the output file is ours: they go where temporary files go."""
    open_to_all(host)
    host.output.touch()
    host.output.chmod(0o666)
    host.out.chmod(0o555)
    with ordinary_user() as (_, host.binary, host.step):
        with host.started(*patient(host)) as job:
            job.until(host.has_rows(20))
            job.release(STATUS)
            places = host.check(job.wait(), STATUS)
    assert places.left and host.leftovers(host.spare)


@fault()
def a_file_of_another_run_is_not_written_over(host):
    """Names are not ours alone: what is there stays, and so do our rows."""
    host.api.desk.run_ids = ["same"]
    host.api.otherwise("finish", "status", status=500)
    host.upload_at_end()
    older = host.out / "resource-tracker-same.csv.gz"
    older.write_bytes(b"of another")
    assert host.run(host.registered, STATUS).status == STATUS
    others = [path for folder in (host.out, host.spare) for path in folder.iterdir()
              if path not in (older, host.output)]
    assert older.read_bytes() == b"of another" and len(others) == 1
    assert csv_rows(gzip.decompress(others[0].read_bytes())) == host.local()


# --- the API in the middle and at the end ---

@fault()
def api_goes_away_after_registering(host):
    """S3 is still there: no row is missing, only the end is not told."""
    with host.started(*host.command) as job:
        job.until(host.stored(1))
        host.api.stop()
        job.until(host.stored(3))
        job.release(STATUS)
        places = host.check(job.wait(), STATUS)
    assert places.stored and not places.left and not places.inline
    assert host.messages() != ""


@fault()
def api_goes_away_before_anything_was_stored(host):
    host.upload_at_end()
    with host.started(*host.command) as job:
        job.until(host.registered)
        host.api.stop()
        job.release(STATUS)
        assert host.check(job.wait(), STATUS).left


@fault("status", "closed", "reset", "garbage", "endless", "truncated", "endless_headers")
def the_end_is_told_again_after(host, mode):
    """Where the answer was lost it may be told twice, but not something else."""
    host.api.plan("finish", mode, times=2)
    places = go(host, host.stored(1))
    assert places.stored and not places.left and host.accepted_end() is not None


@fault("status", "closed", "reset", "garbage", "endless", "truncated")
def the_end_with_data_is_told_again_after(host, mode):
    host.upload_at_end()
    host.api.plan("finish", mode, times=2)
    places = go(host, host.has_rows(20))
    assert places.inline and not places.left


@fault("status", "hang", "hang_in_body", "reset", "garbage")
def the_end_with_data_is_never_taken(host, mode):
    host.upload_at_end()
    host.api.otherwise("finish", mode)
    places = go(host, host.has_rows(20))
    if not places.left:
        # An answer of 200 is one, whatever its body would have been.
        assert mode == "hang_in_body"


@fault("status", "hang", "hang_in_body", "reset")
def the_end_is_never_taken(host, mode):
    host.api.otherwise("finish", mode)
    places = go(host, host.stored(2))
    assert places.stored and not places.left and not places.inline


@fault()
def the_end_is_put_off(host):
    """For a moment, as asked."""
    host.api.plan("finish", "status", status=429, retry_after=2)
    assert go(host, host.stored(1)).left == []
    first, second = host.api.asked("finish")
    assert second.at - first.at >= 1.9


@fault()
def the_end_is_put_off_beyond_our_time(host):
    host.api.otherwise("finish", "status", status=503, retry_after=3600)
    places = go(host, host.stored(1))
    assert places.stored and not places.left


@fault()
def the_end_goes_elsewhere(host):
    with Recorder(Sink) as elsewhere:
        host.upload_at_end()
        host.api.otherwise("finish", "redirect", location=elsewhere.url, status=308)
        assert go(host, host.has_rows(20)).left
        assert elsewhere.requests == []


# --- credentials and clocks ---

@fault(400, 403)
def credentials_expire_all_of_a_sudden(host, status):
    def has_expired():
        if len(host.s3.objects) >= 2 and not host.s3.expired:
            host.s3.expired[host.api.desk.issued[-1]] = status
        return host.run_record() and host.run_record().refreshes
    places = go(host, stored_after(host, has_expired))
    assert places.stored and not places.left
    assert host.run_record().refreshes == 1


@fault(lifetimes=[240])
def credentials_expire_in_four_minutes(host):
    places = go(host, host.stored(3))
    assert places.stored and not places.left and host.run_record().refreshes == 1


@fault("status", "closed", "garbage", "truncated", "endless", lifetimes=[240])
def credentials_are_not_renewed_at_first(host, mode):
    """The old ones are still good meanwhile; where they are not, since the answer was lost, the next are."""
    host.api.plan("refresh", mode)
    places = go(host, stored_after(host, lambda: host.api.asked("refresh")))
    assert places.stored and not places.left


@fault(b"{}", b"[]", b'{"upload_credentials": {"access_key": "a\\nb", "secret_key": "c"}}', lifetimes=[240])
def credentials_are_renewed_with_nonsense(host, page):
    host.api.plan("refresh", "page", times=2, body=page)
    places = go(host, stored_after(host, lambda: len(host.api.asked("refresh")) >= 1))
    assert places.stored and not places.left


@fault("status", "hang", "reset", lifetimes=[240])
def credentials_are_never_renewed(host, mode):
    """They are good for four minutes more."""
    host.api.otherwise("refresh", mode)
    go(host, host.has_rows(A_WHILE))


@fault()
def credentials_expired_and_are_never_renewed(host):
    """What was stored is told, the rest is saved."""
    host.api.otherwise("refresh", "status", status=500)

    def has_expired():
        if len(host.s3.objects) >= 2 and not host.s3.expired:
            host.s3.expired[host.api.desk.issued[-1]] = 403
        return len(host.api.asked("refresh")) >= 2
    places = go(host, has_expired)
    assert places.stored and places.left
    assert len(host.accepted_end()["data_uris"]) == len(host.s3.confirmed)


@fault(3600, -3600, 86400)
def clocks_differ_by(host, offset):
    host.s3.clock_offset_secs = offset
    places = go(host, host.stored(2))
    assert places.stored and not places.left


# --- S3 ---

@fault()
def s3_is_down_for_ever(host):
    host.env["AWS_ENDPOINT_URL_S3"] = f"http://127.0.0.1:{closed_port()}"
    places = go(host, lambda: host.registered() and host.has_rows(A_WHILE)())
    assert places.inline and not places.left


@fault()
def s3_has_no_address(host):
    host.env["AWS_ENDPOINT_URL_S3"] = "http://nowhere.invalid"
    assert go(host, lambda: host.registered() and host.has_rows(A_WHILE)()).inline


@fault("now", "before 7.87")
def s3_has_an_address_that_nobody_finds_with_libcurl_of(host, age):
    preload(host, "slowdns.so")
    host.env["AWS_ENDPOINT_URL_S3"] = "https://s3.example.com"
    if age != "now":
        host.env["SLOWDNS_OLD_CURL"] = "1"
    go(host, lambda: host.registered() and host.has_rows(A_WHILE)())


@fault()
def s3_does_not_take_connections(host):
    """What was not stored by the end goes with it, as long as there is time."""
    with DeafPort() as port:
        host.env["AWS_ENDPOINT_URL_S3"] = port.url
        go(host, lambda: host.registered() and host.has_rows(A_WHILE)())


@fault("hang", "hang_in_body", "endless_headers", "redirect")
def s3_never_stores(host, mode):
    with Recorder(Sink) as elsewhere:
        host.s3.otherwise(mode, **({"location": elsewhere.url} if mode == "redirect" else {}))
        go(host, lambda: len(host.s3.requests) >= 1 and host.has_rows(A_WHILE)())
        assert elsewhere.requests == []


@fault("AccessDenied", "NoSuchBucket", "InvalidAccessKeyId")
def s3_refuses_from_the_start_with(host, code):
    host.s3.otherwise("refuse", status=403, code=code)
    places = go(host, lambda: len(host.s3.requests) >= 1 and host.has_rows(A_WHILE)())
    assert places.inline and not places.left


@fault("refuse", "reset", "busy", "hang")
def s3_is_lost_in_the_middle(host, mode):
    """The end tells what was stored; the rest is saved."""
    host.s3.plan("store", times=2)
    host.s3.otherwise(mode)
    places = go(host, lambda: len(host.s3.requests) >= 3)
    assert places.stored and places.left
    assert len(host.accepted_end()["data_uris"]) == 2
    assert host.accepted_end()["run_status"] == "failed"


@fault("busy", "reset", "garbage", "endless_headers", "closed")
def one_batch_is_lost_for_a_while(host, mode):
    """Later ones would be taken, and have to wait for it."""
    host.s3.plan(mode, times=3, key="000002.csv.gz", **({"stored": False} if mode == "closed" else {}))
    places = go(host, host.stored(5))
    assert places.stored and not places.left
    numbers = [request.target[-13:-7] for request in host.s3.requests]
    assert numbers[:7] == ["000000", "000001", *["000002"] * 4, "000003"]


@fault("closed", "truncated")
def s3_stores_and_its_answer_is_lost(host, mode):
    """The same object again."""
    host.s3.plan(mode, times=2, key="000001.csv.gz")
    places = go(host, host.stored(4))
    assert places.stored and not places.left


@fault(503, 429, 500)
def s3_asks_for_patience_with(host, status):
    host.s3.plan("store")
    host.s3.plan("busy", status=status, retry_after=2)
    places = go(host, host.stored(3))
    assert places.stored and not places.left


@fault(upload=0.1)
def s3_is_slow(host):
    """Many batches queue, and all come."""
    host.s3.otherwise("slow", delay=0.15)
    places = go(host, host.stored(20))
    assert places.stored and not places.left
    assert len(host.s3.puts) >= 22


@fault(upload=0.1)
def s3_is_away_for_fifty_batches(host):
    """Nor does memory grow with them."""
    host.s3.otherwise("busy")

    def has_waited():
        if host.has_rows(110)():
            host.s3.otherwise("store")
        return host.stored(3)()
    places = go(host, has_waited)
    assert places.stored and not places.left
    assert len(places.stored) >= 110


# More than any batch or request should hold: some 6000 rows.
BACKLOG_BYTES = 1_300_000


def hoard(host):
    """Rows come fast; holds when there is a backlog."""
    host.arguments[host.arguments.index("-i") + 1] = "0.001"
    return lambda: host.output.exists() and host.output.stat().st_size > BACKLOG_BYTES


@fault()
def a_backlog_is_stored_when_s3_is_back(host):
    has_backlog = hoard(host)
    host.s3.otherwise("busy")

    def is_back():
        if has_backlog():
            host.s3.otherwise("store")
        return host.stored(2)()
    places = go(host, is_back)
    assert places.stored and not places.left
    assert max(len(gzip.decompress(put.body)) for put in host.s3.puts) < BACKLOG_BYTES


@fault()
def a_backlog_is_delivered_at_the_end(host):
    host.upload_at_end()
    assert go(host, hoard(host)).left == []


@fault()
def a_backlog_is_delivered_though_s3_refuses(host):
    host.s3.otherwise("refuse")
    assert go(host, hoard(host)).left == []


@fault(is_up=False)
def a_backlog_is_saved(host):
    assert go(host, hoard(host)).left


@fault(upload=0.1)
def s3_is_too_slow_for_the_deadline(host):
    """What it took by then is told and the rest is saved: each row in one of the two places."""
    host.s3.otherwise("slow", delay=1.5)
    places = go(host, host.has_rows(150))
    assert places.stored


@fault(upload=0.2)
def the_command_ends_during_an_upload(host):
    host.s3.plan("slow", delay=1, times=2)
    with host.started(*host.command) as job:
        job.until(lambda: len(host.s3.requests) >= 2, "an upload that is on its way")
        job.release(STATUS)
        places = host.check(job.wait(), STATUS)
    assert places.stored and not places.left


@fault()
def the_command_ends_while_it_is_registered(host):
    host.api.plan("register", "normal", delay=2)
    with host.started(*host.command) as job:
        job.until(lambda: host.api.requests, "a registration that is on its way")
        job.release(STATUS)
        places = host.check(job.wait(), STATUS)
    assert places.left == []
    host.check_registered_once()


# --- signals ---

def signal_tracker(host, number, job):
    os.kill(job.pid, number)
    return job.wait()


@fault(signal.SIGTERM, signal.SIGINT)
def the_tracker_gets(host, number):
    """With a command it is the command's, and the run ends with that."""
    with host.started(*host.command) as job:
        job.until(host.stored(2))
        outcome = signal_tracker(host, number, job)
    assert host.check(outcome, 128 + number).left == []


@fault()
def the_tracker_is_terminated_while_s3_is_away(host):
    host.s3.plan("store")
    host.s3.otherwise("busy")
    with host.started() as job:
        job.until(lambda: len(host.s3.requests) >= 2)
        places = host.check(signal_tracker(host, signal.SIGTERM, job))
    assert places.stored and places.left


@fault()
def the_tracker_is_terminated_again_during_the_end(host):
    """Impatience loses nothing either."""
    host.api.otherwise("register", "hang")
    with host.started(*host.command) as job:
        job.until(host.has_rows(20))
        job.release(STATUS)
        job.until(host.ended.exists)
        time.sleep(0.5)
        if job.look():
            os.kill(job.pid, signal.SIGTERM)
        outcome = job.wait()
    assert host.check(outcome, STATUS).left


@fault()
def the_tracker_is_killed(host):
    """The spool holds what was not confirmed; of a batch on its way nobody can know."""
    host.s3.plan("store", times=2)
    host.s3.otherwise("busy")
    with host.started(*host.command) as job:
        job.until(lambda: len(host.s3.requests) >= 4)
        os.kill(job.pid, signal.SIGKILL)
        assert job.wait().status == -signal.SIGKILL
    header, rows = csv_rows(whole_lines(host.output.read_bytes()))
    stored = [row for put in host.s3.puts for row in csv_rows(gzip.decompress(put.body))[1]]
    spool, = host.spools()
    its_header, waiting = csv_rows(whole_lines(spool.read_bytes().replace(b"\0", b"")))
    assert its_header == header and waiting
    # Either file may have one that the other has not.
    shorter = min(len(stored) + len(waiting), len(rows))
    assert abs(len(stored) + len(waiting) - len(rows)) <= 1
    assert (stored + waiting)[:shorter] == rows[:shorter]


def whole_lines(data):
    return data[:data.rindex(b"\n") + 1]


@fault()
def the_tracker_is_stopped_for_a_while(host):
    """The clock goes on meanwhile: connections time out, schedules are missed."""
    with host.started(*host.command) as job:
        job.until(host.stored(1))
        os.kill(job.pid, signal.SIGSTOP)
        time.sleep(2)
        os.kill(job.pid, signal.SIGCONT)
        job.until(stored_after(host, lambda: True))
        job.release(STATUS)
        assert host.check(job.wait(), STATUS).left == []


# --- the host ---

def own_mount(host, folder, size):
    """A prefix that starts the tracker where `folder` is a file system of `size` of its own."""
    script = f'mount -t tmpfs -o size={size} none "$0" && cd "$0" && exec "$@"'
    return [*unshare_prefix("--mount"), "sh", "-c", script, str(folder)]


@fault()
def the_disk_is_full(host):
    """Rows wait in memory then. The reference goes to standard output."""
    host.arguments = [*host.arguments[:-2], "-o", "-"]
    host.s3.otherwise("busy")

    def has_waited():
        if host.stdout().count(b"\n") > 100:
            host.s3.otherwise("store")
        return host.stored(2)()
    outcome = host.run(has_waited, STATUS, prefix=own_mount(host, host.out, "8k"))
    places = host.check(outcome, STATUS, local=csv_rows(outcome.stdout))
    assert len(places.stored) > 100 and not places.left


@fault(is_up=False)
def the_disk_is_full_and_the_api_is_down(host):
    """Saved where there is room."""
    host.arguments = [*host.arguments[:-2], "-o", "-"]
    outcome = host.run(lambda: host.stdout().count(b"\n") > 200, STATUS, prefix=own_mount(host, host.out, "4k"))
    places = host.check(outcome, STATUS, local=csv_rows(outcome.stdout))
    assert len(places.left) > 200 and host.leftovers(host.spare)


@fault()
def the_folder_is_gone(host):
    """The spool was removed by somebody: it is still open."""
    host.s3.otherwise("busy")

    def is_removed():
        if host.has_rows(40)() and not seen:
            seen.extend(host.spools())
            for path in seen:
                path.unlink()
            host.s3.otherwise("store")
        return bool(seen) and host.stored(2)()
    seen = []
    places = go(host, is_removed)
    assert places.stored and not places.left


@fault()
def no_thread_can_be_started(host):
    """All is sent at the end."""
    preload(host, "nothread.so")
    places = go(host, host.has_rows(20))
    assert places.inline and not places.left


# Instead of nobody: of this user there are no other processes.
LONELY = 61234


@fault()
def the_limit_of_processes_is_reached(host):
    """By the tracker and its command: there is no room for a thread."""
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody who is alone")

    def become_lonely():
        os.setgroups([])
        os.setgid(LONELY)
        os.setuid(LONELY)
        resource.setrlimit(resource.RLIMIT_NPROC, (2, 2))
    open_to_all(host)
    with ordinary_user() as (_, host.binary, _):
        host.step = become_lonely
        with host.started(*patient(host)) as job:
            job.until(host.has_rows(20))
            job.release(STATUS)
            places = host.check(job.wait(), STATUS)
    assert places.inline and not places.left


@fault(is_up=False)
def descriptors_are_few(host):
    """As many as sampling needs, none for connections."""
    host.step = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (24, 24))
    go(host, host.has_rows(A_WHILE))


@pytest.mark.parametrize("label", FAULTS)
def test_fault(runs, label):
    runs[label].result()
