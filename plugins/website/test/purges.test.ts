/** Purges of websites: what they select, what they leave, and what their state says. */
import { PutObjectCommand } from '@aws-sdk/client-s3'
import t from 'tap'
import { startSite } from './site.ts'

const paths = ['/', '/docs/', '/docs/a.html', '/docs/deep/b.html', '/img/Logo.PNG', '/tagged.html', '/other.html']

t.test('purges', async t => {
  const server = await startSite()
  t.teardown(() => server.stop())
  await server.put('pages', {
    'index.html': 'home',
    'docs/index.html': 'docs',
    'docs/a.html': 'a',
    'docs/deep/b.html': 'b',
    'img/Logo.PNG': 'logo',
    'other.html': 'other',
  })
  const tagged = { Bucket: 'pages', Key: 'tagged.html', Body: 'tagged', Metadata: { 'cache-tag': 'home, news' } }
  await server.s3.send(new PutObjectCommand(tagged))
  const defaultBehavior = { indexDocument: 'index.html' }
  const aliases = ['www.example.test', 'en.example.test']
  await server.publish({ id: 'site', aliases, origin: { bucket: 'pages' }, defaultBehavior })
  await server.publish({ id: 'twin', aliases: ['twin.example.test'], origin: { bucket: 'pages' }, defaultBehavior })
  // With the host in the key, so that purges of one host can be told from those of the others.
  const perHost = await server.signed({
    method: 'PUT',
    path: '/api/v1/distributions/site/cache/settings',
    body: { cache: { cacheKey: { includeHost: true } } },
  })
  t.equal(perHost.status, 200, perHost.text)
  const places = paths.flatMap(path => [...aliases, 'twin.example.test'].map(host => [host, path] as const))
  const ask = async (host: string, path: string) => (await server.get(path, { host })).headers['x-cache']
  const warm = async () => {
    for (const [host, path] of places) {
      // Until a write before has settled its answers are read, and not cached.
      for (let tries = 0; tries < 500 && (await ask(host, path)) !== 'HIT'; tries++);
      t.equal(await ask(host, path), 'HIT', `${host}${path}`)
    }
  }
  const purge = async (path: string, body: object) => {
    const answer = await server.signed({ method: 'POST', path: `/api/v1${path}`, body })
    t.equal(answer.status, 202, answer.text)
    return answer.json.id as string
  }
  const ended = async (id: string) => {
    for (;;) {
      const { json } = await server.signed({ path: `/api/v1/cache/invalidations/${id}` })
      if (json.state !== 'in-progress') return json
      await new Promise(resolve => setTimeout(resolve, 10))
    }
  }
  const site = '/distributions/site/invalidations'
  const of = (host: string, ...selected: string[]) => selected.map(path => `${host}${path}`)
  const both = (...selected: string[]) => aliases.flatMap(host => of(host, ...selected))
  const cases: [string, string, object, string[]][] = [
    ['a path', site, { paths: ['/other.html'] }, both('/other.html')],
    ['a path with its query, encoded', site, { paths: ['/docs%2Fa.html?x=1'] }, both('/docs/a.html')],
    ['a folder has its index document', site, { paths: ['/docs/'] }, both('/docs/')],
    ['a URL is of one host', site, { paths: ['https://en.example.test/other.html'] }, of(aliases[1]!, '/other.html')],
    [
      'a prefix',
      site,
      { patterns: [{ type: 'prefix', pattern: '/docs' }] },
      both('/docs/', '/docs/a.html', '/docs/deep/b.html'),
    ],
    ['a glob', site, { patterns: [{ type: 'glob', pattern: '/docs/*.html' }] }, both('/docs/a.html')],
    [
      'a regex',
      site,
      { patterns: [{ type: 'regex', pattern: '/[ab]\\.html$' }] },
      both('/docs/a.html', '/docs/deep/b.html'),
    ],
    [
      'a pattern without regard to case',
      site,
      { patterns: [{ type: 'glob', pattern: '/img/*.png', caseInsensitive: true }] },
      both('/img/Logo.PNG'),
    ],
    ['a tag', site, { tags: ['news'] }, both('/tagged.html')],
    [
      'a tag of every distribution',
      '/cache/invalidations',
      { tags: ['home'] },
      [...both('/tagged.html'), ...of('twin.example.test', '/tagged.html')],
    ],
    ['a domain', site, { domain: 'en.example.test' }, of(aliases[1]!, ...paths)],
    ['a path of a domain', site, { domain: 'en.example.test', paths: ['/'] }, of(aliases[1]!, '/')],
    ['a whole distribution', site, { all: true }, both(...paths)],
    ['everything', '/cache/invalidations', { all: true }, places.map(([host, path]) => `${host}${path}`)],
  ]
  for (const [title, target, body, expected] of cases) {
    await t.test(title, async t => {
      await warm()
      const id = await purge(target, body)
      const missed: string[] = []
      for (const [host, path] of places) if ((await ask(host, path)) !== 'HIT') missed.push(`${host}${path}`)
      t.same(missed.sort(), [...expected].sort())
      const { state, nodes } = await ended(id)
      t.match({ state, nodes }, { state: 'completed', nodes: [{ state: 'done', at: /^20/ }] })
    })
  }

  await t.test('a dry run tells the number that a purge would remove, and removes nothing', async t => {
    await warm()
    const before = await server.signed({ path: '/api/v1/cache/invalidations' })
    for (const [title, target, body, expected] of cases) {
      const { status, json } = await server.signed({
        method: 'POST',
        path: `/api/v1${target}`,
        body: { ...body, dryRun: true },
      })
      t.equal(status, 202)
      t.match(json, { id: '', state: 'completed', removed: expected.length }, title)
    }
    for (const [host, path] of places) t.equal(await ask(host, path), 'HIT', `${host}${path}`)
    t.same((await server.signed({ path: '/api/v1/cache/invalidations' })).json, before.json, 'nothing is listed')
  })

  await t.test('the number of removed answers is told', async t => {
    await warm()
    const { removed } = await ended(await purge(site, { paths: ['/other.html'] }))
    t.equal(removed, 2)
  })

  await t.test('a soft purge lets answers expire: they are confirmed, not read', async t => {
    await warm()
    await purge(site, { soft: true, all: true })
    t.equal(await ask(aliases[0]!, '/other.html'), 'REVALIDATED')
    t.equal(await ask(aliases[0]!, '/other.html'), 'HIT')
    t.equal(await ask('twin.example.test', '/other.html'), 'HIT')
  })

  await t.test('what selects nothing, or is wrong, is refused with its place', async t => {
    for (const [body, detail] of [
      [{}, /selects nothing/],
      [{ all: true, tags: ['x'] }, /\/all excludes/],
      [{ paths: ['no-slash'] }, /\/paths\/0 must begin with \//],
      [{ patterns: [{ type: 'regex', pattern: '(' }] }, /\/patterns\/0\/pattern is no pattern of RE2/],
      [{ patterns: [{ type: 'prefix', pattern: '/%C3%BC/' }] }, /\/patterns\/0\/pattern .* write "\/ü\/"/],
      [{ domain: 'elsewhere.test' }, /\/domain is no domain of the distribution site/],
      [{ paths: ['https://elsewhere.test/'] }, /\/paths\/0 is at no domain/],
    ] as const) {
      const answer = await server.signed({ method: 'POST', path: `/api/v1${site}`, body })
      t.match(answer.json, { status: 400, code: 'invalid_cache_request', detail }, JSON.stringify(body))
    }
    t.equal((await server.signed({ path: '/api/v1/cache/invalidations/inv-999999' })).status, 404)
    const none = await server.signed({
      method: 'POST',
      path: '/api/v1/distributions/none/invalidations',
      body: { all: true },
    })
    t.equal(none.json.code, 'distribution_not_found')
  })

  await t.test('a purge of all distributions respects a denial on each that it may hit', async t => {
    await server.put('secret', { 'index.html': 'x' })
    await server.publish({ id: 'secret', aliases: ['*.secret.test', 'secd.test'], origin: { bucket: 'secret' } })
    const { users } = server.kernel.services
    const action = 'admin:InvalidateCache'
    const Statement = [
      { Effect: 'Allow', Action: action, Resource: '*' },
      { Effect: 'Deny', Action: action, Resource: 'arn:aws:s3:::secret' },
    ]
    await users.putPolicy('purges', { Version: '2012-10-17', Statement })
    await users.createUser({ accessKey: 'purger', secretKey: 'a-secret-of-purger', policyNames: ['purges'] })
    const purger = server.signedBy('purger', 'a-secret-of-purger')
    const answerTo = (body: object) =>
      purger({ method: 'POST', path: '/api/v1/cache/invalidations', body: { ...body, dryRun: true } })
    const status = async (body: object) => (await answerTo(body)).status
    const { detail } = (await answerTo({ all: true })).json
    t.equal(detail, `You may not do this: it needs the right ${action} for each bucket that this concerns.`)
    for (const denied of [
      { domain: 'secd.test', all: true },
      { domain: 'a.secret.test' },
      { domain: '*.secret.test' },
      { domain: '*.a.secret.test' },
      { domain: '*.test', patterns: [{ type: 'prefix', pattern: '/' }] },
      { all: true },
      { tags: ['x'] },
      { domain: 'www.example.test', tags: ['x'] },
      { paths: ['/other.html'] },
      { paths: ['https://www.example.test/', 'https://SECD.test/'] },
    ]) {
      t.equal(await status(denied), 403, JSON.stringify(denied))
    }
    for (const allowed of [
      { domain: 'www.example.test' },
      { domain: '*.example.test', paths: ['/other.html'] },
      { paths: ['https://www.example.test/'] },
      { domain: 'notsecret.test' },
    ]) {
      t.equal(await status(allowed), 202, JSON.stringify(allowed))
    }
  })

  await t.test('a caller reads the invalidations of what it may purge', async t => {
    const reader = server.signedBy('purger', 'a-secret-of-purger')
    const made = {
      denied: [
        await purge('/distributions/secret/invalidations', { paths: ['/hidden/name'] }),
        await purge('/cache/invalidations', { tags: ['news'] }),
      ],
      readable: [
        await purge(site, { paths: ['/other.html'], soft: true }),
        await purge('/cache/invalidations', { paths: ['https://www.example.test/other.html'] }),
        await purge(site, { paths: ['/other.html'], soft: true }),
        await purge(site, { paths: ['/docs/a.html'], soft: true }),
      ],
    }
    const { json } = await reader({ path: '/api/v1/cache/invalidations' })
    const ids = json.items.map(({ id }: { id: string }) => id)
    for (const id of made.readable) t.ok(ids.includes(id))
    for (const id of made.denied) t.notOk(ids.includes(id))
    t.equal(json.isPartial, true)
    const status = async (id: string) => (await reader({ path: `/api/v1/cache/invalidations/${id}` })).status
    t.same(await Promise.all(made.readable.map(status)), [200, 200, 200, 200])
    t.same(await Promise.all(made.denied.map(status)), [403, 403])
    const newest = await reader({ path: '/api/v1/cache/invalidations?limit=1' })
    const { json: second } = await reader({
      path: `/api/v1/cache/invalidations?limit=1&cursor=${newest.json.nextCursor}`,
    })
    t.same([newest.json.items[0].id, second.items[0].id], made.readable.slice(2).reverse(), 'in pages, too')
  })

  await t.test('invalidations are listed, the newest first', async t => {
    const { json } = await server.signed({ path: '/api/v1/cache/invalidations?limit=2' })
    t.equal(json.items.length, 2)
    t.equal(json.isPartial, false)
    t.match(json.items[0].request, { soft: true, distribution: 'site', actor: 'admin' })
    const { json: next } = await server.signed({
      path: `/api/v1/cache/invalidations?limit=2&cursor=${json.nextCursor}`,
    })
    t.notSame(next.items[0].id, json.items[1].id)
  })

  await t.test('of one distribution its own are listed, and those of all that may have hit it', async t => {
    const made = [
      await purge('/cache/invalidations', { all: true }),
      await purge('/cache/invalidations', { domain: 'twin.example.test', paths: ['/other.html'] }),
      await purge('/cache/invalidations', { domain: 'www.example.test', paths: ['/other.html'] }),
      await purge(site, { paths: ['/other.html'] }),
    ]
    const listed = async (distribution: string) => {
      const { json } = await server.signed({ path: `/api/v1/cache/invalidations?limit=4&distribution=${distribution}` })
      return made.map(id => json.items.some((one: { id: string }) => one.id === id))
    }
    t.same(await listed('twin'), [true, true, false, false])
    t.same(await listed('site'), [true, false, true, true])
    t.same(await listed('deleted'), [false, false, false, false])
  })

  await t.test('statistics and lists tell nothing of a distribution whose bucket the caller is denied', async t => {
    await server.get('/index.html', { host: 'secd.test' })
    const inSecret = await purge('/distributions/secret/invalidations', { paths: ['/hidden-name.html'] })
    const everywhere = await purge('/cache/invalidations', { tags: ['hidden-tag'] })
    const onSite = await purge('/cache/invalidations', { domain: 'www.example.test', paths: ['/seen.html'] })
    for (const id of [inSecret, everywhere, onSite]) await ended(id)
    const purger = server.signedBy('purger', 'a-secret-of-purger')
    const read = (path: string, caller = purger) => caller({ path: `/api/v1/cache${path}` })
    const root = (await read('/stats?top=100', server.signed)).json
    t.match(JSON.stringify(root.hosts), /secd\.test/)
    const { status, json } = await read('/stats?top=100')
    t.equal(status, 200)
    t.match(JSON.stringify(json.topObjects), /"site"/)
    t.notMatch(JSON.stringify(json), /secret|secd/)
    t.same(json.requests, root.requests, 'the sum is of all')
    t.equal((await read('/stats?distribution=secret')).status, 403)
    t.equal((await read('/stats?distribution=site')).status, 200)
    t.same((await read('/stats?host=secd.test')).json.requests, {}, 'nor how often a host is asked')
    const listed = (await read('/invalidations?limit=1000')).json.items.map(({ id }: { id: string }) => id)
    t.ok(listed.includes(onSite))
    t.notOk(listed.includes(inSecret) || listed.includes(everywhere))
    t.equal((await read(`/invalidations/${inSecret}`)).status, 403)
    t.equal((await read(`/invalidations/${everywhere}`)).status, 403)
    t.equal((await read(`/invalidations/${onSite}`)).status, 200)
    for (const id of [inSecret, everywhere]) t.equal((await read(`/invalidations/${id}`, server.signed)).status, 200)
  })

  await t.test('the right on one bucket is none to the settings and policies of the cluster', async t => {
    const { users } = server.kernel.services
    const Statement = [{ Effect: 'Allow', Action: 'admin:ManageCache', Resource: 'arn:aws:s3:::pages' }]
    await users.putPolicy('one-cache', { Version: '2012-10-17', Statement })
    await users.createUser({ accessKey: 'cacher', secretKey: 'a-secret-of-cacher', policyNames: ['one-cache'] })
    const cacher = server.signedBy('cacher', 'a-secret-of-cacher')
    for (const [method, path, body] of [
      ['PUT', '/cache/settings', { cache: { enabled: false } }],
      ['POST', '/cache/policies', { name: 'own' }],
      ['PUT', '/cache/policies/own', { name: 'own' }],
      ['DELETE', '/cache/policies/own', undefined],
    ] as const) {
      t.equal((await cacher({ method, path: `/api/v1${path}`, body })).status, 403, `${method} ${path}`)
    }
  })

  await t.test('statistics count by host and result, with the pages that are asked for most', async t => {
    const { json } = await server.signed({ path: '/api/v1/cache/stats?distribution=site&top=3' })
    t.ok(json.requests.HIT > 50 && json.requests.MISS > 50)
    t.equal(json.hosts.length, 2)
    t.equal(json.topObjects.length, 3)
    t.match(json.topObjects[0], { distribution: 'site', path: /^\//, requests: Number, misses: Number })
    t.ok(json.hitRatio > 0 && json.hitRatio < 1)
    t.match(json.nodes, [{ online: true, mode: 'local', synced: true, memoryLimitBytes: 268_435_456 }])
  })
})

t.test('metrics', async t => {
  const server = await startSite()
  t.teardown(() => server.stop())
  await server.put('pages', { 'a.txt': '12345' })
  await server.publish({ id: 'site', aliases: ['www.example.test'], origin: { bucket: 'pages' } })
  for (const _ of [1, 2, 3, 4]) await server.get('/a.txt')
  await server.signed({ method: 'POST', path: '/api/v1/cache/invalidations', body: { tags: ['x'] } })
  const families = await server.kernel.services.metrics.sample()
  const sampleOf = (name: string, labels: object = {}) =>
    families
      .find(family => family.name === name)
      ?.samples.find(sample => Object.entries(labels).every(([label, value]) => sample.labels[label] === value))?.value
  const host = { distribution: 'site', host: 'www.example.test' }
  t.equal(sampleOf('svc_cache_requests_total', { ...host, result: 'hit' }), 3)
  t.equal(sampleOf('svc_cache_requests_total', { ...host, result: 'miss' }), 1)
  t.equal(sampleOf('svc_cache_bytes_served_total', { source: 'memory' }), 15)
  t.equal(sampleOf('svc_cache_bytes_served_total', { source: 'origin' }), 5)
  t.equal(sampleOf('svc_cache_entries', { tier: 'memory' }), 1)
  t.ok(sampleOf('svc_cache_size_bytes', { tier: 'memory' })! > 5)
  t.equal(sampleOf('svc_cache_hit_ratio'), 0.75)
  t.equal(sampleOf('svc_cache_invalidations_total'), 1)
})

t.test('policies and settings', async t => {
  const server = await startSite()
  t.teardown(() => server.stop())
  await server.put('pages', { 'index.html': 'home', 'a/x.txt': 'x', 'b/x.txt': 'x' })
  await server.publish({
    id: 'site',
    aliases: ['www.example.test'],
    origin: { bucket: 'pages' },
    behaviors: [
      { pathPattern: { type: 'prefix', pattern: '/a/' } },
      { pathPattern: { type: 'prefix', pattern: '/b/' } },
    ],
  })
  const call = (method: string, path: string, body?: object, headers = {}) =>
    server.signed({ method, path: `/api/v1${path}`, headers, ...(body !== undefined && { body }) })
  const cacheOf = async (path: string) => (await server.get(path)).headers['x-cache']

  const policy = {
    name: 'short',
    comment: 'for tests',
    ttl: { default: '5m', max: '1h' },
    browserCacheControl: 'max-age=7',
  }
  const created = await call('POST', '/cache/policies', policy)
  t.match(created, { status: 201, json: { ...policy, builtin: false, etag: String } })
  t.equal((await call('POST', '/cache/policies', policy)).json.code, 'already_exists')
  t.equal((await call('POST', '/cache/policies', { name: 'standard' })).json.code, 'builtin_cache_policy')
  t.equal((await call('DELETE', '/cache/policies/standard')).json.code, 'builtin_cache_policy')
  t.match(await call('POST', '/cache/policies/validate', { name: 'x', ttl: { default: '2h', max: '1h' } }), {
    status: 400,
    json: { code: 'invalid_cache_request', detail: /\/ttl\/default is not between min and max/ },
  })
  for (const [ttl, field] of [
    [{ max: '0s' }, 'max'],
    [{ min: '9d', max: '10d' }, 'min'],
    [{ min: '2h', max: '1h' }, 'min'],
  ] as const) {
    const { json } = await call('POST', '/cache/policies/validate', { name: 'x', ttl })
    t.match(json.errors, [{ element: `/ttl/${field}` }], 'at what is given')
  }
  for (const [sizes, field, message] of [
    [{ minSize: '2MiB', maxObjectSize: '1MiB' }, 'minSize', /is more than maxObjectSize, which is 1MiB/],
    [{ minSize: '2GiB' }, 'minSize', /is more than maxObjectSize, which is 1GiB/],
  ] as const) {
    const { json } = await call('POST', '/cache/policies/validate', { name: 'x', ...sizes })
    t.match(json.errors, [{ element: `/${field}`, message }])
  }
  const nothing = await call('POST', '/cache/policies/validate', { name: 'x', minSize: '2MiB', maxObjectSize: 0 })
  t.equal(nothing.status, 200, 'a policy by which nothing is stored')
  const checked = await call('POST', '/cache/policies/validate', policy)
  t.match(checked.json, { policy: { ttl: { default: 300, max: 3600 } }, cacheControl: 'max-age=7', summary: /5m/ })
  t.ok(checked.json.inherited.includes('ttl.min') && !checked.json.inherited.includes('ttl.max'))
  const { json: list } = await call('GET', '/cache/policies')
  t.same(
    list.items.map(({ name }: { name: string }) => name),
    ['aggressive', 'disabled', 'immutable-assets', 'read-only', 'respect-origin', 'short', 'standard'],
  )

  t.equal(await cacheOf('/index.html'), 'MISS')
  t.equal(await cacheOf('/index.html'), 'HIT')
  const settings = '/distributions/site/cache/settings'
  const put = await call('PUT', settings, {
    cache: { policy: 'short' },
    behaviors: [{ pathPattern: { type: 'prefix', pattern: '/b/' }, cache: { enabled: false } }],
  })
  t.equal(put.status, 200, put.text)
  t.equal(await cacheOf('/index.html'), 'MISS', 'entries of other settings are not used')
  t.equal((await server.get('/index.html')).headers['cache-control'], 'max-age=7')
  t.equal(await cacheOf('/b/x.txt'), 'BYPASS')
  t.equal(await cacheOf('/b/x.txt'), 'BYPASS')
  t.equal(await cacheOf('/a/x.txt'), 'MISS')
  t.equal(await cacheOf('/a/x.txt'), 'HIT')
  t.equal((await call('DELETE', '/cache/policies/short')).json.code, 'cache_policy_in_use')
  t.equal((await call('PUT', settings, { cache: { policy: 'none' } })).json.code, 'cache_policy_not_found')
  t.match((await call('PUT', settings, { domains: [{ host: 'other.test', cache: {} }] })).json, {
    detail: '/domains/0/host is no alias of the distribution site.',
  })
  const allWrong = {
    cache: { ttl: { default: 'zz', min: 'zz' }, staleIfError: 'zz', quota: '1KiB' },
    domains: [{ host: 'other.test', cache: { policy: 'none', rangeCaching: { blockSize: 1 } } }],
  }
  t.same(
    (await call('PUT', settings, allWrong)).json.errors.map(({ element }: { element: string }) => element),
    [
      '/cache/ttl/default',
      '/cache/ttl/min',
      '/cache/staleIfError',
      '/cache/quota',
      '/domains/0/host',
      '/domains/0/cache/rangeCaching/blockSize',
    ],
    'all that is wrong, each once',
  )
  t.equal((await call('PUT', settings, {}, { 'if-match': '"other"' })).status, 412)
  t.equal(
    (await call('PUT', settings, put.json, { 'if-match': `"${put.json.etag}"` })).status,
    200,
    'a document that was read can be sent back',
  )

  const unset = (await call('GET', '/cache/settings')).json
  const first = { 'if-match': `"${unset.etag}"` }
  t.equal((await call('PUT', '/cache/settings', unset, first)).status, 200, 'also one that nobody has stored yet')
  t.equal((await call('PUT', '/cache/settings', unset, first)).status, 412, 'but only until somebody has')
  const secret = 'hush-hush-hush-hush'
  t.match(await call('PUT', '/cache/settings', { debug: { secret: 'fifteen letters' } }), {
    status: 400,
    json: { code: 'invalid_cache_request', detail: /\/debug\/secret has less than 16 characters/ },
  })
  const cluster = await call('PUT', '/cache/settings', { cache: { enabled: false }, debug: { secret } })
  t.match(cluster, { status: 200, json: { cache: { enabled: false }, debug: { header: 'X-Svc-Cache-Debug' } } })
  t.notMatch(cluster.text, secret)
  t.equal(await cacheOf('/index.html'), 'BYPASS', 'off for all')
  await call('PUT', settings, { cache: { enabled: true } })
  const debugged = await server.get('/index.html', { headers: { 'X-Svc-Cache-Debug': secret } })
  t.match(debugged.headers, { 'x-cache-key': /^v1 site .*index.html/, 'x-cache-policy': /^standard; level=default/ })
  for (const headers of [{}, { 'X-Svc-Cache-Debug': 'wrong' }] as Record<string, string>[]) {
    t.notOk('x-cache-key' in (await server.get('/index.html', { headers })).headers)
  }
  const inspect = (query: string) => call('GET', `/cache/inspect?${query}`)
  t.match(await inspect('distribution=site&url=/index.html'), {
    status: 200,
    json: {
      bucket: 'pages',
      key: 'index.html',
      bypass: false,
      policy: {
        enabled: true,
        enabledLevel: 'distribution',
        policyName: 'standard',
        fields: { 'ttl.default': 'default' },
      },
      nodes: [{ entry: { present: true, tier: 'memory', kind: 'object', stale: false, sizeBytes: 4 } }],
    },
  })
  const asked = encodeURIComponent('https://www.example.test/a/never.txt?x=1')
  t.match(await inspect(`url=${asked}&header=authorization:%20x`), {
    json: {
      path: '/a/never.txt',
      bypass: true,
      reason: 'authorization',
      policy: { behavior: 0 },
      nodes: [{ entry: undefined }],
    },
  })
  t.equal((await inspect('url=https://other.test/')).json.code, 'distribution_not_found')
  t.equal(await cacheOf('/index.html'), 'HIT', 'and on for one, with what was cached under the same settings before')
  t.equal((await call('DELETE', '/cache/policies/short')).status, 204)
})
