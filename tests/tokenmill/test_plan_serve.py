"""``tokenmill plan serve``: the same numbers as the command line's, to this machine alone."""

import http.client
import json
import re
import threading
import urllib.parse

import pytest

from planner.errors import PlanError
from planner.plan import inputs_from, make_plan
from tokenmill.cli import main
from tokenmill.plan_serve import START, Table, page, script, server

QUERY = urllib.parse.urlencode(START)


@pytest.fixture(scope="module")
def port():
    listening = server(None, 0)
    thread = threading.Thread(target=listening.serve_forever)
    thread.start()
    yield listening.server_address[1]
    listening.shutdown()
    thread.join()
    listening.server_close()


def get(port, path, **headers):
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    line.request(
        "GET", path, headers={"Host": f"127.0.0.1:{port}", **{k.replace("_", "-"): v for k, v in headers.items()}}
    )
    reply = line.getresponse()
    body = reply.read()
    line.close()
    return reply, body


def test_the_endpoint_answers_what_the_command_line_answers(port, capsys):
    reply, body = get(port, f"/plan?{QUERY}")
    assert reply.status == 200
    options = [part for name, value in START.items() for part in (f"--{name}", value)]
    assert main(["plan", *options, "--json"]) == 0
    ours, theirs = json.loads(body)["plan"], json.loads(capsys.readouterr().out)
    assert ours["sha256"] == theirs["sha256"]


def test_every_number_of_the_plan_is_there_with_its_formula(port):
    told = json.loads(get(port, f"/plan?{QUERY}")[1])
    plan = make_plan(inputs_from(START, None))
    assert [n["label"] for s in told["sections"] for n in s["numbers"]] == [
        q.label for s in plan.sections() for q in s.quantities
    ]
    with_formula = [q.formula for s in plan.sections() for q in s.quantities if q.formula]
    assert len(with_formula) > 20
    assert with_formula == [
        n["why"][0].removeprefix("= ")
        for s in told["sections"]
        for n in s["numbers"]
        if n["why"] and n["why"][0].startswith("= ")
    ]


def test_the_curve_has_its_least_loss_at_the_optimum_and_keeps_the_compute(port):
    curve = json.loads(get(port, f"/plan?{QUERY}")[1])["curve"]
    (n, d, _), best = curve["chosen"], curve["best"]
    assert all(6 * a * b == pytest.approx(6 * n * d) for a, b, _ in [*curve["points"], best])
    assert all(loss >= best[2] for _, _, loss in curve["points"])


def test_guesses_stand_beside_the_answer_and_in_what_is_saved(port):
    told = json.loads(get(port, f"/plan?{QUERY}&guess.days=20")[1])
    assert [row["question"] for row in told["guess"]] == ["days"]
    assert told["plan"]["guesses"]["yours"] == {"days": 20}


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "127.0.0.1"},
        {"Origin": "http://evil.example"},
        {"Sec_Fetch_Site": "cross-site"},
    ],
    ids=str,
)
def test_a_request_that_is_not_meant_for_this_machine_is_refused(port, headers):
    for path in ("/", f"/plan?{QUERY}", "/plan.js"):
        assert get(port, path, **headers)[0].status == 403


def test_a_request_from_the_page_itself_is_answered_and_an_unknown_path_is_not(port):
    assert get(port, "/", Host=f"localhost:{port}", Origin=f"http://localhost:{port}")[0].status == 200
    assert get(port, "/etc/passwd")[0].status == 404
    assert get(port, "/plan?" + "a" * 5000)[0].status == 414


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("model=llama9&gpu=h100-sxm&gpus=8&tokens=1T", "llama9"), ("gpus=8&gpus=9", "given twice"), ("wat=1", "wat: unknown"),
        ("model=/etc/passwd", "not a file"), ("model=a.json", "not a file"), (f"{QUERY}&gpus=x", "given twice"), ("guess.wat=3", "wat"),
    ],
)  # fmt: skip
def test_what_cannot_be_planned_is_one_line(port, query, said):
    reply, body = get(port, f"/plan?{query if 'guess' not in query else QUERY + '&' + query}")
    error = json.loads(body)["error"]
    assert reply.status == 400
    assert said in error
    assert "\n" not in error


def test_the_page_has_no_address_but_its_own_and_no_script_in_it():
    made = page(None)
    assert re.findall(r"(?:src|href)=\"([^\"]*)\"", made) == ["plan.js"]
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", script().decode())
    assert "innerHTML" not in script().decode()
    assert re.findall("<script[^>]*>", made) == ['<script type="application/json" id="told">', '<script src="plan.js">']


def test_with_a_budget_no_tokens_are_asked_for():
    told = json.loads(re.search(r'id="told">(.*?)</script>', page({"any": 1}))[1])
    assert "tokens" not in told["start"]
    assert told["corpus"] is True


def test_a_table_holds_flags_as_such():
    assert Table.of("flash=false&ema=true")[0] == {"flash": False, "ema": True}
    with pytest.raises(PlanError):
        Table.of("flash=true&flash=false")


def test_a_port_that_is_no_port_is_one_line(capsys):
    assert main(["plan", "serve", "--port", "x"]) == 2
    assert "port: must be a number" in capsys.readouterr().err
