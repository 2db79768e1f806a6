"""The files around a plan are read by the face, and a broken one is refused by name."""

import json

import pytest

from planner.errors import PlanError
from planner.plan import inputs_from
from tokenmill.plan_files import with_config

CONFIG = {"model_type": "gpt2", "n_embd": 768, "n_head": 12, "n_layer": 12, "n_positions": 1024, "vocab_size": 50257}
RUN = {"gpu": "h100", "gpus": 8, "tokens": 1e9}


def test_a_config_file_becomes_the_table_it_holds_named_by_its_folder(tmp_path):
    (tmp_path / "mine").mkdir()
    path = tmp_path / "mine" / "config.json"
    path.write_text(json.dumps(CONFIG))
    model = inputs_from(with_config({**RUN, "model": str(path)}), None).model
    assert (model.name, model.layers) == ("mine", 12)


def test_a_preset_is_left_as_it_is():
    assert with_config({**RUN, "model": "gpt2"}) == {**RUN, "model": "gpt2"}


@pytest.mark.parametrize(("text", "message"), [(None, "cannot read"), ("{", "is not JSON"), ("[1]", "no JSON object")])
def test_a_config_file_that_cannot_be_read_is_refused_by_its_path(tmp_path, text, message):
    path = tmp_path / "config.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(PlanError, match=rf"plan.model: .*config.json.*{message}|plan.model: {message} .*config.json"):
        with_config({**RUN, "model": str(path)})
