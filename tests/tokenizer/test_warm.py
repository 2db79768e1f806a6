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
        merge_kernel.merge,
    ):
        assert len(kernel.signatures) == 1  # one signature: no caller compiles another beside it
