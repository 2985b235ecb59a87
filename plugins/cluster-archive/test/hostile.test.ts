/** Archives that somebody has made without the root credentials: little is done with them before that is known. */
import { randomBytes } from 'node:crypto'
import t from 'tap'
import { packArchive, unpackArchive } from '../archive.ts'
import { deriveArchiveSecret } from '../archive-keys.ts'
import { filesMax, readZip, writeZip } from '../zip-file.ts'

const credentials = { rootUser: 'admin', rootPassword: 'change-me-please' }
const now = new Date()

/** What an import says, and the files that it unpacked before. */
async function refusalOf(bytes: Buffer) {
  const unpacked: number[] = []
  try {
    await unpackArchive(
      bytes,
      salt => deriveArchiveSecret(credentials, salt),
      new Map(),
      size => unpacked.push(size),
    )
    return { message: undefined, cause: undefined, unpacked }
  } catch (error) {
    const { message, cause } = error as Error
    return { message, cause: cause as readonly { element: string }[] | undefined, unpacked }
  }
}

const zipOf = (files: Readonly<Record<string, string | Buffer>>) =>
  writeZip(new Map(Object.entries(files).map(([name, content]) => [name, Buffer.from(content)])), now)

const genuine = () =>
  packArchive(
    {
      directory: { users: new Map(), groups: new Map(), accessKeys: new Map(), policies: new Map() },
      settings: {},
      buckets: new Map(),
      parts: new Map(),
    },
    {
      ...credentials,
      server: 'test',
      nowMs: now.getTime(),
      random: { bytes: (count: number) => randomBytes(count) } as never,
      open: {},
      schemas: new Map(),
    },
  )

t.test('a manifest that is too large is not unpacked', async t => {
  const { message, unpacked } = await refusalOf(await zipOf({ 'manifest.json': `[${'[],'.repeat(3_000_000)}0]` }))
  t.match(message, /manifest\.json has more than 8388608 bytes/)
  t.same(unpacked, [])
})

t.test('one with too many values or levels is not parsed', async t => {
  const zips = [
    await zipOf({ 'manifest.json': `[${'[],'.repeat(2_000_000)}0]` }),
    await zipOf({ 'manifest.json': `${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}` }),
    await zipOf({ 'manifest.json': `{${'"a":1,'.repeat(1_000_000)}"a":1}` }),
  ]
  const parsed = t.capture(JSON, 'parse', JSON.parse)
  for (const zip of zips) t.match((await refusalOf(zip)).message, /manifest\.json is not that of a cluster archive/)
  t.same(parsed(), [])
  t.match((await refusalOf(await zipOf({ 'manifest.json': '[]' }))).message, /is not that of a cluster archive/)
  t.equal(parsed().length, 1)
})

t.test('other files are unpacked only after the manifest is known to be genuine', async t => {
  const files = await readZip(await genuine())
  t.equal((await refusalOf(await writeZip(files, now))).message, undefined)
  const manifest = files.get('manifest.json')!
  const sizes = [manifest.length]

  const changed = new Map(files).set('manifest.json', Buffer.from(manifest.toString().replace('"test"', '"text"')))
  const forged = await refusalOf(await writeZip(changed, now))
  t.match(forged, { message: /was changed after the export/, unpacked: sizes })

  const more = new Map(files)
  for (let index = 0; index < 1000; index++) more.set(`more/${index}`, Buffer.alloc(0))
  const strange = await refusalOf(await writeZip(more, now))
  t.match(strange, { message: /^more\/0: is not in manifest\.json/, unpacked: sizes })
})

/** Empty files without compression, called `0`, `1` and so on: a writer of archives would take a minute for so many. */
function emptyFiles(count: number): Buffer {
  const files: Buffer[] = []
  const directory: Buffer[] = []
  let at = 0
  for (let index = 0; index < count; index++) {
    const name = Buffer.from(`${index}`)
    const header = Buffer.alloc(30)
    header.writeUInt32LE(0x04034b50)
    header.writeUInt16LE(name.length, 26)
    const entry = Buffer.alloc(46)
    entry.writeUInt32LE(0x02014b50)
    entry.writeUInt16LE(name.length, 28)
    entry.writeUInt32LE(at, 42)
    files.push(header, name)
    directory.push(entry, name)
    at += header.length + name.length
  }
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06054b50)
  end.writeUInt16LE(count, 8)
  end.writeUInt16LE(count, 10)
  end.writeUInt32LE(
    directory.reduce((sum, { length }) => sum + length, 0),
    12,
  )
  end.writeUInt32LE(at, 16)
  return Buffer.concat([...files, ...directory, end])
}

t.test('files without a manifest are not unpacked, and their number is bounded', async t => {
  t.same([...(await readZip(emptyFiles(2))).keys()], ['0', '1'])
  t.match(await refusalOf(emptyFiles(filesMax)), { message: /no manifest\.json/, unpacked: [] })
  t.match(await refusalOf(emptyFiles(filesMax + 1)), { message: /more than 50000 files/, unpacked: [] })
})

t.test('a long name is cut in what an import says', async t => {
  const name = 'a'.repeat(60_000)
  const files = new Map(await readZip(await genuine())).set(name, Buffer.from('x'))
  const strange = await refusalOf(await writeZip(files, now))
  t.match(strange.message, /^a{200}…: is not in manifest\.json/)
  t.equal(strange.cause?.[0].element.length, 201)
  // A name that no archive may have.
  const refused = await refusalOf(
    Buffer.from((await zipOf({ [name]: 'x' })).toString('latin1').replaceAll('aaa', '../'), 'latin1'),
  )
  t.ok(refused.message!.length < 500)
})
