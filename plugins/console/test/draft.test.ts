/** A distribution, or a cache policy, that is saved as it was read stays what it is, whether the console shows a field or not. */
import t from 'tap'
import { changedIn, draftOf as policyDraftOf, documentOf as policyOf } from '../web/src/pages/cache/fields.ts'
import { behaviorOf, type Distribution, documentOf, draftOf } from '../web/src/pages/distributions/draft.ts'

const cors = {
  allowedOrigins: ['https://a.test'],
  allowedMethods: ['GET'],
  allowedHeaders: ['x-a'],
  exposeHeaders: ['x-b'],
  maxAge: 60,
  allowCredentials: true,
}
const website = {
  id: 'site',
  enabled: true,
  comment: 'note',
  aliases: ['www.example.test'],
  origin: { bucket: 'site', pathPrefix: 'a/', versionPinning: true },
  mode: 'website',
  // Its key group is that of each signed behavior that names none.
  defaultBehavior: {
    access: 'public',
    indexDocument: 'index.html',
    spaFallback: 'app.html',
    signing: { keyGroup: 'one' },
  },
  behaviors: [
    { pathPattern: { type: 'prefix', pattern: '/a/', caseInsensitive: true }, access: 'signed' },
    // None of what the default has.
    {
      pathPattern: { type: 'prefix', pattern: '/b/' },
      indexDocument: '',
      spaFallback: '',
      cache: { cacheControl: '' },
      responseHeaders: {},
    },
    {
      pathPattern: { type: 'glob', pattern: '/*.pdf' },
      access: 'authenticated',
      allowedMethods: ['GET', 'HEAD'],
      cache: { cacheControl: 'no-cache' },
      signing: { keyGroup: 'two' },
      responseHeaders: { 'x-a': 'b' },
      cors,
    },
  ],
  errorPages: [{ status: 404, path: '/404.html', responseStatus: 200 }],
  redirects: [{ from: '/a', to: '/b', hostFrom: 'www.example.test', toHost: 'b.test', httpsOnly: true, status: 308 }],
  headers: { preset: 'strict', response: { 'x-c': 'd' }, cors },
  restrictions: {
    sourceIp: { allow: ['192.0.2.0/24'], deny: ['192.0.2.7'] },
    originSecretHeader: { name: 'X-Origin', values: ['*REDACTED*'] },
    rateLimit: { requestsPerSecond: 10, burst: 20, per: 'distribution' },
  },
  tls: { certificate: 'auto', challenge: 'dns-01', dnsProvider: 'zone' },
  logging: { accessLog: true, format: 'combined', target: 'logs' },
}
const endpoint = {
  id: 'endpoint',
  enabled: true,
  comment: '',
  aliases: ['s3.example.test'],
  origin: { bucket: 'site', pathPrefix: '', versionPinning: false },
  mode: 's3',
  defaultBehavior: { access: 'authenticated' },
  behaviors: [],
  errorPages: [],
  redirects: [],
  headers: {},
  restrictions: {},
  tls: { certificate: 'none' },
  logging: {},
}

t.test('a website and an S3 endpoint', async t => {
  for (const stored of [website, endpoint]) {
    const read = { ...stored, createdAt: 'x', updatedAt: 'x', etag: 'x', warnings: ['x'] } as unknown as Distribution
    t.match(documentOf(draftOf(read)), stored, stored.id)
    t.same(documentOf(draftOf(read)).behaviors, stored.behaviors, 'and nothing more that would not be inherited')
  }
})

t.test('a value that is typed for the header of a proxy replaces those that are stored', async t => {
  const draft = draftOf(website as unknown as Distribution)
  const typed = (value: string) => {
    const { restrictions } = draft
    const originSecretHeader = { ...restrictions.originSecretHeader, value }
    return documentOf({ ...draft, restrictions: { ...restrictions, originSecretHeader } }).restrictions
  }
  t.same(typed('a-new-value').originSecretHeader, { name: 'X-Origin', value: 'a-new-value' })
  t.same(typed('').originSecretHeader, website.restrictions.originSecretHeader, 'typed and taken back')
})

t.test('a row for a header in which nothing is typed keeps the headers of the default', async t => {
  const draft = draftOf({ ...website, behaviors: [] } as unknown as Distribution)
  const behavior = { ...behaviorOf(), pathPattern: { type: 'prefix', pattern: '/c/' } as const }
  const blank = { ...behavior, responseHeaders: [['', '']] as const }
  const { pathPattern } = behavior
  t.same(documentOf({ ...draft, behaviors: [behavior, blank] }).behaviors, [{ pathPattern }, { pathPattern }])
})

t.test('the folder of a distribution is meant as keys are written', async t => {
  const draft = draftOf(website as unknown as Distribution)
  const origin = { ...draft.origin, pathPrefix: '/a' }
  t.same(documentOf({ ...draft, origin }), documentOf(draft))
})

t.test('fields of the cache that are empty, and those that are inherited', async t => {
  const stored = { browserCacheControl: '', bypass: { cookies: [] }, rangeCaching: { enabled: false } }
  t.same(policyOf(policyDraftOf(stored)), stored)
  t.equal(changedIn(policyDraftOf(stored), 'freshness'), 1)
  t.same(policyOf(policyDraftOf({})), {})
  t.equal(changedIn(policyDraftOf({}), 'freshness'), 0)
})
