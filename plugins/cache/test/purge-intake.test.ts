/** The purges that a thread knows after a start, if parts of the log are gone. */
import t from 'tap'
import { idOfNumber, type PurgeDocuments, type StoredPurge } from '../purge/documents.ts'
import { createPurgeIntake } from '../purge/intake.ts'
import { decodedPath } from '../purge/selection.ts'

t.test('paths are decoded, and a % that begins no escape stands for itself', async t => {
  for (const [given, path] of [
    ['/100%/%C3%BC.html?x=%', '/100%/ü.html'],
    ['/a%20b', '/a b'],
    ['/%E4/%25', '/%E4/%'],
  ] as const)
    t.equal(decodedPath(given), path, given)
})

const purgeOf = (path: string): StoredPurge => ({
  request: { paths: [path], patterns: [], tags: [], all: false, soft: false, actor: 'ann' },
  places: [{ path }],
  createdMs: 0,
  state: 'completed',
  nodes: [],
})

function logOf(numbers: readonly number[], head: number): PurgeDocuments {
  const documents = numbers.map(number => ({ id: idOfNumber(number), value: purgeOf(`/${number}`) }))
  return {
    purges: {
      list: async ({ startAfter = '', limit = 1000 } = {}) => ({
        documents: documents.filter(({ id }) => id > startAfter).slice(0, limit),
        next: undefined,
      }),
    },
    heads: { get: async () => ({ value: { number: head } }) },
  } as never
}

async function started(numbers: readonly number[], head: number) {
  const intake = createPurgeIntake(logOf(numbers, head), { error() {} } as never, key => key)
  await intake.start()
  const isDead = (path: string, readAt: number) =>
    intake.marks.find({ distribution: 'site', host: 'a.test', path, tags: [] }, readAt) !== undefined
  return { isDead, marks: intake.marks }
}

t.test('of a whole log each purge is known', async t => {
  const { isDead } = await started([5, 6, 7], 7)
  t.ok(isDead('/6', 5))
  t.notOk(isDead('/other', 5))
  t.ok(isDead('/other', 3), 'older than the log')
})

t.test('what was read before a purge that is gone from the log is dead, wherever the log lacks it', async t => {
  const inside = await started([5, 8], 8)
  t.ok(inside.isDead('/6', 5), '6 and 7 are gone')
  t.notOk(inside.isDead('/other', 7))
  t.ok(inside.isDead('/8', 7))
  const end = await started([5], 7)
  t.ok(end.isDead('/6', 5))
  t.notOk(end.isDead('/other', 7))
  t.equal(end.marks.sequence, 7)
})
