/** Packed answers of objects: no field is lost, and changed fields keep their values. */
import { type SeededRandom, seeded } from 'svc/testing'
import t from 'tap'
import { createMemory } from '../engine/memory.ts'
import { PackedVariant, pack } from '../engine/packed.ts'
import { unconfirmed, type Variant } from '../engine/variant.ts'

const texts = [
  '',
  'a',
  'object',
  'text/css',
  'text/html; charset=utf-8',
  'text/rtf',
  'audio/mpeg',
  '"text/css"',
  'docs/index.html',
  'ä€😀',
  '"\\\n\u0001\u0002',
  '$& $1',
  '\ud800',
  'n',
  '0',
  'null',
  'd41d8cd98f00b204e9800998ecf8427e',
  'd41d8cd98f00b204e9800998ecf8427e-3, d41d8cd98f00b204e9800998ecf8427e0',
  '3600000000000001',
]

const sequence = 3_600_000_000_000_001

function jsonOf(random: SeededRandom, path: string, depth = 0): unknown {
  const kind = random.integer(depth > 2 ? 5 : 7)
  if (kind === 0) return texts[random.integer(texts.length)]
  if (kind === 1) return path.slice(random.integer(2))
  if (kind === 2) return random.integer(3) === 0 ? sequence : random.integer(2 ** 31) * 2 ** 20
  if (kind === 3) return random.integer(2) === 0
  if (kind === 4) return null
  const parts = Array.from({ length: random.integer(4) }, () => jsonOf(random, path, depth + 1))
  return kind === 5 ? parts : Object.fromEntries(parts.map((part, index) => [`${texts[index]}${index}`, part]))
}

function variantOf(random: SeededRandom): Variant {
  const path = `/${texts[random.integer(texts.length)]}${random.integer(3) === 0 ? '/' : ''}`
  const body = random.integer(4) === 0 ? undefined : Buffer.alloc(random.integer(300), random.integer(256))
  const tags = texts.slice(0, random.integer(3))
  const count = random.integer(4)
  const fences = Array.from({ length: 2 * count }, (_, i) =>
    i % 2 === 0 ? random.integer(65_536) : random.integer(2 ** 32) - 2 ** 31,
  )
  return {
    status: [200, 301, 404][random.integer(3)] as number,
    lines: [],
    body,
    sizeBytes: body?.length ?? random.integer(2 ** 31) * 65_536,
    record: {
      identity: `pages${path} null${random.integer(2) === 0 ? '' : ` ${sequence}`}`,
      value: jsonOf(random, path),
      tags,
      fences,
      isEncrypted: random.integer(2) === 0,
    },
    space: 'site',
    host: random.integer(2) === 0 ? 'www.example.test' : `${random.integer(2 ** 31)}.example.test`,
    path,
    tags,
    purgeSequence: random.integer(2 ** 31),
    softSequence: random.integer(2 ** 31),
    checkedSequence: 0,
    checkedHost: '',
    vary: [],
    etag: undefined,
    lastModified: undefined,
    freshMs: random.integer(2 ** 31) * 20,
    staleWhileRevalidateMs: 1000 * random.integer(3),
    staleIfErrorMs: 1000 * random.integer(3),
    receivedMs: 1_790_000_000_000 + random.integer(2 ** 31),
    initialAgeMs: random.integer(2 ** 31),
  }
}

const plain = (variant: Variant) => {
  const { status, lines, body, sizeBytes, space, host, path, tags, purgeSequence, softSequence, vary } = variant
  const { etag, lastModified, freshMs, staleWhileRevalidateMs, staleIfErrorMs, receivedMs, initialAgeMs } = variant
  const { identity, value, tags: named, fences, isEncrypted } = variant.record ?? {}
  return JSON.stringify([
    [status, lines, body?.toString('hex'), sizeBytes, space, host, path, tags, purgeSequence, softSequence, vary, etag],
    [lastModified, freshMs, staleWhileRevalidateMs, staleIfErrorMs, receivedMs, initialAgeMs],
    [identity, value, named, fences, isEncrypted],
  ])
}

t.test('whatever an answer is, its packed form says the same, and keeps what is set', async t => {
  await seeded(t, random => {
    let different: readonly string[] | undefined
    // There are more hosts than the table has room for.
    for (let round = 0; round < 10_000 && different === undefined; round++) {
      const variant = variantOf(random)
      const packed = pack(variant) as PackedVariant
      const again = () => plain(new PackedVariant(packed.buffer))
      const change = { freshMs: round, receivedMs: 2 ** 41 + round, initialAgeMs: 7, softSequence: 3 }
      if (again() !== plain(variant)) different = [again(), plain(variant)]
      Object.assign(new PackedVariant(packed.buffer), change)
      if (again() !== plain({ ...variant, ...change })) different ??= [again(), plain({ ...variant, ...change })]
    }
    t.equal(different?.[0], different?.[1])
  })
})

t.test('fences that have no room, or are none, have to be confirmed by whoever looks next', async t => {
  await seeded(t, random => {
    const variant = variantOf(random)
    const record = { ...(variant.record as NonNullable<Variant['record']>), fences: [5, -1, 6, 2] }
    const packed = pack({ ...variant, record }) as PackedVariant
    const again = () => new PackedVariant(packed.buffer)
    t.same(again().record.fences, [5, -1, 6, 2])
    packed.record.fences = [5, 0, 6, 3]
    t.same(again().record.fences, [5, 0, 6, 3], 'what fits is kept')
    packed.record.fences = [5, 0]
    t.same(packed.record.fences, [5, 0])
    t.equal(again().record.fences, unconfirmed)
    packed.record.fences = [5, 0, 6, 4]
    t.same(again().record.fences, [5, 0, 6, 4])
    packed.record.fences = [5, 0, 6, Number.NaN]
    t.equal(again().record.fences, unconfirmed)
    const odd = pack({ ...variant, record: { ...record, fences: unconfirmed } }) as PackedVariant
    t.equal(odd.record.fences, unconfirmed)
    t.equal(new PackedVariant(odd.buffer).record.fences, unconfirmed)
  })
})

t.test(
  'the memory hands out one view of an answer while it is recent, and never one of an answer that is gone',
  async t => {
    await seeded(t, random => {
      const memory = createMemory(16 * 1024 * 1024)
      const [one, other] = [variantOf(random), variantOf(random)]
      memory.put('id', one, undefined)
      const view = memory.entry('id')
      t.equal(memory.entry('id'), view)
      t.equal(memory.peek('id'), view)
      t.equal((view as Variant).record, (view as Variant).record)
      memory.put('id', other, undefined)
      t.equal(plain(memory.entry('id') as Variant), plain(other))
      memory.delete('id')
      t.equal(memory.entry('id'), undefined)
      t.equal(memory.peek('id'), undefined)
      t.equal(memory.usage.bytes, 0)
    })
  },
)

t.test('the memory stays within its budget, views and all', async t => {
  await seeded(t, random => {
    const budgetBytes = 128 * 1024
    const memory = createMemory(budgetBytes)
    for (let step = 0; step < 3000; step++) {
      const id = String(random.integer(600))
      if (random.integer(3) === 0) memory.put(id, variantOf(random), undefined)
      else memory.entry(id)
      if (memory.usage.bytes > budgetBytes) t.fail(`step ${step}: ${memory.usage.bytes} bytes`)
    }
    t.ok(memory.usage.evictions > 0)
    t.ok(memory.usage.entries > 100)
  })
})

t.test('whatever names and paths look like, a value is what it was', async t => {
  const pieces = [
    '/',
    'a',
    '"',
    '\\',
    '\u0001',
    '\u0000',
    '\ud800',
    '\udc00',
    '😀',
    '\u2028',
    '$&',
    'u0001',
    ',',
    '[',
    '\ufeff',
  ]
  await seeded(t, random => {
    const text = () => Array.from({ length: random.integer(6) }, () => random.pick(pieces)).join('')
    const value = (depth: number, texts: readonly string[]): unknown => {
      const kind = random.integer(depth > 3 ? 4 : 6)
      if (kind === 0) return random.pick(texts)
      if (kind === 1) return random.pick([0, -1, 1.5, 1e300, 2 ** 53, 5e-324])
      if (kind === 2) return random.integer(2) === 0
      if (kind === 3) return null
      const items = Array.from({ length: random.integer(4) }, () => value(depth + 1, texts))
      if (kind === 4) return items
      const names = ['a', '10', '9', '', 'toJSON', 'length', '__proto__', text()]
      return Object.fromEntries(items.map(item => [random.pick(names), item]))
    }
    let count = 0
    // Nearly every answer has a kind of its own, so the table gets full.
    for (let round = 0; round < 8000; round++) {
      const path = random.integer(10) === 0 ? text() : `/${text()}${random.integer(50) === 0 ? 'x'.repeat(70_000) : ''}`
      const texts = [path, path.slice(1), `${path}/${path}`, text()]
      const [tags, space, host] = [[text(), text()], text(), text()]
      const fenceCount = random.pick([0, 1, 2, 254, 255, 256])
      const fences = Array.from({ length: 2 * fenceCount }, (_, i) => random.integer(i % 2 ? 2 ** 31 : 65_536))
      const record = { identity: random.pick(texts), value: value(0, texts), tags, fences, isEncrypted: false }
      const variant = { ...variantOf(random), path, space, host, tags, record }
      const packed = pack(variant)
      if (packed === undefined) continue
      count++
      const again = plain(new PackedVariant(packed.buffer))
      if (again === plain(variant)) continue
      t.equal(again, plain(variant), `round ${round}`)
      return
    }
    t.ok(count > 1000, `${count} were packed`)
  })
})

t.test('answers of more kinds than the table has stay as they are, with bodies of their own', async t => {
  await seeded(t, random => {
    const memory = createMemory(64 * 1024 * 1024)
    const shared = Buffer.alloc(8192, 'x')
    for (let kind = 0; kind < 5000; kind++) {
      const variant = { ...variantOf(random), space: `kind${kind}`, body: shared.subarray(0, 100), sizeBytes: 100 }
      memory.put('id', variant, undefined)
      const kept = memory.entry('id') as Variant
      if (plain(kept) !== plain(variant)) t.equal(plain(kept), plain(variant), `kind ${kind}`)
    }
    const last = memory.entry('id') as Variant
    t.notOk(last instanceof PackedVariant)
    t.equal(last.body?.buffer.byteLength, 100)
    t.ok(memory.usage.bytes > 900)
  })
})
