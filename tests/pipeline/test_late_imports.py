"""What the process that drives a run imports, and what none of ours does."""

import json
import subprocess
import sys

import pytest


def run(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


LATE = """
import sys
from pipeline.imports import imported_late
imported_late()
import stages.dedup.minhash_dedup, stages.mixing.mix, stages.quality.c4, stages.text.words
from pipeline.hashing import slot_of
import pipeline.hashing
assert not any(name.startswith(("numba.", "polars.")) for name in sys.modules), "imported"
"""


def test_modules_of_stages_import_neither_polars_nor_numba_where_they_are_late():
    run(LATE)


def test_a_kernel_that_is_called_is_one_and_so_are_those_that_it_calls():
    run(
        LATE
        + """
words = stages.text.words.unicode_words("one two one")
assert words.numbers.tolist() == [0, 1, 0]
import numba
assert isinstance(pipeline.hashing.mix64, numba.core.registry.CPUDispatcher)
import numpy as np
assert slot_of(np.full(8, -1, np.int64), 5, -1) >= 0  # a name bound before
"""
    )


RULES = """
import numba
import polars as pl
@numba.njit
def many(count):
    return count > least()
@numba.njit(cache=False)
def least():
    return 10
def keep(document):
    return bool(many(len(document.text))) and int(pl.Series([1]).sum()) == 1
"""


def test_a_file_of_rules_may_use_numba_and_polars_as_it_does_elsewhere(tmp_path):
    (tmp_path / "rules.py").write_text(RULES)
    (tmp_path / "in.jsonl").write_text('{"text": "a text of some length"}\n{"text": "short"}\n')
    stage = '[[stage]]\nuse = "python"\nfile = "rules.py"\nfunction = "keep"\n'
    (tmp_path / "recipe.toml").write_text(f'name = "x"\n[input]\npaths = ["in.jsonl"]\n{stage}')
    command = [sys.executable, "-m", "tokenmill", "run", str(tmp_path / "recipe.toml"), "--json"]
    done = subprocess.run([*command, "--out", str(tmp_path / "out")], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["kept"] == 1


def test_what_is_late_travels_to_another_process_as_what_it_stands_for():
    run(
        LATE
        + """
import cloudpickle
import numba, polars
for late in (numba, polars):
    assert cloudpickle.loads(cloudpickle.dumps(late)).__version__ == late.__version__
mix = cloudpickle.loads(cloudpickle.dumps(stages.text.units.fold))
assert type(mix).__name__ == "CPUDispatcher"
"""
    )


@pytest.mark.parametrize("module", ["numba.core.errors", "numba.np.arraymath", "polars.selectors"])
def test_a_module_below_a_late_one_can_be_imported_and_is_there_once(module):
    top = module.partition(".")[0]
    run(
        LATE
        + f"""
import {module} as found
import {top}
assert sys.modules["{module}"] is found
assert sys.modules["{top}"] is {top} and {top}.__version__
import stages.dedup.exact_dedup
assert stages.text.words.unicode_words("one two").numbers.tolist() == [0, 1]
assert stages.dedup.exact_dedup.pl.DataFrame({{"a": [1]}}).height == 1
"""
    )


def test_workers_of_our_own_stages_import_neither_pandas_nor_scipys_algebra_with_the_first_array_and_kernel():
    run(
        """
import sys
import numpy as np
import pyarrow as pa
from stages.text.words import unicode_words
from pipeline.imports import without_both
without_both()
assert pa.array(["a", None]).to_pylist() == ["a", None]
assert len(unicode_words("one two")) == 2
assert "pandas" not in sys.modules and "scipy.linalg" not in sys.modules
"""
    )


def test_workers_of_code_of_others_know_pandas_also_where_it_was_kept_out_before():
    pytest.importorskip("pandas")
    run(
        """
from pipeline.imports import without_both
from pipeline.worker.loading import arrow_ready
without_both()
arrow_ready()
import pandas as pd
import pyarrow as pa
assert pa.array(pd.Series(["a", None])).to_pylist() == ["a", None]
"""
    )
