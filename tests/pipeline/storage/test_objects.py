"""Folders in an object store whose network fails."""

import threading

import pytest

from pipeline.errors import InputError, StorageError
from pipeline.storage import Folder, head_input, objects, open_input
from tests.pipeline.storage.fault_proxy import FaultProxy

BODY = bytes(range(256)) * 1000


@pytest.fixture
def proxy(s3, s3_port, monkeypatch):
    server = FaultProxy(s3_port)
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.port}")
    monkeypatch.setattr(objects, "REQUEST_SECONDS", 1.0)
    monkeypatch.setattr(objects, "RETRIES", 3)
    monkeypatch.setattr(objects, "AWAY_SECONDS", 2.0)
    objects._opened.cache_clear()
    yield server
    server.close()
    objects._opened.cache_clear()


@pytest.fixture
def folder(s3, proxy):
    return Folder(s3)


@pytest.mark.parametrize("fault", ["503", "reset", "lost"])
def test_a_write_that_fails_twice_is_done(folder, proxy, fault):
    proxy.faults.extend([fault, fault])
    folder.put("f", BODY)
    assert folder.get("f") == BODY


@pytest.mark.parametrize("fault", ["503", "reset", "cut", "stall", "lost"])
def test_a_read_that_fails_is_done(folder, proxy, fault):
    folder.put("f", BODY)
    proxy.faults.append(fault)
    assert folder.get("f") == BODY


def test_a_create_whose_reply_was_lost_is_recognised(folder, proxy):
    proxy.faults.append("lost")
    folder.put("f", b"mine", create=True)
    assert folder.get("f") == b"mine"


def test_a_create_that_never_reached_the_server_is_tried_again(folder, proxy):
    proxy.faults.append("reset")
    folder.put("f", b"mine", create=True)
    assert folder.get("f") == b"mine"


def test_a_create_over_what_another_has_written_is_refused(folder):
    folder.put("f", b"theirs")
    with pytest.raises(StorageError, match="exists already"):
        folder.put("f", b"mine", create=True)
    assert folder.get("f") == b"theirs"


def test_a_server_that_stays_away_is_one_line_with_the_name(folder, proxy):
    proxy.faults.extend(["503"] * 20)
    with pytest.raises(StorageError, match=r"cannot read s3://tests/.*/f \(") as found:
        folder.get("f")
    assert "\n" not in str(found.value)


def test_whether_a_file_is_there_is_not_guessed_when_the_server_does_not_say(folder, proxy):
    proxy.faults.extend(["503"] * 20)
    with pytest.raises(StorageError):
        folder.exists("f")


def test_a_wrong_key_is_said(folder, monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    with pytest.raises(StorageError, match="cannot write"):
        folder.put("f", b"")
    with pytest.raises(StorageError, match="cannot read"):
        folder.exists("f")


def test_what_fails_in_the_middle_of_reading_is_no_damage_of_the_content(folder, proxy):
    folder.put("f", BODY * 20)
    with folder.open("f", ahead=65536) as file:
        assert file.read(10) == BODY[:10]
        proxy.faults.extend(["503"] * 20)
        with pytest.raises(StorageError, match="cannot read"):
            file.read()


def test_an_upload_in_parts_outlives_a_server_that_is_away_for_seconds(folder, proxy, monkeypatch):
    monkeypatch.setattr(objects, "REQUEST_SECONDS", 20.0)
    monkeypatch.setattr(objects, "AWAY_SECONDS", 30.0)
    with folder.writing("f") as file:
        file.write(BODY * 30)
        proxy.down = True
        threading.Timer(3.0, setattr, (proxy, "down", False)).start()
        file.write(BODY * 30)
    assert folder.size("f") == 60 * len(BODY)


def test_an_exception_while_writing_publishes_nothing(s3):
    folder = Folder(s3)

    def broken():
        with folder.writing("f") as file:
            file.write(BODY * 60)  # more than one part of an upload
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        broken()
    assert folder.names() == []
    with folder.writing("f") as file:
        file.write(BODY * 60)
    assert folder.size("f") == 60 * len(BODY)


def test_a_copy_within_a_bucket_is_made_by_the_server(folder, proxy):
    (folder / "a").put("f", BODY)
    proxy.requests.clear()
    (folder / "b").copy(folder / "a", "f", "g")
    assert [line.split()[0] for line in proxy.requests] == ["PUT"]
    assert (folder / "b").get("g") == BODY


def test_single_rows_are_read_without_their_neighbours(folder, proxy):
    folder.put("f", BODY)
    assert folder.get_ranges("f", [(5, 3), (200_000, 2)]) == [b"\x05\x06\x07", BODY[200_000:200_002]]


def test_inputs_are_read_from_an_object_store(folder, s3):
    folder.put("in/f.bin", BODY)
    with open_input(f"{s3}/in/f.bin") as file:
        file.seek(-3, 2)
        assert file.read() == BODY[-3:]
    head = head_input(f"{s3}/in/f.bin")
    assert head.size == len(BODY)
    assert head.tag
    with pytest.raises(InputError, match="cannot read"):
        open_input(f"{s3}/in/none.bin")
