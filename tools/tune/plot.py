# SPDX-License-Identifier: MIT
"""The plot of a search: what was predicted and what was measured, both axes logarithmic."""
import html
import math

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 860, 560, 80, 20, 76, 56
STYLE = """<style>
text { font: 12px sans-serif; fill: #222 } .title { font-size: 15px; font-weight: bold } .small { font-size: 11px; fill: #555 }
.grid { stroke: #e4e4e4 } .axis { stroke: #666 } .even { stroke: #999; stroke-dasharray: 5 4 }
.only { stroke: #7a8ca3; stroke-opacity: .35 } .func { fill: #2b6cb0; fill-opacity: .6 } .rtl { fill: none; stroke: #c53030; stroke-width: 1.6 }
.default { fill: #dd6b20 } .choice { fill: #2f855a }
</style>"""


def ticks(low, high):
    """Round numbers between two, 1, 2 and 5 times powers of ten; finer if there are few."""
    for steps in ((1, 2, 5), range(1, 10), [i / 10 for i in range(10, 100)], [i / 100 for i in range(100, 1000)]):
        found = [s * 10 ** e for e in range(int(math.log10(low)) - 1, int(math.log10(high)) + 2) for s in steps if low <= s * 10 ** e <= high]
        if len(found) >= 4:
            return found[::max(1, len(found) // 8)]
    return [low, high]


class Axes:
    """Cycles to pixels."""

    def __init__(self, xs, ys):
        self.x_low, self.x_high = min(xs) / 1.02, max(xs) * 1.02
        self.y_low, self.y_high = min(ys) / 1.02, max(ys) * 1.02

    def x(self, cycles):
        return LEFT + (WIDTH - LEFT - RIGHT) * math.log(cycles / self.x_low) / math.log(self.x_high / self.x_low)

    def y(self, cycles):
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * math.log(cycles / self.y_low) / math.log(self.y_high / self.y_low)

    def frame(self):
        bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
        for t in ticks(self.x_low, self.x_high):
            yield f'<line class="grid" x1="{self.x(t):.1f}" y1="{TOP}" x2="{self.x(t):.1f}" y2="{bottom}"/>'
            yield f'<text x="{self.x(t):.1f}" y="{bottom + 16}" text-anchor="middle">{t / 1000:g}k</text>'
        for t in ticks(self.y_low, self.y_high):
            yield f'<line class="grid" x1="{LEFT}" y1="{self.y(t):.1f}" x2="{right}" y2="{self.y(t):.1f}"/>'
            yield f'<text x="{LEFT - 6}" y="{self.y(t) + 4:.1f}" text-anchor="end">{t / 1000:g}k</text>'
        yield f'<line class="axis" x1="{LEFT}" y1="{bottom}" x2="{right}" y2="{bottom}"/>'
        yield f'<line class="axis" x1="{LEFT}" y1="{TOP}" x2="{LEFT}" y2="{bottom}"/>'
        yield f'<text x="{(LEFT + right) / 2}" y="{HEIGHT - 14}" text-anchor="middle">predicted cycles</text>'
        yield f'<text transform="translate(16,{(TOP + bottom) / 2}) rotate(-90)" text-anchor="middle">measured cycles, functional model</text>'
        low, high = max(self.x_low, self.y_low), min(self.x_high, self.y_high)
        if low < high:
            yield (f'<line class="even" x1="{self.x(low):.1f}" y1="{self.y(low):.1f}" x2="{self.x(high):.1f}" '
                   f'y2="{self.y(high):.1f}"><title>measured as predicted</title></line>')


def svg(search, entry, text):
    """The document. entry: of the table; text: a choice in words."""
    all_measured = {c: r for c, r in search.measured.items() if not r.refused}
    default = all_measured.get("default")
    most = max(2 * entry["func"], 1.1 * max(default.cycles, default.predicted) if default else 0)  # worse ones are not worth the room
    measured = {c: r for c, r in all_measured.items() if max(r.cycles, r.predicted) <= most}
    shown = [r.predicted for c, r in search.predicted.items() if not r.refused and r.predicted <= most]
    axes = Axes(shown, [r.cycles for r in measured.values()])
    refused = sum(1 for c in search.choices if search.predicted[c].refused)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}">', "<!-- SPDX-License-Identifier: MIT -->", STYLE,
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
           f'<text class="title" x="{LEFT}" y="22">{search.kernel.name} {"x".join(map(str, search.extents))}</text>',
           f'<text class="small" x="{LEFT}" y="40">{len(search.choices)} choices: {refused} do not fit on the chip, {len(all_measured)} measured (points), '
           f'{len(search.confirmed)} of them on the RTL (rings), the others predicted only (marks below); shown up to {most / 1000:.0f}k</text>',
           f'<text class="small" x="{LEFT}" y="56">green: the choice, {html.escape(text(search.kernel, tuple(entry["values"])))}, {entry["rtl"]} cycles; '
           f'orange: the default, {entry["rtl_default"]}</text>']
    out += axes.frame()
    for predicted in sorted(set(shown)):
        out.append(f'<line class="only" x1="{axes.x(predicted):.1f}" y1="{HEIGHT - BOTTOM}" x2="{axes.x(predicted):.1f}" y2="{HEIGHT - BOTTOM - 8}"/>')
    for choice, r in sorted(measured.items(), key=lambda item: -item[1].cycles):
        kind = "default" if choice == "default" else "choice" if list(choice) == entry["values"] else "func"
        title = f"{text(search.kernel, choice)}: predicted {r.predicted}, measured {r.cycles}, bound by {r.bound}"
        out.append(f'<circle class="{kind}" cx="{axes.x(r.predicted):.1f}" cy="{axes.y(r.cycles):.1f}" r="{4 if kind == "func" else 6}"><title>{html.escape(title)}</title></circle>')
        if choice in search.confirmed:
            rtl = search.confirmed[choice].cycles
            out.append(f'<circle class="rtl" cx="{axes.x(r.predicted):.1f}" cy="{axes.y(max(rtl, axes.y_low)):.1f}" r="8"><title>on the RTL {rtl}</title></circle>')
    return "\n".join(out + ["</svg>", ""])
