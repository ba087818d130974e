"""--from: summary and report of runs that are over, from whatever was recorded of them."""
import contextlib
import gzip
import json
import os
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

import helpers
from helpers import ROOT, run

FOREIGN = ROOT / "tests" / "fixtures" / "foreign"
BUSY = helpers.python("""
import time
until = time.monotonic() + 0.7
kept = []
while time.monotonic() < until:
    kept.append(bytes(100000))
    sum(range(20000))
""")


def read(*files, options=(), **keywords):
    arguments = [word for file in files for word in ("--from", str(file))]
    return run(*arguments, *options, **keywords)


def summaries(*files, **keywords):
    done = read(*files, options=("--summary=json",), **keywords)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def messages(done):
    """What was said, without the name of the program."""
    assert all(helpers.is_message(line) for line in done.stderr.splitlines()), done.stderr
    return [line.split(b": ", 1)[1].decode() for line in done.stderr.splitlines()]


def near(value, wanted, share=0.02):
    return abs(value - wanted) <= share * abs(wanted) + 1e-6


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """One run in JSON Lines, and what it said of itself at its end."""
    folder = tmp_path_factory.mktemp("recorded")
    done = run("-i", "0.1", "-n", "a job", "--summary=json", "-o", str(folder / "run.jsonl"), "--", *BUSY)
    assert done.returncode == 0
    return folder / "run.jsonl", json.loads(done.stderr.splitlines()[-1])


def lines_of(path):
    return path.read_bytes().splitlines(keepends=True)


# --- our own files ---

def test_a_recording_says_what_the_run_said(recorded):
    path, live = recorded
    [back] = summaries(path)
    assert back["job_name"] == "a job"
    assert back["sample_count"] == live["sample_count"] == len(lines_of(path))
    assert near(back["duration_secs"], live["duration_secs"], 0.05)
    for part in ("job_used", "host_used"):
        for name, figure in live.get(part, {}).items():
            # How long the first sample took stands in no line: it is guessed, and its rates with it.
            assert near(back[part][name]["peak"], figure["peak"]), name
            if figure.get("total") is not None:
                assert back[part][name]["total"] == figure["total"], name


def test_the_summary_is_the_product(recorded):
    path, _ = recorded
    done = read(path)
    assert done.returncode == 0
    assert done.stderr == b""
    assert b"a job" in done.stdout and b"ask for next time" in done.stdout
    assert read(path, options=("--summary=none",)).stdout == b""


@pytest.mark.parametrize("columns", ["basic", "full"])
def test_csv_of_ours(tmp_path, columns):
    path = tmp_path / "run.csv"
    assert run("-i", "1", "-f", "csv", "--csv-columns", columns, "-o", str(path), "--", "sleep", "2.2").returncode == 0
    header, rows = helpers.csv_of(path.read_bytes())
    [back] = summaries(path)
    assert back["sample_count"] == len(rows)
    assert 1 <= back["duration_secs"] <= 5
    at = header.index("utime" if columns == "basic" else "system_utime")
    system = sum(float(row[at]) + float(row[at + 1]) for row in rows)
    assert near(back["host_used"]["cpu"]["total"], system)


def test_rows_of_the_same_second(tmp_path):
    path = tmp_path / "run.csv"
    assert run("-i", "0.05", "-f", "csv", "-o", str(path), "--", "sleep", "3.1").returncode == 0
    [back] = summaries(path)
    assert 2.5 <= back["duration_secs"] <= 4.5


def test_compressed_or_not_is_the_same(recorded, tmp_path):
    path, _ = recorded
    packed = tmp_path / "run.jsonl.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert read(packed, options=("--summary=json",)).stdout == read(path, options=("--summary=json",)).stdout
    # In several members, cut anywhere.
    data = path.read_bytes()
    packed.write_bytes(b"".join(gzip.compress(data[at:at + 1000]) for at in range(0, len(data), 1000)))
    assert read(packed, options=("--summary=json",)).stdout == read(path, options=("--summary=json",)).stdout


def test_several_stand_side_by_side(recorded, tmp_path):
    path, _ = recorded
    other = tmp_path / "other.jsonl"
    other.write_bytes(b"".join(lines_of(path)[:3]))
    done = read(path, other)
    assert done.returncode == 0
    first = done.stdout.decode().splitlines()[0]
    assert "run.jsonl" in first and "other.jsonl" in first
    names = [summary["title"] for summary in summaries(path, other)]
    assert names == ["run.jsonl", "other.jsonl"]
    # Of the same name they are called by their paths.
    twin = tmp_path / "run.jsonl"
    twin.write_bytes(path.read_bytes())
    assert [summary["title"] for summary in summaries(path, twin)] == [str(path), str(twin)]


def test_a_report(recorded, tmp_path):
    path, _ = recorded
    report = tmp_path / "report.html"
    done = read(path, path, options=("--report", str(report)))
    assert done.returncode == 0
    assert done.stdout != b""
    assert report.read_text().lower().startswith("<!doctype html>")


def test_a_report_does_not_take_the_place_of_its_source(recorded, tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_bytes(recorded[0].read_bytes())
    link = tmp_path / "link"
    link.symlink_to(path)
    done = read(path, options=("--report", str(link)))
    assert done.returncode == 2
    assert path.read_bytes() == recorded[0].read_bytes()


def test_a_report_does_not_take_the_place_of_standard_input(recorded, tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_bytes(recorded[0].read_bytes())
    with open(path, "rb") as file:
        done = run("--from", "-", "--report", str(path), stdin=file)
    assert done.returncode == 2
    assert messages(done) == [f"option --report: {path} is what --from - reads; give another file"]
    assert path.read_bytes() == recorded[0].read_bytes()


def test_a_report_does_not_take_the_place_of_a_file_of_its_folder(recorded, tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(recorded[0].read_bytes())
    done = read(tmp_path, options=("--report", str(path)))
    assert done.returncode == 2
    assert f"{path} is what --from {tmp_path} reads" in messages(done)[0]
    assert path.read_bytes() == recorded[0].read_bytes()
    # Beside them there is room, also for the second time.
    for _ in range(2):
        assert read(tmp_path, options=("--report", str(tmp_path / "report.html"))).returncode == 0


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_a_report_to_standard_output_is_alone_there(recorded, tmp_path, name):
    done = read(recorded[0], options=("--report", name))
    assert done.returncode == 0
    assert done.stdout.lower().startswith(b"<!doctype html>")
    with open(tmp_path / "page.html", "wb") as file:
        assert run("--from", str(recorded[0]), "--report", name, stdout=file).returncode == 0
    assert (tmp_path / "page.html").read_bytes().lower().startswith(b"<!doctype html>")


def test_a_report_that_cannot_be_written(recorded, tmp_path):
    done = read(recorded[0], options=("--report", str(tmp_path / "none" / "report.html")))
    assert done.returncode == 125
    assert b"cannot write the report" in done.stderr
    assert b"a job" in done.stdout


# --- the other tools' ---

@pytest.mark.parametrize("name, samples, cpu_secs", [
    ("python-0.1.2-process.csv", 3, 1.47),
    ("python-0.4.2-process.csv", 3, None),
    ("python-0.5.0-process.csv", 7, 0),
    ("python-0.5.0-streamed.csv", 7, None),
    ("rust-0.1.14.csv", 6, 4.09),
    ("rust-0.1.18.csv", 6, 4.09),
    ("rust-0.1.18.jsonl", 4, None),
])
def test_process_figures_of_other_tools(name, samples, cpu_secs):
    [back] = summaries(FOREIGN / name)
    assert back["sample_count"] == samples
    if cpu_secs is not None:
        assert near(back["job_used"]["cpu"]["total"], cpu_secs)
    assert back["job_used"]["memory_pss"]["peak"] < 100 << 20


@pytest.mark.parametrize("name", ["python-0.1.2-system.csv", "python-0.4.2-system.csv",
                                  "python-0.5.0-system.csv", "python-0.5.0-streamed.csv",
                                  "rust-0.1.14.csv", "rust-0.1.18.csv", "rust-0.1.18.jsonl"])
def test_system_figures_of_other_tools(name):
    """All were recorded on the same machine, within minutes: memory in one unit is about the same."""
    [back] = summaries(FOREIGN / name)
    assert 300 << 20 < back["host_used"]["memory_used"]["peak"] < 900 << 20


# --- what is broken ---

def test_a_torn_last_line(recorded, tmp_path):
    path, _ = recorded
    lines = lines_of(path)
    torn = tmp_path / "torn.jsonl"
    torn.write_bytes(b"".join(lines)[:-30])
    done = read(torn)
    assert done.returncode == 0
    assert messages(done) == [f"{torn}:{len(lines)}: is cut off; it is passed over"]


def test_a_torn_last_row(tmp_path):
    path = tmp_path / "run.csv"
    path.write_text(helpers.BASIC_HEADER + "\n1700000000" + ",1" * 20 + "\n1700000001,1,1")
    done = read(path)
    assert done.returncode == 0
    assert messages(done) == [
        f"{path}:3: has 3 of 21 cells; the last of them may be cut off and stays unknown"]
    assert summaries(path)[0]["sample_count"] == 2


def csv_file(path, *times):
    """A file with rows of these times and texts between them."""
    lines = [time if isinstance(time, str) else f"{time}" + "," * 20 for time in times]
    path.write_text("\n".join([helpers.BASIC_HEADER, *lines, ""]))
    return path


def test_output_of_the_command_among_rows(tmp_path):
    path = csv_file(tmp_path / "run.csv", 1700000000, 1700000001, "3,4", "2024-01-01 12:00: hello",
                    1700000002, 1700000003)
    done = read(path)
    assert done.returncode == 0
    assert messages(done) == [f"{path}:4: has 2 of 21 cells; it is passed over",
                              f"{path}:5: has 1 of 21 cells; it is passed over"]
    [back] = summaries(path)
    assert back["sample_count"] == 4 and near(back["duration_secs"], 4)


@pytest.mark.parametrize("damaged", [1300000002, 1700000902, 9700000002, 2])
def test_a_damaged_time(tmp_path, damaged):
    path = csv_file(tmp_path / "run.csv", 1700000000, 1700000001, damaged, 1700000003, 1700000004)
    done = read(path)
    assert done.returncode == 0
    [said] = messages(done)
    assert said.startswith(f"{path}:4: its time is {abs(damaged - 1700000001)} s off")
    [back] = summaries(path)
    assert back["sample_count"] == 5 and near(back["duration_secs"], 5)


@pytest.mark.parametrize("damaged_at", [0, 4])
def test_a_damaged_time_at_either_end(tmp_path, damaged_at):
    for damaged in (7, 1300000000, 9700000000):
        times = [1700000000 + i for i in range(5)]
        times[damaged_at] = damaged
        path = csv_file(tmp_path / "run.csv", *times)
        done = read(path)
        assert done.returncode == 0 and done.stderr != b""
        assert summaries(path)[0]["duration_secs"] <= 6


def test_runs_that_were_appended(tmp_path):
    path = csv_file(tmp_path / "run.csv", 1700000000, 1700000001, 1700000002,
                    helpers.BASIC_HEADER, 1700086400, 1700086401)
    done = read(path)
    assert messages(done) == [
        f"{path}:6: 86398 s after the sample before it: another run? 1 s of them count"]
    assert near(summaries(path)[0]["duration_secs"], 5)
    # Without a header: appended by hand.
    path = csv_file(path, 1700000000, 1700000001, 1700000002, 1700086400, 1700086401)
    assert near(summaries(path)[0]["duration_secs"], 5)
    path.write_text("".join(f'{{"timestamp_secs":{secs}}}\n' for secs in
                            (1700000000, 1700000001, 1700086400, 1700086401)))
    done = read(path)
    assert len(messages(done)) == 1 and f"{path}:3: 86399 s after" in messages(done)[0]
    assert near(summaries(path)[0]["duration_secs"], 4)


def test_both_kinds_in_one_file(recorded, tmp_path):
    rows = helpers.BASIC_HEADER.encode() + b"\n1700000000" + b"," * 20 + b"\n1700000001" + b"," * 20 + b"\n"
    samples = recorded[0].read_bytes()
    for name, data in (("csv first", rows + samples), ("json first", samples + rows)):
        path = tmp_path / name
        path.write_bytes(data)
        assert read(path).stderr == b""
        assert summaries(path)[0]["sample_count"] == len(lines_of(recorded[0])) + 2


def test_numbers_of_python_that_are_none(recorded, tmp_path):
    line = json.loads(lines_of(recorded[0])[1])
    line["cpu"].update(utime_secs=float("nan"), stime_secs=float("-inf"), utilization_pct=float("inf"))
    path = tmp_path / "run.jsonl"
    path.write_text(json.dumps(line) + "\n")
    done = read(path)
    assert done.returncode == 0
    assert done.stderr == b""
    assert summaries(path)[0]["host_used"]["memory_used"]["peak"] > 0


def test_samples_among_other_output(recorded, tmp_path):
    """A command's messages and our samples on one stderr."""
    lines = lines_of(recorded[0])
    mixed = tmp_path / "log"
    mixed.write_bytes(b"starting\n" + lines[0] + b"WARNING: {curly}\n\n{\"level\": \"info\"}\n" +
                      b"".join(lines[1:]) + b"Traceback:\n  \xff\xfe\n")
    done = read(mixed)
    assert done.returncode == 0
    said = messages(done)
    assert [line.split(": ")[0] for line in said] == [
        f"{mixed}:{where}" for where in ("1", "3", "5", f"{len(lines) + 5}-{len(lines) + 6}")]
    assert summaries(mixed)[0]["sample_count"] == len(lines)


def test_mixed_versions(recorded, tmp_path):
    lines = lines_of(recorded[0])
    newer = json.loads(lines[1])
    newer["resource-tracker-version"] = "9.9.9"
    newer["quantum"] = {"qubits": 7}
    newer["cpu"]["new_figure"] = 1
    del newer["memory"]
    mixed = tmp_path / "mixed.jsonl"
    mixed.write_bytes(lines[0] + json.dumps(newer).encode() + b"\n")
    done = read(mixed)
    assert done.returncode == 0
    said = messages(done)
    assert len(said) == 2
    assert said[0].startswith(f"{mixed}:2: from here on written by version 9.9.9")
    assert said[1] == f"{mixed}:2: keys that are not known here are passed over: cpu.new_figure, quantum"


def test_missing_and_unknown_columns(tmp_path):
    path = tmp_path / "run.csv"
    header = helpers.BASIC_HEADER.replace("utime,", "").replace("net_sent_bytes", "phase_of_the_moon")
    path.write_text(header + "\n1700000000" + ",1" * 19 + "\n")
    done = read(path)
    assert done.returncode == 0
    assert messages(done) == [
        f"{path}:1: columns that are not known here are passed over: phase_of_the_moon",
        f"{path}:1: columns are missing and stay unknown: utime, net_sent_bytes"]


def test_long_lists_say_how_many_more(tmp_path):
    path = tmp_path / "run.csv"
    names = [f"a_column_of_tomorrow_{at}" for at in range(30)]
    path.write_text("timestamp,utime," + ",".join(names) + "\n1700000000" + ",1" * 31 + "\n")
    unknown, missing = messages(read(path))
    shown = unknown.split(": ")[-1].split(", ")
    assert shown[:-1] == names[:len(shown) - 1]
    assert shown[-1] == f"and {30 - len(shown) + 1} more"
    assert missing.endswith(" more")


def test_a_fault_in_every_sample_is_told_once(recorded, tmp_path):
    path = tmp_path / "run.jsonl"
    line = json.loads(lines_of(recorded[0])[1])
    line["cpu"]["utime_secs"] = "x"
    line["memory"] = 5
    path.write_text((json.dumps(line) + "\n") * 50)
    assert messages(read(path)) == [f"{path}:1-50: not what it should be, and stays unknown: utime_secs, memory"]


def test_no_time_no_sample(tmp_path):
    path = tmp_path / "run.csv"
    path.write_text(helpers.BASIC_HEADER.replace("timestamp,", "") + "\n1" + ",1" * 19 + "\n")
    done = read(path)
    assert done.returncode == 1
    assert "no column timestamp" in messages(done)[0]


NOTHING = {
    "empty": b"",
    "newlines": b"\n\n\r\n",
    "text": b"hello\nworld\n",
    "binary": bytes(range(256)) * 64,
    "zeros": bytes(100000),
    "json of others": b'{"a": 1}\n[1, 2]\n"x"\n3\n',
    "a torn sample": b'{"timestamp_secs":17000',
    "a header alone": helpers.BASIC_HEADER.encode() + b"\n",
    "bad gzip": b"\x1f\x8b\x08\x00garbage",
    "gzip of nothing": gzip.compress(b""),
    "gzip in gzip": gzip.compress(gzip.compress(b"x")),
    "utf-16": "timestamp,utime\n1700000000,1\n".encode("utf-16"),
    "deep": b'{"timestamp_secs":1700000000,"x":' + b"[" * 100000 + b"]" * 100000 + b"}\n",
    "a time of no clock": b'{"timestamp_secs":1e300}\n{"timestamp_secs":-5}\n',
}


@pytest.mark.parametrize("name", NOTHING)
def test_nothing_could_be_read(tmp_path, name):
    path = tmp_path / "file"
    path.write_bytes(NOTHING[name])
    done = read(path, options=("--report", str(tmp_path / "report.html")))
    assert done.returncode == 1
    assert done.stdout == b""
    said = messages(done)
    assert said and all(line.startswith(str(path)) for line in said)
    assert not (tmp_path / "report.html").exists()


def test_what_cannot_be_opened(recorded, tmp_path):
    missing = tmp_path / "missing"
    done = read(missing)
    assert done.returncode == 1
    assert messages(done) == [f"{missing}: cannot be opened: No such file or directory; it is passed over"]
    # Among others it is named, and they are read.
    done = read(missing, recorded[0])
    assert done.returncode == 0
    assert len(messages(done)) == 1
    assert b"a job" in done.stdout


def test_garbage_is_told_in_few_words(recorded, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"".join(b"garbage %d\n{broken %d\n" % (i, i) + lines_of(recorded[0])[0]
                              for i in range(1000)))
    done = read(path)
    assert done.returncode == 0
    said = messages(done)
    assert len(said) == 21
    assert said[-1].endswith("more such faults")


def test_a_huge_line(recorded, tmp_path):
    path = tmp_path / "file"
    lines = lines_of(recorded[0])
    path.write_bytes(lines[0] + b"{" * (40 << 20) + b"\n" + lines[1])
    done = read(path)
    assert done.returncode == 0
    assert messages(done) == [f"{path}:2: is longer than 16 MiB; it is passed over"]


def test_holes_are_passed_over(tmp_path):
    """What was delivered of a spool file reads as zeros."""
    path = tmp_path / "spool.csv"
    with open(path, "wb") as file:
        file.write(helpers.BASIC_HEADER.encode() + b"\n")
        file.seek(200 << 20)
        file.write(b"1700000000" + b",1" * 20 + b"\n")
    done = read(path)
    assert done.returncode == 0
    assert messages(done) == []


def test_damaged_gzip_gives_what_is_before_it(recorded, tmp_path):
    path = tmp_path / "run.jsonl.gz"
    lines = lines_of(recorded[0])
    path.write_bytes(gzip.compress(b"".join(lines[:3])) + gzip.compress(b"".join(lines[3:]))[:-20])
    done = read(path)
    assert done.returncode == 0
    [said] = messages(done)
    assert said.startswith(f"{path}:3: the compressed data from byte ")
    assert "is damaged or cut off" in said
    assert summaries(path)[0]["sample_count"] == 3


def test_a_gzip_bomb_ends(tmp_path):
    path = tmp_path / "bomb.gz"
    member = gzip.compress(bytes(100 << 20))
    path.write_bytes(member * 3)
    done = read(path)
    assert done.returncode == 1


def test_time_that_goes_back(tmp_path):
    path = tmp_path / "run.csv"
    row = ",1" * 20 + "\n"
    path.write_text(helpers.BASIC_HEADER + "\n" + "".join(f"{secs}{row}" for secs in
                                                          (1700000000, 1700000001, 1600000000, 1600000001)))
    done = read(path)
    assert done.returncode == 0
    assert messages(done) == [f"{path}:4: time goes back by 100000001 s: another run?"]
    assert summaries(path)[0]["duration_secs"] < 10


# --- where it comes from ---

def test_standard_input(recorded):
    with open(recorded[0], "rb") as file:
        done = run("--from", "-", stdin=file)
    assert done.returncode == 0
    assert b"a job" in done.stdout
    done = run("--from", "-", stdin=subprocess.DEVNULL)
    assert done.returncode == 1
    assert messages(done) == ["standard input: is empty"]


def test_a_fifo(recorded, tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)

    def feed():
        data = gzip.compress(recorded[0].read_bytes())
        with contextlib.suppress(BrokenPipeError), open(fifo, "wb", buffering=0) as file:
            for at in range(0, len(data), 700):
                file.write(data[at:at + 700])

    feeder = threading.Thread(target=feed)
    feeder.start()
    done = read(fifo)
    feeder.join(helpers.PATIENCE)
    assert done.returncode == 0
    assert b"a job" in done.stdout


def test_a_folder_of_batches_is_one_run(tmp_path):
    rows = [f"{1700000000 + at}" + ",1" * 20 + "\n" for at in range(10)]
    for number, part in enumerate((rows[:3], rows[3:7], rows[7:])):
        text = helpers.BASIC_HEADER + "\n" + "".join(part)
        (tmp_path / f"{number:06}.csv.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "notes.txt").write_text("not one of them")
    os.mkfifo(tmp_path / "pipe.csv")
    [back] = summaries(tmp_path)
    assert back["sample_count"] == 10
    assert near(back["duration_secs"], 10, 0.11)
    assert back["host_used"]["disk_read"]["total"] == 10
    assert back["title"] == tmp_path.name


def test_an_empty_folder(tmp_path):
    done = read(tmp_path)
    assert done.returncode == 1
    assert "has no file" in messages(done)[0]


def test_further_words_are_further_files(recorded, tmp_path):
    """As a shell gives them for a pattern, wherever it stands."""
    page = tmp_path / "page.html"
    names = [str(recorded[0]), str(tmp_path / "again.jsonl")]
    shutil.copy(*names)
    done = run("--from", *names, "--report", str(page))
    assert done.returncode == 0 and b"again.jsonl" in done.stdout
    assert done.stdout == run("--from", names[0], "--from", names[1]).stdout
    assert page.exists()


def test_nothing_is_run_beside_it(recorded):
    assert run("--from", str(recorded[0]), "--", "true").returncode == 2
    assert run("--from", str(recorded[0]), "--pid", "1").returncode == 2


def test_names_that_would_drive_a_terminal(recorded, tmp_path):
    path = tmp_path / "evil\x1b[31m\nname"
    path.write_bytes(lines_of(recorded[0])[0] + b"x\n")
    done = read(path)
    assert done.returncode == 0
    assert b"\x1b" not in done.stdout + done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_memory_stays_small(recorded, tmp_path):
    """A long file is never held: 120 MB of it under a limit of 64 MB."""
    if helpers.IS_ASAN:
        pytest.skip("the sanitizer needs the address space")
    resource = pytest.importorskip("resource")
    line = lines_of(recorded[0])[1]
    path = tmp_path / "long.jsonl"
    path.write_bytes(line * (120_000_000 // len(line)))

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (64 << 20, 64 << 20))

    done = read(path, step=limit)
    assert done.returncode == 0
    assert b"a job" in done.stdout
