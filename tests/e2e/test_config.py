"""Flags, environment and TOML file, and what is refused."""
import os
import subprocess

import pytest

from helpers import (BASIC_HEADER, BINARY, PATIENCE, clean_environment, before_exec, csv_of,
                     make_procfs, run, sample_of, samples_of, started, watch_samples, Lines)


def toml(tmp_path, text, name="settings.toml"):
    path = tmp_path / name
    path.write_text(text)
    return str(path)


def job_name_of(*arguments, **options):
    """Job name in the one sample of a run of `true`."""
    done = run(*arguments, "--", "true", **options)
    assert done.returncode == 0
    [sample] = samples_of(done.stderr)
    return sample["job_name"]


@pytest.fixture(scope="module", autouse=True)
def slow_runs(tmp_path_factory):
    """Runs of several seconds, started before the other tests of this file and asked after them."""
    folder = tmp_path_factory.mktemp("slow")
    three = toml(folder, "[tracker]\ninterval_secs = 3\n", "three.toml")
    five = toml(folder, "[tracker]\ninterval_secs = 5\n", "five.toml")
    wanted = {"toml": ["-c", three, "--", "sleep", "7"],
              "flag": ["-c", five, "--interval", "2", "--", "sleep", "5"]}
    runs = {name: subprocess.Popen([BINARY, *arguments], cwd=folder, env=clean_environment(),
                                   stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                   preexec_fn=before_exec())
            for name, arguments in wanted.items()}
    yield runs
    for process in runs.values():
        if process.poll() is None:
            process.kill()
        process.wait(PATIENCE)
        process.stderr.close()


def test_t_cfg_01_no_flags_give_json_lines_on_stdout():
    with started() as tracker:
        first = sample_of(Lines(tracker.stdout).next())
        tracker.terminate()
        assert tracker.wait(PATIENCE) == 0
        assert tracker.stderr.read() == b""
    assert first["tracked_pid"] is None


def test_t_cfg_02_csv_header_comes_before_the_first_row():
    with started("--format", "csv", "-i", "0.05") as tracker:
        header, row = Lines(tracker.stdout).take(2)
    assert header.decode() == BASIC_HEADER
    assert len(row.split(b",")) == 21


@pytest.mark.parametrize("value", ["0", "0.0", "-1", "-0.5", "nan", "inf", "-inf", "1e3", "", " 1",
                                   "1 ", "0x1", "1,5", "1.", ".", "one", "1s", "+-1", "1.5.2",
                                   "99999999999999999999999999", "0.0000001"])
def test_t_cfg_03_interval_refused(value, tmp_path):
    witness = tmp_path / "started"
    done = run("--interval", value, "--", "touch", str(witness))
    assert done.returncode == 2
    assert done.stderr.startswith(b"resource-tracker: ")
    assert b"--interval" in done.stderr and done.stderr.count(b"\n") == 1
    assert done.stdout == b""
    assert not witness.exists()


@pytest.mark.parametrize("value", ["1", "0.05", ".5", "2.25", "1000", "0.001"])
def test_interval_accepted(value):
    assert run("-i", value, "--quiet", "--", "true").returncode == 0


def test_t_cfg_06_missing_toml_file_is_no_matter(tmp_path):
    done = run("--config", str(tmp_path / "nowhere.toml"), "--", "true")
    assert done.returncode == 0
    assert len(samples_of(done.stderr)) == 1


@pytest.mark.parametrize("text", ["[tracker\ninterval_secs = 0.05\n", "= = =\n", "\0\0\0\xff",
                                  "[tracker]\nformat = \"csv\n", "[job]\nname = \n"])
def test_broken_toml_is_passed_over_in_silence(text, tmp_path):
    path = tmp_path / "broken.toml"
    path.write_bytes(text.encode("latin-1"))
    done = run("-c", str(path), "--", "true")
    assert done.returncode == 0
    assert len(samples_of(done.stderr)) == 1
    assert done.stdout == b""


def test_verbose_names_file_and_line_of_broken_toml(tmp_path):
    path = toml(tmp_path, "[job]\nname = \"x\"\n[tracker\n")
    done = run("--verbose", "--quiet", "-c", path, "--", "true")
    assert done.returncode == 0
    assert path.encode() in done.stderr and b"line 3" in done.stderr
    assert all(line.startswith(b"resource-tracker: ") for line in done.stderr.splitlines())


def test_verbose_tells_of_a_missing_toml_file(tmp_path):
    path = str(tmp_path / "nowhere.toml")
    done = run("--verbose", "--quiet", "-c", path, "--", "true")
    assert done.returncode == 0
    assert path.encode() in done.stderr
    assert run("--quiet", "-c", path, "--", "true").stderr == b""


def test_values_of_the_wrong_kind_in_toml_are_told_only_when_verbose(tmp_path):
    path = toml(tmp_path, "[tracker]\ninterval_secs = \"soon\"\nformat = \"xml\"\n"
                          "[job]\nname = \"kept\"\npid = -3\n")
    quiet = run("-c", path, "--", "true")
    assert quiet.returncode == 0
    [sample] = samples_of(quiet.stderr)
    assert sample["job_name"] == "kept"
    told = run("-c", path, "--verbose", "--quiet", "--", "true").stderr
    for word in (b"interval_secs", b"format", b"pid"):
        assert word in told


def test_unknown_toml_keys_are_passed_over_even_when_verbose(tmp_path):
    path = toml(tmp_path, "[tracker]\ncolour = \"red\"\n[other]\nx = [1, 2]\n[job]\nname = \"j\"\n")
    assert job_name_of("-c", path, "--verbose") == "j"


def test_toml_file_of_the_working_directory_is_read(tmp_path):
    toml(tmp_path, "[job]\nname = \"from here\"\n", "resource-tracker.toml")
    assert job_name_of(cwd=tmp_path) == "from here"


def test_toml_sets_format_columns_and_output(tmp_path):
    out = tmp_path / "out.csv"
    path = toml(tmp_path, f"[tracker]\nformat = 'csv'\ncsv_columns = 'full'\noutput = '{out}'\n")
    done = run("-c", path, "--", "true")
    assert done.returncode == 0 and done.stderr == b""
    header, rows = csv_of(out.read_bytes())
    assert len(header) == 32 and len(rows) == 1


def test_toml_sets_quiet_and_procfs(tmp_path):
    path = toml(tmp_path, "[tracker]\nquiet = true\n")
    assert run("-c", path, "--", "true").stderr == b""
    procfs = make_procfs(tmp_path / "proc")
    path = toml(tmp_path, f"[tracker]\nprocfs = '{procfs}'\n")
    [sample] = samples_of(run("-c", path, "--", "true").stderr)
    assert sample["memory"]["total_mib"] == 16000


def test_toml_sets_pid_to_track(tmp_path):
    path = toml(tmp_path, f"[job]\npid = {os.getpid()}\n")
    [sample] = watch_samples(1, "-c", path, "-i", "0.05")
    assert sample["tracked_pid"] == os.getpid()


def test_command_overrules_pid_of_toml_and_environment(tmp_path):
    path = toml(tmp_path, "[job]\npid = 1\n")
    for options in (["-c", path], []):
        env = clean_environment(**({} if options else {"TRACKER_PID": "1"}))
        done = run(*options, "--", "sh", "-c", "echo $$", env=env)
        assert done.returncode == 0
        [sample] = samples_of(done.stderr)
        assert sample["tracked_pid"] == int(done.stdout)


@pytest.mark.parametrize("prefix", ["TRACKER_", "RESOURCE_TRACKER_"])
def test_environment_under_both_prefixes(prefix, tmp_path):
    out = tmp_path / "out.csv"
    env = clean_environment(**{prefix + "FORMAT": "csv", prefix + "CSV_COLUMNS": "full",
                               prefix + "OUTPUT": str(out), prefix + "INTERVAL": "0.05",
                               prefix + "TAG": "a=b,c=d"})
    done = run("--", "sleep", "0.3", env=env)
    assert done.returncode == 0 and done.stderr == b""
    header, rows = csv_of(out.read_bytes())
    assert len(header) == 32
    assert len(rows) >= 2
    assert job_name_of(env=clean_environment(**{prefix + "JOB_NAME": "named"})) == "named"
    assert run("--", "true", env=clean_environment(**{prefix + "QUIET": "1"})).stderr == b""


@pytest.mark.parametrize("prefix", ["TRACKER_", "RESOURCE_TRACKER_"])
def test_environment_names_the_toml_file(prefix, tmp_path):
    path = toml(tmp_path, "[job]\nname = \"by variable\"\n")
    assert job_name_of(env=clean_environment(**{prefix + "CONFIG": path})) == "by variable"


@pytest.mark.parametrize("name, value", [("INTERVAL", "0"), ("FORMAT", "xml"), ("PID", "-1"),
                                         ("CSV_COLUMNS", "all"), ("TAG", "novalue"),
                                         ("QUIET", "perhaps")])
def test_bad_environment_is_refused_by_name(name, value):
    for prefix in ("TRACKER_", "RESOURCE_TRACKER_"):
        done = run("--", "echo", "started", env=clean_environment(**{prefix + name: value}))
        assert done.returncode == 2
        assert (prefix + name).encode() in done.stderr
        assert done.stdout == b""


def test_precedence_flag_environment_toml_default(tmp_path):
    path = toml(tmp_path, "[job]\nname = \"file\"\n")
    env = clean_environment(TRACKER_JOB_NAME="variable")
    assert job_name_of() is None
    assert job_name_of("-c", path) == "file"
    assert job_name_of("-c", path, env=env) == "variable"
    assert job_name_of("-c", path, "-n", "flag", env=env) == "flag"


def test_empty_variable_is_as_good_as_none():
    env = clean_environment(TRACKER_JOB_NAME="", RESOURCE_TRACKER_INTERVAL="", TRACKER_FORMAT="")
    assert job_name_of(env=env) is None


@pytest.mark.parametrize("arguments, word", [
    (["--no-such-option"], b"--no-such-option"),
    (["-x"], b"-x"),
    (["--format", "xml"], b"--format"),
    (["-f", "JSON"], b"--format"),
    (["-f", ""], b"--format"),
    (["--csv-columns", "most"], b"--csv-columns"),
    (["--tag", "novalue"], b"--tag"),
    (["--tag", "=value"], b"--tag"),
    (["--tag", ""], b"--tag"),
    (["--quiet=1"], b"--quiet"),
    (["--interval"], b"--interval"),
    (["-o"], b"--output"),
    (["--job-name"], b"--job-name"),
    (["--pid", "0"], b"--pid"),
    (["--pid", "-5"], b"--pid"),
    (["--pid", "text"], b"--pid"),
    (["--pid", ""], b"--pid"),
    (["--pid", "1.5"], b"--pid"),
    (["--pid", "99999999999999999999"], b"--pid"),
    (["--pid", " 1"], b"--pid"),
    (["-p", "0x10"], b"--pid"),
    (["--"], b"--"),
])
def test_usage_errors_end_with_2_and_name_the_option(arguments, word):
    done = run(*arguments)
    assert done.returncode == 2
    assert done.stdout == b""
    assert done.stderr.startswith(b"resource-tracker: ")
    assert word in done.stderr and done.stderr.count(b"\n") == 1


def test_pid_and_command_together_are_refused(tmp_path):
    witness = tmp_path / "started"
    done = run("--pid", str(os.getpid()), "--", "touch", str(witness))
    assert done.returncode == 2
    assert b"--pid" in done.stderr
    assert not witness.exists()


def test_message_of_a_hostile_option_drives_no_terminal():
    done = run(b"--format=\x1b[31m\x07\x7f\n")
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1
    assert not any(byte < 0x20 or byte == 0x7f for byte in done.stderr[:-1])


def test_parsing_stops_at_the_command():
    done = run("--quiet", "echo", "--interval", "0", "-o", "x", "--")
    assert done.returncode == 0
    assert done.stdout == b"--interval 0 -o x --\n"


def test_double_dash_is_not_passed_to_the_command():
    assert run("--quiet", "--", "echo", "--", "a").stdout == b"-- a\n"


def test_unreadable_roots_end_with_125(tmp_path):
    for option in ("--procfs", "--sysfs"):
        done = run(option, str(tmp_path / "nowhere"), "--", "echo", "started")
        assert done.returncode == 125
        assert option.encode() in done.stderr
        assert done.stdout == b""


def test_t_cfg_04_toml_interval_rules_without_a_flag(slow_runs):
    _, output = slow_runs["toml"].communicate(timeout=PATIENCE)
    assert slow_runs["toml"].returncode == 0
    samples = samples_of(output)
    assert len(samples) == 3 # after 3 s, 6 s and at the end
    assert samples[1]["actual_interval_ms"] == pytest.approx(3000, abs=900)


def test_t_cfg_05_flag_overrules_toml_interval(slow_runs):
    _, output = slow_runs["flag"].communicate(timeout=PATIENCE)
    assert slow_runs["flag"].returncode == 0
    samples = samples_of(output)
    assert len(samples) == 3 # after 2 s, 4 s and at the end
    assert samples[1]["actual_interval_ms"] == pytest.approx(2000, abs=900)
