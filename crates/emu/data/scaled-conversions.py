"""Makes scaled-conversions.tsv: what ml_dtypes (0.5 or later) makes of numbers that are scaled and converted.

python3 crates/emu/data/scaled-conversions.py > crates/emu/data/scaled-conversions.tsv
"""

import random

import ml_dtypes
import numpy

SMALL = {
    "fp8": ml_dtypes.float8_e4m3fn,
    "bf8": ml_dtypes.float8_e5m2,
    "fp6": ml_dtypes.float6_e2m3fn,
    "bf6": ml_dtypes.float6_e3m2fn,
    "fp4": ml_dtypes.float4_e2m1fn,
}
WIDTH = {"fp8": 8, "bf8": 8, "fp6": 6, "bf6": 6, "fp4": 4}
FLOATS = {"f32": numpy.float32, "f16": numpy.float16, "bf16": ml_dtypes.bfloat16}
WORDS = {"f32": numpy.uint32, "f16": numpy.uint16, "bf16": numpy.uint16}


def bits(value, name):
    word = numpy.uint8 if name in SMALL else WORDS[name]
    return int(numpy.array(value).view(word))


def finite(name):
    """The numbers of a small format that are not negative."""
    codes = numpy.arange(1 << (WIDTH[name] - 1), dtype=numpy.uint8).view(SMALL[name])
    values = codes.astype(numpy.float64)
    return [it for it in values if numpy.isfinite(it)]


def interesting(name):
    """Numbers, ties between neighbours, what is beside them, and what is too large."""
    values = finite(name)
    ties = [(a + b) / 2 for a, b in zip(values, values[1:])]
    top = values[-1] + (values[-1] - values[-2]) / 2
    near = [it * factor for it in ties + [top] for factor in (1 - 2**-9, 1 + 2**-9)]
    return values + ties + near + [top, 4 * values[-1], values[1] / 4, values[1] / 2]


def narrow(source, to):
    """Lines of conversions into a small format; those of which the scale is not exact are left out."""
    chosen = random.Random(1)
    for value in interesting(to):
        scale = chosen.choice([-120, -9, -1, 0, 1, 5, 100] if source != "f16" else [-3, -1, 0, 1, 2])
        sign = chosen.choice([1, -1])
        with numpy.errstate(all="ignore"):
            number = FLOATS[source](sign * value * 2.0**scale)
            back = float(number) * 2.0**-scale
        if not numpy.isfinite(back) or numpy.float32(back) != back:
            continue
        if float(number) != 0 and abs(float(number)) < 2.0**-126:
            continue
        with numpy.errstate(all="ignore"):
            code = numpy.float32(back).astype(SMALL[to])
        mask = (1 << WIDTH[to]) - 1
        print(f"{to}\t{source}\t{bits(number, source):x}\t{scale}\t{bits(code, to) & mask:x}")


def widen(source, to):
    """Lines of conversions of every code of a small format."""
    for code in range(1 << WIDTH[source]):
        value = float(numpy.array(code, dtype=numpy.uint8).view(SMALL[source]))
        for scale in [-20, 0, 3]:
            with numpy.errstate(all="ignore"):
                number = FLOATS[to](numpy.float32(value * 2.0**scale))
            result = bits(number, to)
            if numpy.isnan(value):
                continue
            print(f"{to}\t{source}\t{code:x}\t{scale}\t{result:x}")


def main():
    print("to\tfrom\toperand\tscale\tresult")
    for small in SMALL:
        for large in FLOATS:
            narrow(large, small)
            widen(small, large)


main()
