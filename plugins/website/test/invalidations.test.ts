/** What plugins with caches in front of the server hear of changes and purges. */
import { DeleteObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import { definePlugin } from 'svc/kernel'
import type { Invalidation } from 'svc/plugins/cache/api'
import t from 'tap'
import { startSite } from './site.ts'

t.test('changes are told in their commits, purges before they are acknowledged', async t => {
  const changed: Invalidation[] = []
  const requested: Invalidation[] = []
  let isFailing = false
  const front = definePlugin({
    name: 'front',
    version: '0.1.0',
    optional: ['cache'],
    setup({ contribute }) {
      contribute('cache.invalidation', 'front', {
        wants: distribution => distribution === 'site',
        changed(_tx, invalidation) {
          if (isFailing) throw new Error('the queue is broken')
          changed.push(invalidation)
        },
        requested: invalidation => void requested.push(invalidation),
      })
      return {}
    },
  })
  const server = await startSite({ plugins: [front] })
  t.teardown(() => server.stop())
  await server.put('pages', { 'www/old.txt': 'old' })
  const origin = { bucket: 'pages', pathPrefix: 'www/' }
  await server.publish({
    id: 'site',
    aliases: ['www.example.test'],
    origin,
    defaultBehavior: { indexDocument: 'index.html' },
  })
  await server.publish({ id: 'other', aliases: ['other.example.test'], origin: { bucket: 'pages' } })
  const put = (Key: string) => server.s3.send(new PutObjectCommand({ Bucket: 'pages', Key, Body: Key }))
  // The table of distributions follows a moment later.
  while (changed.length === 0) await put('www/first.txt')
  changed.length = 0

  await put('www/docs/index.html')
  await put('elsewhere.txt')
  await server.s3.send(new DeleteObjectCommand({ Bucket: 'pages', Key: 'www/old.txt' }))
  t.match(changed, [
    { id: '', distribution: 'site', kind: 'path', items: ['/docs/index.html', '/docs/', '/docs'], isSoft: false },
    { id: '', distribution: 'site', kind: 'path', items: ['/old.txt'] },
  ])
  t.equal(changed.length, 2)

  isFailing = true
  await t.rejects(put('www/refused.txt'), 'a subscriber that throws rolls the change back')
  isFailing = false
  t.equal((await server.get('/refused.txt')).status, 404)

  const body = { paths: ['/a'], patterns: [{ type: 'glob', pattern: '/b/*' }], tags: ['c'], soft: true }
  const { json } = await server.signed({ method: 'POST', path: '/api/v1/distributions/site/invalidations', body })
  t.match(requested, [
    { id: json.id, distribution: 'site', kind: 'path', items: ['/a'], isSoft: true },
    { id: json.id, kind: 'glob', items: ['/b/*'] },
    { id: json.id, kind: 'tag', items: ['c'] },
  ])
})
