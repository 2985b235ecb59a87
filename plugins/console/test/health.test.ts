/** The line of the overview that says whether what is stored is safe. */
import t from 'tap'
import { namesOfDrives } from '../web/src/pages/overview/drive-names.ts'
import { healthOf } from '../web/src/pages/overview/health.ts'

type ServerInfo = Parameters<typeof healthOf>[0]
type Redundancy = NonNullable<Parameters<typeof healthOf>[1]>

/** One set of as many drives; `lost`: slots. */
function infoOf(count: number, parity: number, state: string, lost: readonly number[] = [], healing = 0): ServerInfo {
  const disks = Array.from({ length: count }, (_, index) => ({
    path: `/data/d${index + 1}`,
    state: lost.includes(index) ? 'faulty' : 'online',
    error: lost.includes(index) ? 'ENOENT' : '',
    healing: index < healing,
  }))
  const set = { index: 0, state, drives: count, online: count - lost.length, offline: lost.length, healing }
  return { nodes: [{ disks }], pools: [{ index: 0, parity, erasureSets: [set] }] } as unknown as ServerInfo
}

const ledger = (given: Partial<Redundancy> = {}) =>
  ({ isFull: true, belowRecords: 0, belowBytes: 0, failingRecords: 0, summary: 'All.', ...given }) as Redundancy

t.test('all is well', async t => {
  t.same(healthOf(infoOf(4, 2, 'ok'), ledger(), true), {
    color: 'teal',
    text: 'Everything is stored with full redundancy; any 2 drives may fail.',
    findings: [],
  })
  const { color, text } = healthOf(infoOf(4, 2, 'ok'), undefined, true)
  t.same([color, text.slice(0, 37)], ['teal', 'All drives work. The server does not '])
})

t.test('without redundancy nothing is green', async t => {
  const { color, text } = healthOf(infoOf(1, 0, 'ok'), undefined, true)
  t.same([color, text], ['blue', 'All drives work. Keep a backup: a drive that fails takes its data along.'])
  const failed = healthOf(infoOf(1, 0, 'unavailable', [0]), undefined, true)
  t.equal(failed.text, 'Drive d1 has failed. Some of what is stored may be out of reach now.')
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
    { text: /^4 objects .* is repaired/, link: { to: '/healing' } },
  ])
  t.equal(healthOf(infoOf(4, 2, 'degraded', [2]), below, false).findings[1]!.link, undefined)
  t.equal(
    healthOf(infoOf(4, 2, 'read_only', [1, 2]), below, true).text,
    '2 drives have failed. Everything can be read, and not everything can be written; no other drive may fail.',
  )
})

t.test('no number of drives is promised where it may be another one', async t => {
  const missing = ledger({ isFull: false, belowRecords: 1, summary: 'Something.' })
  const lessened = healthOf(infoOf(4, 2, 'ok'), missing, true)
  t.same([lessened.color, lessened.text], ['orange', 'All drives work. Not everything is stored with full redundancy.'])
  const rebuilt = healthOf(infoOf(4, 2, 'ok', [], 1), missing, true)
  t.same([rebuilt.color, rebuilt.text], ['orange', 'Everything can be read and written; 1 more drive may fail.'])
  const lost = healthOf(infoOf(4, 2, 'ok'), ledger({ isFull: false, belowRecords: 2, failingRecords: 1 }), true)
  t.same([lost.color, lost.text], ['red', 'Some of what is stored may be lost.'])
  t.equal(
    healthOf(infoOf(4, 2, 'read_only', [2, 3], 1), missing, true).text,
    '2 drives have failed. Some of what is stored may be out of reach now.',
  )
})

t.test('names of drives', async t => {
  t.same([...namesOfDrives([{ path: '/mnt/a' }, { path: '/mnt/b' }]).values()], ['a', 'b'])
  const alike = [{ path: '/a/data' }, { path: '/b/data' }]
  t.same([...namesOfDrives(alike).values()], ['/a/data', '/b/data'])
})
