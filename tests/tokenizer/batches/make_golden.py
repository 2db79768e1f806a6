"""Made ``megatron.npz`` once, with megatron-core 0.16.1 (no dependency of ours: it brings torch).

    pip install megatron-core==0.16.1
    python tests/tokenizer/batches/make_golden.py tests/tokenizer/batches/megatron.npz

What its own classes write and answer for documents that `documents` draws, for the tests to hold ours against.
"""

from __future__ import annotations

import pathlib
import sys
import tempfile

import numpy as np

SEQUENCE, SEED = 16, 1234
WEIGHTS = (0.5, 0.2, 0.3)
CASES = {"part_of_an_epoch": 40, "three_epochs": 330, "three_epochs_last_apart": 260, "one_epoch": None}


def documents(number: int) -> list[np.ndarray]:
    """Return the documents of data path `number`: 0 to 2 are uint16, 3 is int32."""
    rng = np.random.RandomState(number)
    top = 60_000 if number < 3 else 150_000
    lengths = [1, 2, SEQUENCE, SEQUENCE + 1, 300, *rng.randint(1, 60, 45 + 10 * number)]
    return [rng.randint(0, top, size=length).astype(np.int32) for length in lengths]


def main(target: str) -> None:
    import torch
    from megatron.core.datasets.blended_megatron_dataset_builder import BlendedMegatronDatasetBuilder
    from megatron.core.datasets.gpt_dataset import GPTDataset, GPTDatasetConfig
    from megatron.core.datasets.indexed_dataset import DType, IndexedDatasetBuilder
    from megatron.core.num_microbatches_calculator import RampupBatchsizeNumMicroBatchesCalculator

    class Tokenizer:
        unique_identifiers: dict[str, str] = {}  # noqa: RUF012
        eod, pad, vocab_size = 0, -2, 60_000

    def config(folder, prefixes, weights=None, split="1"):
        return GPTDatasetConfig(
            random_seed=SEED, sequence_length=SEQUENCE, blend=(prefixes, weights), split=split, tokenizer=Tokenizer(),
            reset_position_ids=False, reset_attention_mask=False, eod_mask_loss=False, path_to_cache=f"{folder}/cache",
        )  # fmt: skip

    golden: dict[str, np.ndarray] = {}
    with tempfile.TemporaryDirectory() as folder:
        torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/group", rank=0, world_size=1)
        prefixes = []
        for number in range(4):
            texts = documents(number)
            dtype = DType.optimal_dtype(60_000 if number < 3 else 150_000)
            prefix = f"{folder}/{number}"
            builder = IndexedDatasetBuilder(f"{prefix}.bin", dtype=dtype)
            for text in texts:
                builder.add_document(torch.from_numpy(text), [len(text)])
            builder.finalize(f"{prefix}.idx")
            for ending in ("bin", "idx"):
                data = pathlib.Path(f"{prefix}.{ending}").read_bytes()
                golden[f"{ending}_{number}"] = np.frombuffer(data, np.uint8)
            prefixes.append(prefix)

        def build(samples, paths, weights=None, split="1"):
            sizes = [samples, 0, 0]
            builder = BlendedMegatronDatasetBuilder(
                GPTDataset, sizes, lambda: True, config(folder, paths, weights, split)
            )
            return builder.build()[0]

        for name, samples in CASES.items():
            made = build(samples, prefixes[:1])
            golden[f"{name}_documents"] = made.document_index
            golden[f"{name}_samples"] = made.sample_index
            golden[f"{name}_shuffle"] = made.shuffle_index
            golden[f"{name}_text_7"] = made._query_document_sample_shuffle_indices(7)[0]
            golden[f"{name}_ids_7"] = made._query_document_sample_shuffle_indices(7)[1]
        made = build(30, prefixes[:1], split="80,20")
        golden["split_documents"], golden["split_shuffle"] = made.document_index, made.shuffle_index
        blend = build(600, prefixes[:3], list(WEIGHTS))
        golden["blend_dataset"], golden["blend_sample"] = blend.dataset_index, blend.dataset_sample_index
        for number, part in enumerate(blend.datasets):
            golden[f"blend_shuffle_{number}"] = part.shuffle_index
            golden[f"blend_documents_{number}"] = part.document_index
        plain = build(200, prefixes[:3])
        golden["unweighted_dataset"], golden["unweighted_sample"] = plain.dataset_index, plain.dataset_sample_index
        whole = build(None, prefixes[:3])
        golden["exhaustive_dataset"], golden["exhaustive_sample"] = whole.dataset_index, whole.dataset_sample_index
        calculator = RampupBatchsizeNumMicroBatchesCalculator(48, 2, 4, False, 0, 16, 8, 300)
        consumed, sizes = 0, []
        for _ in range(20):
            calculator.update(consumed, True)
            sizes.append(calculator.get_current_global_batch_size())
            consumed += sizes[-1]
        golden["ramp"] = np.array(sizes)
        torch.manual_seed(1337)
        golden["torch_draws"] = np.stack([torch.randint(977, (12,)).numpy() for _ in range(80)])
    np.savez_compressed(target, **golden)
    print({name: array.shape for name, array in golden.items()})


if __name__ == "__main__":
    main(sys.argv[1])
