/**
 * The structure check of an index against files written by the real LMDB: it accepts every sound file, whatever its history, and
 * detects each kind of damage that would crash LMDB. SEED repeats a run.
 */

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crc32 } from '@node-rs/crc32'
import { type SeededRandom, seeded } from 'svc/testing'
import t, { type Test } from 'tap'
import { type IndexStore, type IndexTable, indexTables } from '../index-store.ts'
import { checkStructure } from '../index-structure.ts'
import { openLmdbIndex } from '../lmdb-index.ts'

const pageBytes = 8192
const ignore = () => undefined

async function openFolder(t: Test) {
  const folder = await mkdtemp(join(tmpdir(), 'svc-structure-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  return { folder, file: join(folder, 'data.mdb'), index: openLmdbIndex(folder) }
}

function entryText(table: string, key: Buffer, value: Buffer): string {
  return `${table} ${key.toString('latin1')} ${value.length} ${crc32(value)}`
}

function entriesOf(index: IndexStore, table: IndexTable): string[] {
  const entries: string[] = []
  const range = index.range(table, Buffer.from([0]), Buffer.alloc(3901, 0xff))
  while (range.next()) entries.push(entryText(table, range.key, range.value))
  return entries
}

/** Long and short keys, values inside and outside of pages, phases of growth and of shrinking. */
function fill(random: SeededRandom, share: number) {
  return (write: Parameters<Parameters<ReturnType<typeof openLmdbIndex>['commit']>[0]>[0]) => {
    const isBig = random.float() < 0.1
    for (let count = random.integer(300); count > 0; count--) {
      const padding = 'x'.repeat(random.integer(random.float() < 0.05 ? 3000 : 40))
      const key = Buffer.from(`k${random.integer(4000)}${padding}`)
      const value =
        random.float() < share ? undefined : Buffer.alloc(random.integer(isBig ? 60_000 : 600), random.integer(256))
      write(random.pick(indexTables), key, value)
    }
  }
}

t.test('a sound index is accepted after any history, and while it is written to', t =>
  seeded(t, async random => {
    const { folder, file, index } = await openFolder(t)
    let pages = 0
    const problems: string[] = []
    for (let round = 0; round < 150; round++) {
      await index.commit(fill(random, round % 50 > 30 ? 0.9 : 0.3))
      const onPage = () => {
        pages++
      }
      const problem = checkStructure(file, onPage, ignore)
      if (problem !== undefined) problems.push(`round ${round}: ${problem}`)
      // A reader prevents the reuse of pages, so the lists of free pages become long.
      if (round === 60) index.get('records', Buffer.from('k1'))
    }
    await index.close()
    const again = openLmdbIndex(folder)
    await again.commit(fill(random, 0.5))
    const expected = indexTables.flatMap(table => entriesOf(again, table))
    await again.close()
    t.same(problems, [])
    const found: string[] = []
    const note = (table: string, key: Buffer, value: Buffer) => {
      found.push(entryText(table, key, value))
      // A caller may write to it.
      value.fill(0)
      return undefined
    }
    t.equal(checkStructure(file, ignore, note), undefined)
    t.ok(expected.length > 1000, `it has ${expected.length} entries`)
    t.same(found.sort(), expected.sort(), 'the entries are those that LMDB reads')
    const stop = () => 'it is not wanted'
    t.equal(checkStructure(file, ignore, stop), 'it is not wanted')
    t.ok(pages > 1000, `${pages} pages were checked`)
  }),
)

t.test('damage is detected', t =>
  seeded(t, async random => {
    const { file, index } = await openFolder(t)
    for (let round = 0; round < 40; round++) await index.commit(fill(random, 0.4))
    await index.close()
    const sound = await readFile(file)
    // The newest meta page, and from there the pages of its trees.
    const meta = sound.readBigUInt64LE(24 + 128) >= sound.readBigUInt64LE(pageBytes + 24 + 128) ? 24 : pageBytes + 24
    const freeRoot = Number(sound.readBigUInt64LE(meta + 24 + 40)) * pageBytes
    const mainRoot = Number(sound.readBigUInt64LE(meta + 72 + 40)) * pageBytes
    const lastNode = (page: number) => page + 24 + sound.readUInt16LE(page + 24 + sound.readUInt16LE(page + 20) - 2)
    const tableNode = lastNode(mainRoot)
    const tableRecord = tableNode + 8 + sound.readUInt16LE(tableNode + 6)
    const tableRoot = Number(sound.readBigUInt64LE(tableRecord + 40)) * pageBytes
    let leaf = tableRoot
    while (sound.readUInt16LE(leaf + 18) === 1) leaf = sound.readUIntLE(lastNode(leaf), 6) * pageBytes
    t.equal(sound.readUInt16LE(leaf + 18), 2)
    const list = lastNode(freeRoot)
    const damages: Record<string, [at: number, value: number, bytes: number]> = {
      'the magic number': [meta, 1, 4],
      'the version': [meta + 4, 3, 2],
      'the page size': [meta + 24, 100, 4],
      'the root of the tables': [meta + 72 + 40, 1, 6],
      'the end of the name of a table': [tableRecord - 1, 1, 1],
      'the order of the keys of a table': [tableRecord + 4, 2, 2],
      'a table with several values of a key': [tableRecord + 4, 4, 2],
      'the depth of a tree': [tableRecord + 6, 9, 2],
      'the entries of a tree': [tableRecord + 32, 1, 6],
      'the number of a page': [leaf, 1, 6],
      'a page from the future': [leaf + 8, 2 ** 40, 6],
      'the kind of a page': [leaf + 18, 1, 2],
      'the lower bound of a page': [leaf + 20, 3, 2],
      'the upper bound of a page': [leaf + 22, sound.readUInt16LE(leaf + 22) - 2, 2],
      'the place of a node': [leaf + 24, 8190, 2],
      'two nodes in one place': [leaf + 24, sound.readUInt16LE(leaf + 26), 2],
      'the size of a key': [lastNode(leaf) + 6, 4000, 2],
      'the size of a value': [lastNode(leaf), 2 ** 31, 4],
      'the marks of a node': [lastNode(leaf) + 4, 4, 2],
      'the order of keys': [lastNode(leaf) + 8, 0, 1],
      'the child of a branch': [lastNode(tableRoot), 1, 6],
      'a child that is another': [lastNode(tableRoot), leaf / pageBytes - 1, 6],
      'the length of a list of free pages': [list + 16, 60_000, 6],
      'a free page that is in use': [list + 24, leaf / pageBytes, 6],
      'a free page behind the end': [list + 24, 2 ** 40, 6],
    }
    for (const [what, [at, value, bytes]] of Object.entries(damages)) {
      const damaged = Buffer.from(sound)
      damaged.writeUIntLE(value, at, bytes)
      await writeFile(file, damaged)
      t.type(checkStructure(file, ignore, ignore), 'string', `${what}: ${checkStructure(file, ignore, ignore)}`)
    }
    for (const bytes of [0, 100, pageBytes, pageBytes * 3]) {
      await writeFile(file, sound.subarray(0, bytes))
      t.type(checkStructure(file, ignore, ignore), 'string', `cut after ${bytes} bytes`)
    }
    await writeFile(file, sound)
    t.equal(checkStructure(file, ignore, ignore), undefined)
  }),
)
