"""Runs that are streamed to a stand-in for the API and one for S3: what is sent, when, and to whom."""
import contextlib
import gzip
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from helpers import IS_ASAN, PATIENCE, ROOT, python, require_strace, samples_of, split_stderr, unshare_prefix

pytest.register_assert_rewrite("streamhost")
from gpuhost import GpuHost, only_without_driver  # noqa: E402
from streamhost import StreamHost, csv_rows, is_secret_in, mode_of, needs_botocore  # noqa: E402

sys.path.insert(0, str(ROOT / "tests" / "fakes"))
from certificates import Certificates  # noqa: E402
from metadata_server import MetadataServer  # noqa: E402

pytestmark = needs_botocore

METADATA = {
    "job_name": "a job", "project_name": "päth", "stage_name": "train", "task_name": 'quote "this"', "team": "red",
    "env": "dev", "language": "python", "orchestrator": "metaflow", "executor": "k8s", "external_run_id": "77/3",
    "container_image": "registry.example.com/image:1.2"}
HOST_KEYS = {"host_id", "host_name", "host_ip", "host_allocation", "host_vcpus", "host_cpu_model", "host_memory_mib",
             "host_gpu_model", "host_gpu_count", "host_gpu_vram_mib", "host_storage_gb"}
CLOUD_KEYS = {"cloud_vendor_id", "cloud_account_id", "cloud_region_id", "cloud_zone_id", "cloud_instance_type"}


@pytest.fixture
def host(tmp_path):
    host = StreamHost(tmp_path)
    yield host
    host.close()


@pytest.fixture
def deployed(tmp_path):
    host = StreamHost(tmp_path, dialect="deployed")
    yield host
    host.close()


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    return Certificates(tmp_path_factory.mktemp("certificates"))


def altered(change):
    """What a run is told when it is registered, changed."""
    def alter(answer):
        if "run_id" in answer:
            change(answer)
        return answer
    return alter


def options_of(metadata):
    return [word for name, value in metadata.items() for word in (f"--{name.replace('_', '-')}", value)]


# --- whether there is a stream at all ---

def traced(host, *command):
    """The names of network and file calls of a whole run."""
    require_strace()
    trace = host.folder / "trace"
    if IS_ASAN:
        host.env["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    outcome = host.run_short(*command, prefix=("strace", "-f", "-qq", "-e", "trace=network,openat", "-o", trace))
    assert outcome.status == 0
    return trace.read_text(errors="replace")


@pytest.mark.parametrize("variables", [{}, {"SENTINEL_API_TOKEN": ""}, {"SENTINEL_API_KEY": ""},
                                       {"SENTINEL_API_TOKEN": "", "SENTINEL_API_KEY": ""}],
                         ids=["unset", "empty", "empty alias", "both empty"])
def test_t_str_01_without_a_token_nothing_is_sent(host, variables):
    """Whatever else is said about the stream."""
    del host.env["SENTINEL_API_TOKEN"]
    host.env.update(variables)
    text = traced(host, "sleep", "0.3")
    assert "socket(" not in text and "connect(" not in text and "libcurl" not in text
    assert host.api.requests == [] and host.s3.requests == []
    assert os.listdir(host.out) == ["samples.csv"] and host.messages() == ""


def test_with_a_token_there_is_a_stream(host):
    """The other side of the test above: the trace would show it."""
    text = traced(host, "sleep", "0.3")
    assert "connect(" in text and host.run_record().ends


@pytest.mark.parametrize("variables", [{"SENTINEL_API_KEY": "right"},
                                       {"SENTINEL_API_KEY": "right", "SENTINEL_API_TOKEN": ""},
                                       {"SENTINEL_API_KEY": "wrong", "SENTINEL_API_TOKEN": "right"}],
                         ids=["alone", "with an empty token", "overruled"])
def test_the_token_has_two_names(tmp_path, variables):
    host = StreamHost(tmp_path, token="right")
    with contextlib.closing(host):
        del host.env["SENTINEL_API_TOKEN"]
        host.env.update(variables)
        assert host.check(host.run_short("true")).inline
        host.check_quiet()
        assert {request.headers["Authorization"] for request in host.api.requests} == {"Bearer right"}


# --- what is sent ---

def test_t_str_02_batches_are_gzip_and_say_so(host):
    outcome = host.run(host.stored(3))
    places = host.check(outcome)
    assert places.left == places.inline == []
    assert len(set(places.stored)) > len(places.stored) * 0.8, "the rows of this test can be told apart"
    for put in host.s3.puts:
        assert put.headers["Content-Encoding"] == "gzip"
        header, rows = csv_rows(gzip.decompress(put.body))
        assert header.startswith("timestamp,system_processes,") and header.endswith(",process_gpu_utilized")
        assert rows
    host.check_registered_once()
    host.check_quiet()


def test_t_str_03_the_end_lists_all_that_was_stored(host):
    host.check(host.run(host.stored(3)))
    uris = [f"s3://{put.bucket}/{put.key.decode()}" for put in host.s3.puts]
    assert host.accepted_end()["data_uris"] == uris and len(uris) >= 3
    assert uris[0] == f"s3://bucket/some/prefix/{host.run_record().id}/000000.csv.gz"


def test_batches_come_with_the_interval(tmp_path):
    """Neither with each row nor all at the end; the first look at the host comes before the first."""
    with contextlib.closing(StreamHost(tmp_path, upload=1)) as host:
        outcome = host.run(host.stored(3))
        rows = host.check(outcome).stored
        assert 3 <= len(host.s3.puts) <= (int(rows[-1].split(",")[0]) - int(rows[0].split(",")[0])) + 3


@pytest.mark.parametrize("word, status, exit_code, run_status", [
    (0, 0, 0, "finished"), (3, 3, 3, "failed"), (255, 255, 255, "failed"),
    (-signal.SIGKILL, 137, None, "failed"), (-signal.SIGTERM, 143, None, "finished")])
def test_t_eor_02_t_eor_03_a_short_run_ends_with_its_data(host, word, status, exit_code, run_status):
    host.upload_at_end()
    outcome = host.run(host.has_rows(5), word)
    assert host.check(outcome, status).inline
    end = host.accepted_end()
    assert end["run_id"] == host.run_record().id
    assert end["data_source"] == "inline" and "data_uris" not in end
    assert (end.get("exit_code"), end["run_status"]) == (exit_code, run_status)
    assert host.s3.requests == []
    host.check_registered_once()
    host.check_quiet()


@pytest.mark.parametrize("word, status, exit_code, run_status", [
    (0, 0, 0, "finished"), (3, 3, 3, "failed"), (-signal.SIGSEGV, 139, None, "failed"),
    (-signal.SIGTERM, 143, None, "finished")])
def test_t_eor_02_t_eor_04_a_long_run_ends_with_its_objects(host, word, status, exit_code, run_status):
    outcome = host.run(host.stored(1), word)
    assert host.check(outcome, status).stored
    end = host.accepted_end()
    assert end["run_id"] == host.run_record().id
    assert end["data_source"] == "s3" and "data_csv" not in end
    assert (end.get("exit_code"), end["run_status"]) == (exit_code, run_status)
    assert len(host.api.asked("finish")) == 1


def test_the_shortest_run(host):
    start = time.monotonic()
    outcome = host.run_short("true")
    assert len(host.check(outcome).inline) == 1
    assert time.monotonic() - start < 10
    host.check_quiet()


def test_a_command_that_cannot_be_started_is_no_run(host):
    outcome = host.run_short("/nowhere/at/all")
    assert outcome.status == 127
    assert os.listdir(host.out) == [] and os.listdir(host.spare) == []
    assert host.api.requests == [] and host.s3.requests == []


def test_a_run_is_registered_with_all_that_is_known(host):
    host.arguments += [*options_of(METADATA), "--tag", "a=1", "--tag", "b=x=y"]
    outcome = host.run(host.registered)
    host.check(outcome)
    body = host.run_record().body
    assert {name: body[name] for name in METADATA} == METADATA
    assert body["tags"] == {"a": "1", "b": "x=y"}
    assert body["command"] == host.command
    assert isinstance(body["pid"], int) and body["pid"] > 0
    assert body["host_vcpus"] == os.cpu_count() and body["host_memory_mib"] > 0
    assert body["host_name"] == os.uname().nodename
    assert HOST_KEYS | CLOUD_KEYS <= set(body)
    assert all(body[name] is None for name in CLOUD_KEYS)


def test_the_pid_is_the_commands(host):
    with host.started(*host.command) as job:
        job.until(host.registered)
        children = Path(f"/proc/{job.pid}/task/{job.pid}/children").read_text().split()
        job.release()
        host.check(job.wait())
    assert str(host.run_record().body["pid"]) in children


def test_what_is_not_set_is_not_sent(host):
    host.check(host.run_short("true"))
    body = host.run_record().body
    assert not set(METADATA) & set(body) and not body.get("tags")
    assert body["command"] == ["true"]


def test_what_the_cloud_says_is_told(host):
    with MetadataServer("aws") as cloud:
        host.env["TRACKER_METADATA_ENDPOINT"] = cloud.url
        host.env["TRACKER_CLOUD_ZONE_ID"] = ""
        host.env["TRACKER_HOST_NAME"] = "another"
        host.check(host.run(host.registered))
        for _, _, headers in cloud.requests:
            assert not any(is_secret_in(host.api.desk.token, value) for value in headers.values())
    body = host.run_record().body
    assert (body["cloud_vendor_id"], body["cloud_region_id"], body["cloud_instance_type"]) == \
        ("aws", "us-west-2", "m5.xlarge")
    assert body["cloud_zone_id"] is None and body["host_name"] == "another"


@pytest.mark.parametrize("mode", ["hang", "dribble"])
def test_a_metadata_service_that_hangs_delays_nothing(host, mode):
    """The run is registered all the same, and the command neither starts nor ends later."""
    with MetadataServer("aws", mode) as cloud:
        host.env["TRACKER_METADATA_ENDPOINT"] = cloud.url
        outcome = host.run(host.stored(1), 3)
        assert host.check(outcome, 3).stored
    assert all(host.run_record().body[name] is None for name in CLOUD_KEYS)


# --- the dialect that is deployed ---

def test_the_deployed_api_gets_its_own_dialect(deployed):
    deployed.arguments += [*options_of(METADATA), "--tag", "a=1", "--tag", "b=x=y"]
    outcome = deployed.run(deployed.stored(2), 3)
    assert deployed.check(outcome, 3).stored
    tries = [json.loads(request.body) for request in deployed.api.asked("register")]
    assert len(tries) == 2 and "pid" in tries[0] and "host_name" in tries[0]
    body = tries[1]
    assert {name: body[name] for name in METADATA} == METADATA
    assert body["tags"] == ["a=1", "b=x=y"] and json.loads(body["command"]) == deployed.command
    assert body["host_hostname"] == tries[0]["host_name"]
    assert body["host_server_allocation"] == tries[0]["host_allocation"]
    assert body["host_gpu_memory_mib"] == tries[0]["host_gpu_vram_mib"]
    assert len(deployed.api.asked("finish")) == 1, "the dialect is known by then"
    end = deployed.accepted_end()
    assert end["exit_code"] == 3 and end["run_status"] == "failed" and end["data_source"] == "s3"
    assert abs(time.mktime(time.strptime(end["finished_at"], "%Y-%m-%dT%H:%M:%SZ")) - time.timezone
               - time.time()) < PATIENCE
    deployed.check_quiet()


def test_the_deployed_api_gets_plain_data_of_a_short_run(deployed):
    deployed.upload_at_end()
    outcome = deployed.run_short("sleep", "0.3")
    assert len(deployed.check(outcome).inline) >= 3
    assert len(deployed.api.asked("finish")) == 1
    deployed.check_quiet()


@pytest.mark.parametrize("status", [400, 415, 422])
def test_any_dislike_makes_it_try_the_other_dialect(deployed, status):
    deployed.api.plan("register", "status", status=status)
    assert deployed.check(deployed.run_short("true")).inline
    assert len(deployed.api.asked("register")) == 2


@pytest.mark.parametrize("is_short", [True, False])
def test_an_api_that_changes_its_mind_before_the_end(host, is_short):
    """Registered in one dialect, understood in the other from then on."""
    until = host.registered if is_short else host.stored(1)
    if is_short:
        host.upload_at_end()
    with host.started(*host.command) as job:
        job.until(until)
        host.api.desk.dialect = host.run_record().dialect = "deployed"
        job.release()
        places = host.check(job.wait())
    assert places.left == []
    assert len(host.api.asked("finish")) == 2


def test_what_neither_dialect_can_say_is_saved(host):
    """A body that is refused for another reason is not sent back and forth for ever."""
    host.api.otherwise("register", "status", status=422)
    outcome = host.run(host.has_rows(60), 3)
    assert host.check(outcome, 3).left
    assert 2 <= len(host.api.asked("register")) <= 20


# --- the end by a signal ---

@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_t_eor_01_a_signal_ends_watching_after_the_flush(host, number):
    with host.started() as job:
        job.until(host.stored(2))
        job.process.send_signal(number)
        outcome = job.wait()
    places = host.check(outcome)
    assert places.stored and not places.left
    end = host.accepted_end()
    assert end["run_status"] == "finished" and end.get("exit_code") in (None, 0)
    assert not host.run_record().body.get("command")
    host.check_quiet()


def test_t_eor_01_a_signal_before_anything_was_stored(host):
    host.upload_at_end()
    with host.started() as job:
        job.until(host.has_rows(3))
        job.process.terminate()
        assert host.check(job.wait()).inline
    host.check_quiet()


def test_a_signal_to_a_tracker_with_a_command_is_the_commands(host):
    with host.started(*host.command) as job:
        job.until(host.stored(1))
        job.process.terminate()
        places = host.check(job.wait(), 143)
    assert places.stored and not places.left
    end = host.accepted_end()
    assert end.get("exit_code") is None and end["run_status"] == "finished"


def test_a_process_that_is_attached_to(host):
    """It is nobody's command, so that there is no status; its end ends nothing."""
    with subprocess.Popen(host.command) as target:
        host.arguments += ["--pid", str(target.pid)]
        with host.started() as job:
            job.until(host.stored(1))
            job.release()
            target.wait(PATIENCE)
            seen = len(host.s3.objects)
            job.until(host.stored(seen + 1))
            job.process.terminate()
            assert host.check(job.wait()).left == []
    body = host.run_record().body
    assert body["pid"] == target.pid and not body.get("command")
    assert host.accepted_end()["run_status"] == "finished" and host.accepted_end().get("exit_code") in (None, 0)


# --- credentials ---

@pytest.mark.parametrize("expiry_key", ["expiration", "expires_at"])
@pytest.mark.parametrize("lifetime", [240, 298, 0, -3600])
def test_t_str_04_credentials_are_renewed_when_five_minutes_are_left(tmp_path, expiry_key, lifetime):
    """Before the first batch is sent with them."""
    with contextlib.closing(StreamHost(tmp_path, lifetimes=[lifetime], expiry_key=expiry_key)) as host:
        places = host.check(host.run(host.stored(2)))
        assert places.stored and not places.left
        assert len(host.api.asked("refresh")) == 1
        assert host.api.asked("refresh")[0].body == b""
        first = host.s3.requests[0]
        assert f"Credential={host.api.desk.issued[1]}/" in dict(first.headers)["Authorization"]


@pytest.mark.parametrize("expiry_key", ["expiration", "expires_at", None])
def test_t_str_04_credentials_are_not_renewed_before(tmp_path, expiry_key):
    with contextlib.closing(StreamHost(tmp_path, lifetimes=[400], expiry_key=expiry_key)) as host:
        assert host.check(host.run(host.stored(3))).stored
        assert host.api.asked("refresh") == []
        host.check_quiet()


def test_t_str_04_credentials_are_renewed_in_the_middle(tmp_path):
    with contextlib.closing(StreamHost(tmp_path, lifetimes=[306])) as host:
        outcome = host.run(lambda: host.run_record() and host.run_record().refreshes and len(host.s3.objects) >= 2)
        assert host.check(outcome).stored
        refresh, = host.api.asked("refresh")
        assert 4 <= refresh.at - host.api.asked("register")[0].at <= 4 + PATIENCE
        host.check_quiet()


def test_credentials_that_are_always_old_are_not_asked_for_in_a_loop(tmp_path):
    """As with a clock that is wrong: S3 takes them, so that is what counts."""
    with contextlib.closing(StreamHost(tmp_path, lifetimes=[-10] * 1000)) as host:
        assert host.check(host.run(host.stored(5))).left == []
        assert len(host.api.asked("refresh")) <= 2 * len(host.s3.puts) + 2


def test_credentials_without_a_session_token(tmp_path):
    with contextlib.closing(StreamHost(tmp_path)) as host:
        def without_token(answer):
            keys = answer["upload_credentials"]
            keys.pop("session_token")
            account = host.s3.accounts[keys["access_key"]]
            host.s3.accounts[keys["access_key"]] = account._replace(token="")
        host.api.alter(altered(without_token))
        assert host.check(host.run(host.stored(2))).stored


def test_a_region_that_is_not_told_is_learned(tmp_path):
    with contextlib.closing(StreamHost(tmp_path, region=None)) as host:
        places = host.check(host.run(host.stored(3)))
        assert places.stored and not places.left


# --- addresses ---

@pytest.mark.parametrize("end", ["", "/", "//"])
@pytest.mark.parametrize("base", ["", "/v1/api"])
def test_the_apis_address_may_have_a_path(tmp_path, base, end):
    with contextlib.closing(StreamHost(tmp_path, base=base)) as host:
        host.env["SENTINEL_API_URL"] = host.api.url + end
        assert host.check(host.run_short("true")).inline
        assert [request.endpoint for request in host.api.requests] == ["register", "finish"]


@pytest.mark.parametrize("prefix, key", [
    ("s3://bucket/some/prefix/", "some/prefix/"), ("s3://bucket", ""), ("s3://bucket/", ""),
    ("s3://dotted.name/a b/ü+=", "a b/ü+=/")])
def test_where_batches_go(tmp_path, prefix, key):
    with contextlib.closing(StreamHost(tmp_path, prefix=prefix)) as host:
        assert host.check(host.run(host.stored(2))).stored
        assert host.s3.puts[0].key.decode() == f"{key}{host.run_record().id}/000000.csv.gz"


@pytest.mark.parametrize("run_id", ["a b?c#d%41&e=f;g", "üñí-日本", "..", "x" * 200, "42"])
def test_hostile_run_ids(tmp_path, run_id):
    """They are part of addresses: nothing of them may be taken for more than a name."""
    with contextlib.closing(StreamHost(tmp_path, run_ids=[run_id], lifetimes=[60])) as host:
        assert host.check(host.run(host.stored(2), 3), 3).left == []
        assert [request.run_id for request in host.api.requests] in (
            [None, run_id, run_id], [None, run_id]), "refreshed and ended under its own name"


def test_amazons_own_variables_are_not_used(host):
    """Uploads are signed with what the API gave, whoever else has keys here."""
    host.env.update(AWS_ACCESS_KEY_ID="AKIDOTHER", AWS_SECRET_ACCESS_KEY="other", AWS_SESSION_TOKEN="other",
                    AWS_REGION="us-gov-1", AWS_DEFAULT_REGION="us-gov-1", AWS_PROFILE="other")
    assert host.check(host.run(host.stored(2))).left == []
    host.check_quiet()


# --- TLS ---

def secure_host(folder, certificates, server):
    host = StreamHost(folder, tls=server, s3={"tls": server})
    host.env["SSL_CERT_FILE"] = str(certificates.ca_file)
    return host


def test_a_certificate_of_a_private_authority(tmp_path, certificates):
    with contextlib.closing(secure_host(tmp_path, certificates, certificates.make("good", ["localhost"]))) as host:
        places = host.check(host.run(host.stored(2)))
        assert places.stored and not places.left
        host.check_quiet()


def memory_kib(pid, name):
    return int(re.search(rf"^{name}:\s+(\d+)", Path(f"/proc/{pid}/status").read_text(), re.M)[1])


@pytest.mark.skipif(IS_ASAN, reason="a sanitizer's own memory is most of it")
def test_between_batches_the_libraries_memory_is_given_back(tmp_path, certificates):
    """That of TLS above all."""
    host = secure_host(tmp_path, certificates, certificates.make("large", ["localhost"]))
    host.env["TRACKER_UPLOAD_INTERVAL"] = "2.5"
    with contextlib.closing(host), host.started(*host.command) as job:
        job.until(host.stored(2))
        # The next one is two seconds away.
        job.until(lambda: memory_kib(job.pid, "VmRSS") < memory_kib(job.pid, "VmHWM") * 0.6)
        job.release()
        host.check(job.wait())


def test_an_s3_with_a_wrong_certificate_gets_no_rows(tmp_path, certificates):
    """The API is to be trusted and gets them."""
    host = StreamHost(tmp_path, tls=certificates.make("fine", ["localhost"]),
                      s3={"tls": certificates.self_signed("s3", ["localhost"])})
    host.env["SSL_CERT_FILE"] = str(certificates.ca_file)
    with contextlib.closing(host):
        # The registered run has tried a batch or two by then.
        outcome = host.run(lambda: host.registered() and host.has_rows(80)())
        assert host.check(outcome).inline
        assert host.s3.requests == []


# --- secrets ---

def test_secrets_are_nowhere_to_be_seen(tmp_path):
    """Not even where everything goes wrong and servers repeat what they were told."""
    with contextlib.closing(StreamHost(tmp_path, token="Zq7wPx3VtK9mLsRbYc2N")) as host:
        host.arguments.append("--verbose")
        host.api.plan("register", "status", times=1, status=500)
        host.s3.plan("busy")
        host.s3.plan("expired")
        with host.started(*host.command) as job:
            job.until(host.stored(1))
            seen = [Path(f"/proc/{job.pid}/cmdline").read_text()]
            seen += [path.read_bytes().decode(errors="replace") for path in host.out.iterdir()]
            job.release()
            host.check(job.wait())
        assert len(host.api.secrets) >= 5
        assert not any(is_secret_in(secret, text) for secret in host.api.secrets for text in seen)


@pytest.mark.skipif(IS_ASAN, reason="the sanitizer forbids cores itself, the command's too")
@pytest.mark.parametrize("limit", [(0, 0), (1 << 20, 1 << 22), (resource.RLIM_INFINITY, resource.RLIM_INFINITY)])
def test_no_core_has_secrets_and_the_command_keeps_its_limit(host, limit):
    if limit[1] == resource.RLIM_INFINITY and resource.getrlimit(resource.RLIMIT_CORE)[1] != limit[1]:
        pytest.skip("the limit cannot be raised here")
    host.step = lambda: resource.setrlimit(resource.RLIMIT_CORE, limit)
    with host.started(*host.command) as job:
        job.until(host.stored(1))
        command = int(Path(f"/proc/{job.pid}/task/{job.pid}/children").read_text().split()[0])
        # 1 is what a core goes to nobody with, a pipe included.
        assert resource.prlimit(job.pid, resource.RLIMIT_CORE)[0] in (0, 1)
        assert resource.prlimit(command, resource.RLIMIT_CORE) == limit
        job.release()
        host.check(job.wait())


def test_without_a_stream_the_limit_of_cores_is_left_alone(host):
    del host.env["SENTINEL_API_TOKEN"]
    limit = resource.getrlimit(resource.RLIMIT_CORE)
    with host.started(*host.command) as job:
        job.until(host.has_rows(3))
        assert resource.prlimit(job.pid, resource.RLIMIT_CORE) == limit
        job.release()
        assert job.wait().status == 0


# --- beside the stream ---

def test_the_command_inherits_nothing_of_the_stream(host):
    """Sockets and the spool are ours alone, whenever it looks."""
    look = "import os, time; time.sleep(1); print(len(os.listdir('/proc/self/fd')))"
    host.check(host.run_short(*python(look)))
    # 0, 1, 2 and the folder itself.
    assert host.stdout() == b"4\n"


def test_local_output_is_what_it_always_was(host):
    """Rows of the stream are CSV with all columns, whatever is written beside it."""
    host.arguments = ["-i", "0.05", "--no-gpu", "--no-detect"]
    host.upload_at_end()
    outcome = host.run_short("sleep", "0.3")
    assert outcome.status == 0
    samples, messages = split_stderr(outcome.stderr)
    header, rows = csv_rows(host.inline_csv())
    assert len(samples_of(samples)) == len(rows) and messages == b""
    assert "process_gpu_utilized" in header
    assert os.listdir(host.out) == []


def test_a_quiet_run_is_streamed_too(host):
    host.arguments.append("--quiet")
    host.upload_at_end()
    outcome = host.run_short("sleep", "0.3")
    assert outcome.status == 0 and outcome.stderr == b""
    assert len(csv_rows(host.inline_csv())[1]) >= 3
    assert host.leftovers() == [] and host.spools() == []


def test_two_trackers_in_each_other(host):
    """Each has its own run, file and name."""
    inner = [host.binary, "-i", "0.05", "--no-gpu", "-f", "csv", "--csv-columns", "full",
             "-o", str(host.out / "inner.csv"), "--", "sh", "-c", "exit 4"]
    outcome = host.run_short(*inner)
    assert outcome.status == 4
    assert len(host.api.runs) == 2 and all(len(run.ends) == 1 for run in host.api.runs)
    assert sorted(os.listdir(host.out)) == ["inner.csv", "samples.csv"]


# --- the spool and what is left over ---

def spool_rows(path, header):
    """What has been released reads as NUL bytes."""
    text = path.read_bytes().replace(b"\0", b"").decode("ascii")
    assert text.startswith(header + "\n")
    return text.split("\n")[1:-1]


def test_rows_wait_in_a_file_that_is_nobody_elses(host):
    """Exactly those that were not confirmed."""
    host.s3.plan("store", times=2)
    host.s3.otherwise("busy")
    with host.started(*host.command) as job:
        job.until(host.stored(2))
        job.until(lambda: len(host.s3.requests) >= 4, "a batch that is not taken")
        spool, = host.spools()
        assert spool.parent == host.out and mode_of(spool) == 0o600
        assert re.fullmatch(rf"resource-tracker-{job.pid}-\w{{6}}\.csv", spool.name)
        waiting = spool_rows(spool, host.local()[0])
        stored = [row for put in host.s3.puts for row in csv_rows(gzip.decompress(put.body))[1]]
        rows = host.local()[1]
        # The file is read before the output, so that it may be behind it.
        assert waiting and stored + waiting == rows[:len(stored) + len(waiting)]
        host.s3.otherwise("store")
        job.release()
        assert host.check(job.wait()).left == []


# --- settings that make no sense ---

NO_URLS = ["nonsense", "ftp://127.0.0.1/", "http://", "https://", "//127.0.0.1", "file:///etc/passwd", "http://a b/",
           "http://[::1", "http://127.0.0.1:99999/", "http://x\ny/", "http://" + "a" * 5000]


NO_TOKENS = ["two\nlines", "two\r\nX-More: 1", "tab\there", "\x01", "del\x7f", "a" * 100000]


@pytest.mark.parametrize("variable, value", [
    *(("SENTINEL_API_URL", url) for url in NO_URLS), *(("AWS_ENDPOINT_URL_S3", url) for url in NO_URLS),
    *(("SENTINEL_API_TOKEN", token) for token in NO_TOKENS)], ids=lambda value: repr(value[:30]))
def test_settings_that_make_no_sense_are_named_and_the_job_runs(host, variable, value):
    """One warning."""
    host.env[variable] = value
    outcome = host.run_short("sh", "-c", "sleep 0.2; exit 3")
    assert outcome.status == 3
    assert host.messages().count(variable) == 1, host.messages()
    assert host.messages().count("\n") <= 2
    assert "a" * 100 not in host.messages()
    assert host.api.requests == [] and os.listdir(host.out) == ["samples.csv"]


@pytest.mark.parametrize("value", ["abc", "0", "-1", "nan", "inf", "1e999", "5x", "1,5", "0x10", "-0"])
def test_an_interval_that_makes_no_sense_is_refused(host, value):
    """As that of samples is: it is an option, and was meant."""
    host.env["TRACKER_UPLOAD_INTERVAL"] = value
    outcome = host.run_short("touch", str(host.folder / "started"))
    assert outcome.status == 2 and host.messages().count("TRACKER_UPLOAD_INTERVAL") == 1
    assert not (host.folder / "started").exists() and host.api.requests == []


def test_a_bad_token_is_not_repeated(host):
    host.env["SENTINEL_API_TOKEN"] = "Zq7wPx3VtK9mLsRb\nYc2N"
    outcome = host.run_short("true")
    assert outcome.status == 0 and b"Zq7wPx3V" not in outcome.stderr and b"SENTINEL_API_TOKEN" in outcome.stderr


HOSTILE_UPLOADS = {
    "no prefix": lambda answer: answer.pop("upload_uri_prefix"),
    "null prefix": lambda answer: answer.update(upload_uri_prefix=None),
    "prefix of the web": lambda answer: answer.update(upload_uri_prefix="https://bucket/some"),
    "prefix without a bucket": lambda answer: answer.update(upload_uri_prefix="s3:///some"),
    "prefix with a line end": lambda answer: answer.update(upload_uri_prefix="s3://bucket/a\r\nX: y"),
    "prefix with a host in it": lambda answer: answer.update(upload_uri_prefix="s3://evil.example.com:80@x/some"),
    "endless prefix": lambda answer: answer.update(upload_uri_prefix="s3://bucket/" + "a" * 100000),
    "no credentials": lambda answer: answer.pop("upload_credentials"),
    "null credentials": lambda answer: answer.update(upload_credentials=None),
    "a list of credentials": lambda answer: answer.update(upload_credentials=["a", "b"]),
    "no secret": lambda answer: answer["upload_credentials"].pop("secret_key"),
    "token with a line end": lambda answer: answer["upload_credentials"].update(session_token="a\r\nX-Evil: 1"),
    "access key with a line end": lambda answer: answer["upload_credentials"].update(access_key="a\nb"),
    "endless token": lambda answer: answer["upload_credentials"].update(session_token="a" * 100000),
    "numbers": lambda answer: answer["upload_credentials"].update(secret_key=5, access_key=6),
}


@pytest.mark.parametrize("name", HOSTILE_UPLOADS)
def test_where_nothing_can_be_uploaded_the_data_goes_with_the_end(host, name):
    host.api.alter(altered(HOSTILE_UPLOADS[name]))
    outcome = host.run(lambda: host.registered() and host.has_rows(20)(), 3)
    assert host.check(outcome, 3).inline
    assert host.s3.puts == []
    assert b"X-Evil" not in repr(host.s3.requests).encode()
    assert host.messages() != "", "it is said that nothing can be uploaded"


@pytest.mark.parametrize("expiry", ["soon", 5, "", None, "9999-12-31T23:59:59Z", "2026-99-99T00:00:00Z",
                                    "1970-01-01T00:00:00Z", "2100-01-01T00:00:00+02:00",
                                    "2100-01-01T00:00:00.123456Z", "a" * 10000])
def test_any_expiry_will_do(host, expiry):
    def change(answer):
        answer["upload_credentials"]["expiration"] = expiry
    host.api.alter(altered(change))
    places = host.check(host.run(host.stored(2)))
    assert places.stored and not places.left


# --- without libcurl ---

def without_libraries(folder, *names):
    """A prefix: libraries of these names are empty files for what is started with it."""
    empty = folder / "empty"
    empty.touch()
    listed = subprocess.run(["/sbin/ldconfig", "-p"], stdout=subprocess.PIPE, text=True).stdout
    paths = {os.path.realpath(path) for path in re.findall(r"=> (\S+)", listed)
             if os.path.basename(path) in names}
    script = "".join(f"mount --bind {empty} {path} && " for path in sorted(paths)) + 'exec "$0" "$@"'
    return [*unshare_prefix("--mount"), "sh", "-c", script]


def test_without_libcurl_rows_are_saved(host):
    prefix = without_libraries(host.folder, "libcurl.so.4", "libcurl-gnutls.so.4")
    outcome = host.run_short("sh", "-c", "sleep 0.3; exit 3", prefix=prefix)
    assert len(host.check(outcome, 3).left) >= 3
    assert len(re.findall(r"^resource-tracker: .*\blibcurl\b", host.messages(), re.M)) == 1, host.messages()
    assert host.api.requests == []


def test_the_stream_goes_on_without_the_output(host):
    """A reader that stalls is its own loss; with a stream it is not the stream's."""
    pipe = host.folder / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    host.arguments = ["-i", "0.02", "-o", str(pipe)]
    outcome = host.run(lambda: sum(len(gzip.decompress(body).splitlines()) for body in list(host.s3.objects.values())) > 250)
    os.close(reader)
    assert outcome.status == 0
    assert host.accepted_end()["data_source"] == "s3"
    assert "are missing there" in host.messages()


@only_without_driver
def test_gpus_that_take_a_second_are_told(host):
    """However short the interval is."""
    gpus = GpuHost(host.folder)
    gpus.say("gpus=2", "slow=nvmlInit_v2:800")
    host.arguments = ["-i", "0.02", *gpus.arguments, "-o", str(host.output)]
    host.env.update({name: gpus.env[name] for name in ("LD_LIBRARY_PATH", "FAKE_NVML", "FAKE_NVML_LOG")})
    outcome = host.run(host.stored(1))
    assert outcome.status == 0
    assert host.api.runs[0].body["host_gpu_count"] == 2


def test_a_long_interval_does_not_hide_the_process(host):
    """It is known before the first sample."""
    host.arguments = ["-i", "30", *host.arguments[2:]]
    outcome = host.run_short("sh", "-c", "sleep 0.3")
    assert outcome.status == 0
    assert host.api.runs[0].body["pid"] > 0
