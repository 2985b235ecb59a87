/** The line of the overview that says whether what is stored is safe. */
import t from 'tap'
import { namesOfDrives } from '../web/src/pages/overview/drive-names.ts'
import { healthOf } from '../web/src/pages/overview/health.ts'

type ServerInfo = Parameters<typeof healthOf>[0]
type Redundancy = NonNullable<Parameters<typeof healthOf>[1]>

/** One set of as many drives; `lost`: slots. */
function infoOf(
  count: number,
  parity: number,
  state: string,
  lost: readonly number[] = [],
  healing = 0,
  { reducedParity = parity, leastParity = parity, sharesFileSystem = false, lostState = 'faulty' } = {},
): ServerInfo {
  const disks = Array.from({ length: count }, (_, index) => ({
    path: `/data/d${index + 1}`,
    state: lost.includes(index) ? lostState : 'online',
    sharesFileSystem,
    error: lost.includes(index) ? 'ENOENT' : '',
    healing: index < healing,
  }))
  const counts = { drives: count, online: count - lost.length, offline: lost.length, healing }
  const set = { index: 0, state, ...counts, leastParity }
  return {
    nodes: [{ disks }],
    pools: [{ index: 0, parity, reducedParity, erasureSets: [set] }],
  } as unknown as ServerInfo
}

const ledger = (given: Partial<Redundancy> = {}) =>
  ({
    isFull: true,
    hasFoundDamage: false,
    belowRecords: 0,
    belowBytes: 0,
    failingRecords: 0,
    lostRecords: 0,
    summary: 'All.',
    ...given,
  }) as Redundancy

t.test('all is well', async t => {
  t.same(healthOf(infoOf(4, 2, 'ok'), ledger(), true), {
    color: 'teal',
    text: 'Everything is stored with full redundancy; any 2 drives may fail.',
    findings: [],
  })
  const { color, text } = healthOf(infoOf(4, 2, 'ok'), undefined, true)
  t.same([color, text.slice(0, 37)], ['blue', 'All drives work. The server does not '])
})

t.test('without redundancy nothing is green', async t => {
  const { color, text } = healthOf(infoOf(1, 0, 'ok'), undefined, true)
  t.same([color, text], ['blue', 'All drives work. Keep a backup: a drive that fails takes its data along.'])
  const failed = healthOf(infoOf(1, 0, 'unavailable', [0]), undefined, true)
  t.equal(failed.text, 'Drive d1 has failed. Some of what is stored may be out of reach now.')
  t.match(failed.findings[1], { text: 'Set 1 of pool 1 is unavailable' })
})

t.test('a drive that failed is named, with how many more may fail, and what to do', async t => {
  const below = ledger({ isFull: false, belowRecords: 4, belowBytes: 1024 })
  const { color, text, findings } = healthOf(infoOf(4, 2, 'degraded', [2]), below, true)
  t.equal(color, 'red')
  t.equal(text, 'Drive d3 has failed. Everything can be read and written; 1 more drive may fail.')
  t.match(findings, [
    {
      text: '/data/d3 is faulty',
      details: 'ENOENT',
      link: { to: '/drives', search: { replace: '/data/d3' }, label: 'Replace d3' },
    },
    { text: /^4 versions and parts .* is repaired/, link: { to: '/healing' } },
  ])
  t.equal(healthOf(infoOf(4, 2, 'degraded', [2]), below, false).findings[1]!.link, undefined)
  t.equal(
    healthOf(infoOf(4, 2, 'read_only', [1, 2]), below, true).text,
    '2 drives have failed. Everything can be read, and not everything can be written; no other drive may fail.',
  )
})

t.test('where a set of large bodies alone takes no writes, others take them', async t => {
  const first = infoOf(4, 2, 'ok')
  const second = infoOf(2, 1, 'read_only', [0])
  const both = {
    nodes: [...first.nodes, ...second.nodes],
    pools: [...first.pools, { ...second.pools[0]!, index: 1 }],
  } as unknown as ServerInfo
  const { color, text, findings } = healthOf(both, ledger({ isFull: false }), true)
  t.equal(color, 'red')
  t.match(text, /Everything can be read and written; no other drive may fail\.$/)
  t.ok(findings.some(({ text }) => /^Set 1 of pool 2 /.test(text)))
})

t.test('no number of drives is promised where it may be another one', async t => {
  const missing = ledger({ isFull: false, belowRecords: 1, summary: 'Something.' })
  const lessened = healthOf(infoOf(4, 2, 'ok'), missing, true)
  t.same([lessened.color, lessened.text], ['orange', 'All drives work. Not everything is stored with full redundancy.'])
  const rebuilt = healthOf(infoOf(4, 2, 'ok', [], 1), missing, true)
  t.same([rebuilt.color, rebuilt.text], ['orange', 'Everything can be read and written; 1 more drive may fail.'])
  const lost = healthOf(infoOf(4, 2, 'ok'), ledger({ isFull: false, belowRecords: 2, failingRecords: 1 }), true)
  t.same([lost.color, lost.text], ['red', 'Some of what is stored may be lost.'])
  const found = ledger({ isFull: false, lostRecords: 2, summary: 'Found 3. 2 of them are lost.' })
  const looked = healthOf(infoOf(4, 2, 'ok'), found, true)
  t.same([looked.color, looked.text], ['red', 'Some of what is stored may be lost.'])
  t.same(
    looked.findings.map(({ text }) => text),
    ['Found 3. 2 of them are lost.'],
  )
  const beside = healthOf(infoOf(4, 2, 'ok', [], 1), found, true).findings.map(({ text }) => text)
  t.match(beside, [
    /^A dry run has found up to 2 versions and parts that are lost: a heal job lists them\.$/,
    /rebuilt$/,
  ])
  t.equal(
    healthOf(infoOf(4, 2, 'read_only', [2, 3], 1), missing, true).text,
    '2 drives have failed. Some of what is stored may be out of reach now.',
  )
})

t.test('damage that was found is told also while a drive is rebuilt, which alone is told once', async t => {
  const rebuilding = { isFull: false, summary: '1 of 4 drives is being rebuilt.' }
  const textsOf = (given: Partial<Redundancy>) =>
    healthOf(infoOf(4, 2, 'ok', [], 1), ledger({ ...rebuilding, ...given }), true).findings.map(({ text }) => text)
  t.same(textsOf({}), ['/data/d1 is being rebuilt'])
  const summary = `${rebuilding.summary} A dry run has found 2 versions and parts with missing or corrupt shards.`
  t.same(textsOf({ hasFoundDamage: true, summary }), [summary, '/data/d1 is being rebuilt'])
})

t.test('of damage that was found no number of drives is promised while one is away', async t => {
  const summary =
    '1 of 4 drives cannot be read. A dry run has found 4 versions and parts with missing or corrupt shards.'
  const found = ledger({ isFull: false, hasFoundDamage: true, belowRecords: 4, summary })
  const { color, text, findings } = healthOf(infoOf(4, 2, 'degraded', [0]), found, true)
  t.equal(color, 'red')
  t.equal(
    text,
    'Drive d1 has failed. What was found damaged may be out of reach now. Everything else can be read and written.',
  )
  t.equal(findings[1]!.text, summary)
  t.match(healthOf(infoOf(4, 2, 'read_only', [0, 1]), found, true).text, /and not all can be written\.$/)
})

t.test('objects with less parity, and drives of one file system, are not promised what others are', async t => {
  const reduced = { reducedParity: 1, leastParity: 1 }
  t.match(healthOf(infoOf(4, 2, 'ok', [], 0, reduced), ledger(), true), {
    color: 'teal',
    text: 'Everything is stored with full redundancy; any 2 drives may fail (objects of the class REDUCED_REDUNDANCY: 1).',
  })
  const textOf = (lost: number[], state: string, more: object) =>
    healthOf(infoOf(4, 2, state, lost, 0, more), ledger({ isFull: false }), true).text
  t.equal(
    textOf([0], 'degraded', reduced),
    'Drive d1 has failed. Everything can be read and written; 1 more drive may fail (objects of the class REDUCED_REDUNDANCY: none).',
  )
  t.match(textOf([0, 1], 'read_only', reduced), /^2 drives have failed. Objects of the class REDUCED_REDUNDANCY, if/)
  // What was written before the parity of new objects was raised still has less.
  const raised = { reducedParity: 2, leastParity: 0 }
  t.match(healthOf(infoOf(4, 2, 'ok', [], 0, raised), ledger(), true), {
    color: 'teal',
    text: 'Everything is stored with full redundancy; any 2 drives may fail (objects of the class REDUCED_REDUNDANCY: none).',
  })
  t.match(textOf([0], 'degraded', raised), /^Drive d1 has failed. Objects of the class REDUCED_REDUNDANCY, if/)
  t.equal(
    textOf([0], 'degraded', { sharesFileSystem: true, lostState: 'offline' }),
    'Drive d1 is offline. Everything can be read and written now.',
  )
  const shared = healthOf(infoOf(4, 2, 'ok', [], 0, { sharesFileSystem: true }), ledger(), true)
  t.same(
    [shared.color, shared.text.slice(0, 60)],
    ['orange', 'Everything is stored with full redundancy, but several drive'],
  )
  const lost = ledger({ isFull: false, failingRecords: 1 })
  const unwritten = healthOf(infoOf(4, 2, 'read_only', [0, 1]), lost, true)
  t.match(unwritten.text, /^2 drives have failed. Some of what is stored may be lost/)
  t.ok(
    unwritten.findings.some(({ text }) => /^Set 1 of pool 1 /.test(text)),
    'and that it takes no writes',
  )
})

t.test('names of drives', async t => {
  t.same([...namesOfDrives([{ path: '/mnt/a' }, { path: '/mnt/b' }]).values()], ['a', 'b'])
  const alike = [{ path: '/a/data' }, { path: '/b/data' }]
  t.same([...namesOfDrives(alike).values()], ['/a/data', '/b/data'])
})
