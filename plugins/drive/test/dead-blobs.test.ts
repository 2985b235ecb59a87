/** When the files of blobs without references are deleted, and when a set is asked first. */
import { createFakeClock, type FakeClock } from 'svc/testing'
import t from 'tap'
import { BlobMarks, blobMarksBytes } from '../blob-marks.ts'
import { DeadBlobs } from '../dead-blobs.ts'

const readWindowMs = 5000
/** The window, and the sweep after it. */
const pastWindowMs = readWindowMs + 500

interface Dead {
  readonly clock: FakeClock
  readonly blobs: DeadBlobs
  readonly marks: BlobMarks
  readonly pinned: Set<string>
  readonly referenced: Set<string>
  /** What the set says: see `Outlook`. */
  readonly outlook: { afterMs: number; beforeMs: number; term: number }
  /** Blobs that the set was asked about, with what answers. */
  readonly questions: { readonly id: string; answer(isNeeded: boolean): void; fail(): void }[]
  /** Deletions that were begun and have not ended, with what ends them. */
  readonly removing: { readonly id: string; end(): void }[]
  /** Blobs whose deletion was cancelled or waited for. */
  readonly kept: string[]
  removed(): string[]
}

/** `isComplete`: the drive has every change, so that the set need not be asked. */
function dead(isComplete = true): Dead {
  const clock = createFakeClock()
  const marks = new BlobMarks(new ArrayBuffer(blobMarksBytes))
  const pinned = new Set<string>()
  const referenced = new Set<string>()
  const outlook = { afterMs: Number.NEGATIVE_INFINITY, beforeMs: Number.POSITIVE_INFINITY, term: 1 }
  const questions: Dead['questions'] = []
  const removing: Dead['removing'] = []
  const kept: string[] = []
  const blobs = new DeadBlobs({
    clock,
    readWindowMs,
    finality: {
      look: () => ({ ...outlook }),
      isNeeded(id) {
        if (isComplete) return false
        return new Promise((answer, reject) => {
          questions.push({ id, answer, fail: () => reject(new Error('no leader')) })
        })
      },
    },
    isPinned: id => pinned.has(id),
    isReferenced: id => referenced.has(id),
    remove(ids, onDone) {
      for (const id of ids) removing.push({ id, end: () => onDone(id) })
    },
    async keep(id) {
      kept.push(id)
    },
    marks,
  })
  const removed = () => removing.map(({ id }) => id)
  return { clock, blobs, marks, pinned, referenced, outlook, questions, removing, kept, removed }
}

t.test('a blob is deleted once nobody who has read its record can still read it', async t => {
  const { clock, blobs, marks, removing, removed } = dead()
  blobs.add(['a'])
  await clock.advance(readWindowMs)
  t.same(removed(), [], 'not within the window')
  t.ok(blobs.has('a'))
  await clock.advance(500)
  t.same(removed(), ['a'])
  t.equal(blobs.count, 0)
  t.ok(blobs.has('a') && marks.mayBeDying('a'), 'its file may still be there')
  removing[0]!.end()
  t.notOk(blobs.has('a') || marks.mayBeDying('a'))
  t.equal(clock.pending(), 0, 'no timer is left')
})

t.test('a blob stays while anybody has it pinned', async t => {
  const { clock, blobs, pinned, removed } = dead()
  pinned.add('a')
  blobs.add(['a', 'b'])
  await clock.advance(60_000)
  t.same(removed(), ['b'])
  pinned.delete('a')
  await clock.advance(1500)
  t.same(removed(), ['b', 'a'])
})

t.test('a blob that has a reference again, or is written anew, is forgotten', async t => {
  const { clock, blobs, marks, referenced, removed, kept } = dead()
  blobs.add(['a', 'b', 'c'])
  referenced.add('a')
  await blobs.spare('b')
  t.notOk(blobs.has('b') || marks.mayBeDying('b'))
  await clock.advance(pastWindowMs)
  t.same(removed(), ['c'])
  t.notOk(blobs.has('a') || marks.mayBeDying('a'))
  await blobs.spare('c')
  t.same(kept, ['b', 'c'], 'a file that goes, or of an earlier death may go, is kept or waited for')
  t.notOk(blobs.has('c') || marks.mayBeDying('c'))
})

t.test('a blob that dies again waits for the whole window', async t => {
  const { clock, blobs, removed } = dead()
  blobs.add(['a'])
  await clock.advance(4000)
  blobs.add(['a'])
  t.equal(blobs.count, 1)
  await clock.advance(4000)
  t.same(removed(), [])
  await clock.advance(1500)
  t.same(removed(), ['a'])
})

t.test('a blob that dies again while its file goes', async t => {
  const { clock, blobs, marks, kept, removing, removed } = dead()
  blobs.add(['a'])
  await clock.advance(pastWindowMs)
  t.same(removed(), ['a'])
  blobs.add(['a'])
  t.same(kept, ['a'], 'a deletion that has not begun is cancelled')
  t.equal(blobs.count, 1)
  await clock.advance(4000)
  t.same(removed(), ['a'], 'the window begins anew')
  await clock.advance(1500)
  t.same(removed(), ['a', 'a'])
  // The first could not be cancelled any more, and took long.
  removing[0]!.end()
  t.ok(blobs.has('a') && marks.mayBeDying('a'), 'the end of the first is not that of the second')
  removing[1]!.end()
  t.notOk(blobs.has('a') || marks.mayBeDying('a'), 'and it is settled once')
})

t.test('what may be undone keeps its blobs', async t => {
  const { clock, blobs, outlook, removed } = dead()
  blobs.add(['a'])
  await clock.advance(1000)
  outlook.beforeMs = 1000
  blobs.add(['b'])
  await clock.advance(60_000)
  t.same(removed(), ['a'], 'the other one died when the change was begun, or later')
  outlook.beforeMs = 1001
  await clock.advance(250)
  t.same(removed(), ['a', 'b'])
})

t.test('what a drive did before it came back keeps its blobs until the drive has caught up', async t => {
  const { clock, blobs, outlook, removed } = dead()
  blobs.add(['a'])
  await clock.advance(1000)
  outlook.afterMs = 0
  blobs.add(['b'])
  await clock.advance(60_000)
  t.same(removed(), ['b'], 'those behind it do not wait for it')
  outlook.afterMs = Number.NEGATIVE_INFINITY
  await clock.advance(250)
  t.same(removed(), ['b', 'a'])
})

t.test('a drive that lacks changes asks the set', async t => {
  const { clock, blobs, marks, outlook, questions, removed } = dead(false)
  blobs.add(['needed', 'unneeded', 'unknown'])
  await clock.advance(pastWindowMs)
  t.same(
    questions.map(({ id }) => id),
    ['needed', 'unneeded', 'unknown'],
  )
  await clock.advance(60_000)
  t.equal(questions.length, 3, 'once')
  t.equal(blobs.count, 3)
  // A change was under way when it was asked, and may have been unknown to the one that answers.
  outlook.beforeMs = readWindowMs
  questions[0]!.answer(true)
  questions[1]!.answer(false)
  questions[2]!.fail()
  await clock.advance(1000)
  t.same(removed(), [])
  t.ok(['needed', 'unneeded', 'unknown'].every(id => blobs.has(id) && marks.mayBeDying(id)))
  outlook.beforeMs = Number.POSITIVE_INFINITY
  await clock.advance(250)
  t.same(removed(), ['unneeded'])
  await clock.advance(pastWindowMs)
  t.same(
    questions.slice(3).map(({ id }) => id),
    ['needed', 'unknown'],
    'about the others it is asked again',
  )
})

for (const when of ['before', 'after'] as const) {
  t.test(`an answer does not count when the leader of the set changes ${when} it comes`, async t => {
    const { clock, blobs, outlook, questions, removed } = dead(false)
    blobs.add(['a'])
    await clock.advance(pastWindowMs)
    if (when === 'before') outlook.term++
    else outlook.beforeMs = 1
    questions[0]!.answer(false)
    await clock.advance(500)
    if (when === 'after') outlook.term++
    outlook.beforeMs = Number.POSITIVE_INFINITY
    await clock.advance(pastWindowMs)
    t.same(removed(), [])
    t.equal(questions.length, 2, 'the new one is asked')
    questions[1]!.answer(false)
    await clock.advance(500)
    t.same(removed(), ['a'])
  })
}

t.test('an answer does not count for a blob that has died again, or was written anew', async t => {
  const { clock, blobs, marks, questions, removed } = dead(false)
  blobs.add(['again', 'anew'])
  await clock.advance(pastWindowMs)
  blobs.add(['again'])
  await blobs.spare('anew')
  for (const { answer } of questions) answer(false)
  await clock.advance(1000)
  t.same(removed(), [])
  t.ok(blobs.has('again'))
  t.notOk(blobs.has('anew') || marks.mayBeDying('anew'))
  await clock.advance(pastWindowMs)
  t.same(questions.map(({ id }) => id).slice(2), ['again'])
  questions[2]!.answer(false)
  await clock.advance(500)
  t.same(removed(), ['again'])
})

t.test('so many wait, and a sweep takes only some of them', async t => {
  const { clock, blobs, marks, removed } = dead()
  const ids = Array.from({ length: 200_000 }, (_, i) => `${i}`)
  blobs.add(ids)
  blobs.add(['one more', '0'])
  t.equal(blobs.count, 200_000)
  t.notOk(blobs.has('one more'), 'the clean-up after the next start deletes it')
  t.ok(blobs.has('0'), 'one that waits already may die again')
  await clock.advance(readWindowMs)
  t.same(removed(), [])
  await clock.advance(250)
  t.equal(removed().length, 4000)
  t.equal(blobs.count, 196_000)
  t.ok(marks.mayBeDying('1'))
  blobs.add(['one more'])
  t.ok(blobs.has('one more'), 'there is room again')
  await clock.advance(250)
  t.equal(removed().length, 8000)
  blobs.close()
  t.equal(clock.pending(), 0)
})

t.test('nothing is deleted after the end', async t => {
  const { clock, blobs, questions, removed } = dead(false)
  blobs.add(['a'])
  await clock.advance(pastWindowMs)
  blobs.close()
  questions[0]!.answer(false)
  blobs.add(['b'])
  await clock.advance(60_000)
  t.same(removed(), [])
  t.notOk(blobs.has('b'))
  t.equal(clock.pending(), 0)
})
