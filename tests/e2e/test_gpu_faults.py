"""Drivers that hang, devices that vanish and libraries that are none: the run goes on."""
import json
import os
import signal
import struct
import time

import pytest

from gpuhost import (FAKE, GIB, GpuHost, Samples, end, gpu_of, has_figures, only_without_driver,
                     tracked, watched)
from helpers import IS_ASAN, PATIENCE, is_message, run, samples_of, split_stderr
from test_schedule import assert_on_schedule

FACTS = ["uuid", "name", "device_type", "host_id"]

pytestmark = only_without_driver


@pytest.fixture
def host(tmp_path):
    return GpuHost(tmp_path)


def stall(sample):
    return sample["tracker"]["gpu_stall_secs"]


def figures(sample):
    """All values of the first GPU that are no facts."""
    return {key: value for key, value in sample["gpu"][0].items()
            if key not in (*FACTS, "detail", "vram_total_bytes", "core_count")}


# --- hanging ---

def test_init_that_hangs_holds_up_nothing(host):
    host.say("hang=nvmlInit_v2")
    begin = time.monotonic()
    done = run("-i", "0.1", *host.arguments, "--", "sh", "-c", "sleep 2.5; exit 7", env=host.env)
    took = time.monotonic() - begin
    assert done.returncode == 7
    samples = samples_of(done.stderr)
    assert len(samples) >= 12
    assert_on_schedule(samples[:-1], 100)
    assert took < 2.5 + 10
    for sample in samples:
        assert sample["gpu"] == []
        assert sample["total"]["gpu_usage"] is None
        assert sample["total"]["gpu_vram_mib"] is None
        assert sample["cpu"]["process_gpu_usage"] is None
    stalls = [stall(sample) for sample in samples]
    assert stalls == sorted(stalls)
    assert stalls[0] == 0 and 1 <= stalls[-1] <= took


@pytest.mark.parametrize("function", ["nvmlInit_v2", "nvmlDeviceGetCount_v2", "nvmlDeviceGetName",
                                      "nvmlDeviceGetUtilizationRates",
                                      "nvmlDeviceGetComputeRunningProcesses_v3"])
def test_a_hanging_call_does_not_delay_the_end(host, function):
    host.say(f"hang={function}")
    begin = time.monotonic()
    done = run("-i", "0.1", *host.arguments, "--", "sh", "-c", "sleep 0.3; exit 3", env=host.env)
    assert done.returncode == 3
    assert time.monotonic() - begin < 0.3 + 5
    assert done.stderr.endswith(b"\n") and len(samples_of(done.stderr)) >= 2


def test_a_command_that_ends_at_once_is_not_held_up(host):
    host.say("hang=nvmlInit_v2")
    begin = time.monotonic()
    done = run("-i", "10", *host.arguments, "--", "true", env=host.env)
    assert done.returncode == 0 and len(samples_of(done.stderr)) == 1
    assert time.monotonic() - begin < 2


@pytest.mark.parametrize("detail", [[], ["--gpu-detail"]])
def test_watching_ends_at_once_while_a_call_hangs(host, detail):
    with watched(host, *detail) as tracker:
        samples = Samples(tracker.stdout)
        samples.until(has_figures, "figures")
        host.say("hang=nvmlDeviceGetTemperature nvmlDeviceGetTotalEnergyConsumption")
        samples.until(lambda sample: stall(sample) > 0, "a stall")
        begin = time.monotonic()
        end(tracker)
        assert time.monotonic() - begin < 2


def test_a_hang_in_mid_run_makes_figures_null_until_it_is_over(host):
    host.say("gpus=2")
    with tracked(host, ["sleep", "60"]) as tracker:
        samples = Samples(tracker.stderr)
        usual = samples.until(has_figures, "figures")
        assert stall(usual) == 0

        host.say("gpus=2", "hang=nvmlDeviceGetPowerUsage")
        taken = [samples.until(lambda sample: stall(sample) > 0, "a stall"), *samples.take(5)]
        assert_on_schedule(taken, 100)
        stalls = [stall(sample) for sample in taken]
        assert stalls == sorted(stalls) and stalls[-1] > stalls[0] >= 1
        sample = taken[-1]
        assert set(figures(sample).values()) == {None}
        assert [sample["gpu"][1][key] for key in FACTS] == [usual["gpu"][1][key] for key in FACTS]
        assert sample["total"]["gpu_usage"] is None
        assert sample["total"]["gpu_vram_mib"] is None
        assert sample["cpu"]["process_gpu_vram_mib"] is None

        host.say("gpus=2", "gpu1.temp=77")
        sample = samples.until(lambda sample: has_figures(sample) and stall(sample) == 0,
                               "figures again")
        assert gpu_of(sample, "temperature_celsius") == [40, 77]
        tracker.terminate()
        assert tracker.wait(PATIENCE) == 128 + signal.SIGTERM


def test_a_hang_is_not_noticed_by_the_command(host):
    """It gets its signals and the tracker its status."""
    host.say("hang=nvmlDeviceGetHandleByIndex_v2")
    command = ["sh", "-c", "trap 'exit 42' USR1; while :; do sleep 0.05; done"]
    with tracked(host, command) as tracker:
        Samples(tracker.stderr).take(3)
        begin = time.monotonic()
        tracker.send_signal(signal.SIGUSR1)
        assert tracker.wait(PATIENCE) == 42
        assert time.monotonic() - begin < 2


def test_a_slow_driver_costs_no_tick(host):
    """A reading of 16 GPUs takes eight intervals."""
    host.say("gpus=16", "slow=nvmlDeviceGetUtilizationRates:25")
    done = run("-i", "0.05", *host.arguments, "--", "sleep", "3", env=host.env)
    samples = samples_of(done.stderr)
    assert len(samples) >= 30
    assert_on_schedule(samples[:-1], 50)
    assert any(has_figures(sample) for sample in samples)
    assert max(sample["tracker"]["gpu_read_us"] for sample in samples) >= 16 * 25000


# --- devices that go ---

def test_a_device_that_is_lost_keeps_its_name_only(host):
    host.say("gpus=2", f"gpu0.used={GIB}", f"gpu1.used={2 * GIB}")
    with watched(host) as tracker:
        samples = Samples(tracker.stdout)
        usual = samples.until(has_figures, "figures")
        assert usual["total"]["gpu_vram_mib"] == 3 * 1024

        host.say("gpus=2", "gpu0.lost=1", f"gpu1.used={2 * GIB}", "gpu1.util=25")
        sample = samples.until(
            lambda sample: gpu_of(sample, "temperature_celsius") == [None, 41], "the loss")
        assert set(figures(sample).values()) == {None}
        assert [sample["gpu"][0][key] for key in FACTS] == [usual["gpu"][0][key] for key in FACTS]
        assert sample["total"]["gpu_vram_mib"] == 2 * 1024
        assert sample["total"]["gpu_usage"] == pytest.approx(0.25)
        assert stall(sample) == 0

        host.say("gpus=2", f"gpu0.used={GIB}", f"gpu1.used={2 * GIB}")
        sample = samples.until(has_figures, "its return")
        assert sample["total"]["gpu_vram_mib"] == 3 * 1024
        end(tracker)


def test_devices_that_come_and_go_change_the_list(host):
    """The driver's folder in sysfs tells; it is looked at every few seconds."""
    host.say("gpus=2", "frozen=1")
    host.bind("0000:01:00.0", "0000:02:00.0")
    with watched(host) as tracker:
        samples = Samples(tracker.stdout)
        samples.until(lambda sample: len(sample["gpu"]) == 2, "two GPUs")
        host.say("gpus=3", "frozen=1")
        host.bind("0000:01:00.0", "0000:02:00.0", "0000:03:00.0")
        sample = samples.until(lambda sample: len(sample["gpu"]) == 3 and has_figures(sample),
                               "three", 300)
        assert gpu_of(sample, "frequency_mhz") == [1200, 1201, 1202]
        host.say("gpus=1", "frozen=1")
        host.bind("0000:01:00.0")
        sample = samples.until(lambda sample: len(sample["gpu"]) == 1, "one", 300)
        assert sample["gpu"][0]["frequency_mhz"] == 1200
        end(tracker)


def test_a_driver_that_is_away_for_a_moment_is_found_again(host):
    """A device goes and the library cannot be initialised just then; later it can."""
    host.say("gpus=2")
    host.bind("0000:01:00.0", "0000:02:00.0")
    with watched(host) as tracker:
        samples = Samples(tracker.stdout)
        samples.until(has_figures, "two GPUs")
        host.say("gpus=1", "init=9")
        host.bind("0000:01:00.0")
        samples.until(lambda sample: sample["gpu"] == [] or len(sample["gpu"]) == 1, "no GPU", 150)
        host.say("gpus=1")
        sample = samples.until(lambda sample: len(sample["gpu"]) == 1 and has_figures(sample),
                               "the other", 150)
        assert sample["gpu"][0]["frequency_mhz"] == 1200
        end(tracker)


# --- libraries ---

def check_refused(host, name):
    """No GPU, no crash, and one line with --verbose only, which names the file."""
    for options, wanted in ((["--verbose"], 1), ([], 0)):
        done = run("-i", "0.05", *options, *host.arguments, "--", "sh", "-c", "sleep 0.2; exit 5",
                   env=host.env)
        assert done.returncode == 5, done.stderr
        output, messages = split_stderr(done.stderr)
        for sample in samples_of(output):
            assert sample["gpu"] == []
        assert messages.count(b"\n") == wanted, messages
        assert wanted == 0 or name.encode() in messages


def whole_size():
    """How much of the library the loader maps: what is behind it are tables nobody reads."""
    data = FAKE.read_bytes()
    at, = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    ends = []
    for i in range(count):
        kind, _, offset, _, _, length = struct.unpack_from("<IIQQQQ", data, at + i * size)
        if kind == 1:
            ends.append(offset + length)
    return max(ends)


def other_architecture():
    data = bytearray(FAKE.read_bytes())
    machine, = struct.unpack_from("<H", data, 18)
    struct.pack_into("<H", data, 18, 183 if machine != 183 else 62)
    return bytes(data)


def other_class():
    data = bytearray(FAKE.read_bytes())
    data[4] = 1 # 32 bits
    return bytes(data)


NO_LIBRARIES = {
    "empty": lambda: b"", "byte": lambda: b"x", "text": lambda: b"not a library\n" * 500,
    "folder": lambda: None, "magic": lambda: b"\x7fELF", "noise": lambda: os.urandom(70000),
    "ones": lambda: b"\x7fELF" + b"\xff" * 70000, "script": lambda: b"INPUT(libc.so.6)\n",
    "architecture": other_architecture, "class": other_class,
}


@pytest.mark.parametrize("kind", NO_LIBRARIES)
def test_a_file_that_is_no_library_of_this_machine_is_passed_over(host, kind):
    host.use_library(NO_LIBRARIES[kind]())
    check_refused(host, str(host.library))


def test_a_library_that_cannot_be_opened_is_passed_over(host):
    host.library.unlink()
    host.library.symlink_to(host.library.name) # to itself
    check_refused(host, str(host.library))


def test_a_driver_without_its_library_is_told_once(host):
    host.library.unlink()
    check_refused(host, host.library.name)


def test_a_pipe_in_the_place_of_the_library_is_passed_over(host):
    host.library.unlink()
    os.mkfifo(host.library)
    check_refused(host, str(host.library))


def test_an_executable_that_lacks_the_functions_is_passed_over(host):
    host.library.unlink()
    host.library.symlink_to(FAKE.with_name("countalloc.so"))
    check_refused(host, host.library.name)


@pytest.mark.parametrize("part", range(0, 100, 5))
def test_a_library_that_was_cut_short_is_passed_over(host, part):
    whole = whole_size()
    host.use_library(FAKE.read_bytes()[:whole * part // 100])
    check_refused(host, str(host.library))


@pytest.mark.parametrize("size", [-1, -4096, 64, 65, 120, 400, 4095, 4096, 4097])
def test_a_library_that_was_cut_at_an_odd_place_is_passed_over(host, size):
    host.use_library(FAKE.read_bytes()[:whole_size() + size if size < 0 else size])
    check_refused(host, str(host.library))


@pytest.mark.parametrize("filling", [b"\0", b"\xff"], ids=["zeros", "ones"])
@pytest.mark.parametrize("size", [512, 4096, 20000])
def test_a_library_whose_tail_was_never_written_is_passed_over(host, size, filling):
    data = FAKE.read_bytes()
    host.use_library(data[:size] + filling * (len(data) - size))
    check_refused(host, str(host.library))


def test_a_library_without_a_table_of_sections_is_a_good_one(host):
    """The checks above refuse no more than they must: some are stripped of it."""
    data = bytearray(FAKE.read_bytes()[:whole_size()])
    struct.pack_into("<Q", data, 40, 0) # e_shoff
    struct.pack_into("<HH", data, 60, 0, 0) # e_shnum, e_shstrndx
    host.use_library(bytes(data))
    with watched(host) as tracker:
        Samples(tracker.stdout).until(has_figures, "figures")
        end(tracker)


# --- what a library does besides ---

def test_programs_that_the_library_starts_are_its_own(host):
    """It waits for them itself: whoever reaped them before would make it fail."""
    host.say("forks=1")
    for _ in range(5):
        done = run("-i", "0.02", "--verbose", *host.arguments, "--", "sh", "-c", "sleep 0.2; exit 3", env=host.env)
        assert done.returncode == 3
        output, messages = split_stderr(done.stderr)
        assert messages == b""
        assert has_figures(samples_of(output)[-1])


@pytest.mark.skipif(IS_ASAN, reason="the sanitizer starts threads through this function")
def test_without_a_thread_figures_are_unknown_and_it_is_said(host):
    host.env["LD_PRELOAD"] = str(FAKE.with_name("nothread.so"))
    done = run("-i", "0.05", "--verbose", *host.arguments, "--", "sh", "-c", "sleep 0.2; exit 3", env=host.env)
    assert done.returncode == 3
    output, messages = split_stderr(done.stderr)
    assert messages.count(b"no thread") == 1 and messages.count(b"\n") == 1
    for sample in samples_of(output):
        assert sample["gpu"] == []
        assert sample["total"]["gpu_usage"] is None
        assert sample["cpu"]["process_gpu_usage"] is None


@pytest.mark.parametrize("code", [1, 2, 3, 4, 9, 12, 15, 18, 999])
def test_a_driver_that_does_not_answer_to_its_library(host, code):
    host.say(f"init={code}")
    check_refused(host, "NVIDIA")


@pytest.mark.parametrize("name", ["nvml_old", "nvml_bare"])
def test_a_library_with_few_functions_lists_devices(host, name):
    host.library.unlink()
    host.library.symlink_to(FAKE.with_name(f"{name}.so"))
    host.say("gpus=3")
    with tracked(host, ["sleep", "60"], "--gpu-detail") as tracker:
        sample = Samples(tracker.stderr).until(lambda sample: len(sample["gpu"]) == 3, "three GPUs")
        tracker.terminate()
        tracker.wait(PATIENCE)
    if name == "nvml_old":
        assert gpu_of(sample, "temperature_celsius") == [40, 41, 42]
    else:
        assert gpu_of(sample, "temperature_celsius") == [None] * 3
        assert gpu_of(sample, "vram_used_bytes") == [None] * 3
        assert sample["total"]["gpu_usage"] is None


@pytest.mark.parametrize("code", [2, 3, 4, 6, 7, 13, 15, 25, 999, -1])
def test_a_library_of_which_every_call_fails(host, code):
    """Without a count nothing is known, not even that there is no GPU."""
    host.say("gpus=2", f"fail=nvmlDeviceGet*:{code}")
    done = run("-i", "0.05", *host.arguments, "--", "sleep", "0.3", env=host.env)
    assert done.returncode == 0
    output, messages = split_stderr(done.stderr)
    assert messages == b"" and not is_message(output)
    for sample in samples_of(output):
        assert sample["gpu"] == []
        assert sample["total"]["gpu_usage"] is None
        assert sample["cpu"]["process_gpu_usage"] is None


@pytest.mark.parametrize("code", [2, 3, 4, 6, 7, 13, 25, 999, -1])
def test_devices_of_which_every_call_fails(host, code):
    host.say("gpus=2", f"gpu0.fail=nvmlDeviceGet*:{code}", f"gpu1.fail=nvmlDeviceGet*:{code}")
    with tracked(host, ["sleep", "60"]) as tracker:
        samples = Samples(tracker.stderr)
        samples.until(lambda sample: len(sample["gpu"]) == 2, "two GPUs")
        for sample in samples.take(3):
            assert set(figures(sample).values()) == {None}
            assert sample["total"]["gpu_usage"] is None
            assert sample["total"]["gpu_vram_mib"] is None
            assert sample["cpu"]["process_gpu_usage"] is None
            assert sample["cpu"]["process_gpu_vram_mib"] is None
        tracker.terminate()
        tracker.wait(PATIENCE)


def test_host_info_does_not_wait_for_a_driver_for_ever(host):
    """How many GPUs there are is then not known; the rest is."""
    host.say("hang=nvmlInit_v2")
    begin = time.monotonic()
    done = run("--host-info", *host.arguments, env={**host.env, "TRACKER_METADATA_ENDPOINT": "http://127.0.0.1:1"})
    assert time.monotonic() - begin < 20
    assert done.returncode == 0
    facts = json.loads(done.stdout)
    assert facts["host_gpu_count"] is None and facts["host_gpu_vram_mib"] is None
    assert facts["host_vcpus"] > 0


def test_host_info_counts_gpus(host):
    host.say("gpus=3", "gpu0.mig=2")
    done = run("--host-info", *host.arguments, env={**host.env, "TRACKER_METADATA_ENDPOINT": "http://127.0.0.1:1"})
    facts = json.loads(done.stdout)
    assert facts["host_gpu_count"] == 3 and facts["host_gpu_model"] == "Fake GPU 0"
