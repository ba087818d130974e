"""The parser, --help, the manual, the completions and --list-metrics tell of the same things."""
import re

import pytest

from helpers import ROOT, long_options, run, samples_of

FILES = {
    "docs/resource-tracker.1": lambda text: long_options(text.replace("\\-", "-")),
    "docs/options.md": long_options,
    "completions/resource-tracker.bash": long_options,
    "completions/_resource-tracker": long_options,
    "completions/resource-tracker.fish":
        lambda text: set(re.findall(r"(?:^|\s)-l ['\"]?([a-z][a-z0-9-]*)", text)),
}


def help_rows():
    """[(letter or None, long name, placeholder or None)]; "[=FORMAT]" may be left out"""
    rows = re.findall(r"^ +(?:-(\w), |    )--([a-z-]+)(?: ([A-Z=]+)|(?=\[))?(\[=[A-Z]+\])?(?:  |$)",
                      run("--help").stdout.decode(), re.M)
    assert len(rows) >= 20
    return [(letter or None, name, placeholder or optional or None)
            for letter, name, placeholder, optional in rows]


def fitting_value(name, placeholder):
    return {"PID": "1", "SECS": "2", "FORMAT": "csv", "[=FORMAT]": "json", "SET": "full", "KEY=VALUE": "a=b",
            "FILE": "/dev/null", "DIR": "/", "TEXT": "x", "WHEN": "never"}.get(placeholder, name)


def test_every_option_of_the_help_is_accepted():
    for letter, name, placeholder in help_rows():
        if name in ("help", "version", "list-metrics", "host-info"):
            continue
        value = [fitting_value(name, placeholder)] if placeholder else []
        is_optional = placeholder is not None and placeholder.startswith("[")
        spellings = [[f"--{name}"] if is_optional else [f"--{name}", *value]]
        if placeholder:
            spellings.append([f"--{name}={value[0]}"])
        if letter:
            spellings.append([f"-{letter}", *value])
        for spelling in spellings:
            done = run(*spelling, "--version")
            assert done.returncode == 0, (spelling, done.stderr)
            assert done.stdout.startswith(b"resource-tracker ")


def test_options_with_a_value_refuse_to_go_without():
    for letter, name, placeholder in help_rows():
        needs_one = placeholder is not None and not placeholder.startswith("[")
        done = run(f"--{name}") if needs_one else run(f"--{name}=value")
        assert done.returncode == 2, name
        assert f"--{name}".encode() in done.stderr
        if letter and placeholder:
            done = run(f"-{letter}")
            assert done.returncode == 2 and f"--{name}".encode() in done.stderr


def test_options_asked_for_are_in_the_help():
    wanted = {"pid", "interval", "config", "format", "csv-columns", "output", "quiet", "job-name",
              "project-name", "stage-name", "task-name", "team", "env", "language", "orchestrator",
              "executor", "external-run-id", "container-image", "tag", "list-metrics", "procfs",
              "sysfs", "verbose", "help", "version", "summary", "report", "from"}
    letters = {"pid": "p", "interval": "i", "config": "c", "format": "f", "output": "o",
               "job-name": "n", "help": "h", "version": "V"}
    rows = help_rows()
    assert wanted <= {name for _, name, _ in rows}
    for letter, name, _ in rows:
        assert letter == letters.get(name), name


@pytest.mark.parametrize("name", FILES)
def test_documents_list_the_options_of_the_help(name):
    text = (ROOT / name).read_text()
    assert FILES[name](text) == {option for _, option, _ in help_rows()}


def test_help_fits_a_terminal_of_100_columns():
    assert max(len(line) for line in run("--help").stdout.decode().splitlines()) <= 100


def paths(value, prefix=""):
    """Every key of a sample, as --list-metrics names them."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from paths(inner, f"{prefix}.{key}" if prefix else key)
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for row in value:
            yield from paths(row, f"{prefix}[]")
    elif isinstance(value, list) and not (value and isinstance(value[0], dict)):
        yield f"{prefix}[]"
    else:
        yield prefix


def test_list_metrics_names_every_figure_of_a_sample():
    listed = run("--list-metrics").stdout.decode().splitlines()
    assert listed[0].split() == ["NAME", "UNIT", "SOURCE", "MEANING"]
    names = [line.split()[0] for line in listed[1:]]
    assert len(names) == len(set(names))
    [sample] = samples_of(run("--", "true").stderr)
    without_figures = {"job_name", "resource-tracker-version", "network[]", "disk[]", "gpu[]",
                       "disk[].mounts[]"}
    assert set(paths(sample)) - without_figures <= set(names)
    for group in ("cpu", "memory", "total", "tracker"):
        listed_here = {name.removesuffix("[]").partition(".")[2] for name in names
                       if name.startswith(group + ".")}
        assert listed_here == set(sample[group])


def test_list_metrics_names_every_csv_source():
    text = run("--list-metrics").stdout.decode()
    for name in ("cpu.utilization_pct", "memory.used_mib", "total.disk_read_bytes",
                 "total.net_recv_bytes", "disk[].mounts[].used_bytes", "network[].rx_bytes_total"):
        assert re.search(rf"^{re.escape(name)} ", text, re.M), name
