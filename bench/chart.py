"""A chart in SVG, drawn with nothing: bars on a logarithmic scale, readable in light and in dark."""
import math
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
