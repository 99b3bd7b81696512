"""Compiles Triton kernels for AMD GPUs; needs no GPU.   usage: kernels.py FOLDER TARGET..."""

import pathlib
import sys

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
def matmul(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    inner = tl.arange(0, K)
    total = tl.zeros((M, N), tl.float32)
    for start in range(0, k, K):
        left = tl.load(a + rows[:, None] * k + (start + inner)[None, :])
        right = tl.load(b + (start + inner)[:, None] * n + columns[None, :])
        total = tl.dot(left, right, total)
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


KERNELS = [
    (add, "*fp32 *fp32 *fp32 i32", dict(BLOCK=1024)),
    (softmax, "*fp32 *fp32 i32", dict(BLOCK=1024)),
    (layer_norm, "*fp16 *fp32 *fp32 *fp16 i32 fp32", dict(BLOCK=1024)),
    (matmul, "*fp16 *fp16 *fp32 i32 i32 i32", dict(M=64, N=64, K=32)),
    (attention, "*fp16 *fp16 *fp16 *fp16 i32 fp32", dict(M=64, N=64, D=64)),
    (histogram, "*i32 *i32 i32", dict(BLOCK=512)),
    (dropout, "*fp32 *fp32 i32 i32 fp32", dict(BLOCK=1024)),
    (scan, "*i32 *i32 i32", dict(BLOCK=256)),
]


def compile_for(target, kernel, types, constants):
    wave = 64 if target.startswith("gfx9") else 32
    names = [name for name in kernel.arg_names if name not in constants]
    signature = dict(zip(names, types.split())) | {name: "constexpr" for name in constants}
    source = ASTSource(fn=kernel, signature=signature, constexprs=constants)
    return triton.compile(source, target=GPUTarget("hip", target, wave)).asm["hsaco"]


folder = pathlib.Path(sys.argv[1])
for target in sys.argv[2:]:
    for kernel, types, constants in KERNELS:
        name = f"{kernel.fn.__name__}.{target}.co"
        (folder / name).write_bytes(compile_for(target, kernel, types, constants))
