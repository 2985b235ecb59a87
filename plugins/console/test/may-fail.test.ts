/** What the page of drives says of how many drives of a set may still fail. */
import t from 'tap'
import { areFolders, isShared, mayFailOf, spareText } from '../web/src/pages/operate/may-fail.ts'

const shared = 'Drives of this set share a file system: how many may fail without loss depends on which.'
const set = { drives: 4, offline: 0, healing: 0, state: 'ok' } as const
const pool = { parity: 2 }
const textOf = (more: object, missing: object = {}, leastParity = 2) =>
  mayFailOf({
    pool,
    set: { ...set, leastParity, ...missing },
    redundancy: { isFull: true, hasFoundDamage: false, failingRecords: 0 },
    isShared: false,
    ...more,
  })?.text
const offline = (count: number) => ({ offline: count, state: 'degraded' })

t.test('how many drives may fail, where each has a disk of its own', async t => {
  t.equal(textOf({}), 'Any 2 drives of this set may fail at a time without loss.')
  t.equal(textOf({}, offline(1)), '1 more drive of this set may fail without loss.')
  t.match(textOf({}, {}, 1), /Any 2 drives .* Objects of the class REDUCED_REDUNDANCY bear the loss of 1\.$/)
  t.match(textOf({}, offline(1), 1), /REDUCED_REDUNDANCY bear the loss of none\.$/)
  t.match(textOf({}, offline(2), 1), /^No other drive .* REDUCED_REDUNDANCY have parity/)
  t.match(textOf({}, offline(3)), /^More drives of this set are offline or being rebuilt than it has parity/)
  t.equal(textOf({ redundancy: { isFull: false, hasFoundDamage: false, failingRecords: 0 } }), undefined)
  t.match(textOf({ pool: { parity: 0 } }), /^No parity/)
  t.equal(mayFailOf({ pool, set: { ...set, ...offline(2) }, isShared: false } as never)!.isGrave, true)
})

t.test('no number is said where damage was found besides', async t => {
  const without = { isFull: false, hasFoundDamage: false, failingRecords: 0 }
  const damaged = /^What was found damaged in this set may not bear the loss of another drive/
  t.equal(textOf({ redundancy: without }, offline(1)), '1 more drive of this set may fail without loss.')
  t.match(textOf({ redundancy: { ...without, hasFoundDamage: true } }, offline(1)), damaged)
  t.match(textOf({ redundancy: { ...without, failingRecords: 1 } }, offline(1)), damaged)
  t.match(textOf({ redundancy: { ...without, hasFoundDamage: true } }, offline(2)), /^No other drive/)
  const spare = { spare: 1, least: 1, drive: 'rebuilt', isShared: false, isWeak: true } as const
  t.match(spareText(spare), /^What was found damaged .* Wait until this one is rebuilt/)
  t.match(spareText({ ...spare, spare: 0, least: 0 }), /^No other drive/)
  t.match(
    spareText({ ...spare, least: -1 }),
    /^More drives .* REDUCED_REDUNDANCY have parity\. .* What was found damaged/,
  )
  t.match(
    textOf({ redundancy: { ...without, hasFoundDamage: true } }, offline(1), 0),
    /^What was found damaged .* More drives of this set .* REDUCED_REDUNDANCY have parity/,
  )
  const away = { ...spare, drive: 'away' } as const
  t.match(spareText(away), /^What was found damaged in this set may need what is on this drive: bring it back as it is/)
  t.match(spareText({ ...away, spare: 0, least: 0 }), /^No other drive .* may need what is on this drive/)
  for (const left of [1, 0]) {
    const works = { ...spare, spare: left, least: left, drive: 'works' } as const
    t.match(spareText(works), /may need what is on this one: heal it first/, 'a drive that works')
  }
})

t.test('no number is said where drives share a file system', async t => {
  t.equal(textOf({ isShared: true }), shared)
  t.equal(textOf({ isShared: true }, offline(1)), shared)
  t.equal(textOf({ isShared: true }, {}, 1), shared)
  t.equal(
    textOf({ isShared: true }, offline(1), 1),
    `${shared} Objects of the class REDUCED_REDUNDANCY bear the loss of none.`,
  )
  t.match(textOf({ isShared: true }, offline(2)), /^No other drive of this set may fail meanwhile/)
  const drives = (...fileSystems: (number | undefined)[]) =>
    fileSystems.map(fileSystem => ({ ...(fileSystem !== undefined && { fileSystem }) }))
  t.equal(isShared(drives(0, 0, 1)), true)
  t.equal(isShared(drives(0, 1)), false, 'each with a drive of another set')
  t.equal(isShared(drives(undefined, undefined)), false, 'nobody knows')
  t.equal(areFolders(drives(0, undefined, 0)), true, 'whatever the one is that is away')
  t.equal(areFolders(drives(0, 0, 1)), false, 'some have a file system of their own')
  t.equal(areFolders(drives(0, undefined)), false, 'one alone may be a file system')
})

t.test('while a drive is replaced', async t => {
  const spare = { spare: 1, least: 1, drive: 'away', isShared: false, isWeak: false } as const
  t.match(spareText(spare), /^1 more drive of this set may fail without loss\. Wait until/)
  t.match(spareText({ ...spare, isShared: true }), `${shared} Wait until`)
  // Whether there are objects with less is not known: what can be borne is told as the overview and the list of drives tell it.
  t.match(
    spareText({ ...spare, least: 0 }),
    /^1 more drive of this set may fail without loss\. Wait .* REDUCED_REDUNDANCY bear the loss of none\.$/,
  )
  t.match(
    spareText({ ...spare, least: 0, isShared: true }),
    new RegExp(`^${shared} Wait .* REDUCED_REDUNDANCY bear the loss of none\\.$`),
  )
  t.match(spareText({ ...spare, spare: 2, isShared: true }), new RegExp(`^${shared} Wait [^.]*\\.$`))
  t.match(spareText({ ...spare, spare: -1, least: -1, isShared: true }), /^More drives of this set are offline/)
})
