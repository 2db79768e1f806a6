"""What is printed for people fits their terminal, and is whole where it is piped."""

import io
import os
import pty
import subprocess
import sys

import pytest

from pipeline.tally import StageTally, Tally
from tokenmill import terminal
from tokenmill.progress import RunProgress
from tokenmill.run_log import RunLog
from tokenmill.terminal import lines, table, visible

HEAD = ["stage", "documents", "dropped most by"]
ROWS = [["gopher_quality", "362", "gopher_above_avg_threshold 1, " * 5], ["c4", "1,346", ""]]


@pytest.fixture
def columns(monkeypatch):
    def set(number):
        monkeypatch.setattr(terminal, "width", lambda: number)

    return set


@pytest.mark.parametrize("room", [60, 80, 200])
def test_a_table_is_no_wider_than_the_terminal_and_loses_nothing(columns, room):
    columns(room)
    text = table(HEAD, ROWS, left=(0, 2))
    assert max(map(len, text.split("\n"))) <= room
    assert text.count("gopher_above_avg_threshold") == 5


def test_columns_that_do_not_fit_follow_below_the_first_repeated(columns):
    columns(40)
    text = table(["vocabulary", *(f"source{n}" for n in range(8))], [["1,024", *["1,000,000"] * 8]])
    assert max(map(len, text.split("\n"))) <= 40
    assert text.count("1,024") == text.count("vocabulary") == len(text.split("\n\n")) > 1
    assert text.count("1,000,000") == 8


def test_a_table_is_plain_and_whole_where_it_is_piped(columns):
    columns(None)
    assert len(table(HEAD, ROWS, left=(0, 2)).split("\n")) == 4


def test_a_long_line_goes_on_below_its_last_part(columns):
    columns(60)
    text = lines(
        "Does it fit?        Yes: 61.7 of 79.2 GiB per GPU with dp 64, ZeRO-2, micro-batch 1, recompute none\nshort"
    )
    first, second, *_, last = text.split("\n")
    assert (second[:20], second[20] != " ", last) == (" " * 20, True, "short")
    assert all(len(line) <= 60 for line in (first, second))


def test_no_control_character_is_left_in_what_is_visible():
    every = "".join(map(chr, [*range(0x100), 0x202E, 0x2066, 0xD800]))
    left = {c for c in visible(every) if not c.isprintable()} - {"\t", "\n", "\xa0", "\xad"}
    assert left == set()
    assert visible("ünïcödé 日本\tx\n") == "ünïcödé 日本\tx\n"


def in_a_terminal(*arguments, columns=80):
    """Return what a command writes to a terminal of so many columns."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(columns), "TERM": "xterm"}
    command = subprocess.Popen(
        [sys.executable, "-m", "tokenmill", *arguments], stdout=theirs, stderr=theirs, env=environment
    )
    os.close(theirs)
    found = b""
    while True:
        try:
            piece = os.read(ours, 1 << 16)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        found += piece
    assert command.wait() == 0
    os.close(ours)
    return found.decode().replace("\r\n", "\n")


def test_the_list_of_stages_fits_a_terminal_of_80_columns():
    assert max(map(len, in_a_terminal("stages").split("\n"))) <= 80


def test_a_closed_pipe_ends_a_command_in_silence():
    command = subprocess.Popen(
        [sys.executable, "-m", "tokenmill", "stages", "minhash_dedup"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    command.stdout.close()
    assert (command.stderr.read(), command.wait()) == (b"", 141)


def tally(documents, seconds):
    stages = [
        StageTally("extract", documents, documents, 0.9 * seconds),
        StageTally("c4", documents, documents, 0.1 * seconds),
    ]
    return Tally(read=documents, kept=documents, stages=stages, cpu_seconds=seconds)


def test_progress_goes_by_bytes_and_names_the_slow_stage_and_the_file_in_work(tmp_path):
    shown = io.StringIO()
    progress = RunProgress(shown, log=RunLog(tmp_path / "run.log"))
    progress.begin("extract", 1, 2, 10, 1, size=1_000_000, size_done=500_000)
    progress.shard(tally(100, 5.0), 250_000)
    progress.look(50, ["b.warc.gz"])
    line = progress._line()
    assert "88 % of 1.0 MB" in line  # half of the 250 kB in work are told by their documents
    assert "150 documents" in line
    assert " left" in line
    assert "slowest: extract 90.0 %" in line
    assert "in b.warc.gz" in line


def test_a_log_has_the_time_of_each_line_and_what_was_shown(tmp_path):
    shown = io.StringIO()
    progress = RunProgress(shown, log=RunLog(tmp_path / "run.log"))
    progress.begin("extract", 1, 1, 1, 0, size=100)
    progress.shard(tally(3, 2.0), 100)
    progress.end("extract", 2.0)
    progress.note("a \x1b[0m note")
    logged = (tmp_path / "run.log").read_text().splitlines()
    assert [line.split(" ", 1)[1] for line in logged] == [
        "[1/1] extract: begins of 1 shards, 0 kB",
        "[1/1] extract: 3 documents, kept 100.0 %, 2.0 s, slowest extract 90.0 %",
        "note: a \\x1b[0m note",
    ]
    assert all(line[4] == "-" and "T" in line[:11] for line in logged)
    assert "note: a \\x1b[0m note" in shown.getvalue()


def test_quiet_shows_notes_alone_and_verbose_each_shard(tmp_path):
    said = {}
    for say in ("quiet", "usual", "verbose"):
        shown = io.StringIO()
        progress = RunProgress(shown, say=say)
        progress.begin("c4", 1, 1, 1, 0)
        progress.shard(tally(3, 2.0))
        progress.end("c4", 2.0)
        progress.note("mind")
        said[say] = len(shown.getvalue().splitlines())
    assert said == {"quiet": 1, "usual": 2, "verbose": 3}


def test_a_log_that_cannot_be_written_stops_nothing(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    log = RunLog(tmp_path / "file" / "run.log")
    log.write("a")
    log.write("b")
    assert capsys.readouterr().err.count("no log is kept") == 1
