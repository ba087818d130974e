"""Makes the tables of docs/benchmarks.md, and its charts, from what bench/run measured."""
import re
import statistics

import chart
import peers

PAGE = peers.ROOT / "docs" / "benchmarks.md"
CHART = peers.ROOT / "docs" / "benchmarks.svg"
REPORT_CHART = peers.ROOT / "docs" / "benchmarks-report.svg"


# --- figures to text ---

def number(value):
    """Three digits are all that a measurement is good for."""
    if value is None:
        return "–"
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) >= 0.01 else f"{value:.4f}"


def spread(values):
    """Median, and from where to where."""
    if not values:
        return "–"
    middle = number(statistics.median(values))
    low, high = number(min(values)), number(max(values))
    return middle if low == high else f"{middle} ({low}–{high})"


def table(head, rows):
    lines = ["| " + " | ".join(map(str, cells)) + " |" for cells in (head, ["---"] * len(head), *rows)]
    return "\n".join(lines)


def tool_names(results):
    return [peer.name for peer in peers.PEERS if peer.name in results["machine"]["tools"]]


# --- cost ---

def figure(row, what):
    """One that writes far more lines than samples were asked for is charged for those that were asked for."""
    if what == "us" and row["rate"] is not None and row["rate"] * row["seconds"] > 1.5:
        return row["cpu_share"] * 1e6 * row["seconds"]
    return row[what]


def costs(results, tool, shape, seconds, what="us"):
    return [figure(row, what) for row in results.get("cost", []) if row["tool"] == tool and
            row["seconds"] == seconds and (row["hosts"], row["tree"]) == tuple(shape) and row[what] is not None]


def ratios(results, above, below, shape, seconds):
    """Of runs that followed one another."""
    return [a / b for a, b in zip(costs(results, above, shape, seconds), costs(results, below, shape, seconds))]


def shapes(results):
    return sorted({(row["hosts"], row["tree"]) for row in results.get("cost", [])})


def shape_heads(results):
    return [f"{hosts:,} processes, {tree:,} in the tree" for hosts, tree in shapes(results)]


def cost_table(seconds):
    def made(results):
        rows = []
        for tool in tool_names(results):
            cells = [spread(costs(results, tool, shape, seconds)) for shape in shapes(results)]
            if set(cells) != {"–"}:
                rows.append([tool, *cells])
        return table(["µs of CPU a sample", *shape_heads(results)], rows)
    return made


def ratio_table(results):
    pairs = [("ours", "floor"), ("ours, --pss never", "floor without PSS")]
    rows = [[f"{above} ÷ {below}, every {'second' if seconds == 1 else '50 ms'}",
             *(spread(ratios(results, above, below, shape, seconds)) for shape in shapes(results))]
            for above, below in pairs for seconds in (1, 0.05)]
    rows += [[f"{tool} ÷ ours, every second", *(spread(ratios(results, tool, "ours", shape, 1))
                                                for shape in shapes(results))]
             for tool in tool_names(results)
             if not tool.startswith(("ours", "floor")) and
             any(costs(results, tool, shape, 1) for shape in shapes(results))]
    return table(["ratio", *shape_heads(results)], rows)


def memory_table(results):
    rows = []
    for tool in tool_names(results):
        resident = [spread([kib / 1024 for kib in costs(results, tool, shape, 1, "rss_kib")])
                    for shape in shapes(results)]
        proportional = [kib / 1024 for shape in shapes(results) for kib in costs(results, tool, shape, 1, "pss_kib")]
        if set(resident) != {"–"}:
            rows.append([tool, *resident, spread(proportional)])
    return table(["MiB resident, all processes of the tool", *shape_heads(results), "proportional (PSS), all shapes"],
                 rows)


def calls_table(results):
    found = {(row["tool"], row["hosts"], row["tree"]): sum(row["calls"].values()) for row in results.get("calls", [])}
    seen = sorted({key[1:] for key in found})
    rows = [[tool, *(number(found.get((tool, *shape))) for shape in seen)] for tool in tool_names(results)
            if any((tool, *shape) in found for shape in seen)]
    return table(["system calls a sample", *(f"{hosts:,} / {tree:,}" for hosts, tree in seen)], rows)


# --- when ---

def latency_table(results):
    rows = [[name, spread([us / 1000 for us in found["start"]]), spread([us / 1000 for us in found["end"]])]
            for name, found in results.get("latency", {}).items()]
    return table(["ms", "exec of the tool to exec of the command", "end of the command (0.3 s) to end of the tool"],
                 rows)


def first_table(results):
    rows = [[name, spread(found.get("1", [])), spread(found.get("0.05", []))]
            for name, found in results.get("first", {}).items()]
    return table(["seconds until the first sample can be read", "asked for one every second", "every 50 ms"], rows)


def jitter_table(results):
    rows = []
    for name, found in results.get("jitter", {}).get("tools", {}).items():
        rows += [[name, f"{seconds} s", *(number(gaps[key]) for key in ("median", "p99", "longest")),
                  f"{gaps['missed'] * 100:.2g} %"] for seconds, gaps in found.items()]
    return table(["ms off the interval", "interval", "median", "99th percentile", "longest", "samples missing"], rows)


# --- truth, and what the job pays ---

def error_text(runs):
    worst = max(runs, key=lambda run: abs(run[0] - run[1]))
    percent = (worst[0] - worst[1]) / worst[1] * 100
    return f"{percent:+.2f} %" if abs(percent) < 10 else f"{percent:+.0f} %"


def truth_table(results):
    found = results.get("truth", {})
    rows = [[tool, *(error_text(found[storm][tool]) if tool in found[storm] else "–" for storm in found)]
            for tool in tool_names(results) if any(tool in runs for runs in found.values())]
    return table(["error of the tree's CPU time", *found], rows)


def slowdowns(runs, name, which):
    """Percent that the job took longer than alone in the same round."""
    return [(a[which] / b[which] - 1) * 100 for a, b in zip(runs[name], runs["alone"])]


def slowdown_table(results):
    found = results.get("slowdown", {})
    names = list(next(iter(found.values()), {}))
    head = ["percent longer than alone", *(f"{kind}: {what}" for kind in found for what in ("clock", "CPU"))]
    rows = [[name, *(f"{statistics.median(slowdowns(runs, name, which)):+.1f}" if name in runs else "–"
                     for runs in found.values() for which in (0, 1))] for name in names if name != "alone"]
    noise = [f"{(max(column) / min(column) - 1) * 100:.1f}" for runs in found.values()
             for column in zip(*runs["alone"])]
    return table(head, [["alone: longest ÷ shortest run", *noise], *rows])


# --- scale and agreement ---

def memory_over_samples_table(results):
    rows = [[f"{row['samples']:,}", number(row["rss_kib"]), number(row["anonymous_kib"]), row["descriptors"],
             row["threads"]]
            for row in results.get("scale", {}).get("samples", [])]
    return table(["samples", "KiB resident", "KiB of it anonymous", "descriptors", "threads"], rows)


def devices_table(results):
    rows = [[row["what"], f"{row['count']:,}", number(row["us"]), number(row["us_each"]), number(row["line_bytes"])]
            for row in results.get("scale", {}).get("devices", [])]
    return table(["host", "how many", "µs of CPU a sample", "µs for each one more", "bytes a sample"], rows)


def compat_table(results):
    rows = [[row["column"], row["ours"], row["theirs"], row["difference"], row["verdict"]]
            for row in results.get("compat", {}).get("rows", [])]
    return table(["column", "ours", "theirs", "difference", "verdict"], rows)


# --- about the run ---

def machine_text(results):
    facts = results["machine"]
    text = (f"{facts['date']}, commit {facts['commit']}, {facts['cpus']} CPUs ({facts['model']}), {facts['arch']}, "
            f"{facts['memory_gib']} GiB, Linux {facts['kernel']}. Before it began: {facts['processes']} processes, "
            f"{facts['forks_per_sec']:.0f} started a second, a load of {facts['load']:.2f}. {facts['compiler']}, release "
            f"build of {facts['binary_bytes']:,} bytes; Python {facts['python']}.")
    return text + (" A quick run: single measurements, shown to prove that they can be made." if facts["quick"] else "")


def tools_table(results):
    rows = [[name, facts["version"] or "–", facts["what"], facts["missing"] or "measured"]
            for name, facts in results["machine"]["tools"].items()]
    return table(["tool", "version", "what it reads", "here"], rows)


def wins(results):
    """Where a peer does better than ours, by medians."""
    found = []
    for seconds in (1, 0.05):
        for shape in shapes(results):
            ours = costs(results, "ours", shape, seconds)
            for tool in tool_names(results):
                theirs = costs(results, tool, shape, seconds)
                if ours and theirs and not tool.startswith(("ours", "floor")) and \
                        statistics.median(theirs) < statistics.median(ours):
                    found.append((tool, f"CPU a sample at {shape[0]:,} / {shape[1]:,}, every {seconds} s",
                                  statistics.median(theirs), statistics.median(ours), "µs"))
    for what, unit in (("rss_kib", "resident memory"), ("pss_kib", "proportional memory")):
        for shape in shapes(results):
            ours = costs(results, "ours", shape, 1, what)
            for tool in tool_names(results):
                theirs = costs(results, tool, shape, 1, what)
                if ours and theirs and not tool.startswith(("ours", "floor")) and \
                        statistics.median(theirs) < statistics.median(ours):
                    found.append((tool, f"{unit} at {shape[0]:,} / {shape[1]:,}", statistics.median(theirs),
                                  statistics.median(ours), "KiB"))
    calls = {(row["tool"], row["hosts"], row["tree"]): sum(row["calls"].values()) for row in results.get("calls", [])}
    found += [(tool, f"system calls at {hosts:,} / {tree:,}", count, calls["ours", hosts, tree], "")
              for (tool, hosts, tree), count in calls.items()
              if not tool.startswith(("ours", "floor")) and count < calls.get(("ours", hosts, tree), 0)]
    latencies = results.get("latency", {})
    for what in ("start", "end"):
        for tool, times in latencies.items():
            if "ours" in latencies and not tool.startswith(("ours", "empty")) and times[what] and \
                    statistics.median(times[what]) < statistics.median(latencies["ours"][what]):
                found.append((tool, what, statistics.median(times[what]),
                              statistics.median(latencies["ours"][what]), "µs"))
    for storm, runs in results.get("truth", {}).items():
        error = {tool: statistics.median(abs(told / true - 1) * 100 for told, true in pairs)
                 for tool, pairs in runs.items()}
        found += [(tool, f"truth, {storm}", error[tool], error["ours"], "%") for tool in error
                  if "ours" in error and not tool.startswith("ours") and error[tool] < error["ours"]]
    first = results.get("first", {})
    for seconds, ours in first.get("ours", {}).items():
        found += [(tool, f"first sample, every {seconds} s", statistics.median(times[seconds]), statistics.median(ours),
                   "s") for tool, times in first.items()
                  if seconds in times and statistics.median(times[seconds]) < statistics.median(ours)]
    return found


def wins_table(results):
    rows = [[tool, what, f"{number(theirs)} {unit}".strip(), f"{number(ours)} {unit}".strip()]
            for tool, what, theirs, ours, unit in wins(results)]
    return table(["who", "in what", "they", "we"], rows) if rows else "Nowhere in this run."


PARTS = {
    "machine": machine_text, "tools": tools_table, "cost-1": cost_table(1), "cost-20": cost_table(0.05),
    "ratios": ratio_table, "memory": memory_table, "calls": calls_table, "latency": latency_table,
    "first": first_table, "jitter": jitter_table, "truth": truth_table, "slowdown": slowdown_table,
    "samples": memory_over_samples_table, "devices": devices_table, "compat": compat_table, "wins": wins_table,
}
# Without these measurements the text that stands there already is kept.
NEEDS = {"cost-1": "cost", "cost-20": "cost", "ratios": "cost", "memory": "cost", "samples": "scale",
         "devices": "scale", "machine": "machine", "tools": "machine", "wins": "cost",
         "targets": "machine"}


def write(results, targets):
    """What stands between `<!-- begin NAME -->` and `<!-- end NAME -->` is written anew."""
    text = PAGE.read_text(encoding="utf-8")
    made_here = {**PARTS, "targets": lambda _: table(["", "what", "target", "measured", ""], targets)}
    for name, made in made_here.items():
        if NEEDS.get(name, name) in results:
            pattern = rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)"
            body = made(results)
            text = re.sub(pattern, lambda found, body=body: f"{found[1]}\n{body}\n\n{found[2]}", text, flags=re.S)
    PAGE.write_text(text, encoding="utf-8")
    if "picture" in results:
        REPORT_CHART.write_text(chart.report_chart(results["picture"]["figure"]), encoding="utf-8")
    if "cost" in results:
        CHART.write_text(chart.cost_chart(results, tool_names(results), shapes(results), costs), encoding="utf-8")
