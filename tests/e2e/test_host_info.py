"""--host-info: what would be told of this host; and that nothing is asked of any network without it."""
import json
import os
import re
import socket
import subprocess

import pytest

from helpers import BINARY, IS_ASAN, clean_environment, run

ORCHESTRATORS = ("SLURM_", "KUBERNETES_", "AWS_BATCH_", "AIRFLOW_", "METAFLOW_", "FLYTE_", "RAY_", "GITHUB_",
                 "GITLAB_", "CI_", "JENKINS_", "BUILD_")

KEYS = ["host_id", "host_name", "host_ip", "host_allocation", "host_vcpus", "host_cpu_model", "host_memory_mib",
        "host_gpu_model", "host_gpu_count", "host_gpu_vram_mib", "host_storage_gb", "cloud_vendor_id",
        "cloud_account_id", "cloud_region_id", "cloud_zone_id", "cloud_instance_type", "orchestrator",
        "executor", "external_run_id", "container_image"]


def environment(**extra):
    """Nobody's metadata service: a port of this machine that nobody listens on."""
    kept = {name: value for name, value in clean_environment().items() if not name.startswith(ORCHESTRATORS)}
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        endpoint = f"http://127.0.0.1:{closed.getsockname()[1]}"
    return {**kept, "TRACKER_METADATA_ENDPOINT": endpoint, **extra}


def info(*arguments, **extra):
    done = run("--host-info", "--no-gpu", *arguments, env=environment(**extra))
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(b"}\n") and done.stdout.count(b"\n") == 1
    return json.loads(done.stdout), done.stderr


def test_every_fact_is_there_in_order():
    facts, messages = info()
    assert list(facts) == KEYS
    assert messages == b""
    assert facts["host_gpu_count"] is None # nobody looked


def test_facts_are_those_of_this_host():
    facts, _ = info()
    assert facts["host_name"] == socket.gethostname()
    assert facts["host_vcpus"] == len(re.findall(r"^processor\s*:", open("/proc/cpuinfo").read(), re.M)) \
        or facts["host_vcpus"] == os.cpu_count()
    total = re.search(r"MemTotal:\s+(\d+) kB", open("/proc/meminfo").read())
    assert facts["host_memory_mib"] == int(total[1]) // 1024
    assert facts["host_allocation"] in ("dedicated", "shared")
    if facts["host_ip"] is not None:
        assert re.fullmatch(r"\d+\.\d+\.\d+\.\d+", facts["host_ip"]) and not facts["host_ip"].startswith("127.")


def test_without_a_gpu_there_are_none_of_it():
    done = run("--host-info", "--sysfs", "/proc/self/fdinfo", env=environment())
    facts = json.loads(done.stdout)
    if not os.path.exists("/dev/nvidiactl"):
        assert (facts["host_gpu_count"], facts["host_gpu_vram_mib"], facts["host_gpu_model"]) == (0, 0, None)
    assert facts["host_storage_gb"] is None


@pytest.mark.parametrize("prefix", ["TRACKER_", "RESOURCE_TRACKER_"])
def test_the_environment_replaces_and_suppresses(prefix):
    facts, messages = info(**{f"{prefix}HOST_NAME": "box", f"{prefix}HOST_IP": "", f"{prefix}HOST_ID": "0",
                              f"{prefix}HOST_VCPUS": "96", f"{prefix}HOST_STORAGE_GB": "1.5",
                              f"{prefix}CLOUD_VENDOR_ID": "own", f"{prefix}CLOUD_REGION_ID": "cellar"})
    assert messages == b""
    assert facts["host_name"] == "box"
    assert facts["host_ip"] is None and facts["host_id"] is None
    assert facts["host_vcpus"] == 96 and facts["host_storage_gb"] == 1.5
    assert facts["cloud_vendor_id"] == "own" and facts["cloud_region_id"] == "cellar"


def test_a_number_that_is_none_is_named():
    facts, messages = info(TRACKER_HOST_VCPUS="many")
    assert facts["host_vcpus"] != "many"
    assert messages == b"resource-tracker: TRACKER_HOST_VCPUS: not a number; it is passed over\n"


def test_hostile_values_make_proper_json():
    facts, _ = info(TRACKER_HOST_NAME='"},{"\\ \x01\u00e9', CI_JOB_IMAGE="a\"b", GITLAB_CI="1")
    assert facts["host_name"] == '"},{"\\ \x01\u00e9'
    assert facts["container_image"] == 'a"b'


def test_what_runs_the_job_is_detected():
    facts, _ = info(METAFLOW_RUN_ID="5", AWS_BATCH_JOB_ID="b-1")
    assert (facts["orchestrator"], facts["executor"], facts["external_run_id"]) == ("metaflow", "aws-batch", "5")


def test_flags_go_before_what_is_detected():
    facts, _ = info("--executor", "mine", "--external-run-id", "7", SLURM_JOB_ID="1")
    assert (facts["executor"], facts["external_run_id"]) == ("mine", "7")


@pytest.mark.parametrize("how", ["flag", "variable"])
def test_detection_can_be_switched_off(how):
    arguments = ["--no-detect"] if how == "flag" else []
    extra = {} if how == "flag" else {"TRACKER_NO_DETECT": "1"}
    facts, _ = info(*arguments, SLURM_JOB_ID="1", **extra)
    assert facts["executor"] is None and facts["external_run_id"] is None


def test_output_that_cannot_be_written_is_said():
    with open("/dev/full", "wb") as full:
        done = run("--host-info", "--no-gpu", env=environment(), stdout=full)
    assert done.returncode == 125
    assert b"standard output" in done.stderr


def test_a_folder_that_is_not_there_is_named():
    done = run("--host-info", "--procfs", "/nowhere", env=environment())
    assert done.returncode == 125
    assert b"--procfs" in done.stderr and b"/nowhere" in done.stderr


@pytest.mark.skipif(IS_ASAN, reason="the sanitizer's own calls")
def test_t_str_01_without_a_token_no_socket_is_opened(tmp_path):
    """Nor is libcurl loaded, whatever the metadata service would say."""
    trace = tmp_path / "trace"
    done = subprocess.run(["strace", "-f", "-o", str(trace), "-e", "trace=network,openat", BINARY, "-i", "0.05", "-o",
                           str(tmp_path / "out"), "--", "sleep", "0.3"], env=environment(), timeout=60)
    assert done.returncode == 0
    text = trace.read_text()
    assert "socket(" not in text and "connect(" not in text
    assert "libcurl" not in text
