from tokenizer.warm import warm_up


def test_warming_up_leaves_every_kernel_compiled():
    from tokenizer.counting import count_kernel, ids_kernel
    from tokenizer.training import merge_kernel

    warm_up()
    for kernel in (
        count_kernel.count_scanned,
        count_kernel.count_given,
        ids_kernel.encode_scanned,
        ids_kernel.encode_given,
        ids_kernel.fill_parts,
        ids_kernel.take_apart,
        merge_kernel.merge,
        merge_kernel.new_pairs_at_most,
        merge_kernel.compact,
    ):
        assert len(kernel.signatures) == 1  # one signature: no caller compiles another beside it
