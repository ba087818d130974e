"""A host with NVIDIA GPUs that are not there: a sysfs, and the fake library under its real name."""
import os
from pathlib import Path

import pytest

from helpers import (PATIENCE, ROOT, Lines, clean_environment, is_message, make_sysfs, sample_of,
                     started, wait_until)

FAKE = ROOT / "build" / "fakes" / "nvml.so"
NAME = "libnvidia-ml.so.1"
MIB = 1 << 20
GIB = 1 << 30

# A driver of this very machine would be found beside the one of the tests.
only_without_driver = pytest.mark.skipif(
    any(os.path.exists(node) for node in ("/dev/nvidiactl", "/dev/dxg")),
    reason="this machine has an NVIDIA driver")


class GpuHost:
    """What tests/fakes/nvml.c is to say is in `script`; each call it gets is a line of `log`."""

    def __init__(self, folder, has_driver=True):
        self.sysfs = Path(make_sysfs(folder / "sys"))
        if has_driver:
            (self.sysfs / "module" / "nvidia").mkdir(parents=True)
        self.library = folder / "lib" / NAME
        self.library.parent.mkdir()
        self.library.symlink_to(FAKE)
        self.script = folder / "script"
        self.log = folder / "log"
        self.config = folder / "settings.toml"
        self.config.write_text("")
        self.say()
        self.arguments = ["--sysfs", str(self.sysfs), "-c", str(self.config)]
        self.env = clean_environment(LD_LIBRARY_PATH=str(self.library.parent),
                                     FAKE_NVML=str(self.script), FAKE_NVML_LOG=str(self.log))

    def say(self, *lines):
        """From now on; at once for whoever reads it."""
        new = self.script.with_suffix(".new")
        new.write_text("".join(f"{line}\n" for line in lines))
        new.rename(self.script)

    def use_library(self, content):
        """Puts other bytes in the place of the library; None: a folder."""
        self.library.unlink()
        if content is None:
            self.library.mkdir()
        else:
            self.library.write_bytes(content)

    def bind(self, *addresses):
        """The PCI devices that the driver has."""
        folder = self.sysfs / "bus" / "pci" / "drivers" / "nvidia"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "bind").touch()
        for entry in folder.iterdir():
            if entry.is_symlink() and entry.name not in addresses:
                entry.unlink()
        for address in addresses:
            if not (folder / address).is_symlink():
                (folder / address).symlink_to("../nowhere")


def watched(host, *arguments, interval=0.1):
    """A tracker without a command."""
    return started("-i", str(interval), *host.arguments, *arguments, env=host.env)


def tracked(host, command, *arguments, interval=0.1):
    return started("-i", str(interval), *host.arguments, *arguments, "--", *command, env=host.env)


def end(tracker):
    """Ends one without a command."""
    tracker.terminate()
    assert tracker.wait(PATIENCE) == 0


class Samples:
    """Samples of a running tracker as they come; messages between them are kept."""

    def __init__(self, stream):
        self.lines = Lines(stream)
        self.messages = []

    def next(self):
        while is_message(line := self.lines.next()):
            self.messages.append(line)
        return sample_of(line)

    def take(self, count):
        return [self.next() for _ in range(count)]

    def until(self, condition, what, limit=2000):
        """The first sample of which `condition` holds."""
        for _ in range(limit):
            if condition(sample := self.next()):
                return sample
        raise AssertionError(f"{limit} samples in vain: {what}; the last: {sample}")


def threads(pid):
    return sorted(os.listdir(f"/proc/{pid}/task"), key=int)


def descriptors(pid):
    return sorted(os.listdir(f"/proc/{pid}/fd"), key=int)


def has_loaded_library(pid):
    return NAME in Path(f"/proc/{pid}/maps").read_text() or \
        FAKE.name in Path(f"/proc/{pid}/maps").read_text()


def command_pid(tracker):
    """The tracked command, which is the tracker's only child."""
    path = Path(f"/proc/{tracker.pid}/task/{tracker.pid}/children")
    return int(wait_until(lambda: path.read_text().split(), "the command", PATIENCE)[0])


def gpu_of(sample, field):
    return [gpu[field] for gpu in sample["gpu"]]


def has_figures(sample):
    return bool(sample["gpu"]) and all(gpu["temperature_celsius"] is not None
                                       for gpu in sample["gpu"])
