"""What the build does where something that it needs, or only wants, is missing. Nothing is installed: the
compiler, sudo and apt-get are stand-ins."""
import os
import re
import subprocess

import pytest

from helpers import PATIENCE, ROOT

# Fails when a word of $BAD is among its arguments or in what it is to compile.
COMPILER = """#!/bin/sh
input=$(cat)
for bad in $BAD; do
    case " $* $input" in *"$bad"*) exit 1 ;; esac
done
printf '%s\\n' "$input" | PATH=$REAL_PATH gcc "$@"
"""
SUDO = """#!/bin/sh
echo "$*" >> "$LOG"
case "$*" in '-n true') exit "$NEEDS_PASSWORD" ;; esac
"""


def write_tool(folder, name, text):
    path = folder / name
    path.write_text(text)
    path.chmod(0o755)
    return path


# --- the Makefile ---

def make(tmp_path, bad, *arguments):
    compiler = write_tool(tmp_path, "cc", COMPILER)
    environment = {**os.environ, "BAD": bad, "REAL_PATH": os.environ["PATH"]}
    for name in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "NET", "BUILD"):
        environment.pop(name, None)
    done = subprocess.run(["make", "-n", f"OUT={tmp_path}/out", f"CC={compiler}", *arguments], cwd=ROOT,
                          env=environment, capture_output=True, text=True, timeout=PATIENCE, check=True)
    return done.stdout


def notes(said):
    return re.findall(r'echo "(.*missing)"', said)


@pytest.mark.parametrize("bad, missing", [
    ("", ""), ("-lsodium", "libsodium.a"), ("sodium.h", "sodium.h"), ("-ljansson -ldeflate", "libjansson.a libdeflate.a"),
    ("libdeflate.h -ljansson -lsodium", "libjansson.a libdeflate.h libsodium.a"),
])
def test_what_is_missing_for_streaming_is_told(bad, missing, tmp_path):
    said = make(tmp_path, bad, f"{tmp_path}/out/resource-tracker")
    assert notes(said) == ([f"  without streaming and asking clouds: {missing} missing"] if missing else [])
    assert ("src/net/http.c" in said) == ("-DTRACKER_NET" in said) == (not missing)


@pytest.mark.parametrize("variant", ["default", "release", "asan"])
def test_libraries_are_tried_with_the_flags_that_are_built_with(variant, tmp_path):
    """So that one that cannot be part of such a program is not taken for one that can."""
    flag = {"default": "-pie", "release": "-flto", "asan": "-fsanitize=address"}[variant]
    said = make(tmp_path, flag, f"BUILD={variant}", f"{tmp_path}/out/resource-tracker")
    assert notes(said)


def test_who_wants_no_streaming_is_told_nothing(tmp_path):
    said = make(tmp_path, "-lsodium", "NET=no", f"{tmp_path}/out/resource-tracker")
    assert not notes(said) and "src/net/http.c" not in said


# --- tools/setup ---

@pytest.fixture
def setup(tmp_path):
    """Runs it as a user who is not root: (status, what it said, what sudo was asked for)."""
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    log = tmp_path / "log"
    log.write_text("")
    write_tool(bin_folder, "gcc", COMPILER)
    write_tool(bin_folder, "sudo", SUDO)
    write_tool(bin_folder, "id", "#!/bin/sh\necho 1000\n")
    write_tool(bin_folder, "apt-get", '#!/bin/sh\necho "apt-get without sudo" >> "$LOG"\nexit 1\n')

    def run(bad, needs_password):
        done = subprocess.run([ROOT / "tools" / "setup", "build"], capture_output=True, text=True, timeout=PATIENCE,
                              stdin=subprocess.DEVNULL,
                              env={"PATH": f"{bin_folder}:{os.environ['PATH']}", "REAL_PATH": os.environ["PATH"],
                                   "BAD": bad, "LOG": str(log), "NEEDS_PASSWORD": "1" if needs_password else "0"})
        return done.returncode, done.stderr, log.read_text().splitlines()
    return run


def test_nothing_is_said_when_all_is_there(setup):
    assert setup("", True) == (0, "", [])


def test_nobody_is_asked_for_a_password_for_what_is_only_wanted(setup):
    status, said, asked = setup("sodium.h", True)
    assert status == 0 and "libsodium-dev" in said and "left out" in said
    assert asked == ["-n true"]


def test_what_is_only_wanted_is_installed_where_no_password_is_needed(setup):
    status, said, asked = setup("sodium.h jansson.h", False)
    assert status == 0 and "left out" in said, "the stand-in installs nothing"
    assert all(line.startswith("-n ") for line in asked)
    assert any("apt-get install" in line and "libsodium-dev" in line and "libjansson-dev" in line for line in asked)


def test_for_what_is_needed_a_password_may_be_asked_for(setup):
    status, said, asked = setup("stdio.h sodium.h", True)
    assert status == 1 and "libc6-dev" in said
    assert asked and not any(line.startswith("-n") for line in asked)
    assert any("apt-get install" in line and "libc6-dev" in line and "libsodium-dev" in line for line in asked)
