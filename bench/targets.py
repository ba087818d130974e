"""What we hold ourselves to, row by row, and what was measured of it. A target that was not measured says so."""
import statistics

import peers
from tables import PAGE, costs, number, ratios, shapes, spread

ATTRIBUTION_SHARE, ATTRIBUTION_SECS = 0.005, 0.02
BINARY_MAX = 300 * 1024


class Row:
    """One of the figures of a target; held is None when there is nothing to compare."""

    def __init__(self, target, what, measured, limit, held):
        self.target = target
        self.what = what
        self.measured = measured
        self.limit = limit
        self.held = held

    @property
    def verdict(self):
        return "not measured" if self.held is None else "held" if self.held else "**missed**"


def at_most(target, what, value, limit, unit=""):
    if value is None:
        return Row(target, what, "–", f"≤ {number(limit)}{unit}", None)
    return Row(target, what, f"{number(value)}{unit}", f"≤ {number(limit)}{unit}", value <= limit)


def ratio_row(results, what, above, below, shape, seconds, limit, is_minimum):
    found = ratios(results, above, below, shape, seconds)
    sign = "≥" if is_minimum else "≤"
    if not found:
        return Row("CPU a sample", what, "–", f"{sign} {limit}", None)
    middle = statistics.median(found)
    return Row("CPU a sample", what, spread(found), f"{sign} {limit}",
               middle >= limit if is_minimum else middle <= limit)


def cost_rows(results):
    rows = [ratio_row(results, f"÷ floor{'' if a == 'ours' else ', both without PSS'}, {h:,} / {t:,}, "
                               f"every {'second' if s == 1 else '50 ms'}", a, b, (h, t), s, 1.5, False)
            for a, b in (("ours", "floor"), ("ours, --pss never", "floor without PSS"))
            for h, t in shapes(results) for s in (1, 0.05)]
    return rows + [ratio_row(results, f"{tool} ÷ ours, {h:,} / {t:,}", tool, "ours", (h, t), 1, limit, True)
                   for tool, h, t, limit in (("Rust tool", 1000, 10, 10), ("Python tool", 1000, 10, 5),
                                             ("Rust tool", 1000, 500, 4), ("Python tool", 1000, 500, 4))]


def cost_of_member(results, seconds):
    few, many = (costs(results, "ours, --pss never", (1000, tree), seconds) for tree in (10, 500))
    return (statistics.median(many) - statistics.median(few)) / 490 if few and many else None


def resident_row(results, shape):
    resident = costs(results, "ours", shape, 1, "rss_kib")
    return at_most("RSS", f"without GPU, {shape[0]:,} / {shape[1]:,}",
                   statistics.median(resident) / 1024 if resident else None, 2, " MiB")


def growth_rows(results):
    processes = [row for row in results.get("scale", {}).get("devices", []) if row["what"].startswith("processes")]
    more = processes[-1]["us"] / processes[0]["us"] if processes else None
    what = f"{processes[-1]['count']:,} processes on the host ÷ {processes[0]['count']:,}" if processes else "with P"
    return [at_most("growth", what, more, 1.2),
            at_most("growth", "for each member, no PSS, every 50 ms", cost_of_member(results, 0.05), 4, " µs"),
            at_most("growth", "for each member, no PSS, every second (cold)", cost_of_member(results, 1), 4, " µs")]


def latency_rows(results):
    found = results.get("latency", {})
    if "ours" not in found:
        return [at_most("start", "exec to exec", None, 1.5, " ms"), at_most("end", "without streaming", None, 2, " ms")]
    start, end, empty = (statistics.median(found[name][what]) / 1000 for name, what in
                         (("ours", "start"), ("ours", "end"), ("empty wrapper", "start")))
    return [at_most("start", "exec to exec", start, 1.5, " ms"), at_most("start", "÷ empty wrapper", start / empty, 2),
            at_most("end", "without streaming", end, 2, " ms")]


def memory_rows(results):
    streaming = results.get("own", {}).get("streaming")
    grown = results.get("scale", {}).get("samples", [])
    rows = [*(resident_row(results, shape) for shape in shapes(results)),
            at_most("RSS", "streaming over TLS, median", streaming["median_kib"] / 1024 if streaming else None, 4, " MiB"),
            at_most("RSS", "streaming over TLS, largest", streaming["largest_kib"] / 1024 if streaming else None, 4,
                    " MiB")]
    if not grown:
        return rows + [at_most("RSS", "growth over 100,000 samples, of our own memory", None, 64, " KiB")]
    first, last = grown[0], grown[-1]
    # Of code, which comes and goes, the kernel decides; a list that is made when PIDs wrap around is no leak.
    return rows + [at_most("RSS", f"growth over {last['samples']:,} samples, of our own memory",
                           last["anonymous_kib"] - first["anonymous_kib"], 64, " KiB"),
                   at_most("after warm-up", "new descriptors", last["descriptors"] - first["descriptors"], 0),
                   at_most("after warm-up", "threads", last["threads"], 1)]


def own_rows(results):
    own = results.get("own", {})
    pss, ticks = own.get("pss"), own.get("ticks")
    fast = results.get("jitter", {}).get("tools", {}).get("ours", {}).get("0.01")
    return [at_most("binary", "release, libcurl shared", results["machine"]["binary_bytes"] / 1024
                    if "machine" in results else None, BINARY_MAX / 1024, " KiB"),
            at_most("PSS", "of the interval, a process of 2 GiB", pss["share"] * 100 if pss else None, 0.5, " %"),
            at_most("PSS", "longest sample with it", pss["longest_ms"] if pss else None, 50, " ms"),
            at_most("interval", "10 ms on a busy host: samples missing", fast["missed"] * 100 if fast else None, 0.1,
                    " %"),
            at_most("interval", f"1 s on a busy host: missed of {ticks['ticks']:,} ticks" if ticks else "1 s",
                    ticks["missed"] / ticks["ticks"] * 100 if ticks else None, 0.1, " %")]


def truth_rows(results):
    rows = []
    for storm, runs in results.get("truth", {}).items():
        for tool, how in (("ours", "off by"), (peers.CGROUP, "with --cgroup off by")):
            pairs = runs.get(tool, [])
            off = max((abs(told - true) for told, true in pairs), default=None)
            allowed = max(ATTRIBUTION_SHARE * pairs[0][1], ATTRIBUTION_SECS) if pairs else ATTRIBUTION_SECS
            rows.append(at_most("CPU attribution", f"{storm}: {how}", off, allowed, " s"))
    return rows


def all_rows(results):
    return [row for rows in (cost_rows, growth_rows, latency_rows, memory_rows, own_rows, truth_rows)
            for row in rows(results)]


def target_cells(results):
    return [[row.target, row.what, row.limit, row.measured, row.verdict] for row in all_rows(results)]


def summary(results):
    lines = [f"{row.verdict.strip('*'):<13} {row.target}, {row.what}: {row.measured} ({row.limit})"
             for row in all_rows(results)]
    tools = results.get("machine", {}).get("tools", {})
    lines += [f"missing tool  {name}: {facts['missing']}" for name, facts in tools.items() if facts["missing"]]
    return "\n".join([*lines, f"tables: {PAGE.relative_to(peers.ROOT)}"])
