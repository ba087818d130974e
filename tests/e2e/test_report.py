"""--report: the file it leaves, and what it never does to the job or to what was there."""
import json
import os
import re
import resource
import signal
import stat
import subprocess

from helpers import PATIENCE, Lines, run, started

HOSTILE = "</script><img src=x onerror=alert(1)>"


def data_of(page):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1])


def report_of(tmp_path, *options, command=("sleep", "0.5")):
    out = tmp_path / "report.html"
    done = run("--quiet", "-i", "0.1", "--report", str(out), *options, "--", *command)
    return done, out.read_text()


def test_a_run_leaves_a_whole_page_and_nothing_else(tmp_path):
    done, page = report_of(tmp_path, "-n", "nightly")
    assert done.returncode == 0
    assert (done.stdout, done.stderr) == (b"", b"")
    assert os.listdir(tmp_path) == ["report.html"]
    assert page.startswith("<!DOCTYPE html>") and page.endswith("</html>\n")
    assert "<h1><bdi>nightly</bdi></h1>" in page
    assert ">exit 0<" in page
    [recorded] = data_of(page)["runs"]
    assert len(recorded["t"]) >= 5
    assert recorded["name"] == "nightly"


def test_the_page_tells_how_the_command_ended(tmp_path):
    done, page = report_of(tmp_path, command=("sh", "-c", "exit 7"))
    assert done.returncode == 7 and ">exit 7<" in page
    done, page = report_of(tmp_path, command=("sh", "-c", "kill -9 $$"))
    assert done.returncode == 128 + 9 and ">ended by signal 9<" in page


def test_foreign_names_stay_text(tmp_path):
    done, page = report_of(tmp_path, "-n", HOSTILE, "--tag", f"key={HOSTILE}", command=("true", HOSTILE))
    assert done.returncode == 0
    assert "<img src=x" not in page
    assert page.count("</script>") == 2
    assert data_of(page)["runs"][0]["name"] == HOSTILE


def test_a_place_that_cannot_be_written_stops_the_run_before_it_starts(tmp_path):
    mark = tmp_path / "mark"
    for path in (tmp_path / "missing" / "r.html", tmp_path):
        done = run("--report", str(path), "--", "touch", str(mark))
        assert done.returncode == 125
        assert str(path).encode() in done.stderr
        assert not mark.exists()


def test_a_command_that_cannot_start_leaves_no_page_and_keeps_the_older_one(tmp_path):
    out = tmp_path / "r.html"
    assert run("--report", str(out), "--", "/no/such/command").returncode == 127
    assert os.listdir(tmp_path) == []
    out.write_text("old")
    assert run("--report", str(out), "--", "/no/such/command").returncode == 127
    assert out.read_text() == "old"
    assert os.listdir(tmp_path) == ["r.html"]


def test_the_older_page_stays_until_the_run_has_ended(tmp_path):
    out = tmp_path / "r.html"
    out.write_text("old")
    out.chmod(0o600)
    with started("-i", "0.05", "--report", str(out), "--", "sh", "-c", "sleep 60") as tracker:
        Lines(tracker.stderr).take(3)
        assert out.read_text() == "old"
        tracker.send_signal(signal.SIGTERM)
        assert tracker.wait(PATIENCE) == 128 + signal.SIGTERM
    assert out.read_text().endswith("</html>\n")
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["r.html"]


def test_a_full_disk_is_told_and_leaves_no_half_page(tmp_path):
    """A limit on the size of files stands for a full disk."""
    out = tmp_path / "r.html"
    out.write_text("old")
    done = run("--quiet", "--report", str(out), "--", "sh", "-c", "exit 3",
               step=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)))
    assert done.returncode == 3
    assert b"cannot write the report to" in done.stderr
    assert b"File too large; the older one is still there\n" in done.stderr
    assert out.read_text() == "old"
    assert os.listdir(tmp_path) == ["r.html"]


def test_samples_and_report_in_one_file_are_refused(tmp_path):
    mark = tmp_path / "mark"
    os.symlink("x", tmp_path / "link")
    for report in ("x", "./x", "link"):
        done = run("-o", "x", "--report", report, "--", "touch", str(mark), cwd=tmp_path)
        assert done.returncode == 125
        assert b"--output" in done.stderr and b"--report" in done.stderr
        assert sorted(os.listdir(tmp_path)) == ["link"]
    (tmp_path / "x").write_text("old")
    os.link(tmp_path / "x", tmp_path / "y")
    assert run("-o", "x", "--report", "y", "--", "touch", str(mark), cwd=tmp_path).returncode == 125
    assert (tmp_path / "x").read_text() == "old" and not mark.exists()
    assert run("-o", "/dev/null", "--report", "/dev/null", "--", "true").returncode == 0


def test_a_pipe_without_a_reader_stops_the_run_before_it_starts(tmp_path):
    pipe, mark = tmp_path / "pipe", tmp_path / "mark"
    os.mkfifo(pipe)
    done = run("--quiet", "--report", str(pipe), "--", "touch", str(mark))
    assert done.returncode == 125 and not mark.exists()
    assert done.stderr == f"resource-tracker: option --report: {pipe} has no reader yet; start its reader first\n".encode()


def test_who_reads_a_pipe_waits_for_the_report(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE) as reader:
        done = None
        while done is None or b"no reader" in done.stderr:  # it takes a moment to open it
            done = run("--quiet", "--report", str(pipe), "--", "sleep", "0.3")
        page = reader.stdout.read()
    assert done.returncode == 0
    assert page.startswith(b"<!DOCTYPE html>") and page.endswith(b"</html>\n")


def test_a_reader_that_is_gone_takes_no_sample_from_the_summary():
    """The sample that finds nobody is the last but one: what comes after it is counted too."""
    with started("-i", "0.5", "--summary=json") as tracker:
        assert tracker.stdout.readline()
        tracker.stdout.close()
        summary = json.loads(tracker.stderr.read())
        assert tracker.wait(PATIENCE) == 0
    assert summary["sample_count"] == 3


def test_a_reader_that_is_gone_hides_no_lost_report(tmp_path):
    out = tmp_path / "r.html"
    with started("-i", "0.1", "--report", str(out),
                 step=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))) as tracker:
        assert tracker.stdout.readline()
        tracker.stdout.close()
        errors = tracker.stderr.read()
        assert tracker.wait(PATIENCE) == 0
    assert errors == (f"resource-tracker: cannot write the report to {out}: File too large; "
                      "there is none\n").encode()


def test_watching_has_a_report_too(tmp_path):
    out = tmp_path / "r.html"
    with started("-i", "0.05", "--report", str(out)) as tracker:
        Lines(tracker.stdout).take(3)
        tracker.send_signal(signal.SIGINT)
        assert tracker.wait(PATIENCE) == 0
    assert ">watched<" in out.read_text()


def test_a_pipe_gets_the_page(tmp_path):
    done = run("--quiet", "--report", "/dev/stdout", "--", "true")
    assert done.returncode == 0
    assert done.stdout.startswith(b"<!DOCTYPE html>") and done.stdout.endswith(b"</html>\n")


def test_recorded_runs_are_compared(tmp_path):
    for name in ("first", "second"):
        assert run("-i", "0.1", "-o", str(tmp_path / f"{name}.jsonl"), "--", "sleep", "0.3").returncode == 0
    out = tmp_path / "r.html"
    done = run("--from", str(tmp_path / "first.jsonl"), "--from", str(tmp_path / "second.jsonl"), "--report", str(out))
    assert done.returncode == 0
    page = out.read_text()
    assert "<h1>2 runs compared</h1>" in page
    assert len(data_of(page)["runs"]) == 2
