/**
 * The contract suite of the extension point `storage.backend`: the guarantees that every backend keeps. A backend is created with
 * `contractProcedures` and `contractDerive`, started, and passed in as the subject:
 *
 *     t.test('the backend keeps the contract', t => storageBackendContract(t, async t => {
 *       const backend = myFactory.create({ procedures: contractProcedures, derive: contractDerive, … })
 *       await backend.start()
 *       t.teardown(() => backend.stop())
 *       return { backend }
 *     }))
 */
import { defineErrors } from 'svc/kernel'
import { type ContractSuite, contractSuite } from 'svc/testing'
import type { BlobRef, BodyRef, Derive, Procedure, StorageBackend, Transaction } from './api.ts'
import { readBlob } from './testing.ts'

export interface StorageSubject {
  readonly backend: StorageBackend
  /** Stops the backend and opens its data again. Absent when the backend does not persist. */
  restart?(): Promise<StorageBackend>
}

const errors = defineErrors({ refused: { status: 418, title: 'Refused.' } })
const table = 0x74
const countKey = Buffer.from('count')

/** Keys of the suite's records begin with `t`. */
function key(name: string | Uint8Array): Buffer {
  return Buffer.concat([Buffer.from([table]), Buffer.from(name as string)])
}

const rangeStart = key('')
const rangeEnd = Buffer.from([table + 1])

interface Step {
  readonly put?: Uint8Array | string
  readonly value?: string
  readonly delete?: Uint8Array | string
  readonly withBody?: boolean
  readonly bodyOf?: string
  readonly blobs?: readonly string[]
}

function stepKey(name: Uint8Array | string): Buffer {
  return typeof name === 'string' ? key(name) : Buffer.from(name)
}

function runSteps(tx: Transaction, steps: readonly Step[], body: Uint8Array | undefined): void {
  for (const step of steps) {
    if (step.delete !== undefined) tx.delete(stepKey(step.delete))
    if (step.put === undefined) continue
    tx.put(stepKey(step.put), Buffer.from(step.value ?? ''), {
      body: step.withBody ? body : undefined,
      bodyOf: step.bodyOf === undefined ? undefined : key(step.bodyOf),
      blobs: step.blobs,
    })
  }
}

/** Pass these to `StorageBackendFactory.create`. */
export const contractProcedures: Readonly<Record<string, Procedure>> = {
  'contract.steps': (tx, steps: readonly Step[], body) => {
    runSteps(tx, steps, body)
    return { sequence: tx.sequence, nowMs: tx.nowMs }
  },
  'contract.stepsThenThrow': (tx, steps: readonly Step[], body) => {
    runSteps(tx, steps, body)
    throw errors.refused('as asked', { extra: { Why: 'test' } })
  },
  'contract.increment': (tx, name: string) => {
    const before = tx.get(key(name))
    const next = before === undefined ? 1 : Number(Buffer.from(before.value).toString()) + 1
    tx.put(key(name), Buffer.from(String(next)))
    return next
  },
  'contract.look': (tx, steps: readonly Step[], body) => {
    runSteps(tx, steps, body)
    const first = tx.first(rangeStart, rangeEnd)
    return {
      first: first && {
        key: Buffer.from(first.key).toString('latin1'),
        value: Buffer.from(first.record.value).toString(),
      },
      values: ['a', 'b', 'c'].map(name => {
        const record = tx.get(key(name))
        return record && Buffer.from(record.value).toString()
      }),
      count: [...tx.counter(countKey)],
    }
  },
  'contract.reuseValue': (tx, name: string) => {
    const value = Buffer.from('before')
    tx.put(key(name), value)
    value.write('after!')
  },
}

/** Pass this to `StorageBackendFactory.create`. Counts records and the bytes of their values, and lists records under `d`. */
export const contractDerive: Derive = (recordKey, before, after, emit) => {
  if (recordKey[0] !== table) return
  const count = (after === undefined ? 0 : 1) - (before === undefined ? 0 : 1)
  const size = (after?.length ?? 0) - (before?.length ?? 0)
  if (count !== 0 || size !== 0) emit.add(countKey, [count, size])
  const derived = Buffer.concat([Buffer.from('d'), recordKey.subarray(1)])
  if (after === undefined) emit.delete(derived)
  else emit.put(derived, after)
}

async function steps(backend: StorageBackend, list: readonly Step[], body?: Uint8Array) {
  return backend.execute<{ sequence: number; nowMs: number }>('contract.steps', list, body)
}

async function textOf(backend: StorageBackend, name: string): Promise<string | undefined> {
  const record = await backend.get(key(name))
  return record && Buffer.from(record.value).toString()
}

async function list(backend: StorageBackend, start: Buffer = rangeStart, end: Buffer = rangeEnd): Promise<string[]> {
  return backend.scan(start, end, cursor => {
    const found: string[] = []
    while (cursor.next()) found.push(`${cursor.key.toString('latin1', 1)}=${Buffer.from(cursor.value)}`)
    return found
  })
}

function pattern(size: number, seed = 1): Buffer {
  const bytes = Buffer.alloc(size)
  for (let i = 0; i < size; i++) bytes[i] = (i * 7 + (i >>> 8) * 13 + seed) & 255
  return bytes
}

async function bodyOf(backend: StorageBackend, name: string): Promise<BodyRef> {
  const body = (await backend.get(key(name)))?.body
  if (body === undefined) throw new Error(`${name} has no body`)
  return body
}

async function writeBlob(backend: StorageBackend, bytes: Buffer, chunkBytes: number): Promise<BlobRef> {
  const writer = backend.createBlob(bytes.length)
  for (let at = 0; at < bytes.length; at += chunkBytes) {
    const chunk = Buffer.from(bytes.subarray(at, at + chunkBytes))
    await writer.write(chunk)
    // `write` has copied the chunk, so changes to it afterwards have no effect.
    chunk.fill(0)
  }
  return writer.finish()
}

export const storageBackendContract: ContractSuite<StorageSubject> = contractSuite('storage backend', {
  'a committed change is read back at once': async (t, { backend }) => {
    t.equal(await textOf(backend, 'a'), undefined)
    await steps(backend, [{ put: 'a', value: 'one' }])
    t.equal(await textOf(backend, 'a'), 'one')
    t.strictSame(await list(backend), ['a=one'])
    await steps(backend, [{ put: 'a', value: 'two' }])
    t.equal(await textOf(backend, 'a'), 'two')
    await steps(backend, [{ delete: 'a' }, { delete: 'never there' }])
    t.equal(await textOf(backend, 'a'), undefined)
    t.strictSame(await list(backend), [])
  },

  'two records read in one turn are both valid': async (t, { backend }) => {
    await steps(backend, [
      { put: 'a', value: 'one' },
      { put: 'b', value: 'two' },
    ])
    const a = backend.get(key('a'))
    const b = backend.get(key('b'))
    const [left, right] = [await a, await b]
    t.strictSame([Buffer.from(left!.value).toString(), Buffer.from(right!.value).toString()], ['one', 'two'])
  },

  'a transaction is applied as a whole or not at all': async (t, { backend }) => {
    await steps(backend, [{ put: 'a', value: 'one' }], undefined)
    const failing = backend.execute(
      'contract.stepsThenThrow',
      [{ put: 'a', value: 'two', withBody: true }, { put: 'b', value: 'two' }, { delete: 'a' }],
      Buffer.from('body'),
    )
    await t.rejects(failing, { code: 'refused', status: 418, message: 'as asked', extra: { Why: 'test' } })
    t.strictSame(await list(backend), ['a=one'])
    t.strictSame([...(await backend.counter(countKey))], [1, 3])
    t.equal((await backend.get(key('a')))!.body, undefined)
  },

  'a procedure sees its own changes and every earlier one': async (t, { backend }) => {
    await steps(backend, [{ put: 'b', value: 'two' }])
    const seen = await backend.execute('contract.look', [
      { put: 'c', value: 'three' },
      { delete: 'b' },
      { put: 'a', value: '1' },
    ])
    t.strictSame(seen, { first: { key: 'ta', value: '1' }, values: ['1', undefined, 'three'], count: [2, 6] })
    const again = await backend.execute('contract.look', [{ delete: 'a' }])
    t.strictSame(again, {
      first: { key: 'tc', value: 'three' },
      values: [undefined, undefined, 'three'],
      count: [1, 5],
    })
  },

  'procedures do not overlap': async (t, { backend }) => {
    const results = await Promise.all(
      Array.from({ length: 100 }, () => backend.execute<number>('contract.increment', 'n')),
    )
    t.strictSame(
      results.sort((a, b) => a - b),
      Array.from({ length: 100 }, (_, i) => i + 1),
    )
    t.equal(await textOf(backend, 'n'), '100')
  },

  'sequences increase': async (t, { backend }) => {
    const stamps = await Promise.all(Array.from({ length: 20 }, (_, i) => steps(backend, [{ put: `k${i}` }])))
    const sequences = stamps.map(({ sequence }) => sequence)
    t.strictSame(
      sequences,
      [...new Set(sequences)].sort((a, b) => a - b),
      'in the order of calls, none twice',
    )
    t.ok(sequences.every(Number.isSafeInteger))
    t.ok(stamps.every(({ nowMs }) => Number.isSafeInteger(nowMs) && nowMs > 1.6e12))
  },

  'an unknown procedure is an error': async (t, { backend }) => {
    await t.rejects(backend.execute('contract.unknown', undefined))
  },

  'records are walked in the order of their bytes': async (t, { backend }) => {
    const names: Buffer[] = [
      'a',
      'a\x00',
      'a\x00b',
      'a/',
      'a/b',
      'aa',
      'b',
      '\x7f',
      '\xc3\xa9',
      '\xf0\x9f\x98\x80',
      '\xff',
    ].map(name => Buffer.from(name, 'latin1'))
    await steps(
      backend,
      names.toReversed().map(name => ({ put: key(name), value: '' })),
    )
    t.strictSame(
      await list(backend),
      names.sort(Buffer.compare).map(name => `${name.toString('latin1')}=`),
    )
    t.strictSame(await list(backend, key('a/'), key('b')), ['a/=', 'a/b=', 'aa='], 'from the start, excluding the end')
    t.strictSame(await list(backend, key('x'), key('x')), [])
  },

  'a cursor seeks forwards and back within its range': async (t, { backend }) => {
    await steps(
      backend,
      ['a', 'c', 'e', 'g'].map(name => ({ put: name, value: name })),
    )
    await steps(backend, [{ delete: 'c' }, { put: 'd', value: 'd' }])
    const seen = await backend.scan(key('b'), key('g'), cursor => {
      const found: (string | boolean)[] = []
      const note = (moved: boolean) => found.push(moved ? cursor.key.toString('latin1', 1) : false)
      note(cursor.next())
      note(cursor.seek(key('e')))
      note(cursor.next())
      note(cursor.next())
      note(cursor.seek(key('a')))
      note(cursor.next())
      note(cursor.seek(key('f')))
      note(cursor.seek(key('z')))
      return found
    })
    t.strictSame(seen, ['d', 'e', false, false, 'd', 'e', false, false])
  },

  'keys have 1 to 3900 bytes': async (t, { backend }) => {
    const long = key(Buffer.alloc(3899, 0xfe))
    await steps(backend, [{ put: long, value: 'long' }])
    t.equal(Buffer.from((await backend.get(long))!.value).toString(), 'long')
    await t.rejects(steps(backend, [{ put: Buffer.alloc(3901, 0x74) }]))
    await t.rejects(steps(backend, [{ put: Buffer.alloc(0) }]))
  },

  'values are copied, and may be large': async (t, { backend }) => {
    await backend.execute('contract.reuseValue', 'a')
    t.equal(await textOf(backend, 'a'), 'before')
    const large = 'x'.repeat(700_000)
    await steps(backend, [{ put: 'large', value: large }])
    t.equal(await textOf(backend, 'large'), large)
  },

  'a body is stored beside its record': async (t, { backend }) => {
    for (const size of [0, 1, 511, 4096, 70_000, backend.inlineBytesMax]) {
      const body = pattern(size, size)
      await steps(backend, [{ put: 'a', value: 'v', withBody: true }], Buffer.from(body))
      const ref = await bodyOf(backend, 'a')
      t.equal(ref.size, size)
      t.ok((await backend.readBody(ref)).equals(body), `${size} bytes`)
    }
    await t.rejects(steps(backend, [{ put: 'b', withBody: true }], Buffer.alloc(backend.inlineBytesMax + 1)), {
      code: 'body_too_large',
    })
    await steps(backend, [{ put: 'a', value: 'without' }])
    t.equal((await backend.get(key('a')))!.body, undefined)
  },

  'a body moves with its record': async (t, { backend }) => {
    const body = pattern(5000)
    await steps(backend, [{ put: 'a', value: 'v', withBody: true }], Buffer.from(body))
    await steps(backend, [{ put: 'b', value: 'moved', bodyOf: 'a' }, { delete: 'a' }])
    await steps(backend, [{ put: 'b', value: 'kept', bodyOf: 'b' }])
    t.ok((await backend.readBody(await bodyOf(backend, 'b'))).equals(body))
    t.equal(await textOf(backend, 'b'), 'kept')
    await t.rejects(steps(backend, [{ put: 'c', bodyOf: 'b' }]), 'a body belongs to one record')
    await t.rejects(steps(backend, [{ put: 'c', bodyOf: 'nobody' }]))
    t.strictSame(await list(backend), ['b=kept'])
    await steps(backend, [{ put: 'plain', value: 'v' }])
    await steps(backend, [{ put: 'moved', value: 'w', bodyOf: 'plain' }, { delete: 'plain' }])
    t.equal((await backend.get(key('moved')))!.body, undefined, 'a record without a body gives none')
    t.strictSame(await list(backend), ['b=kept', 'moved=w'])
  },

  'counters and entries follow from the records': async (t, { backend }) => {
    t.strictSame([...(await backend.counter(countKey))], [])
    await steps(backend, [
      { put: 'a', value: '12345' },
      { put: 'b', value: '1' },
    ])
    t.strictSame([...(await backend.counter(countKey))], [2, 6])
    await steps(backend, [
      { put: 'a', value: '1' },
      { put: 'a', value: '22' },
    ])
    t.strictSame([...(await backend.counter(countKey))], [2, 3])
    const derived = () =>
      backend.scanDerived(Buffer.from('d'), Buffer.from('e'), cursor => {
        const found: string[] = []
        while (cursor.next()) found.push(`${cursor.key}=${Buffer.from(cursor.value)}`)
        return found
      })
    t.strictSame(await derived(), ['da=22', 'db=1'])
    const counters = async (limit: number, [start, end] = [countKey, Buffer.concat([countKey, Buffer.from([0])])]) =>
      (await backend.counters(start!, end!, limit)).map(({ key, sums }) => [Buffer.from(key), [...sums]])
    t.strictSame(await counters(10), [[countKey, [2, 3]]])
    t.strictSame(await counters(0), [])
    t.strictSame(await counters(10, [Buffer.from([0]), countKey]), [], 'the end is not in the range')
    await steps(backend, [{ delete: 'a' }, { delete: 'b' }])
    t.strictSame([...(await backend.counter(countKey))], [])
    t.strictSame(await counters(10), [], 'a counter of zeros is none')
    t.strictSame(await derived(), [])
  },

  'any range of a blob can be read': async (t, { backend }) => {
    const size = 1_300_001
    const bytes = pattern(size)
    for (const chunkBytes of [65_536, 99_991, size]) {
      const ref = await writeBlob(backend, bytes, chunkBytes)
      t.match(ref.id, /^[0-9a-z]{26}$/)
      t.equal(ref.size, size)
      await steps(backend, [{ put: 'blob', value: ref.id, blobs: [ref.id] }])
      for (const [start, length] of [
        [0, size],
        [1, 1],
        [262_143, 2],
        [500_000, 600_000],
        [size - 1, 1],
        [size, 0],
      ] as const) {
        t.ok((await readBlob(backend, ref, start, length)).equals(bytes.subarray(start, start + length)))
      }
    }
    const empty = await writeBlob(backend, Buffer.alloc(0), 1)
    t.equal((await readBlob(backend, empty)).length, 0)
  },

  'a blob stays while a record references it, and while it is pinned': async (t, { backend }) => {
    const bytes = pattern(900_000, 3)
    const ref = await writeBlob(backend, bytes, 50_000)
    await steps(backend, [
      { put: 'a', blobs: [ref.id] },
      { put: 'b', blobs: [ref.id] },
    ])
    await steps(backend, [{ delete: 'a' }])
    t.ok((await readBlob(backend, ref)).equals(bytes))
    const reader = backend.readBlob(ref, 0, ref.size)
    const first = await reader.next()
    const chunks = [Buffer.from(first!.bytes)]
    first!.release()
    await steps(backend, [{ delete: 'b' }])
    for (let chunk = await reader.next(); chunk !== undefined; chunk = await reader.next()) {
      chunks.push(Buffer.from(chunk.bytes))
      chunk.release()
    }
    reader.close()
    t.ok(Buffer.concat(chunks).equals(bytes), 'a reader that had begun reads to the end')
  },

  'the bytes of a record stay readable for a while, even if the record changes': async (t, { backend }) => {
    const body = pattern(5000, 5)
    const first = await writeBlob(backend, pattern(700_000, 6), 100_000)
    const second = await writeBlob(backend, pattern(300_000, 7), 100_000)
    await steps(backend, [{ put: 'a', withBody: true }], Buffer.from(body))
    await steps(backend, [{ put: 'b', blobs: [first.id, second.id] }])
    const ref = await bodyOf(backend, 'a')
    await steps(backend, [{ put: 'a', value: 'other' }, { delete: 'b' }])
    t.ok((await backend.readBody(ref)).equals(body), 'a body whose record was overwritten')
    const letGo = backend.pinBlobs([first, second])
    t.ok((await readBlob(backend, first)).equals(pattern(700_000, 6)), 'the first blob')
    t.ok((await readBlob(backend, second)).equals(pattern(300_000, 7)), 'and the one after it')
    letGo()
    letGo()
  },

  'an unfinished or unreferenced blob can be aborted at any time': async (t, { backend }) => {
    const early = backend.createBlob()
    await early.abort()
    await early.abort()
    const writer = backend.createBlob()
    await writer.write(pattern(400_000))
    await writer.abort()
    await t.rejects(async () => writer.write(Buffer.from('more')))
    const done = backend.createBlob()
    await done.write(Buffer.from('x'))
    const ref = await done.finish()
    await done.abort()
    t.equal(ref.size, 1)
  },

  'data with reduced redundancy is read back unchanged': async (t, { backend, restart }) => {
    const body = pattern(5000, 5)
    const writer = backend.createBlob(700_000, { redundancy: 'reduced' })
    await writer.write(pattern(700_000, 6))
    const reduced = await writer.finish()
    const standard = await writeBlob(backend, pattern(300_000, 7), 100_000)
    const list: readonly Step[] = [{ put: 'a', withBody: true }]
    await backend.execute('contract.steps', list, Buffer.from(body), { redundancy: 'reduced' })
    await steps(backend, [{ put: 'b', blobs: [reduced.id, standard.id] }])
    const verify = async (of: StorageBackend) => {
      t.ok((await of.readBody(await bodyOf(of, 'a'))).equals(body), 'a body')
      t.ok((await readBlob(of, reduced)).equals(pattern(700_000, 6)), 'a blob')
      t.ok((await readBlob(of, reduced, 123_456, 234_567)).equals(pattern(700_000, 6).subarray(123_456, 358_023)))
      t.ok((await readBlob(of, standard)).equals(pattern(300_000, 7)), 'a blob beside it in the same record')
    }
    await verify(backend)
    if (restart !== undefined) await verify(await restart())
  },

  'many blobs are written concurrently': async (t, { backend }) => {
    const sizes = Array.from({ length: 24 }, (_, i) => 1 + i * 40_009)
    const refs = await Promise.all(sizes.map((size, i) => writeBlob(backend, pattern(size, i), 60_000)))
    t.equal(new Set(refs.map(({ id }) => id)).size, sizes.length)
    for (const [i, ref] of refs.entries()) t.ok((await readBlob(backend, ref)).equals(pattern(sizes[i]!, i)))
  },

  'it reports the status of its drives': async (t, { backend }) => {
    const drives = await backend.drives()
    t.ok(drives.length > 0)
    t.ok(drives.every(({ state, totalBytes }) => state === 'online' && totalBytes > 0))
  },

  'stored data survives a stop and a start': async (t, { backend, restart }) => {
    if (restart === undefined) return
    const body = pattern(3000)
    const blobBytes = pattern(300_000, 9)
    const ref = await writeBlob(backend, blobBytes, 100_000)
    const before = await steps(
      backend,
      [
        { put: 'a', value: 'one', withBody: true },
        { put: 'b', blobs: [ref.id] },
      ],
      body,
    )
    const reopened = await restart()
    t.equal(await textOf(reopened, 'a'), 'one')
    t.ok((await reopened.readBody(await bodyOf(reopened, 'a'))).equals(body))
    t.ok((await readBlob(reopened, ref)).equals(blobBytes))
    t.strictSame([...(await reopened.counter(countKey))], [2, 3])
    const after = await steps(reopened, [{ delete: 'a' }])
    t.ok(after.sequence > before.sequence, 'sequences continue')
  },
})
