"""What the kernels share: unaligned loads, a hash over bytes. Buffers they read are followed by `PADDING` bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from pipeline.hashing import mix64

PADDING = 16
"""Bytes that must follow the data in every buffer: loads take eight bytes at a time."""


@intrinsic
def _load64(typingctx, array, index):  # type: ignore[no-untyped-def]
    """Return the eight bytes of the uint8 array at `index` as a little-endian uint64; no bounds are checked."""

    def codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        struct = context.make_array(signature.args[0])(context, builder, arguments[0])
        place = cgutils.gep_inbounds(builder, struct.data, arguments[1])
        return builder.load(builder.bitcast(place, ir.IntType(64).as_pointer()), align=1)

    return types.uint64(array, types.int64), codegen


@intrinsic
def _load8(typingctx, array, index):  # type: ignore[no-untyped-def]
    """Return the byte of the uint8 array at `index` as an int64; no bounds are checked, no index wraps."""

    def codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        struct = context.make_array(signature.args[0])(context, builder, arguments[0])
        place = cgutils.gep_inbounds(builder, struct.data, arguments[1])
        return builder.zext(builder.load(place), ir.IntType(64))

    return types.int64(array, types.int64), codegen


@intrinsic
def _prefetch(typingctx, array, row):  # type: ignore[no-untyped-def]
    """Ask for the cache line where `row` of the C array (one or two dimensions) begins, without waiting for it."""

    def codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        struct = context.make_array(signature.args[0])(context, builder, arguments[0])
        index = arguments[1]
        if signature.args[0].ndim == 2:
            index = builder.mul(index, cgutils.unpack_tuple(builder, struct.shape)[1])
        place = cgutils.gep_inbounds(builder, struct.data, index)
        pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(ir.VoidType(), [pointer, number, number, number]), "llvm.prefetch.p0"
        )
        for_reading, keep, data_cache = number(0), number(3), number(1)
        builder.call(function, [builder.bitcast(place, pointer), for_reading, keep, data_cache])
        return context.get_dummy_value()

    return types.void(array, types.int64), codegen


@intrinsic
def _trailing_zeros(typingctx, value):  # type: ignore[no-untyped-def]
    """Return the number of zero bits below the lowest one of a uint64; 64 for zero."""

    def codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), codegen


load64: Any = _load64
load8: Any = _load8
prefetch: Any = _prefetch
trailing_zeros: Any = _trailing_zeros

_MULTIPLIERS = np.array([0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93], np.uint64)
M1 = _MULTIPLIERS[0]
M2 = _MULTIPLIERS[1]
_SHIFT = np.uint64(32)


FIRST_BYTES = np.array([(1 << 8 * n) - 1 for n in range(9)], np.uint64)
"""Masks that keep the first n bytes of a uint64."""

SECOND_BYTES = np.array([0] * 8 + [(1 << 8 * n) - 1 for n in range(9)], np.uint64)
"""Masks that keep, of bytes 8 to 15, those of a run of n bytes."""


@njit(cache=True, nogil=True, inline="always")
def tail64(data, start, length):  # type: ignore[no-untyped-def]
    """Return the first `length` (0 to 8) bytes at `start` as a uint64, the others zero."""
    return load64(data, start) & FIRST_BYTES[length]


@njit(cache=True, nogil=True)
def hash_bytes(data, start, length):  # type: ignore[no-untyped-def]
    """Return a 64-bit hash of `length` bytes at `start`; the same on every machine, for it orders partitions."""
    state = np.uint64(length) * M1
    while length > 8:
        state = (state ^ load64(data, start)) * M1
        state ^= state >> _SHIFT
        start += 8
        length -= 8
    if length > 0:
        state = (state ^ tail64(data, start, length)) * M1
    return mix64(state)


@njit(cache=True, nogil=True)
def same_bytes(left, left_start, right, right_start, length):  # type: ignore[no-untyped-def]
    """Return whether `length` bytes at the two places are equal."""
    while length > 8:
        if load64(left, left_start) != load64(right, right_start):
            return False
        left_start += 8
        right_start += 8
        length -= 8
    return length == 0 or tail64(left, left_start, length) == tail64(right, right_start, length)


def padded(data: bytes | np.ndarray) -> np.ndarray:
    """Return `data` as a read-only uint8 array followed by `PADDING` zero bytes (which are part of the array)."""
    source = np.frombuffer(data, np.uint8) if isinstance(data, bytes | bytearray | memoryview) else data
    array = np.zeros(len(source) + PADDING, np.uint8)
    array[: len(source)] = source
    array.flags.writeable = False  # as Arrow's buffers are: one compiled kernel for both
    return array
