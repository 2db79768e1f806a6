from tokenizer.warm import warm_up


def test_warming_up_leaves_every_kernel_compiled():
    from tokenizer import count_kernel, merge_kernel, scanner

    warm_up()
    for kernel in (scanner.scan, count_kernel.count_scanned, count_kernel.count_given, merge_kernel.merge):
        assert len(kernel.signatures) == 1  # one signature: no caller compiles another beside it
