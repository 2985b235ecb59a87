"""Known answers of the erasure code, from docs/design/erasure-code.md alone: prints known-answers.json. Shares nothing with the codec."""
import json

def times(a, b):
    product = 0
    while b:
        if b & 1: product ^= a
        a <<= 1
        if a & 0x100: a ^= 0x11D
        b >>= 1
    return product

def inverse(a): return next(b for b in range(256) if times(a, b) == 1)
def cauchy(r, c): return inverse((16 + r) ^ c)
def coefficient(r, c): return times(times(cauchy(r, c), cauchy(0, 0)), inverse(times(cauchy(0, c), cauchy(r, 0))))

def parity(r, data):
    shard = [0] * len(data[0])
    for c, column in enumerate(data):
        factor = coefficient(r, c)
        shard = [s ^ times(factor, d) for s, d in zip(shard, column)]
    return bytes(shard).hex()

def data(k, length):
    """Byte j of the data, shard by shard, is (j·j + 7·j + k) // 3 mod 256."""
    flat = [(j * j + 7 * j + k) // 3 % 256 for j in range(k * length)]
    return [flat[i * length:(i + 1) * length] for i in range(k)]

matrix = [bytes(coefficient(r, c) for c in range(16)).hex() for r in range(8)]
shapes = [(1, 1), (2, 1), (2, 2), (3, 2), (4, 2), (4, 3), (8, 4), (12, 4), (15, 1), (8, 8)]
codes = [{"data": k, "parity": p, "length": 19, "shards": [parity(r, data(k, 19)) for r in range(p)]} for k, p in shapes]
print(json.dumps({"matrix": matrix, "codes": codes}, indent=2))
