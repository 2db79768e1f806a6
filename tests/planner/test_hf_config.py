"""Hugging Face configs give the counts of the models they belong to."""

import pytest

from planner.errors import PlanError
from planner.facts.configs import CONFIGS_HF
from planner.model.count import count
from planner.model.hf_config import from_hf
from planner.model.shapes import preset

LLAMA3 = {
    "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32, "num_hidden_layers": 32,
    "num_key_value_heads": 8, "vocab_size": 128256, "tie_word_embeddings": False, "max_position_embeddings": 8192,
}  # fmt: skip
QWEN25 = {
    "model_type": "qwen2", "hidden_size": 896, "intermediate_size": 4864, "num_attention_heads": 14, "num_hidden_layers": 24,
    "num_key_value_heads": 2, "vocab_size": 151936, "tie_word_embeddings": True, "use_sliding_window": False, "sliding_window": 32768,
}  # fmt: skip
QWEN3 = {
    "model_type": "qwen3", "hidden_size": 4096, "intermediate_size": 12288, "num_attention_heads": 32, "num_hidden_layers": 36,
    "num_key_value_heads": 8, "vocab_size": 151936, "head_dim": 128, "tie_word_embeddings": False,
}  # fmt: skip
OLMO2 = {
    "model_type": "olmo2", "hidden_size": 4096, "intermediate_size": 11008, "num_attention_heads": 32, "num_hidden_layers": 32,
    "num_key_value_heads": 32, "vocab_size": 100352, "tie_word_embeddings": False,
}  # fmt: skip
MIXTRAL = {
    "model_type": "mixtral", "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32, "num_hidden_layers": 32,
    "num_key_value_heads": 8, "vocab_size": 32000, "num_local_experts": 8, "num_experts_per_tok": 2, "tie_word_embeddings": False,
}  # fmt: skip
DEEPSEEK = {
    "model_type": "deepseek_v3", "hidden_size": 7168, "intermediate_size": 18432, "moe_intermediate_size": 2048, "num_attention_heads": 128,
    "num_hidden_layers": 61, "num_key_value_heads": 128, "vocab_size": 129280, "n_routed_experts": 256, "n_shared_experts": 1,
    "num_experts_per_tok": 8, "first_k_dense_replace": 3, "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64, "v_head_dim": 128, "tie_word_embeddings": False,
}  # fmt: skip
GPT2 = {"model_type": "gpt2", "n_embd": 768, "n_head": 12, "n_layer": 12, "n_positions": 1024, "vocab_size": 50257}
BLOOM = {"model_type": "bloom", "n_embed": 14336, "n_layer": 70, "num_attention_heads": 112, "vocab_size": 250880}
PYTHIA = {
    "model_type": "gpt_neox", "hidden_size": 4096, "intermediate_size": 16384, "num_attention_heads": 32, "num_hidden_layers": 32,
    "vocab_size": 50432, "tie_word_embeddings": False,
}  # fmt: skip


@pytest.mark.parametrize(
    ("config", "name"),
    [(LLAMA3, "llama3-8b"), (QWEN25, "qwen2.5-0.5b"), (QWEN3, "qwen3-8b"), (OLMO2, "olmo2-7b"), (MIXTRAL, "mixtral-8x7b"),
     (DEEPSEEK, "deepseek-v3"), (GPT2, "gpt2"), (BLOOM, "bloom-176b"), (PYTHIA, "pythia-6.9b")],
)  # fmt: skip
def test_a_config_counts_as_its_preset(config, name):
    ours, known = count(from_hf(config)), count(preset(name))
    assert (ours.total, ours.matmul, ours.active) == (known.total, known.matmul, known.active)


def test_an_architecture_not_known_is_refused_and_not_guessed():
    with pytest.raises(PlanError, match=r"model_type: 'llamma' is not known; did you mean llama"):
        from_hf({**LLAMA3, "model_type": "llamma"})


def test_a_config_without_a_needed_key_is_refused_by_its_name():
    with pytest.raises(PlanError, match="no 'intermediate_size'"):
        from_hf({k: v for k, v in LLAMA3.items() if k != "intermediate_size"})


def test_an_unused_sliding_window_of_qwen_is_not_applied():
    assert from_hf(QWEN25).window == 0


SMALL = {
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "vocab_size": 1000,
    "head_dim": 32,
}


@pytest.mark.parametrize(
    ("kind", "total"),
    [("llama", 2873600), ("mistral", 2873600), ("qwen2", 2875648), ("qwen3", 2873856), ("olmo", 2871296), ("olmo2", 2875136),
     ("gemma", 2617600), ("gemma2", 2619648), ("gemma3_text", 2619904)],
)  # fmt: skip
def test_a_small_config_counts_as_transformers_builds_it(kind, total):
    """Totals from transformers 5.24 on the meta device; untied where the architecture's default is untied."""
    assert count(from_hf({**SMALL, "model_type": kind})).total == total


@pytest.mark.parametrize("name", CONFIGS_HF)
def test_a_published_config_counts_to_its_published_total(name):
    config, total = CONFIGS_HF[name]
    assert count(from_hf(config, name)).total == total


QWEN3_MOE = {
    "model_type": "qwen3_moe", "hidden_size": 2048, "intermediate_size": 6144, "moe_intermediate_size": 768, "num_hidden_layers": 48,
    "num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 128, "vocab_size": 151936, "num_experts": 128, "num_experts_per_tok": 8,
}  # fmt: skip


def test_qwen_experts_stand_only_at_every_sparse_step():
    assert count(from_hf({**QWEN3_MOE, "decoder_sparse_step": 2, "mlp_only_layers": []})).total == 16_936_286_208


def test_qwen_layers_named_as_mlp_only_have_no_experts():
    assert count(from_hf({**QWEN3_MOE, "decoder_sparse_step": 1, "mlp_only_layers": [0, 1]})).total == 29_399_136_256


def test_smollm3_without_the_key_has_one_table_as_its_class_says():
    config = {
        "model_type": "smollm3", "hidden_size": 2048, "intermediate_size": 11008, "num_hidden_layers": 36,
        "num_attention_heads": 16, "num_key_value_heads": 4, "vocab_size": 128256,
    }  # fmt: skip
    assert count(from_hf(config)).total == 3_075_098_624
    assert count(from_hf({**config, "tie_word_embeddings": False})).total == 3_337_766_912


def test_a_multimodal_config_is_read_from_its_text_part():
    text = {k: v for k, v in QWEN3.items() if k != "model_type"}
    config = {"model_type": "qwen3", **text}
    wrapped = {"model_type": "some_vision", "text_config": config, "vision_config": {"hidden_size": 5}}
    assert count(from_hf(wrapped)) == count(from_hf(config))


def test_layer_types_say_how_many_layers_see_the_whole_sequence():
    config = {**OLMO2, "model_type": "olmo3", "sliding_window": 4096}
    assert from_hf(config).window_layers() == (8, 24)
    assert from_hf({**config, "layer_types": ["full_attention"] * 12 + ["sliding_attention"] * 20}).window_layers() == (
        12,
        20,
    )
