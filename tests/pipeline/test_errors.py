import gzip
import io

import pytest

from pipeline.errors import AccountingError, EnvironmentFault, InputError, StorageError, is_environment


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
