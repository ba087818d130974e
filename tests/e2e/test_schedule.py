"""Samples come on an absolute schedule: no drift, and what was missed is skipped."""
import signal
import time

import pytest

from helpers import (PATIENCE, Lines, make_procfs, make_sysfs, net_dev_text, run, sample_of,
                     samples_of, started)


def assert_on_schedule(samples, interval_ms):
    """
    Each sample tells how late it began after its tick. Less that, the time between any sample and
    the first is a whole number of intervals, however busy the machine is. Figures are rounded to
    0.1 ms.
    """
    elapsed = 0
    for count, sample in enumerate(samples[1:], 2):
        elapsed += sample["actual_interval_ms"]
        due = elapsed + samples[0]["tracker"]["late_ms"] - sample["tracker"]["late_ms"]
        off = (due + interval_ms / 2) % interval_ms - interval_ms / 2
        assert abs(off) <= 0.06 * count + 0.2, (count, due)


def test_samples_come_at_every_tick_and_at_the_end():
    begin = time.monotonic()
    done = run("-i", "0.1", "--", "sleep", "2")
    took_ms = (time.monotonic() - begin) * 1000
    samples = samples_of(done.stderr)
    assert 8 <= len(samples) <= took_ms / 100 + 1 # about 20 and the last one
    assert_on_schedule(samples[:-1], 100)
    # The intervals are the run, less its first tick.
    total = sum(sample["actual_interval_ms"] for sample in samples[1:])
    assert 1500 <= total <= took_ms


def test_ticks_keep_their_places_over_many_intervals():
    samples = samples_of(run("-i", "0.007", "--", "sleep", "1").stderr)
    assert len(samples) >= 20
    assert_on_schedule(samples[:-1], 7)


def test_missed_ticks_are_skipped_and_no_byte_is_lost(tmp_path):
    """The tracker is stopped for ten intervals while counters grow."""
    procfs = make_procfs(tmp_path / "proc")
    dev = tmp_path / "proc" / "net" / "dev"
    sysfs = make_sysfs(tmp_path / "sys")
    with started("-i", "0.1", "--procfs", procfs, "--sysfs", sysfs) as tracker:
        lines = Lines(tracker.stdout)
        samples = [sample_of(line) for line in lines.take(3)]
        tracker.send_signal(signal.SIGSTOP)
        time.sleep(0.3)
        with open(dev, "r+", encoding="ascii") as file:
            file.write(net_dev_text(received=62743715 + 4321, sent=159439 + 99))
        time.sleep(0.7)
        tracker.send_signal(signal.SIGCONT)
        samples += [sample_of(line) for line in lines.take(4)]
        tracker.terminate()
        assert tracker.wait(PATIENCE) == 0
        samples += samples_of(lines.remainder())
    gaps = [sample["actual_interval_ms"] for sample in samples[1:]]
    assert max(gaps) > 900
    # One sample for all that was missed, and then the schedule again.
    assert sum(gap > 900 for gap in gaps) == 1
    assert_on_schedule(samples[:-1], 100)
    assert sum(sample["total"]["net_recv_bytes"] for sample in samples) == 4321
    assert sum(sample["total"]["net_sent_bytes"] for sample in samples) == 99


def test_rates_use_the_time_that_really_passed(tmp_path):
    procfs = make_procfs(tmp_path / "proc")
    done = run("-i", "60", "--procfs", procfs, "--sysfs", make_sysfs(tmp_path / "sys"), "--", "sh",
               "-c", 'printf %s "$1" > "$2"; sleep 0.5', "sh",
               net_dev_text(received=62743715 + 1_000_000), f"{procfs}/net/dev")
    [sample] = samples_of(done.stderr)
    # At least half a second; far more only on a machine that hardly moves.
    assert 1_000_000 / 20 < sample["network"][0]["rx_bytes_per_sec"] <= 2_000_001


def test_samples_come_between_signals():
    """Signals that are passed on neither delay nor multiply samples."""
    with started("-i", "0.1", "--", "sh", "-c", "trap : USR1; while :; do sleep 0.01; done",
                 start_new_session=True) as tracker:
        lines = Lines(tracker.stderr)
        samples = [sample_of(lines.next())]
        for _ in range(8):
            tracker.send_signal(signal.SIGUSR1)
            time.sleep(0.02)
        samples += [sample_of(line) for line in lines.take(5)]
        tracker.terminate()
        assert tracker.wait(PATIENCE) == 128 + signal.SIGTERM
    assert_on_schedule(samples, 100)


def test_end_of_the_command_ends_a_long_interval():
    begin = time.monotonic()
    done = run("-i", "1000", "--", "sleep", "0.2")
    assert done.returncode == 0 and time.monotonic() - begin < PATIENCE / 2
    [sample] = samples_of(done.stderr)
    assert sample["tracker"]["late_ms"] == 0


@pytest.mark.parametrize("form", ["json", "csv"])
def test_end_of_watching_ends_a_long_interval_with_a_whole_line(form):
    with started("-i", "1000", "-f", form) as tracker:
        time.sleep(0.3)
        tracker.terminate()
        output, _ = tracker.communicate(timeout=PATIENCE)
    assert tracker.returncode == 0
    assert output.endswith(b"\n") and output.count(b"\n") == (1 if form == "json" else 2)
