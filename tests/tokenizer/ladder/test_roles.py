import pytest

from pipeline.errors import UserError
from tokenizer.ladder.roles import roles_of


def test_roles_are_found_by_the_names_that_published_tokenizers_use():
    assert roles_of(("<s>", "</s>", "<unk>"), {}) == {
        "eos_token": "</s>", "bos_token": "<s>", "unk_token": "<unk>", "pad_token": "</s>",
    }  # fmt: skip


def test_a_token_for_padding_is_preferred_to_the_end_token():
    assert roles_of(("<|endoftext|>", "<|pad|>"), {}) == {"eos_token": "<|endoftext|>", "pad_token": "<|pad|>"}


def test_what_is_asked_for_goes_first():
    asked = {"eos_token": "<b>", "pad_token": "<a>", "bos_token": ""}
    assert roles_of(("<a>", "<b>", "</s>"), asked) == {"eos_token": "<b>", "pad_token": "<a>"}


def test_no_special_tokens_have_no_roles():
    assert roles_of((), {}) == {}


def test_a_role_for_a_name_that_is_no_special_token_is_refused():
    with pytest.raises(UserError, match=r"^eos_token: '</s>' is none of special_tokens \(<\|x\|>\)"):
        roles_of(("<|x|>",), {"eos_token": "</s>"})
