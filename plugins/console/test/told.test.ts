/** What the list of purges says of caches in front that have not taken them. */
import t from 'tap'
import { behindOf, toldOf } from '../web/src/pages/cache/told.ts'

const inFront = {
  id: 'cdn',
  domains: [] as string[],
  online: true,
  queued: 0,
  owesAll: false,
  lastError: '',
}
const failing = { ...inFront, online: false, queued: 1, lastError: 'It answered 403.' }
const request = { paths: ['/a.html'], patterns: [], tags: [], all: false }
const purged = { state: 'completed', request } as const
const done = { text: 'done', is: 'good' }
const doneHere = { text: 'done in this cache', is: 'poor' }

t.test('a cache in front is behind where it fails and something waits for it', async t => {
  t.same(behindOf([inFront, failing]), [failing])
  t.same(behindOf([{ ...failing, queued: 0 }]), [], 'a test has failed')
  t.equal(behindOf([{ ...failing, queued: 0, owesAll: true }]).length, 1)
  t.equal(behindOf([{ ...inFront, owesAll: true }]).length, 1, 'it takes the rest')
  t.same(behindOf([{ ...inFront, queued: 1 }]), [], 'it is being told')
})

t.test('a purge is done in this cache alone while one in front fails', async t => {
  t.same(toldOf(purged, [inFront]), done)
  t.same(toldOf(purged, []), done)
  t.same(toldOf(purged, [inFront, failing]), doneHere)
  t.same(toldOf(purged, undefined), { ...doneHere, is: 'good' }, 'it is not known what is in front')
  t.same(toldOf(purged, [{ ...failing, queued: 0 }]), done, 'a test has failed')
  t.same(toldOf(purged, [{ ...inFront, queued: 2 }]), done, 'on its way')
  t.match(toldOf({ ...purged, state: 'in-progress' }, [failing]), { text: 'in progress', is: 'poor' })
  t.match(toldOf({ ...purged, state: 'failed' }, [failing]), { text: 'failed', is: 'bad' })
})

t.test('a cache in front of other domains is not told of it', async t => {
  const toldTo = (domains: string[], selected: object) =>
    toldOf({ ...purged, request: { ...request, ...selected } }, [{ ...failing, domains }])
  const shop = { domain: 'shop.example.test', paths: [] }
  t.same(toldTo(['www.example.test'], shop), done)
  t.same(toldTo(['shop.example.test'], shop), doneHere)
  t.same(toldTo(['*.example.test'], shop), doneHere)
  t.same(toldTo(['www.example.test'], {}), doneHere, 'a path of every domain')
  t.same(toldTo(['www.example.test'], { ...shop, tags: ['x'] }), doneHere, 'tags are purged on every domain')
  t.same(toldTo(['www.example.test'], { ...shop, paths: ['https://www.example.test/a'] }), doneHere)
  t.same(toldTo(['www.example.test'], { ...shop, paths: ['/a'] }), done)
  t.same(toldTo(['www.example.test'], { paths: [], all: true }), doneHere)
  const urls = { paths: ['https://shop.example.test/a.html'] }
  t.same(toldTo(['www.example.test'], urls), done)
  t.same(toldTo(['www.example.test'], { ...urls, tags: ['x'] }), doneHere)
})
