/** Small answers in pages: stored records are unchanged, readers of removed records read the old bytes, and pages are not wasted. */
import { type SeededRandom, seeded } from 'svc/testing'
import t from 'tap'
import { createMemory } from '../engine/memory.ts'
import type { Variant } from '../engine/variant.ts'
import { type Owners, Pages, pagedBytes, recordBytesMax } from '../memory/pages.ts'

const KiB = 1024

t.test('records are what they were, wherever they are moved to, and full pages are seven eighths full', async t => {
  await seeded(t, async random => {
    const pages = new Pages()
    const records = new Map<number, { location: number; bytes: Buffer }>()
    const owners: Owners = {
      isAt: (owner, location) => records.get(owner)?.location === location,
      moved(owner, location) {
        const record = records.get(owner)
        if (record === undefined) return void t.fail('what is gone is moved')
        record.location = location
      },
    }
    const read = (location: number) => {
      const { buffer, offset, length } = pages.get(location)
      return Buffer.from(buffer, offset, length)
    }
    const kept: { view: Buffer; bytes: Buffer }[] = []
    let charged = 0
    for (let step = 0; step < 20_000; step++) {
      const owner = random.integer(1500)
      const known = records.get(owner)
      if (known !== undefined) {
        if (!read(known.location).equals(known.bytes)) return void t.fail(`step ${step}: another record`)
        if (random.integer(50) === 0) kept.push({ view: read(known.location), bytes: known.bytes })
        pages.remove(known.location)
        records.delete(owner)
        charged -= pagedBytes(known.bytes.length)
      }
      if (random.integer(4) > 0) {
        const large = random.integer(20) === 0
        const bytes = random.bytes(random.integer(large ? recordBytesMax + 1 : 700))
        const location = pages.add(bytes)
        pages.own(location, owner)
        records.set(owner, { location, bytes })
        charged += pagedBytes(bytes.length)
      }
      pages.tidy(owners)
      // The limit: the charged bytes, the page that is being filled, and a page that waits.
      if (pages.bytes > charged + 3 * 64 * KiB)
        return void t.fail(`step ${step}: ${pages.bytes} bytes, ${charged} charged`)
    }
    for (const { location, bytes } of records.values()) t.ok(read(location).equals(bytes))
    t.ok(
      kept.every(({ view, bytes }) => view.equals(bytes)),
      'readers of what is gone',
    )
    for (const { location } of records.values()) pages.remove(location)
    records.clear()
    for (let i = 0; i < 100; i++) pages.tidy(owners)
    t.ok(pages.bytes <= 64 * KiB, 'nothing stays but the page that is being filled')
  })
})

function variantOf(random: SeededRandom, name: string): Variant {
  const body = random.bytes(random.integer(random.integer(10) === 0 ? 12_000 : 600))
  const record = { identity: `${name} ${body.length}`, value: { keys: [name] }, tags: [], fences: [1, 2] }
  return {
    ...{ status: 200, lines: [], vary: [], etag: undefined, lastModified: undefined, space: 'site', tags: [] },
    ...{ body, sizeBytes: body.length, host: 'www.example.test', path: `/${name}` },
    record: { ...record, isEncrypted: false },
    ...{ purgeSequence: 0, softSequence: 0, checkedSequence: 0, checkedHost: '' },
    ...{ freshMs: 1000, staleWhileRevalidateMs: 0, staleIfErrorMs: 0, receivedMs: 1, initialAgeMs: 0 },
  }
}

const factsOf = ({ path, record, body, freshMs, softSequence }: Variant) =>
  JSON.stringify([path, record?.identity, record?.value, body?.toString('latin1'), freshMs, softSequence])

t.test('answers in memory: what is set stays through moves, and who holds one goes on reading it', async t => {
  await seeded(t, async random => {
    const memory = createMemory(600 * KiB)
    const expected = new Map<string, string>()
    const held: { variant: Variant; facts: string }[] = []
    let found = 0
    for (let step = 0; step < 20_000; step++) {
      const id = `key ${random.integer(1200)}`
      const choice = random.integer(10)
      if (choice < 4) {
        const variant = variantOf(random, id)
        if (memory.put(id, variant, undefined)) expected.set(id, factsOf(variant))
      } else if (choice === 4) memory.delete(id)
      else {
        const entry = (choice === 5 ? memory.peek(id) : memory.entry(id)) as Variant | undefined
        if (entry === undefined) continue
        found++
        if (factsOf(entry) !== expected.get(id)) return void t.equal(factsOf(entry), expected.get(id), `step ${step}`)
        if (choice === 6) {
          entry.freshMs = step
          entry.softSequence = step + 1
          expected.set(id, factsOf(entry))
        }
        if (choice === 7 && random.integer(10) === 0) held.push({ variant: entry, facts: factsOf(entry) })
        // Stores the entry again, as after a confirmation.
        if (choice === 8) memory.put(id, entry, undefined)
      }
      if (memory.usage.bytes > 600 * KiB) return void t.fail(`step ${step}: ${memory.usage.bytes} bytes`)
    }
    t.ok(found > 3000 && memory.usage.evictions > 1000, `${found} found, ${memory.usage.evictions} evictions`)
    const bodyOf = (facts: string) => JSON.parse(facts).slice(0, 4)
    const others = held.filter(({ variant, facts }) => `${bodyOf(factsOf(variant))}` !== `${bodyOf(facts)}`)
    t.equal(others.length, 0, `of ${held.length} that were held`)
  })
})

t.test('blocks that push out small answers get the memory of their pages', async t => {
  await seeded(t, async random => {
    const budgetBytes = 4 * KiB * KiB
    const memory = createMemory(budgetBytes)
    for (let index = 0; index < 6000; index++)
      memory.put(`small ${index}`, variantOf(random, `small ${index}`), undefined)
    const before = memory.pageBytes
    for (let index = 0; index < 5000; index++) memory.entry(`small ${random.integer(6000)}`)
    let blockBytes = 0
    for (let index = 0; index < 60; index++) {
      const block = Buffer.alloc(60 * KiB)
      if (memory.putBlock(`block ${index}`, block, undefined)) blockBytes += block.length
      memory.block(`block ${index}`)
      const slackBytes = 3 * 64 * KiB
      if (memory.pageBytes + blockBytes > budgetBytes + slackBytes)
        return void t.fail(`block ${index}: ${memory.pageBytes} bytes of pages`)
    }
    t.ok(memory.pageBytes < before / 2, `${memory.pageBytes} bytes of pages, before ${before}`)
  })
})

t.test('pages are freed by answers that are in no page, and by deletions', async t => {
  await seeded(t, async random => {
    const fill = () => {
      const memory = createMemory(4 * KiB * KiB)
      for (let index = 0; index < 6000; index++)
        memory.put(`small ${index}`, variantOf(random, `small ${index}`), undefined)
      return memory
    }
    const replaced = fill()
    const before = replaced.pageBytes
    // Answers that vary are not packed.
    for (let index = 0; index < 6000; index++) {
      const variant = { ...variantOf(random, `other ${index}`), vary: [['origin', '=x']] } as unknown as Variant
      replaced.put(`other ${index}`, variant, undefined)
    }
    t.ok(replaced.pageBytes < before / 4, `${replaced.pageBytes} bytes of pages, before ${before}`)
    const purged = fill()
    for (const id of [...purged.ids()]) purged.delete(id)
    t.ok(purged.pageBytes <= 3 * 64 * KiB, `${purged.pageBytes} bytes of pages`)
  })
})
