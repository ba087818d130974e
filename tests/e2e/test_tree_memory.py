"""Memory of a process tree: resident, proportional, and how long ago it was looked at."""
import os

import pytest

from helpers import IS_ASAN
from workloads import attached, lone_puppet, nobody, only_root, wrapped_puppet

PAGE = os.sysconf("SC_PAGESIZE")
MIB = 1 << 20

# What a reading of one page is expected to take, and the longest reading that may be made.
PAGE_NS = 14
LONGEST_NS = 50e6


def rss(sample):
    return sample["cpu"]["process_rss_mib"]


def pss(sample):
    return sample["cpu"]["process_pss_mib"]


def age(sample):
    return sample["process"]["pss_age_secs"]


def peak(sample):
    return sample["process"]["peak_rss_mib"]


# --- resident and proportional ---

def test_shared_memory_counts_three_times_resident_and_once_proportional():
    with wrapped_puppet(0.1, "--pss", "always") as watched:
        before, = watched.fresh()
        after, = watched("share", 200, 2)
    assert 590 <= rss(after) - rss(before) <= 640
    assert 195 <= pss(after) - pss(before) <= 240
    assert after["cpu"]["process_child_count"] == 2
    assert age(after) <= 0.11


@pytest.mark.parametrize("mode", ["auto", "always"])
def test_private_memory_is_the_same_both_ways(mode):
    with wrapped_puppet(0.1, "--pss", mode) as watched:
        watched("grow", 100)
        sample = watched.fresh(4)[-1]
        assert 100 <= pss(sample) <= rss(sample) <= 110
        assert age(sample) is not None
        sample, = watched("shrink")
        assert rss(sample) < 10 and pss(sample) <= rss(sample)


def test_pss_never_takes_the_resident_size():
    with wrapped_puppet(0.05, "--pss", "never") as watched:
        watched("share", 50, 2)
        samples = watched.fresh(3)
    for sample in samples:
        assert pss(sample) == rss(sample) > 150
        assert age(sample) is None


def test_pss_auto_soon_has_read_a_small_tree():
    with wrapped_puppet(0.1) as watched:
        sample, = watched("share", 50, 2)
        for _ in range(20): # 0.5 ms of reading a sample; three readings of 0.23 ms
            if 49 <= pss(sample) < 80:
                break
            sample = watched.next()
    assert 49 <= pss(sample) < 80 < 150 < rss(sample)
    assert age(sample) < 2.5


def test_pss_always_notices_that_pages_became_shared():
    """Children that change nothing share all pages with their parent, whose size stays the same."""
    with wrapped_puppet(0.1, "--pss", "always") as watched:
        watched("grow", 100)
        sample = watched("fork", 2)[0]
    assert rss(sample) > 290
    assert 100 <= pss(sample) <= 115


def test_age_of_pss_grows_while_it_is_not_read_again():
    """A tree that does not change is not read again at every sample."""
    with wrapped_puppet(0.1) as watched:
        watched("grow", 20)
        samples = watched.fresh(8)
    assert age(samples[-1]) > age(samples[0]) >= 0
    assert age(samples[-1]) == pytest.approx(age(samples[0]) + 0.7, abs=0.5)


# --- the budget ---

def aliased(pages):
    """(pages, times): so many resident pages by mapping the same ones again and again."""
    chunk = 16384
    return chunk, pages // chunk


def test_pss_is_not_read_where_it_would_take_over_50_ms():
    """Some 15 GiB resident out of 64 MiB, on a machine with pages of 4 KiB."""
    chunk, times = aliased(int(LONGEST_NS / PAGE_NS * 1.1))
    resident = chunk * times * PAGE / MIB
    with wrapped_puppet(0.1) as watched:
        watched.fresh() # it is read while it is small
        watched("alias", chunk, times)
        for sample in watched.fresh(4):
            assert rss(sample) >= resident
            # What was read when the process was small does not stand for it now, nor would a
            # reading of now, which says a 200th of the resident size.
            assert resident / 2 <= pss(sample) <= rss(sample)
    with wrapped_puppet(0.1, "--pss", "always") as watched:
        sample, = watched("alias", chunk, times)
        assert rss(sample) >= resident > 50 * pss(sample)


def readings(samples):
    """How many of these looked at the memory anew. (An age of 0.00 may have been rounded.)"""
    return sum(age(sample) is not None and age(sample) < 0.01 for sample in samples)


def test_pss_is_read_rarely_where_that_is_dear():
    """Of 600,000 pages, which take about 8 ms, at 0.25 ms a sample: each 33rd sample or rarer.
    With --pss always it is each, since the process grows all the time."""
    chunk, times = aliased(600_000)
    count = {}
    for mode in ("auto", "always"):
        with wrapped_puppet(0.05, "--pss", mode) as watched:
            watched.puppet("alias", chunk, times)
            watched.puppet("keep-growing")
            count[mode] = readings(watched.fresh(40))
    assert count["auto"] <= 3
    assert count["always"] >= 30


# --- the largest it ever was ---

def test_peak_has_a_spike_between_two_samples():
    with wrapped_puppet(0.7) as watched:
        watched.next()
        watched.puppet("spike", 300, 1)
        sample = watched.next()
        assert rss(sample) < 100
        assert 300 <= peak(sample) <= 330


def test_peak_has_a_child_that_came_and_went_between_two_samples():
    """The kernel passes it up to the command, and with that to the tracker at the end."""
    with wrapped_puppet(30) as watched:
        watched.puppet("spike-in-child", 300, 1)
    assert 300 <= peak(watched.samples[-1]) <= 330


def test_peak_adds_up_what_was_there_at_the_same_time():
    with wrapped_puppet(0.1) as watched:
        watched("grow", 60)
        watched("grow-in-children", 2, 50)
        sample, = watched("drop", 2)
        assert rss(sample) < 80
        # A child has the pages of its parent, too.
        assert 60 + 2 * (60 + 50) <= peak(sample) <= 60 + 2 * (60 + 50) + 30


def test_peak_never_falls_and_is_never_below_the_resident_size():
    with wrapped_puppet(0.05) as watched:
        watched("grow", 30)
        watched("shrink")
        watched("fork", 3)
        watched("drop", 3)
    peaks = [peak(sample) for sample in watched.samples]
    assert peaks == sorted(peaks)
    assert all(rss(sample) <= peak(sample) for sample in watched.samples)


def test_peak_from_before_attaching_is_left_out():
    with lone_puppet() as (puppet, process):
        puppet("spike", 300, 1)
        with attached(process.pid, 0.1, puppet=puppet) as watched:
            sample = watched.fresh(2)[-1]
            assert rss(sample) <= peak(sample) < 100
            sample = watched("spike", 200, 1)[0]
            assert rss(sample) <= peak(sample) < 300


# --- others' memory ---

@only_root
def test_memory_of_another_user_is_his_resident_size():
    with lone_puppet() as (puppet, process):
        puppet("grow", 50)
        with attached(process.pid, 0.1, puppet=puppet, step=nobody) as watched:
            sample = watched.fresh(2)[-1]
    assert 50 <= rss(sample) < 70
    assert pss(sample) == rss(sample)
    assert age(sample) is None


def test_tracker_stays_small():
    limit = 64 if IS_ASAN else 2.5
    # The library of a GPU driver is not ours to keep small.
    with wrapped_puppet(0.05, "--no-gpu") as watched:
        watched("grow", 50)
        assert watched.next()["tracker"]["rss_mib"] <= limit
