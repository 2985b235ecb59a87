/** What the list of targets and the rules of a bucket call the state of a target. */
import t from 'tap'
import { wordOf } from '../web/src/pages/events/target-word.ts'

const works = { enabled: true, online: true, pendingEvents: 0, lastSuccessAt: '2026-11-30T12:00:00.000Z' }
const failed = { ...works, online: false, lastErrorAt: '2026-11-30T12:01:00.000Z' }

t.test('the state of a target in a word', async t => {
  for (const [what, target, expected] of [
    ['one that works', works, 'online'],
    ['before the first delivery', { enabled: true, online: true }, 'not tried yet'],
    ['what was refused does not wait', failed, 'last delivery failed'],
    ['events wait', { ...failed, pendingEvents: 1 }, 'offline'],
    ['records of the audit wait', { ...failed, pendingRecords: 1 }, 'offline'],
    ['nothing could be sent', { enabled: true, online: false }, 'offline'],
    ['switched off, whatever became of it', { ...failed, enabled: false }, 'disabled'],
  ] as const) {
    t.equal(wordOf(target).text, expected, what)
  }
})
