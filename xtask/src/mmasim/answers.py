"""Answers of MMA-Sim for random, special and subnormal inputs.

usage: answers.py ARCH COUNT SEED FOLDER [SUFFIX...]

Writes FOLDER/SUFFIX.bin for each instruction of CDNA1, CDNA2 or CDNA3: COUNT times A by rows, B by columns, C and D by rows.
"""

import sys

import numpy
import torch
from mmasim.amd import MFMA
from mmasim.amd.isa_mfma import arch_mfma_suffix

INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
# Sign, exponent and mantissa bits.
FIELDS = {
    torch.float64: (11, 52),
    torch.float32: (8, 23),
    torch.float16: (5, 10),
    torch.bfloat16: (8, 7),
    torch.float8_e4m3fnuz: (4, 3),
    torch.float8_e5m2fnuz: (5, 2),
}


def bits(rng, dtype, shape, trial):
    """Bits of elements: what kind of numbers they are depends on the trial."""
    exponent, mantissa = FIELDS[dtype]
    width = 1 + exponent + mantissa
    size = numpy.prod(shape)
    raw = rng.integers(0, 1 << 63, size, dtype=numpy.uint64, endpoint=False) * 2 + rng.integers(0, 2, size, dtype=numpy.uint64)
    raw >>= numpy.uint64(64 - width)
    fraction = raw & numpy.uint64((1 << mantissa) - 1)
    sign = raw >> numpy.uint64(width - 1) << numpy.uint64(width - 1)
    bias = (1 << (exponent - 1)) - 1
    spread = [2, 6, 12, bias][trial % 4] if trial % 8 < 6 else bias
    field = rng.integers(max(0, bias - spread), min(2 * bias, bias + spread), size).astype(numpy.uint64)
    value = sign | field << numpy.uint64(mantissa) | fraction
    kind = rng.integers(0, 16, size)
    if trial % 8 == 6:  # zeros and subnormal numbers
        value = numpy.where(kind < 6, sign | fraction, value)
        value = numpy.where(kind < 2, sign, value)
    if trial % 8 == 7:  # any bits, but not too many that are no numbers
        value = numpy.where(kind < 4, raw, value)
        top = numpy.uint64(((1 << exponent) - 1) << mantissa)
        value = numpy.where(kind == 4, sign | top, value)
    if trial % 8 == 5:  # few bits, so that sums cancel and tie
        value = sign | field << numpy.uint64(mantissa) | (fraction >> numpy.uint64(mantissa - 2) << numpy.uint64(mantissa - 2))
    return value.astype({8: "u1", 16: "u2", 32: "u4", 64: "u8"}[width]).reshape(shape)


def tensor(array, dtype):
    signed = {1: "u1", 2: "i2", 4: "i4", 8: "i8"}[array.dtype.itemsize]
    return torch.from_numpy(array.view(signed).copy()).view(dtype)


def main():
    arch, count, seed, folder, *wanted = sys.argv[1:]
    torch.set_num_threads(1)
    for suffix in wanted or arch_mfma_suffix[arch]:
        model = MFMA(arch, suffix)
        rng = numpy.random.default_rng([int(seed), *suffix.encode()])
        with open(f"{folder}/{suffix}.bin", "wb") as out:
            batch = 64
            for first in range(0, int(count), batch):
                trials = range(first, min(first + batch, int(count)))
                a = [bits(rng, model.a_type, (model.m, model.k), t) for t in trials]
                b = [bits(rng, model.b_type, (model.n, model.k), t) for t in trials]
                c = [bits(rng, model.c_type, (model.m, model.n), t) for t in trials]
                A, B, C = (
                    torch.stack([tensor(x, t) for x in xs])
                    for xs, t in ((a, model.a_type), (b, model.b_type), (c, model.c_type))
                )
                D = model.dpa(
                    A[:, :, None, :].expand(-1, -1, model.n, -1),
                    B[:, None, :, :].expand(-1, model.m, -1, -1),
                    C,
                )
                size = D.element_size()
                d = D.contiguous().view(INTEGERS[size]).numpy()
                for at in range(len(trials)):
                    for x in (a[at], b[at], c[at], d[at]):
                        out.write(x.tobytes())


main()
