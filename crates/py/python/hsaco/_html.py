"""What notebooks show: tables of HTML, with every text from files escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._hsaco import Database, Kernel, Table
    from ._records import Finding

MOST_ROWS = 100
"""Rows that are shown of a longer table."""

_SHOWN = {
    "ls": ("path", "target", "vgprs", "agprs", "sgprs", "lds", "scratch", "code_size", "demangled"),
    "resources": ("path", "target", "vgprs", "sgprs", "lds", "scratch", "spills", "occupancy", "limiter", "demangled"),
    "symbols": ("path", "target", "kind", "value", "size", "binding", "visibility", "demangled"),
    "args": ("path", "target", "demangled", "offset", "size", "kind", "type", "name"),
}


def _cell(value: Any) -> str:
    if value is None:
        return "<td>&ndash;</td>"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return f'<td style="text-align:right">{value}</td>'
    return f'<td style="text-align:left">{escape(str(value))}</td>'


def rows(titles: Sequence[str], values: Iterable[Sequence[Any]], count: int, caption: str) -> str:
    """A table with a caption; of many rows the first."""
    head = "".join(f"<th>{escape(it)}</th>" for it in titles)
    shown: list[str] = []
    for row in values:
        if len(shown) == MOST_ROWS:
            break
        shown.append("<tr>" + "".join(_cell(it) for it in row) + "</tr>")
    more = f" &hellip; {count - len(shown)} more" if count > len(shown) else ""
    return (
        f"<table><caption>{escape(caption)}{more}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(shown)}</tbody></table>"
    )


def table(table: Table) -> str:
    """The columns that matter most."""
    titles = [it for it in _SHOWN[table.name] if it in table.columns]
    columns = [table[it] for it in titles]
    return rows(titles, zip(*columns), len(table), f"{table.name}: {len(table)} rows")


def database(database: Database) -> str:
    """The kernels, without what has to be decoded."""
    titles = ("kernel", "target", "vgprs", "sgprs", "lds", "scratch", "file")
    needs = ("vgprs", "sgprs", "lds", "scratch")

    def row(kernel: Kernel) -> tuple[Any, ...]:
        resources = kernel.resources
        return (kernel.demangled, kernel.target, *(resources[it] for it in needs), kernel.object.file)

    kernels = database.kernels
    caption = f"{len(database.objects)} objects, {len(kernels)} kernels"
    return rows(titles, map(row, kernels[:MOST_ROWS]), len(kernels), caption)


def kernel(kernel: Kernel) -> str:
    """What it is and what it needs."""
    facts: dict[str, Any] = {
        "name": kernel.name,
        "target": kernel.target,
        "file": kernel.object.file,
        "bytes of code": kernel.size,
        **kernel.resources,
    }
    return rows(("", ""), facts.items(), len(facts), kernel.demangled)


def findings(findings: Sequence[Finding]) -> str:
    """One row for each."""
    titles = ("severity", "rule", "kernel", "message", "help")
    values = ((it.severity, it.rule, it.kernel, it.message, it.help) for it in findings)
    return rows(titles, values, len(findings), f"{len(findings)} findings")
