/** What a job says that it has left: records that it could neither check nor mark, each once. */
import type { RedundantStorage } from 'svc/plugins/erasure/api'
import { noTags, recordRanges } from 'svc/plugins/objects/api'
import t from 'tap'
import type { HealRequest } from '../../plugins/heal/admin/heal-schema.ts'
import { type JobRunOptions, newJob, runJob } from '../../plugins/heal/job-run.ts'
import { addLeft, countLeft } from '../../plugins/heal/left-records.ts'
import { encodeDeleteMarker, stampVersion, withTags } from '../../plugins/objects/record.ts'

const [[start]] = recordRanges('photos', '') as [[Buffer, Buffer]]
const keyOf = (name: string) => Buffer.concat([start, Buffer.from(`${name}\0`)])
const lost = { before: ['ok'], after: ['ok'], isReadable: false, error: undefined, dataBytes: 1 }

/** The record of an object without blobs, as the commit of this number stores it. */
function versionOf(sequence: number, tags: ReadonlyMap<string, string> = noTags): Buffer {
  const version = Buffer.from(withTags(encodeDeleteMarker(), tags))
  stampVersion(version, { nowMs: 0, sequence }, false, false)
  return version
}

/** A storage in which this value is at every key. */
const holding = (value: Buffer | undefined) => ({ get: () => value && { value, body: undefined } })

interface Given {
  readonly names: readonly string[]
  readonly heal?: () => Promise<unknown>
  readonly value?: Buffer
  readonly removeLostVersion?: () => Promise<string>
  readonly tellLostVersion?: () => Promise<void>
}

/** A job over objects of the bucket `photos`, which are all lost, unless it cannot check them. */
async function run(request: HealRequest, { names, heal, value, removeLostVersion, tellLostVersion }: Given) {
  const keys = names.map(keyOf)
  const redundant = {
    canWrite: true,
    drives: async () => [{ path: '/d1', state: 'online', place: { pool: 0, set: 0, slot: 0, isCurrent: true } }],
    page: async (from: Buffer) => ({ keys: from.equals(start) ? keys : [], next: undefined }),
    heal: heal ?? (async () => lost),
    isLost: async () => true,
  } as unknown as RedundantStorage
  const objects = { removeLostVersion, tellLostVersion: tellLostVersion ?? (async () => {}) }
  const job = newJob('1', { bucket: 'photos', recursive: true, ...request }, 'here', 0)
  await runJob(job, {
    redundant,
    objects: objects as unknown as JobRunOptions['objects'],
    storage: holding(value ?? versionOf(1)),
    origin: undefined as never,
    signal: new AbortController().signal,
    beforeChange() {},
    now: () => 0,
  })
  return job
}

const base64 = (name: string) => keyOf(name).toString('base64')
const fails = async () => {
  throw new Error('The drive does not answer.')
}

t.test('what could not be checked is left, also by a dry run', async t => {
  for (const dryRun of [true, false]) {
    const job = await run({ dryRun }, { names: ['a', 'b'], heal: fails })
    t.match(job, { failed: 2, damaged: 0, left: { keys: [base64('a'), base64('b')], more: 0 } })
  }
  t.match(await run({ dryRun: true }, { names: ['a'] }), { damaged: 1, left: { keys: [], more: 0 } })
})

t.test('what is deleted is not left, and what could not be deleted is left once', async t => {
  const names = Array.from({ length: 203 }, (_, index) => String(index).padStart(3, '0'))
  const deleted = await run({ remove: true }, { names, removeLostVersion: async () => 'deleted' })
  t.match(deleted, { dangling: 203, removed: 203, left: { keys: [], more: 0 } })
  const kept = await run({ remove: true }, { names: ['a'], removeLostVersion: async () => 'kept' })
  t.match(kept.left, { keys: [base64('a')], more: 0 })
  for (const given of [{ removeLostVersion: fails }, { tellLostVersion: fails }]) {
    const job = await run({ remove: true }, { names: ['a'], ...given })
    t.match(job.left, { keys: [base64('a')], more: 0 })
  }
})

t.test('what is left counts while its data are those that the job has seen', async t => {
  const left = await run({}, { names: ['a'], value: versionOf(7) })
  t.equal(await countLeft(left, holding(versionOf(7))), 1)
  t.equal(await countLeft(left, holding(versionOf(7, new Map([['color', 'red']])))), 1, 'also with other tags')
  t.equal(await countLeft(left, holding(versionOf(8))), 0, 'uploaded again')
  t.equal(await countLeft(left, holding(undefined)), 0)
  const { digests, ...older } = left.left!
  t.equal(digests?.length, 1)
  t.equal(await countLeft({ ...left, left: older }, holding(versionOf(8))), 1, 'of a job that did not keep it')
})

t.test('a record that is none of an object counts while its value is the same', async t => {
  const key = Buffer.from([0xff, 0x01]).toString('base64')
  const job = newJob('1', {}, 'here', 0)
  addLeft(job, Buffer.from(key, 'base64'), Buffer.from('one'))
  t.match(job.left?.keys, [key])
  t.equal(await countLeft(job, holding(Buffer.from('one'))), 1)
  t.equal(await countLeft(job, holding(Buffer.from('two'))), 0)
})
