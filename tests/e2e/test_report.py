"""--report: the file it leaves, and what it never does to the job or to what was there."""
import json
import os
import re
import resource
import signal
import stat

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
    assert b"cannot write the report to" in done.stderr and b"File too large" in done.stderr
    assert out.read_text() == "old"
    assert os.listdir(tmp_path) == ["r.html"]


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
