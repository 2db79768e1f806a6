"""``tokenmill plan serve``: the planner as a page on this machine, whose numbers move while its sliders are dragged.

One endpoint, which calls what the command line calls; it is answered to this machine alone, and only where the browser asked
for this machine by name (a page elsewhere whose name is made to lead here is refused: DNS rebinding).
"""

from __future__ import annotations

import contextlib
import json
import urllib.parse
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from typing import Any

from planner.errors import PlanError
from planner.estimate.options import OPTIONS
from planner.facts.hardware import ACCELERATORS
from planner.model.flops import RECOMPUTE
from planner.model.shapes import presets
from planner.plan import Plan, inputs_from, make_plan
from planner.report import guess
from planner.report.quantity import Quantity, explanation
from planner.report.quantity import cell as written
from tokenmill.report.html import document
from tokenmill.report.sections.plan import allocation

ADDRESS, PORT = "127.0.0.1", 8310
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'self'; connect-src 'self'; img-src 'none'; base-uri 'none'; form-action 'none'"
"""Content-Security-Policy: its own script and its own endpoint, nothing else."""
START: dict[str, str] = {"model": "llama3-8b", "tokens": "1T", "gpu": "h100-sxm", "gpus": "256", "mfu": "0.35:0.45"}
GUESS = "guess."
LONGEST = 4096
"""Characters of a request, at most."""

STYLE = """
form.fields{display:grid;grid-template-columns:repeat(auto-fill,minmax(155px,1fr));gap:12px 22px;margin:16px 0}label{display:block;font-size:13.5px;color:var(--soft)}
input,select,button{font:inherit;font-size:16px;color:var(--ink);background:var(--paper);border:1px solid var(--soft);border-radius:4px;padding:5px 8px;max-width:100%}input[type=range]{width:100%;padding:0;accent-color:var(--bar)}
label input:not([type=range]),label select{display:block;width:100%}button{cursor:pointer;background:var(--wash)}#error{min-height:1.6em;color:var(--accent);font-weight:600}.hidden{display:none}
dl{display:grid;grid-template-columns:1fr}dl>details{padding:4px 0}summary .v{font-weight:600;float:right;padding-left:12px}pre.why{border:0;padding:4px 0 4px 16px;color:var(--soft)}#figures{position:sticky;top:0;background:var(--paper);padding:8px 0;margin:8px 0;border-bottom:1px solid var(--line);z-index:1}@media (max-width:600px){#figures{gap:4px 18px}#figures b{font-size:17px}#figures span{font-size:12px}}#curve{touch-action:none;cursor:crosshair}
@media print{#figures{position:static}input[type=range],button,#point{display:none}input,select{border:0;padding:0;appearance:none}}
"""


class Table(dict[str, Any]):
    """A ``[plan]`` table as the query of a link holds it."""

    @classmethod
    def of(cls, query: str) -> tuple[Table, dict[str, str]]:
        """Return the table in `query`, and the guesses in it. Raises PlanError for a key that is not known or given twice."""
        table, guesses = cls(), {}
        for name, text in urllib.parse.parse_qsl(query, keep_blank_values=False, max_num_fields=100):
            if name.startswith(GUESS):
                guesses[name.removeprefix(GUESS)] = text
            elif name not in OPTIONS:
                raise PlanError(f"{name}: unknown")
            elif name in table:
                raise PlanError(f"{name}: given twice")
            elif name in ("flash", "ema"):
                table[name] = text == "true"
            elif name == "model" and ("/" in text or "\\" in text or text.endswith(".json")):
                raise PlanError("model: a name here, not a file; a config.json goes to the command line")
            else:
                table[name] = text
        return table, guesses


def answer(query: str, budget: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what the page shows for the plan in `query`. Raises PlanError where it cannot be made."""
    table, guesses = Table.of(query)
    plan = make_plan(inputs_from(dict(table), dict(budget) if budget is not None else None))
    said: dict[str, Any] = {"lines": plan.summary_lines(), "plan": plan.as_dict(), "sections": _sections(plan)}
    tokens = plan.inputs.training_tokens
    parameters = float(plan.as_dict()["model"]["total_parameters"])
    said["curve"] = allocation(6 * parameters * tokens, parameters, tokens)
    if guesses:
        numbers = guess.read(guesses)
        said["guess"] = [
            dict(zip(("question", "yours", "p10", "p50", "p90", "ratio"), row, strict=True))
            for row in _guessed(plan, numbers)
        ]
        said["plan"] = {**said["plan"], **guess.record(plan, numbers)}
    return said


def _guessed(plan: Plan, numbers: Mapping[str, float]) -> tuple[tuple[Any, ...], ...]:
    table = guess.answer(plan, numbers).sections[0].table
    return table.rows if table is not None else ()


def _sections(plan: Plan) -> list[dict[str, Any]]:
    return [
        {
            "title": section.title,
            "numbers": [_number(q) for q in section.quantities],
            "head": [heading for _, heading in section.table.columns] if section.table else [],
            "rows": [[written(v, key) for v, (key, _) in zip(row, section.table.columns, strict=True)] for row in section.table.rows] if section.table else [],
            "notes": list(section.notes),
        }
        for section in plan.sections()
    ]  # fmt: skip


def _number(q: Quantity) -> dict[str, Any]:
    return {"label": q.label, "value": q.text(), "why": [line.strip() for line in explanation(q)]}


def page(budget: Mapping[str, Any] | None) -> str:
    """Return the page; with a `budget` of a run its tokens are the corpus, and no tokens are asked for."""
    start = {name: text for name, text in START.items() if budget is None or name != "tokens"}
    choices = {
        "model": presets(),
        "gpu": list(ACCELERATORS),
        "dtype": ["bf16", "fp16", "fp8", "fp32"],
        "recompute": list(RECOMPUTE),
        "zero": ["0", "1", "2", "3"],
    }
    told = json.dumps({"start": start, "choices": choices, "questions": guess.QUESTIONS, "help": {n: o.help for n, o in OPTIONS.items()},
                       "corpus": budget is not None}).replace("<", "\\u003c")  # fmt: skip
    body = (
        "<h1>Plan a training run</h1><p class='lead'>Guess first: what is written down before the answer is what one learns from.</p>"
        '<section id="guesses"><form id="guess" class="fields"></form><p><button type="button" id="show">Show the plan</button></p></section>'
        '<section id="plan" class="hidden"><div class="figures" id="figures"></div><p id="error" role="alert"></p><form id="fields" class="fields"></form>'
        '<h2>The same compute, spent on another size</h2><p id="point">Point at the curve; click to take that size and its tokens.</p><div id="curve"></div>'
        '<p><button type="button" id="save">Save plan.json</button> <button type="button" id="copy">Copy the link</button> <span id="copied" role="status"></span></p>'
        f'<pre id="lines"></pre><div id="guessed"></div><div id="sections"></div></section><script type="application/json" id="told">{told}</script>'
    )
    return document("Plan a training run", body, POLICY, style=STYLE).replace(
        "</body>", '<script src="plan.js"></script></body>'
    )


def script() -> bytes:
    """Return the page's script."""
    return resources.files("tokenmill").joinpath("plan_page.js").read_bytes()


class Handler(BaseHTTPRequestHandler):
    """Answers three addresses, to this machine."""

    server_version, sys_version = "tokenmill", ""
    budget: Mapping[str, Any] | None = None

    def do_GET(self) -> None:
        """Answer the page, its script, or a plan."""
        path, _, query = self.path.partition("?")
        if len(self.path) > LONGEST:
            self._send(414, "text/plain", b"the request is too long\n")
        elif not self._meant():
            self._send(403, "text/plain", b"this page is answered to its own machine only\n")
        elif path == "/":
            self._send(200, "text/html; charset=utf-8", page(self.budget).encode())
        elif path == "/plan.js":
            self._send(200, "text/javascript; charset=utf-8", script())
        elif path == "/plan":
            self._plan(query)
        else:
            self._send(404, "text/plain", b"there is no such page\n")

    def _plan(self, query: str) -> None:
        try:
            self._send(200, "application/json", json.dumps(answer(query, self.budget), allow_nan=False).encode())
        except PlanError as error:
            self._send(400, "application/json", json.dumps({"error": str(error)}).encode())

    def _meant(self) -> bool:
        """Return whether the request is for this machine by name, and from a page of it."""
        port = self.connection.getsockname()[1]
        names = {f"{host}:{port}" for host in (ADDRESS, "localhost")}
        origin = self.headers.get("Origin")
        site = self.headers.get("Sec-Fetch-Site", "none")
        return (
            self.headers.get("Host") in names
            and (origin is None or origin.removeprefix("http://") in names)
            and site in ("none", "same-origin")
        )

    def _send(self, code: int, kind: str, body: bytes) -> None:
        with contextlib.suppress(ConnectionError):  # who asked has gone: the next move of a slider was faster
            self._reply(code, kind, body)

    def _reply(self, code: int, kind: str, body: bytes) -> None:
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Content-Security-Policy", f"{POLICY}; frame-ancestors 'none'")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing: a line a request is of no use to who drags a slider."""


def server(budget: Mapping[str, Any] | None, port: int) -> ThreadingHTTPServer:
    """Return a server of the page that listens on this machine's own address only; port 0 takes a free one.

    Raises OSError where the port is taken.
    """
    kind = type("PlanHandler", (Handler,), {"budget": budget})
    return ThreadingHTTPServer((ADDRESS, port), kind)


def serve(budget: Mapping[str, Any] | None, port: int, ready: Callable[[str], None]) -> None:
    """Answer until interrupted; `ready` is told the address."""
    with server(budget, port) as listening:
        ready(f"http://{ADDRESS}:{listening.server_address[1]}/")
        try:
            listening.serve_forever()
        except KeyboardInterrupt:
            return
