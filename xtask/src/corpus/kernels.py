"""Compiles Triton kernels for AMD GPUs; needs no GPU.   usage: kernels.py FOLDER TARGET...

FOLDER/run has how each is launched, and inputs of each kernel with what numpy says should come out.
"""

import json
import pathlib
import sys

import ml_dtypes
import numpy
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(out + at, tl.load(x + at, mask) + tl.load(y + at, mask), mask)


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    value = tl.load(x + row * columns + at, at < columns, -float("inf"))
    power = tl.exp(value - tl.max(value, 0))
    tl.store(out + row * columns + at, power / tl.sum(power, 0), at < columns)


@triton.jit
def layer_norm(x, weight, bias, out, columns, epsilon, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    mask = at < columns
    value = tl.load(x + row * columns + at, mask, 0.0).to(tl.float32)
    mean = tl.sum(value, 0) / columns
    centred = tl.where(mask, value - mean, 0.0)
    scale = 1 / tl.sqrt(tl.sum(centred * centred, 0) / columns + epsilon)
    result = centred * scale * tl.load(weight + at, mask) + tl.load(bias + at, mask)
    tl.store(out + row * columns + at, result.to(tl.float16), mask)


@triton.jit
def matmul(
    a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, T: tl.constexpr, P: tl.constexpr
):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    inner = tl.arange(0, K)
    total = tl.zeros((M, N), T)
    for start in range(0, k, K):
        left = tl.load(a + rows[:, None] * k + (start + inner)[None, :])
        right = tl.load(b + (start + inner)[:, None] * n + columns[None, :])
        total = tl.dot(left, right, total, P, out_dtype=T)
    tl.store(c + rows[:, None] * n + columns[None, :], total)


@triton.jit
def attention(q, k, v, out, length, scale, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    lanes = tl.arange(0, D)
    query = tl.load(q + rows[:, None] * D + lanes[None, :])
    largest = tl.full((M,), -float("inf"), tl.float32)
    weight = tl.zeros((M,), tl.float32)
    total = tl.zeros((M, D), tl.float32)
    for start in range(0, length, N):
        keys = start + tl.arange(0, N)
        key = tl.load(k + keys[None, :] * D + lanes[:, None])
        score = tl.dot(query, key) * scale
        new = tl.maximum(largest, tl.max(score, 1))
        power = tl.exp(score - new[:, None])
        old = tl.exp(largest - new)
        weight = weight * old + tl.sum(power, 1)
        value = tl.load(v + keys[:, None] * D + lanes[None, :])
        total = tl.dot(power.to(tl.float16), value, total * old[:, None])
        largest = new
    tl.store(out + rows[:, None] * D + lanes[None, :], (total / weight[:, None]).to(tl.float16))


@triton.jit
def histogram(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, at < n, 0)
    tl.atomic_add(out + (value & 255), 1, at < n)


@triton.jit
def dropout(x, out, n, seed, keep, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, at < n)
    tl.store(out + at, tl.where(tl.rand(seed, at) < keep, value / keep, 0.0), at < n)


@triton.jit
def scan(x, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + at, at < n, 0)
    tl.store(out + at, tl.cumsum(tl.sort(value), 0), at < n)


@triton.jit
def atomics(x, sums, most, least, bits, floats, lock, count, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, at < n, 0)
    bin = value & 15
    tl.atomic_add(sums + bin, value, at < n)
    tl.atomic_max(most + bin, value, at < n)
    tl.atomic_min(least + bin, value, at < n)
    tl.atomic_xor(bits + bin, value, at < n)
    tl.atomic_add(floats + bin, (value & 255) * 0.25, at < n)
    # One program at a time.
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(count, tl.load(count) * 3 + 1)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def printing(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.device_print("whole", tl.load(x + at, at < n, -1))
    tl.device_print("part", tl.load(y + at, at < n, 0.5))


# The types of matrices, by Triton's name and by numpy's.
MATRICES = {
    "f16": ("fp16", numpy.float16),
    "bf16": ("bf16", ml_dtypes.bfloat16),
    "f32": ("fp32", numpy.float32),
    "xf32": ("fp32", numpy.float32),
    "i8": ("i8", numpy.int8),
    "e4m3": ("fp8e4nv", ml_dtypes.float8_e4m3fn),
    "e5m2": ("fp8e5", ml_dtypes.float8_e5m2),
    "e4m3fnuz": ("fp8e4b8", ml_dtypes.float8_e4m3fnuz),
    "e5m2fnuz": ("fp8e5b16", ml_dtypes.float8_e5m2fnuz),
}

KERNELS = {
    "add": (add, "*fp32 *fp32 *fp32 i32", dict(BLOCK=1024)),
    "softmax": (softmax, "*fp32 *fp32 i32", dict(BLOCK=1024)),
    "layer_norm": (layer_norm, "*fp16 *fp32 *fp32 *fp16 i32 fp32", dict(BLOCK=1024)),
    "attention": (attention, "*fp16 *fp16 *fp16 *fp16 i32 fp32", dict(M=64, N=64, D=64)),
    "histogram": (histogram, "*i32 *i32 i32", dict(BLOCK=512)),
    "dropout": (dropout, "*fp32 *fp32 i32 i32 fp32", dict(BLOCK=1024)),
    "scan": (scan, "*i32 *i32 i32", dict(BLOCK=256)),
    "atomics": (atomics, "*i32 *i32 *i32 *i32 *i32 *fp32 *i32 *i32 i32", dict(BLOCK=256)),
    "printing": (printing, "*i32 *fp32 i32", dict(BLOCK=256)),
}
for name, (of_triton, _) in MATRICES.items():
    total = ("i32", tl.int32) if name == "i8" else ("fp32", tl.float32)
    types = f"*{of_triton} *{of_triton} *{total[0]} i32 i32 i32"
    constants = dict(M=64, N=64, K=32, T=total[1], P="tf32" if name == "xf32" else "ieee")
    KERNELS[f"matmul_{name}"] = (matmul, types, constants)


def is_for(name, target):
    """Short f32 and numbers without a negative zero are of gfx942's matrices alone."""
    return not name.endswith(("fnuz", "_xf32")) or target == "gfx942"


def compile_for(target, kernel, types, constants):
    wave = 64 if target.startswith("gfx9") else 32
    names = [name for name in kernel.arg_names if name not in constants]
    signature = dict(zip(names, types.split())) | {name: "constexpr" for name in constants}
    source = ASTSource(fn=kernel, signature=signature, constexprs=constants)
    return triton.compile(source, target=GPUTarget("hip", target, wave))


def case(kernel, grid, arguments, checks=(), prints=None, but=None):
    """Inputs in order; and which of them should hold what afterwards, each element off by so much at most.

    `but` is a family of targets that it is not for.
    """
    given = [
        {"buffer": it.tobytes().hex()} if isinstance(it, numpy.ndarray)
        else {"f32": it} if isinstance(it, float) else {"i32": it}
        for it in arguments
    ]
    checked = [
        {
            "argument": number,
            "type": str(arguments[number].dtype),
            "wanted": numpy.ravel(wanted).astype(numpy.float64).tobytes().hex(),
            "bounds": (numpy.zeros(wanted.size) + numpy.ravel(bound)).tobytes().hex(),
        }
        for number, wanted, bound in checks
    ]
    return dict(kernel=kernel, grid=grid, arguments=given, checks=checked, prints=prints, but=but)


RANDOM = numpy.random.default_rng(1)


def floats(*shape):
    return RANDOM.uniform(-1, 1, shape).astype(numpy.float32)


def wide(it):
    return it.astype(numpy.float64)


def add_case():
    x, y = floats(2500), floats(2500)
    return case("add", [3, 1], [x, y, numpy.zeros_like(x), x.size], [(2, x + y, 0)])


def softmax_case():
    x = floats(3, 781) * 5
    power = numpy.exp(wide(x) - wide(x).max(1, keepdims=True))
    wanted = power / power.sum(1, keepdims=True)
    # The argument of the power is off by half an ULP of 10 at most, sums and the quotient by little.
    return case("softmax", [3, 1], [x, numpy.zeros_like(x), 781], [(1, wanted, wanted * 2.0**-19)])


def layer_norm_case():
    x, weight, bias = floats(3, 777).astype(numpy.float16), floats(777), floats(777)
    centred = wide(x) - wide(x).mean(1, keepdims=True)
    scale = 1 / numpy.sqrt((centred**2).mean(1, keepdims=True) + 1e-5)
    wanted = centred * scale * wide(weight) + wide(bias)
    arguments = [x, weight, bias, numpy.zeros_like(x), 777, 1e-5]
    # Half an ULP of the result, and what sums of f32 lose.
    bounds = abs(wanted) * 2.0**-11 + 2.0**-18
    return case("layer_norm", [3, 1], arguments, [(3, wanted, bounds)])


def matmul_case(name, lowest=None):
    """Of whole numbers, whose sums are exact, or of any."""
    m, n, k = 128, 64, 96
    of_numpy = MATRICES[name][1]
    if lowest is None and name == "i8":
        a, b = (RANDOM.integers(-128, 128, it) for it in [(m, k), (k, n)])
    elif lowest is None:
        a, b = floats(m, k), floats(k, n)
    else:
        a, b = (RANDOM.integers(lowest, 8, it) for it in [(m, k), (k, n)])
    a, b = a.astype(of_numpy), b.astype(of_numpy)
    c = numpy.zeros((m, n), numpy.int32 if of_numpy == numpy.int8 else numpy.float32)
    # Products of the inputs are exact in f64; each of k sums in f32 is cut or rounded once. Short inputs have 10 bits.
    part = k * 2.0**-23 + (2.0**-9 if name == "xf32" else 0)
    is_exact = lowest is not None or name == "i8"
    bounds = 0 if is_exact else part * (abs(wide(a)) @ abs(wide(b)))
    check = (2, wide(a) @ wide(b), bounds)
    # gfx11 adds what differs from the sum in sign as its complement: 1 * 1 - 1 * 1 + 1 is 0x3f7fffff there.
    but = "gfx11" if lowest is not None and lowest < 0 and name not in ("f32", "i8") else None
    return case(f"matmul_{name}", [m // 64, n // 64], [a, b, c, m, n, k], [check], but=but)


def attention_case():
    q, k, v = (floats(128, 64).astype(numpy.float16) for _ in range(3))
    score = wide(q) @ wide(k).T * 0.125
    power = numpy.exp(score - score.max(1, keepdims=True))
    wanted = power @ wide(v) / power.sum(1, keepdims=True)
    # Powers are rounded to f16 before the second product, and so is the result; values are below 1.
    return case("attention", [2, 1], [q, k, v, numpy.zeros_like(q), 128, 0.125], [(3, wanted, 2.0**-10)])


def words(*shape, below=2**31):
    return RANDOM.integers(0, below, shape, dtype=numpy.int32)


def histogram_case():
    x = words(1300)
    out = numpy.zeros(256, numpy.int32)
    return case("histogram", [3, 1], [x, out, x.size], [(1, numpy.bincount(x & 255, minlength=256), 0)])


def scan_case():
    x = words(256, below=1000)
    return case("scan", [1, 1], [x, numpy.zeros_like(x), x.size], [(1, numpy.cumsum(numpy.sort(x)), 0)])


def philox(seed, at):
    """Random words by Philox 4x32 with ten rounds, the first of four."""
    word, mask = numpy.uint64, numpy.uint64(0xFFFFFFFF)
    high = lambda it: it >> word(32)
    c = [at.astype(word)] + [numpy.zeros(at.size, word)] * 3
    keys = [word(seed), word(0)]
    for _ in range(10):
        b, a = word(0xCD9E8D57) * c[2], word(0xD2511F53) * c[0]
        c = [high(b) ^ c[1] ^ keys[0], b & mask, high(a) ^ c[3] ^ keys[1], a & mask]
        keys = [keys[0] + word(0x9E3779B9) & mask, keys[1] + word(0xBB67AE85) & mask]
    return c[0].astype(numpy.uint32)


def dropout_case():
    x, keep = floats(2500), 0.75
    number = philox(42, numpy.arange(x.size)).view(numpy.int32)
    uniform = numpy.where(number < 0, -number - 1, number).astype(numpy.float32) * numpy.float32(4.6566127342e-10)
    wanted = numpy.where(uniform < keep, wide(x) / keep, 0)
    # One division.
    bounds = abs(wanted) * 2.0**-23
    return case("dropout", [3, 1], [x, numpy.zeros_like(x), x.size, 42, keep], [(1, wanted, bounds)])


def atomics_case():
    x = words(1300, below=2**20)
    bins = [x[x & 15 == it] for it in range(16)]
    least = numpy.full(16, 2**30, numpy.int32)
    zeros = lambda it: numpy.zeros(it, numpy.int32)
    arguments = [x, zeros(16), zeros(16), least, zeros(16), zeros(16).astype(numpy.float32), zeros(1), zeros(1), x.size]
    wanted = [
        [it.sum() for it in bins],
        [it.max() for it in bins],
        [it.min() for it in bins],
        [numpy.bitwise_xor.reduce(it) for it in bins],
        [((it & 255) * 0.25).sum() for it in bins],
        [0],
        [1 + 3 * (1 + 3 * (1 + 3 * (1 + 3 * (1 + 3))))],
    ]
    checks = [(number + 1, numpy.array(it), 0) for number, it in enumerate(wanted)]
    return case("atomics", [6, 1], arguments, checks)


def printing_case():
    count, block = 300, 256
    x, y = words(count, below=1000), floats(count)
    lines = []
    for at in range(2 * block):
        place = f"pid ({at // block}, 0, 0) idx ({at % block:3}) "
        lines.append(f"{place}whole: {x[at] if at < count else -1}")
        lines.append(f"{place}part: {y[at] if at < count else 0.5:f}")
    return case("printing", [2, 1], [x, y, count], prints=sorted(lines))


def cases():
    """Each with the name of its own."""
    yield "add", add_case()
    yield "softmax", softmax_case()
    yield "layer_norm", layer_norm_case()
    yield "attention", attention_case()
    yield "histogram", histogram_case()
    yield "dropout", dropout_case()
    yield "scan", scan_case()
    yield "atomics", atomics_case()
    yield "printing", printing_case()
    for name in MATRICES:
        yield f"matmul_{name}_signed", matmul_case(name, -8)
        yield f"matmul_{name}_counting", matmul_case(name, 0)
        yield f"matmul_{name}_any", matmul_case(name)


folder = pathlib.Path(sys.argv[1])
(folder / "run" / "cases").mkdir(parents=True)
for name, it in cases():
    (folder / "run" / "cases" / f"{name}.json").write_text(json.dumps(it))
launches = {}
for target in sys.argv[2:]:
    for name, (kernel, types, constants) in KERNELS.items():
        if not is_for(name, target):
            continue
        compiled = compile_for(target, kernel, types, constants)
        (folder / f"{name}.{target}.co").write_bytes(compiled.asm["hsaco"])
        about = compiled.metadata
        launches[f"{name}.{target}"] = dict(
            symbol=about.name, lds=about.shared, items=about.num_warps * about.warp_size
        )
(folder / "run" / "launches.json").write_text(json.dumps(launches))
