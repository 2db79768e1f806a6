"""How object stores are reached: by the standard environment variables and files, or by ``[storage]`` of a recipe.

What a recipe says holds before what the environment says. A table below it that is named by a URL holds for what lies
below that URL: ``[storage."s3://open-data"]``. Secrets are read from where they belong, never from a recipe.
"""

from __future__ import annotations

import configparser
import json
import os
import pathlib
import urllib.parse
from collections.abc import Mapping
from typing import Any

from pipeline.storage.hub import token_for

VARIABLE = "TOKENMILL_STORAGE"
"""Environment variable that carries ``[storage]`` to workers, as JSON."""
PREFIXES = ("AWS_", "GOOGLE_", "AZURE_", "HF_", VARIABLE)
"""Environment variables that say how a store is reached: all of them together are part of what an opened one is."""
KINDS: dict[str, type] = {
    "endpoint": str,
    "region": str,
    "profile": str,
    "anonymous": bool,
    "allow_http": bool,
    "virtual_hosted": bool,
}
"""Keys of ``[storage]`` and of the tables in it."""
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


def fault_of(table: Any) -> tuple[str, str] | None:
    """Return key and problem of the first fault in a ``[storage]`` table; None for a sound one."""
    if not isinstance(table, Mapping):
        return "", "must be a table [storage]"
    for key, value in table.items():
        if "://" in key:
            if not isinstance(value, Mapping):
                return f'"{key}"', f'must be a table [storage."{key}"]'
            below = fault_of(value) if not any("://" in k for k in value) else ("", "holds a table of its own")
            if below is not None:
                return f'"{key}".{below[0]}'.rstrip("."), below[1]
        elif "secret" in key or "key" in key or "token" in key or "password" in key:
            return key, "is no place for secrets: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or use a profile"
        elif key not in KINDS:
            return key, f"unknown; known: {', '.join(KINDS)}, and tables named by a URL"
        elif not isinstance(value, KINDS[key]):
            return key, f"must be a {KINDS[key].__name__}; got {value!r}"
    return None


def configure(table: Mapping[str, Any]) -> None:
    """Let ``[storage]`` hold in this process and in those that it starts."""
    if table:
        os.environ[VARIABLE] = json.dumps(table, sort_keys=True)
    else:
        os.environ.pop(VARIABLE, None)


def environment() -> tuple[tuple[str, str], ...]:
    """Return the environment variables that say how a store is reached."""
    return tuple(sorted(item for item in os.environ.items() if item[0].startswith(PREFIXES)))


def said_of(url: str) -> dict[str, Any]:
    """Return what ``[storage]`` says of `url`: the tables that hold for it, the nearest last."""
    table = json.loads(os.environ.get(VARIABLE, "{}"))
    said = {key: value for key, value in table.items() if "://" not in key}
    for prefix in sorted(key for key in table if "://" in key):
        if url == prefix.rstrip("/") or url.startswith(prefix.rstrip("/") + "/"):
            said |= table[prefix]
    return said


def options_of(url: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return obstore's configuration of the store at `url` and of its HTTP client, beyond what obstore reads itself."""
    said = said_of(url)
    store: dict[str, Any] = {}
    client: dict[str, Any] = {}
    endpoint = said.get("endpoint") or _endpoint(url)
    if url.startswith(("s3://", "s3a://")):
        store |= _aws(said)
        if endpoint:
            store["endpoint"] = endpoint
        if "virtual_hosted" in said:
            store["virtual_hosted_style_request"] = said["virtual_hosted"]
    elif "endpoint" in said and url.startswith(("az://", "azure://", "abfs://", "abfss://")):
        store["endpoint"] = endpoint
    if said.get("anonymous") and not url.startswith("http"):
        store["skip_signature"] = True
    loopback = urllib.parse.urlsplit(url if url.startswith("http") else endpoint).hostname in _LOOPBACK
    if loopback or said.get("allow_http") or os.environ.get("AWS_ALLOW_HTTP") == "true":
        client["allow_http"] = True
    if token := token_for(url) if url.startswith("http") else "":
        client["default_headers"] = {"Authorization": f"Bearer {token}"}
    return store, client


def _endpoint(url: str) -> str:
    names = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
    return next((os.environ[name] for name in names if os.environ.get(name)), "") if url.startswith("s3") else ""


def _aws(said: Mapping[str, Any]) -> dict[str, Any]:
    """Return region and keys from ``[storage]`` and from the files of the AWS command line, where the environment holds
    none; obstore reads the environment, and asks a machine or container of AWS for its role, itself."""
    region = {"region": said["region"]} if "region" in said else {}
    profile = said.get("profile") or os.environ.get("AWS_PROFILE") or "default"
    named = "profile" in said
    settings = _profile("AWS_CONFIG_FILE", "config", profile if profile == "default" else f"profile {profile}")
    keys = _profile("AWS_SHARED_CREDENTIALS_FILE", "credentials", profile) or settings
    if (
        not region
        and "region" in settings
        and not (os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION"))
    ):
        region = {"region": settings["region"]}
    elsewhere = ("AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
                 "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_SKIP_SIGNATURE")  # fmt: skip
    if "aws_access_key_id" not in keys or (not named and any(os.environ.get(name) for name in elsewhere)):
        return region
    found = {"access_key_id": keys["aws_access_key_id"], "secret_access_key": keys.get("aws_secret_access_key", "")}
    if "aws_session_token" in keys:
        found["session_token"] = keys["aws_session_token"]
    return region | found


def _profile(variable: str, name: str, section: str) -> dict[str, str]:
    place = pathlib.Path(os.environ.get(variable) or pathlib.Path("~/.aws").expanduser() / name)
    parser = configparser.RawConfigParser()
    try:
        parser.read_string(place.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, configparser.Error):
        return {}
    return dict(parser[section]) if parser.has_section(section) else {}
