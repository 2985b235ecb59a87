/** Compares the codec with scalar arithmetic and with the answers of another program, for every loss that it must survive. */
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'
import fc from 'fast-check'
import t from 'tap'
import { ErasureCode } from '../codec/erasure-code.ts'
import { bestVariant, type KernelVariant } from '../codec/kernels.ts'
import { parityCoefficient } from '../codec/matrix.ts'
import { ShardMemory } from '../codec/shard-memory.ts'
import { coefficient, parityOf } from './scalar-code.ts'

const folder = import.meta.dirname
const root = resolve(folder, '../../..')
const python = '/usr/bin/python3'
/** Every engine has the plain kernels; the relaxed ones are tested if the engine has them. */
const variants: readonly KernelVariant[] = bestVariant() === 'relaxed' ? ['relaxed', 'plain'] : ['plain']

interface KnownAnswers {
  readonly matrix: readonly string[]
  readonly codes: readonly { data: number; parity: number; length: number; shards: readonly string[] }[]
}
const knownAnswers = JSON.parse(readFileSync(join(folder, 'known-answers.json'), 'utf8')) as KnownAnswers

function pseudoRandomBytes(length: number, seed: number): Buffer {
  const bytes = Buffer.alloc(length)
  let state = seed | 1
  for (let index = 0; index < length; index++) {
    state = Math.imul(state, 1_103_515_245) + 12_345
    bytes[index] = state >>> 16
  }
  return bytes
}

/** Shards of both kinds, computed by scalar arithmetic. */
function scalarShards(dataCount: number, parityCount: number, length: number, seed: number): Buffer[] {
  const data = Array.from({ length: dataCount }, (_, shard) => pseudoRandomBytes(length, seed * 31 + shard * 2 + 1))
  return [...data, ...Array.from({ length: parityCount }, (_, row) => Buffer.from(parityOf(row, data)))]
}

function* masksOf(shardCount: number, memberCount: number, from = 0, mask = 0): Generator<number> {
  if (memberCount === 0) return yield mask
  for (let shard = from; shard <= shardCount - memberCount; shard++) {
    yield* masksOf(shardCount, memberCount - 1, shard + 1, mask | (1 << shard))
  }
}

/** Parity as sets of 1…16 drives have it by default, the reduced class, and the most that can be configured. */
function usedCodes(): Map<string, readonly [number, number]> {
  const codes = new Map<string, readonly [number, number]>()
  for (let drives = 1; drives <= 16; drives++) {
    const standard = drives === 1 ? 0 : drives <= 3 ? 1 : drives <= 5 ? 2 : drives <= 7 ? 3 : 4
    for (const parity of [standard, Math.min(1, drives - 1), Math.floor(drives / 2)]) {
      codes.set(`${drives - parity}+${parity}`, [drives - parity, parity])
    }
  }
  return codes
}

t.test('the matrix and the known answers are those of the documents', t => {
  for (let row = 0; row < 8; row++) {
    const bytes = Buffer.from(Array.from({ length: 16 }, (_, column) => parityCoefficient(row, column)))
    t.equal(bytes.toString('hex'), knownAnswers.matrix[row], `row ${row}`)
    t.same(
      [...bytes],
      Array.from({ length: 16 }, (_, column) => coefficient(row, column)),
      `row ${row}, scalar`,
    )
  }
  const document = readFileSync(join(root, 'docs/design/erasure-code.md'), 'utf8')
  for (const row of knownAnswers.matrix) t.match(document, row.replace(/..(?!$)/g, '$& '), 'the document has the row')
  for (const variant of variants) {
    const memory = new ShardMemory(0, variant)
    for (const { data, parity, length, shards } of knownAnswers.codes) {
      const flat = Buffer.from(Array.from({ length: data * length }, (_, j) => Math.floor((j * j + 7 * j + data) / 3)))
      const all = Array.from({ length: data + parity }, (_, shard) =>
        shard < data ? flat.subarray(shard * length, (shard + 1) * length) : Buffer.alloc(length),
      )
      new ErasureCode(memory, data, parity).encode(all)
      const computed = all.slice(data).map(shard => shard.toString('hex'))
      t.same(computed, shards, `${data}+${parity}, ${variant}`)
    }
  }
  t.end()
})

const hasPython = spawnSync(python, ['--version']).status === 0
const pythonMissing = hasPython || process.env.CI ? false : `${python} is not installed`
t.test('the known answers are computed by a program that shares no code with the codec', { skip: pythonMissing }, t => {
  const { status, stdout } = spawnSync(python, [join(folder, 'known-answers.py')], { encoding: 'utf8' })
  t.equal(status, 0)
  t.same(JSON.parse(stdout), knownAnswers)
  t.end()
})

for (const variant of variants) {
  t.test(`every loss pattern of every code in use is repaired (${variant})`, t => {
    const memory = new ShardMemory(1 << 20, variant)
    const length = 101
    for (const [name, [dataCount, parityCount]] of usedCodes()) {
      const code = new ErasureCode(memory, dataCount, parityCount)
      const expected = scalarShards(dataCount, parityCount, length, dataCount * 17 + parityCount)
      const all = (1 << code.shardCount) - 1
      // Shards inside and outside of the codec's memory take different code paths.
      const buffers = expected.map(shard => {
        const inside = memory.allocate(length)!
        shard.copy(inside)
        return inside
      })
      const outside = expected.map(shard => Buffer.from(shard))
      for (const shards of [buffers, outside]) {
        for (const shard of shards.slice(dataCount)) shard.fill(0xee)
        code.encode(shards)
        t.ok(
          shards.every((shard, index) => shard.equals(expected[index])),
          `${name} encodes as scalar arithmetic does`,
        )
        let patternCount = 0
        let wrongCount = 0
        for (let lostCount = 1; lostCount <= parityCount; lostCount++) {
          for (const lost of masksOf(code.shardCount, lostCount)) {
            for (let shard = 0; shard < code.shardCount; shard++) if ((lost >> shard) & 1) shards[shard].fill(0xee)
            code.reconstruct(shards, all & ~lost, lost)
            for (let shard = 0; shard < code.shardCount; shard++) {
              if (((lost >> shard) & 1) === 0 || shards[shard].equals(expected[shard])) continue
              wrongCount++
              expected[shard].copy(shards[shard])
            }
            patternCount++
          }
        }
        t.equal(wrongCount, 0, `${name}: ${patternCount} patterns`)
        t.ok(
          shards.every((shard, index) => shard.equals(expected[index])),
          `${name}: what was there is untouched`,
        )
      }
      for (const buffer of buffers) memory.release(buffer)
    }
    t.ok(memory.plans.count <= 128, 'plans are bounded')
    t.end()
  })

  t.test(`any range, length, place and alignment (${variant})`, t => {
    const memory = new ShardMemory(4 << 20, variant)
    const around = (...sizes: number[]) => fc.constantFrom(...sizes.flatMap(size => [size - 1, size, size + 1]))
    const lengths = fc.oneof(fc.nat(200), around(16, 32, 48, 64, 128, 4096, 16_384, 32_768, 16_384 + 64, 65_536))
    // All and none take code paths of their own, and are the most likely.
    const masks = fc.oneof(fc.constant(0xffff), fc.constant(0), fc.nat(0xffff))
    const property = fc.property(
      fc.integer({ min: 1, max: 16 }),
      fc.integer({ min: 1, max: 8 }),
      lengths,
      fc.nat(300),
      fc.nat(100),
      fc.nat(0xff_ffff),
      masks,
      masks,
      fc.nat(64),
      (dataWish, parityCount, length, start, tail, seed, placement, wish, shift) => {
        const dataCount = Math.min(dataWish, 16 - parityCount)
        const code = new ErasureCode(memory, dataCount, parityCount)
        const end = start + length
        const size = end + tail
        const expected = scalarShards(dataCount, parityCount, size, seed)
        const all = (1 << code.shardCount) - 1
        // Some parityCount shards, wherever the seed says, are gone; of them some are wanted.
        const order = expected.map((_, shard) => shard).sort((a, b) => ((seed >> a) & 3) - ((seed >> b) & 3) || a - b)
        const lost = order.slice(0, parityCount).reduce((mask, shard) => mask | (1 << shard), 0)
        const wanted = lost & wish
        const held: Buffer[] = []
        const shards = expected.map((bytes, shard) => {
          const place = (placement >> shard) & 1 ? memory.allocate(size + shift) : Buffer.alloc(size + shift)
          held.push(place!)
          const view = place!.subarray(shift)
          bytes.copy(view)
          if ((lost >> shard) & 1) view.fill(0xee)
          return view
        })
        try {
          code.reconstruct(shards, all & ~lost, wanted, start, end)
          for (const [shard, bytes] of expected.entries()) {
            const isLost = ((lost >> shard) & 1) === 1
            const isComputed = ((wanted >> shard) & 1) === 1
            for (let index = 0; index < size; index++) {
              const isInRange = index >= start && index < end
              const value = isLost && !(isComputed && isInRange) ? 0xee : bytes[index]
              if (shards[shard][index] !== value) throw new Error(`shard ${shard} differs at ${index} of ${size}`)
            }
          }
        } finally {
          for (const [shard, place] of held.entries()) if ((placement >> shard) & 1) memory.release(place)
        }
      },
    )
    t.doesNotThrow(() => fc.assert(property, { numRuns: 400 }))
    t.end()
  })
}

t.test('verification finds one wrong bit, wherever it is', t => {
  const memory = new ShardMemory(1 << 20)
  const code = new ErasureCode(memory, 4, 2)
  for (const length of [1, 63, 64, 16_384, 40_001]) {
    const shards = scalarShards(4, 2, length, length)
    t.ok(code.verify(shards), `${length} bytes that belong together`)
    t.ok(code.verify(shards, 0b101111), 'five of six are enough')
    for (const shard of shards.keys()) {
      for (const at of new Set([0, length >> 1, length - 1])) {
        shards[shard][at] ^= 0x10
        t.notOk(code.verify(shards), `a bit of shard ${shard} at ${at} of ${length}`)
        shards[shard][at] ^= 0x10
      }
    }
  }
  const shards = scalarShards(4, 2, 100, 9)
  shards[0][99] ^= 1
  t.ok(code.verify(shards, 0b111111, 0, 99), 'bytes outside of the range are not verified')
  t.throws(() => code.verify(shards, 0b001111), /no shard to verify/)
  t.throws(() => code.verify(shards, 0b000111), RangeError)
  t.end()
})

t.test('invalid arguments are refused before a byte is written', t => {
  const memory = new ShardMemory(1 << 20)
  for (const [data, parity] of [
    [0, 1],
    [1, -1],
    [8, 9],
    [12, 5],
    [17, 0],
    [1.5, 1],
    [2, Number.NaN],
  ]) {
    t.throws(() => new ErasureCode(memory, data, parity), /no erasure code/, `${data}+${parity}`)
  }
  const code = new ErasureCode(memory, 2, 2)
  const shards = scalarShards(2, 2, 100, 1)
  const before = shards.map(shard => Buffer.from(shard))
  t.throws(() => code.reconstruct(shards, 0b0001, 0b0010), /1 shards given, 2 of 4 needed/)
  t.throws(() => code.reconstruct(shards, 0b10011, 0b0100), /2 of 4 needed/)
  t.throws(() => code.reconstruct(shards, 0b0011, 0b10000), /2 of 4 needed/)
  t.throws(() => code.encode(shards, 0, 101), /shard 0 has not the 101 bytes/)
  t.throws(() => code.encode(shards, -1, 100), /no range/)
  t.throws(() => code.encode(shards, 60, 50), /no range/)
  t.throws(() => code.encode(shards, 0, 1.5), /no range/)
  t.throws(() => code.encode([shards[0], shards[1], shards[2], undefined]), /shard 3/)
  t.throws(() => code.encode([shards[0], shards[1], shards[2], shards[3].subarray(1)]), /shard 3/)
  t.throws(() => code.encode([shards[0], shards[1], shards[2], shards[2]]), /overlap/)
  const joint = Buffer.alloc(150)
  t.throws(() => code.encode([joint.subarray(0, 100), shards[1], joint.subarray(50), shards[3]]), /overlap/)
  t.same(shards, before)
  t.doesNotThrow(() => code.reconstruct(shards, 0b1111, 0b1111), 'nothing is missing')
  t.doesNotThrow(() => new ErasureCode(memory, 1, 0).encode([shards[0]]), 'no parity, no work')
  t.doesNotThrow(() => code.encode([0, 1, 2, 3].map(() => Buffer.alloc(0))), 'no bytes, no work')
  t.same(shards, before)
  t.end()
})

t.test('coding long shards yields to the event loop', async t => {
  const memory = new ShardMemory(0)
  const code = new ErasureCode(memory, 4, 2)
  const expected = scalarShards(4, 2, 300_001, 5)
  const shards = expected.map(shard => Buffer.from(shard))
  for (const shard of shards.slice(4)) shard.fill(0)
  let turnCount = 0
  let immediate = setImmediate(function again() {
    turnCount++
    immediate = setImmediate(again)
  })
  await code.encodeInTurns(shards)
  const encodeTurns = turnCount
  t.ok(
    shards.every((shard, index) => shard.equals(expected[index])),
    'encoded',
  )
  shards[1].fill(0)
  shards[4].fill(0)
  await code.reconstructInTurns(shards, 0b101101, 0b010010)
  clearImmediate(immediate)
  t.ok(
    shards.every((shard, index) => shard.equals(expected[index])),
    'reconstructed',
  )
  t.ok(encodeTurns >= 4, `${encodeTurns} turns for 1.2 MB`)
  t.ok(turnCount >= encodeTurns + 4, 'as many again')
})

t.test('memory is allocated in pages, released, and merged', t => {
  const memory = new ShardMemory(64 * 1024)
  const buffers: Buffer[] = []
  for (let buffer = memory.allocate(5000); buffer !== undefined; buffer = memory.allocate(5000)) buffers.push(buffer)
  t.ok(buffers.length >= 8 && buffers.length <= 16, `${buffers.length} buffers of two pages`)
  t.ok(buffers.every(buffer => buffer.byteOffset % 4096 === 0 && buffer.length === 5000))
  for (const [index, buffer] of buffers.entries()) buffer.fill(index + 1)
  t.ok(
    buffers.every((buffer, index) => buffer.every(byte => byte === index + 1)),
    'none overlaps another',
  )
  for (const parity of [1, 0]) for (const [i, buffer] of buffers.entries()) if (i % 2 === parity) memory.release(buffer)
  t.ok(memory.allocate(buffers.length * 8192), 'all of it, in one piece')
  t.throws(() => memory.release(buffers[0].subarray(1)), /not allocated here/)
  t.throws(() => memory.release(Buffer.alloc(1)), /not allocated here/)
  t.end()
})

t.test('shards at the very end of the memory', t => {
  const memory = new ShardMemory(64 * 1024)
  const buffers: Buffer[] = []
  for (let buffer = memory.allocate(4096); buffer !== undefined; buffer = memory.allocate(4096)) buffers.push(buffer)
  t.equal(buffers.at(-1)!.byteOffset + 4096, memory.memory.buffer.byteLength)
  const code = new ErasureCode(memory, 2, 1)
  for (const length of [1, 47, 63, 64, 65, 100, 4096]) {
    const expected = scalarShards(2, 1, length, length)
    for (const turn of [0, 1, 2]) {
      // Each kind of shard is the last one once.
      const shards = buffers.slice(-3).map(buffer => buffer.subarray(4096 - length))
      const last = [...shards.slice(turn), ...shards.slice(0, turn)]
      for (const [shard, bytes] of last.entries()) expected[shard].copy(bytes)
      last[2].fill(0)
      code.encode(last)
      t.ok(last[2].equals(expected[2]), `${length} bytes encoded`)
      last[0].fill(0)
      code.reconstruct(last, 0b110, 0b001)
      t.ok(last[0].equals(expected[0]), `${length} bytes reconstructed`)
    }
  }
  t.end()
})

t.test('evicted plans are computed again, and no two plans share tables', t => {
  const code = new ErasureCode(new ShardMemory(0), 12, 4)
  const expected = scalarShards(12, 4, 70, 3)
  const patterns = [...masksOf(16, 2), ...masksOf(16, 3)].slice(0, 300)
  // Going back and forth uses both cached and evicted plans.
  for (const lost of [...patterns, ...patterns.toReversed(), ...patterns]) {
    const shards = expected.map((bytes, shard) => ((lost >> shard) & 1 ? Buffer.alloc(70) : bytes))
    code.reconstruct(shards, 0xffff & ~lost, lost)
    if (shards.some((shard, index) => !shard.equals(expected[index]))) t.fail(`pattern ${lost.toString(2)}`)
  }
  t.equal(code.memory.plans.count, 128)
  t.end()
})

t.test('worker threads have codecs of their own', async t => {
  const module = JSON.stringify(pathToFileURL(join(folder, '../codec/')).href)
  const source = `
    const { ErasureCode } = await import(${module} + 'erasure-code.ts')
    const { ShardMemory } = await import(${module} + 'shard-memory.ts')
    const { parentPort } = await import('node:worker_threads')
    const shards = [[1, 2, 3], [4, 5, 6], [0, 0, 0]].map(bytes => Buffer.from(bytes))
    new ErasureCode(new ShardMemory(0), 2, 1).encode(shards)
    parentPort.postMessage([...shards[2]])`
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(source)}`))
  const [parity] = await once(worker, 'message')
  t.same(parity, [5, 7, 5])
  await worker.terminate()
})

t.test('the committed WebAssembly is what its source generates', t => {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['.ci/build-wasm.mjs', '--check'], {
    cwd: root,
    encoding: 'utf8',
  })
  t.equal(status, 0, stdout + stderr)
  t.end()
})
