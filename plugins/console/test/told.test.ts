/** What the list of purges says of caches in front that have not taken them. */
import t from 'tap'
import { toldOf } from '../web/src/pages/cache/told.ts'

const inFront = { id: 'cdn', online: true, queued: 0, owesAll: false, lastError: '' }

t.test('a purge is done where all that is in front has taken it', async t => {
  t.same(toldOf('completed', []), { text: 'done', is: 'good', notes: [] })
  t.same(toldOf('completed', [inFront]), { text: 'done', is: 'good', notes: [] })
  t.equal(toldOf('completed', undefined).text, 'done in this cache', 'it is not known what is in front')
})

t.test('a purge that a cache in front refused, or has not got yet, is done in this cache alone', async t => {
  const refused = { ...inFront, online: false, queued: 1, lastError: 'It answered 403.' }
  t.same(toldOf('completed', [inFront, { ...refused, id: 'proxy' }]), {
    text: 'done in this cache',
    is: 'poor',
    notes: ['proxy has not taken every purge yet: It answered 403.'],
  })
  for (const one of [
    { ...inFront, queued: 1 },
    { ...inFront, owesAll: true },
  ]) {
    t.same(toldOf('completed', [one]).notes, ['cdn has not taken every purge yet.'])
  }
  t.match(toldOf('in-progress', [refused]), { text: 'in progress', is: 'poor' })
  t.match(toldOf('failed', [refused]), { text: 'failed', is: 'bad' })
})
