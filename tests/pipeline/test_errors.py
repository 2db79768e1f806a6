import gzip
import io

import pytest

from pipeline.documents import Batch, Document
from pipeline.errors import (
    AccountingError,
    EnvironmentFault,
    InputError,
    StorageError,
    is_environment,
    place_of,
    said_of,
)
from pipeline.worker.isolate import apply_stage
from stages.custom.function import FunctionStage


@pytest.mark.parametrize(
    "error",
    [
        StorageError("x"),
        EnvironmentFault("x"),
        OSError(28, "No space left on device"),
        PermissionError("x"),
        ConnectionResetError(),
        MemoryError(),
        ModuleNotFoundError("x"),
    ],
)
def test_what_the_machine_does_is_the_environment_s_fault(error):
    assert is_environment(error)


@pytest.mark.parametrize(
    "error",
    [
        UnicodeDecodeError("utf-8", b"", 0, 1, "x"),
        ValueError("x"),
        RecursionError(),
        gzip.BadGzipFile("x"),
        io.UnsupportedOperation("x"),
        AccountingError("x"),
        InputError("x"),
    ],
)
def test_what_a_document_or_the_code_does_is_not(error):
    assert not is_environment(error)


def raises(document: Document) -> bool:
    import json

    return bool(json.loads(document.text))


def test_a_failed_document_names_file_line_and_function_of_the_code_that_raised():
    outcome = apply_stage(FunctionStage(function=raises), Batch.of(["1", "no json"]))
    (removed,) = outcome.removed
    assert (removed.row, removed.rule, removed.kind) == (1, "JSONDecodeError", "failed")
    line = raises.__code__.co_firstlineno + 3
    assert removed.detail.endswith(f"(tests/pipeline/test_errors.py:{line}, raises)")


def test_an_error_that_was_never_raised_has_no_place():
    assert place_of(ValueError("x")) == ""
    assert said_of(ValueError("a\n b")) == "ValueError: a b"
    assert said_of(InputError("mend it")) == "mend it"
