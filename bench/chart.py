"""Charts in SVG, readable in light and in dark: bars on a logarithmic scale, drawn with nothing; and one of our
report's charts, taken out of its page."""
import math
import re
import statistics
from html import escape

WIDTH, LABELS, ROW, GAP = 900, 170, 17, 30
STYLE = ("text{font:12px system-ui,sans-serif;fill:#444}.o{fill:#0a7d55}.f{fill:#8a8a8a}.p{fill:#4878cf}"
         "line{stroke:#8884}@media(prefers-color-scheme:dark){text{fill:#ccc}}")


def bar(x, y, length, kind, label, value):
    return (f'<text x="{x - 6}" y="{y + 12}" text-anchor="end">{escape(label)}</text>'
            f'<rect class="{kind}" x="{x}" y="{y + 2}" width="{length:.1f}" height="{ROW - 5}"/>'
            f'<text x="{x + length + 4:.1f}" y="{y + 12}">{value}</text>')


def kind_of(tool):
    return "o" if tool.startswith("ours") else "f" if tool.startswith("floor") else "p"


def us_text(us):
    return f"{us / 1000:,.3g} ms" if us >= 1000 else f"{us:,.0f} µs"


def cost_chart(results, tools, shapes, costs):
    """CPU time of a sample, every second, one group of bars a shape."""
    found = {shape: {tool: statistics.median(values) for tool in tools if (values := costs(results, tool, shape, 1))}
             for shape in shapes}
    largest = max((us for group in found.values() for us in group.values()), default=1)
    room = WIDTH - LABELS - 80
    scale = room / math.log10(max(largest, 20) / 10)
    parts, y = [], 10
    for (hosts, tree), group in found.items():
        parts.append(f'<text x="{LABELS}" y="{y + 12}" font-weight="bold">{hosts:,} processes, {tree:,} tracked</text>')
        y += ROW + 3
        for tool, us in sorted(group.items(), key=lambda item: item[1]):
            length = max(1, scale * math.log10(max(us, 10.1) / 10))
            parts.append(bar(LABELS, y, length, kind_of(tool), tool, us_text(us)))
            y += ROW
        y += GAP - ROW
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" role="img" '
            f'aria-label="CPU time of one sample, logarithmic"><style>{STYLE}</style>{"".join(parts)}</svg>\n')


# --- a chart of the report as a picture ---

LINE_STYLE = (".mean-line{fill:none;stroke:currentColor;stroke-width:1.6}.band{fill:currentColor;opacity:.18}"
              ".grid{fill:none;stroke:#8886}.job{color:#0a7d55}.out{color:#4878cf}.third{color:#c8553d}"
              ".in,.fourth{color:#8a5fbf}.third .mean-line{stroke-dasharray:4 2}.fourth .mean-line{stroke-dasharray:8 2 2 2}")
PLOT_LEFT, PLOT_TOP, PLOT_WIDTH, PLOT_HEIGHT = 60, 34, 820, 220


def spans(html, name):
    return re.findall(r"<span>(.*?)</span>", re.search(rf'<div class="{name}".*?</div>', html, re.S)[0])


def report_chart(figure):
    """What the page lays out around the drawing with HTML (title, keys, axes) is set as text."""
    title = re.sub(r"<.*?>", "", re.search(r"<h3.*?</h3>", figure, re.S)[0])
    keys = re.findall(r'<li class="(.*?)">.*?<span>(.*?)</span> <b>(.*?)</b>', figure, re.S)
    drawing = re.search(r'<svg role="img".*?>(.*?)</svg>', figure, re.S)[1]
    values, times = spans(figure, "y-axis"), spans(figure, "x-axis")
    parts = [f'<text x="{PLOT_LEFT}" y="20" font-weight="bold">{title}</text>',
             f'<svg x="{PLOT_LEFT}" y="{PLOT_TOP}" width="{PLOT_WIDTH}" height="{PLOT_HEIGHT}" viewBox="0 0 2000 400" '
             f'preserveAspectRatio="none">{drawing}</svg>']
    parts += [f'<text x="{PLOT_LEFT - 6}" y="{PLOT_TOP + PLOT_HEIGHT * (1 - i / (len(values) - 1)) + 4:.0f}" '
              f'text-anchor="end">{value}</text>' for i, value in enumerate(values)]
    parts += [f'<text x="{PLOT_LEFT + PLOT_WIDTH * i / (len(times) - 1):.0f}" y="{PLOT_TOP + PLOT_HEIGHT + 16}" '
              f'text-anchor="middle">{moment}</text>' for i, moment in enumerate(times)]
    y = PLOT_TOP + PLOT_HEIGHT + 36
    for kind, name, says in keys:
        parts.append(f'<g class="{kind}"><path class="mean-line" d="M{PLOT_LEFT} {y - 4}h24"/></g>'
                     f'<text x="{PLOT_LEFT + 32}" y="{y}">{name}: {says}</text>')
        y += ROW + 3
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" role="img" aria-label="{title}">'
            f"<style>{STYLE}{LINE_STYLE}</style>{''.join(parts)}</svg>\n")
