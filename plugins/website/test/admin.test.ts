/** Distributions over the Admin API: what is stored, refused, and who may. */
import { CreateBucketCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import { responseProblems, startAdmin, testUsers, userSecret } from 'svc/plugins/admin/testing'
import t from 'tap'

const everything = [{ Effect: 'Allow', Action: 'admin:*', Resource: '*' }]
const users = testUsers({
  ada: everything,
  bob: [...everything, { Effect: 'Deny', Action: 'admin:ManageDistributions', Resource: 'arn:aws:s3:::photos' }],
  eve: [],
})

t.test('documents of distributions', async t => {
  const config = {
    s3: { domain: ['s3.test'], serverUrl: 'https://s3.test' },
    distributions: { domain: ['s3.test'], serverUrl: 'https://s3.test' },
  }
  const admin = await startAdmin({ plugins: [users], without: ['users', 'sts'], config })
  t.teardown(() => admin.stop())
  for (const Bucket of ['photos', 'pages']) await admin.s3.send(new CreateBucketCommand({ Bucket }))
  const base = { id: 'site', aliases: ['www.example.test'], origin: { bucket: 'pages' } }
  const call = (method: string, path: string, body?: unknown, as = admin.signed, headers?: Record<string, string>) =>
    as({ method, path: `/api/v1${path}`, body, headers })
  const create = (more: object = {}, as = admin.signed) => call('POST', '/distributions', { ...base, ...more }, as)

  await t.test('created, read, replaced under its ETag, listed, deleted', async t => {
    const created = await create()
    t.equal(created.status, 201)
    t.equal(created.headers.location, '/api/v1/distributions/site')
    t.match(created.json, { enabled: true, mode: 'website', tls: { certificate: 'none' }, behaviors: [] })
    const operation = admin.operations.find(({ id }) => id === 'createDistribution')!
    t.same(responseProblems(operation, created.json), [])
    t.equal((await create()).status, 409)
    const read = await call('GET', '/distributions/site')
    t.equal(read.headers.etag, `"${read.json.etag}"`)
    const changed = await call('PUT', '/distributions/site', { ...read.json, comment: 'x' }, admin.signed, {
      'if-match': read.json.etag,
    })
    t.equal(changed.status, 200)
    t.equal(changed.json.createdAt, created.json.createdAt)
    t.equal((await call('PUT', '/distributions/site', base, admin.signed, { 'if-match': read.json.etag })).status, 412)
    t.equal((await call('PUT', '/distributions/site', base, admin.signed, { 'if-none-match': '*' })).status, 409)
    t.equal((await call('PUT', '/distributions/other', base)).status, 400)
    await create({ id: 'b', aliases: ['b.example.test'] })
    const page = await call('GET', '/distributions?limit=1')
    t.same(
      page.json.items.map(({ id }: { id: string }) => id),
      ['b'],
    )
    const rest = await call('GET', `/distributions?limit=1&cursor=${page.json.nextCursor}`)
    t.same([rest.json.items[0].id, rest.json.nextCursor], ['site', ''])
    t.equal((await call('GET', '/distributions?domain=b.example.test')).json.items.length, 1)
    t.equal((await call('DELETE', '/distributions/b', undefined, admin.signed, { 'if-match': 'x' })).status, 412)
    t.equal((await call('DELETE', '/distributions/b')).status, 204)
    for (const method of ['GET', 'DELETE']) t.equal((await call(method, '/distributions/b')).status, 404)
    t.equal((await call('POST', '/distributions?dryRun=true', { ...base, id: 'c', aliases: ['c.test'] })).status, 200)
    t.equal((await call('GET', '/distributions/c')).status, 404, 'a dry run stores nothing')
  })

  await t.test('what is not there, or has another value, is told in words', async t => {
    const errorPages = [{ status: 404, path: '/404.html' }]
    const { json } = await call('POST', '/distributions?dryRun=true', {
      ...base,
      id: 'c',
      aliases: ['c.test'],
      errorPages,
    })
    t.match(json.warnings.join(), /The error page for 404, 404\.html, is not in the bucket pages/)
    const Key = '404.html'
    await admin.s3.send(new PutObjectCommand({ Bucket: 'pages', Key, Body: 'x' }))
    const there = await call('POST', '/distributions?dryRun=true', {
      ...base,
      id: 'c',
      aliases: ['c.test'],
      errorPages,
    })
    t.notMatch((there.json.warnings ?? []).join(), /error page/)
    const redirects = [{ httpsOnly: true }]
    const noTls = await call('POST', '/distributions?dryRun=true', { ...base, id: 'c', aliases: ['c.test'], redirects })
    t.match(
      noTls.json.warnings.join(),
      /redirected to https, and the server has no certificate for c\.test: .*tls\.certificate/,
    )
    await call('POST', '/buckets', { name: 'logs' })
    const Statement = [
      { Effect: 'Allow', Principal: '*', Action: 's3:GetObject', Resource: 'arn:aws:s3:::logs/open/*' },
    ]
    await call('PUT', '/buckets/logs/policy', { Version: '2012-10-17', Statement })
    const warned = async (folder: string) => {
      const logging = { accessLog: true, target: `bucket:logs/${folder}` }
      const answer = await call('POST', '/distributions?dryRun=true', {
        ...base,
        id: 'c',
        aliases: ['c.test'],
        logging,
      })
      return /Everybody can read the access log/.test((answer.json.warnings ?? []).join())
    }
    t.same([await warned('open/'), await warned('closed/')], [true, false])
    await call('POST', '/keygroups', { id: 'keyless' })
    const signedBy = {
      ...base,
      id: 'c',
      aliases: ['c.test'],
      defaultBehavior: { access: 'signed', signing: { keyGroup: 'keyless' } },
    }
    const keyless = await call('POST', '/distributions?dryRun=true', signedBy)
    t.match(
      keyless.json.warnings.join(),
      /key group keyless has no enabled key.*svcctl dist keygroup add-key ALIAS\/keyless/,
    )
    await call('POST', '/keygroups/keyless/keys', { generate: true })
    const keyed = await call('POST', '/distributions?dryRun=true', signedBy)
    t.notMatch((keyed.json.warnings ?? []).join(), /keyless/)
    const wrong = await create({ id: 'c', aliases: ['c.test'], mode: 'webiste' })
    t.match(wrong, { status: 400, json: { errors: [{ element: '/mode', message: 'must be one of "website", "s3"' }] } })
    const noBucket = { ...base, id: 'c', origin: { bucket: 'missing' } }
    t.equal((await call('POST', '/distributions', noBucket)).json.code, 'alias_conflict', 'before the bucket is made')
  })

  await t.test('percent-encoded paths: what closes nothing is refused, what leads nowhere is told', async t => {
    const dryRun = (more: object) =>
      call('POST', '/distributions?dryRun=true', { ...base, id: 'c', aliases: ['c.test'], ...more })
    for (const [type, pattern, decoded] of [
      ['prefix', '/Vertr%C3%A4ge/', '/Verträge/'],
      ['glob', '/a%20b/**', '/a b/**'],
      ['regex', '^/100%20', '^/100 '],
    ]) {
      const refused = await dryRun({ behaviors: [{ pathPattern: { type, pattern }, access: 'deny' }] })
      t.match(refused.json, {
        code: 'invalid_distribution',
        errors: [{ element: '/behaviors/0/pathPattern', message: `compared with decoded paths: write "${decoded}" (` }],
      })
    }
    for (const [type, pattern] of [
      ['prefix', '/Verträge/'],
      ['prefix', '/100%/'],
      ['glob', '/a?20b/**'],
      ['regex', '^/a[%]20b'],
    ])
      t.equal((await dryRun({ behaviors: [{ pathPattern: { type, pattern }, access: 'deny' }] })).status, 200, pattern)
    const told = await dryRun({
      origin: { bucket: 'pages', pathPrefix: 'a%20b/' },
      defaultBehavior: { spaFallback: '/%C3%BC.html', indexDocument: 'index.html' },
      behaviors: [{ pathPattern: { type: 'prefix', pattern: '/x/' }, indexDocument: '%C3%BC.html' }],
      errorPages: [{ status: 404, path: '/404%20.html' }],
      redirects: [{ httpsOnly: true }, { from: '/%C3%BC/:name', to: '/%C3%BC' }],
    })
    t.same(
      told.json.warnings.filter((warning: string) => warning.includes('percent-encoded')),
      [
        ['The prefix of the bucket', 'a%20b/', 'a b/'],
        ['The fallback', '/%C3%BC.html', '/ü.html'],
        ['The index document', '%C3%BC.html', 'ü.html'],
        ['The error page for 404', '/404%20.html', '/404 .html'],
        ['The path of redirect 2', '/%C3%BC/:name', '/ü/:name'],
      ].map(
        ([what, given, decoded]) =>
          `${what}, "${given}", is percent-encoded, but compared with decoded paths: write "${decoded}", unless the % is part of the name.`,
      ),
    )
  })

  await t.test('aliases of another distribution are refused', async t => {
    const taken = [
      'www.example.test',
      'WWW.example.test.',
      's3.test',
      'photos.s3.test',
      '*.test',
      'localhost',
      'a.localhost',
    ]
    for (const alias of taken) {
      const answer = await create({ id: 'second', aliases: [alias] })
      t.match([answer.status, answer.json.code], [409, 'alias_conflict'], alias)
    }
    const invalid = ['127.0.0.1', 'a.test:80', 'a..b', '*', 'a/*']
    for (const alias of invalid)
      t.match(
        (await create({ id: 'second', aliases: [alias] })).json,
        { status: 400, code: 'invalid_distribution' },
        alias,
      )
    const many = await Promise.all(['x', 'y', 'z'].map(id => create({ id, aliases: ['race.test'] })))
    t.same(many.map(({ status }) => status).sort(), [201, 409, 409], 'of those that come together one gets it')
  })

  await t.test('all problems are reported at once, and nothing is stored', async t => {
    const { status, json } = await create({
      id: 'bad',
      aliases: ['bad.test', '1.2.3.4'],
      origin: { bucket: 'pages', pathPrefix: '/x' },
      behaviors: [{ pathPattern: { type: 'regex', pattern: '(' } }],
      restrictions: {
        sourceIp: { deny: ['x'] },
        originSecretHeader: { name: 'Host', value: 'long enough for a secret' },
      },
    })
    t.equal(status, 400)
    t.same(
      json.errors.map(({ element }: { element: string }) => element),
      [
        '/aliases/1',
        '/origin/pathPrefix',
        '/behaviors/0/pathPattern',
        '/restrictions/sourceIp/deny',
        '/restrictions/originSecretHeader/name',
      ],
    )
    const website: [string, object][] = [
      ['/defaultBehavior/indexDocument', { defaultBehavior: { indexDocument: 'a/b' } }],
      ['/defaultBehavior/spaFallback', { defaultBehavior: { spaFallback: '../x' } }],
      ['/defaultBehavior/responseHeaders/Set-Cookie', { defaultBehavior: { responseHeaders: { 'Set-Cookie': 'a' } } }],
      ['/headers/response/Expect', { headers: { response: { Expect: 'ä' } } }],
      ['/headers/response/HTTP2-Settings', { headers: { response: { 'HTTP2-Settings': 'a' } } }],
      ['/headers/response/X', { headers: { response: { X: 'a\r\nb' } } }],
      ['/defaultBehavior/cache/cacheControl', { defaultBehavior: { cache: { cacheControl: 'max-age=€' } } }],
      ['/headers/cors/allowCredentials', { headers: { cors: { allowedOrigins: ['*'], allowCredentials: true } } }],
      ['/redirects/0/to', { redirects: [{ from: '/x' }] }],
      ['/redirects/0/from', { redirects: [{ from: '/*/x', to: '/y' }] }],
      ['/redirects/0/to', { redirects: [{ from: '/:a', to: '/:b' }] }],
      ['/redirects/0/toHost', { redirects: [{ toHost: 'evil.test/x' }] }],
      ['/redirects/0/hostFrom', { redirects: [{ hostFrom: 'elsewhere.test', to: '/y' }] }],
      ['/errorPages/0/path', { errorPages: [{ status: 404, path: '/../x' }] }],
      ['/logging/target', { logging: { target: 'elsewhere' } }],
      ['/defaultBehavior/signing/keyGroup', { defaultBehavior: { access: 'signed' } }],
      ['/defaultBehavior/access', { mode: 's3', defaultBehavior: { access: 'signed' } }],
    ]
    for (const [element, more] of website) {
      const answer = await create({ id: 'bad', aliases: ['bad.test'], ...more })
      t.match(answer.json, { code: 'invalid_distribution', errors: [{ element }] }, JSON.stringify(more))
    }
    t.equal((await create({ id: 'bad', aliases: ['bad.test'], origin: { bucket: 'missing-bucket' } })).status, 404)
    t.equal((await create({ id: 'import', aliases: ['bad.test'] })).status, 400)
    t.equal((await create({ id: 'Bad', aliases: ['bad.test'] })).status, 400)
    t.equal((await create({ id: 'bad', aliases: ['bad.test'], unknown: 1 })).status, 400)
    const withTls = async (tls: object, ...aliases: string[]) => (await create({ id: 'bad', aliases, tls })).json
    const automatic = { certificate: 'auto' }
    t.match(await withTls(automatic, '*.bad.test'), { errors: [{ element: '/tls/challenge' }] })
    t.match(await withTls(automatic, 'bad'), { errors: [{ element: '/aliases/0' }] })
    t.match(await withTls({ ...automatic, challenge: 'dns-01' }, 'bad.test'), {
      errors: [{ element: '/tls/dnsProvider' }],
    })
    const byDns = { ...automatic, challenge: 'dns-01', dnsProvider: 'main' }
    t.equal((await withTls(byDns, 'bad.test')).code, 'dns_provider_not_found')
    t.equal((await withTls({ certificate: 'nothing' }, 'bad.test')).code, 'certificate_not_found')
    t.equal((await call('GET', '/distributions/bad')).status, 404)
  })

  await t.test('a denial for a bucket keeps it from being published', async t => {
    const as = (name: string) => admin.signedBy(name, userSecret)
    t.equal(
      (await create({ id: 'photos', aliases: ['photos.test'], origin: { bucket: 'photos' } }, as('bob'))).status,
      403,
    )
    t.equal(
      (await create({ id: 'photos', aliases: ['*.photos.test'], origin: { bucket: 'photos' } }, as('ada'))).status,
      201,
    )
    t.equal(
      (await create({ id: 'below', aliases: ['x.photos.test'] }, as('bob'))).status,
      403,
      'below a wildcard of that bucket',
    )
    t.equal((await create({ id: 'below', aliases: ['x.photos.test'] }, as('ada'))).status, 201)
    t.match((await call('GET', '/distributions/photos', undefined, as('bob'))).json, {
      code: 'access_denied',
      detail: 'You may not do this: it needs the right admin:ManageDistributions for each bucket that this concerns.',
    })
    t.equal((await call('DELETE', '/distributions/photos', undefined, as('bob'))).status, 403)
    const listed = (await call('GET', '/distributions', undefined, as('bob'))).json.items
    t.notOk(listed.some(({ id }: { id: string }) => id === 'photos'))
    t.equal((await call('GET', '/distributions', undefined, as('eve'))).status, 403)
    t.equal(
      (await call('PUT', '/distributions/photos', { ...base, id: 'photos', aliases: ['*.photos.test'] }, as('bob')))
        .status,
      403,
      'also out of the bucket',
    )
  })

  await t.test('how a host would be routed', async t => {
    await call('PUT', '/distributions/site', {
      ...base,
      behaviors: [{ pathPattern: { type: 'prefix', pattern: '/x/' }, access: 'deny' }],
    })
    const resolve = async (query: string) => (await call('GET', `/routing/resolve?${query}`)).json
    t.match(await resolve('host=WWW.example.test.:80&path=/x/y'), {
      step: 'a',
      match: 'exact',
      distribution: 'site',
      bucket: 'pages',
      normalizedHost: 'www.example.test',
      behavior: { index: 0, access: 'deny' },
      status: 0,
    })
    t.match(await resolve('host=x.photos.test'), {
      step: 'a',
      distribution: 'below',
      shadowed: [{ distribution: 'photos', alias: '*.photos.test' }],
    })
    t.match(await resolve('host=%C3%A4.photos.test:80'), { step: 'b', normalizedHost: 'xn--4ca.photos.test' })
    t.match(await resolve('host=y.photos.test&listener=web'), { step: 'b', match: 'wildcard', alias: '*.photos.test' })
    t.match(await resolve('host=photos.s3.test'), { step: 'c', match: 'bucket-domain', bucket: 'photos' })
    t.match(await resolve('host=s3.test'), { step: 'd', match: 'main' })
    t.match(await resolve('host=nobody.test'), { step: 'e', match: 'path-style', status: 0 })
    t.match(await resolve('host=nobody.test&listener=web'), { step: 'e', match: 'misdirected', status: 421 })
    t.match(await resolve('host=[::1]:9000'), { step: 'e' })
    // The same, of all domains of one: who answers once it is gone.
    const shadowed = async (as?: ReturnType<typeof admin.signedBy>) =>
      (await call('GET', '/distributions/below', undefined, as)).json.shadowed
    const behind = { wildcard: '*.photos.test', distribution: 'photos' }
    const below = { ...base, id: 'below', aliases: ['x.photos.test', '*.y.photos.test', 'elsewhere.test'] }
    await call('PUT', '/distributions/below', below)
    t.same(await shadowed(), [
      { domain: 'x.photos.test', ...behind },
      { domain: '*.y.photos.test', ...behind },
    ])
    t.same(await shadowed(admin.signedBy('bob', userSecret)), [
      { domain: 'x.photos.test', wildcard: '*.photos.test' },
      { domain: '*.y.photos.test', wildcard: '*.photos.test' },
    ])
    t.equal((await call('DELETE', '/distributions/below')).status, 204)
    t.match(await resolve('host=x.photos.test'), { step: 'b', distribution: 'photos' })
    t.match(await resolve('host=elsewhere.test&listener=web'), { status: 421 })
    for (const host of ['bad%20host', 'a.test/', 'user@a.test', 'a.test%3Fx', 'a.test:99999']) {
      t.match(await resolve(`host=${host}&path=x`), {
        errors: [{ element: 'query/host' }, { element: 'query/path', message: 'must begin with a slash' }],
      })
    }
  })
})

t.test('a request that is only tried goes the way of requests', async t => {
  const admin = await startAdmin({ plugins: [users], without: ['users', 'sts'] })
  t.teardown(() => admin.stop())
  await admin.s3.send(new CreateBucketCommand({ Bucket: 'pages' }))
  await admin.s3.send(
    new PutObjectCommand({ Bucket: 'pages', Key: 'docs/index.html', Body: 'x', ContentType: 'text/html' }),
  )
  const value = 'a-secret-of-the-proxy'
  const put = (more: object) =>
    admin.signed({
      method: 'PUT',
      path: '/api/v1/distributions/site',
      body: { id: 'site', aliases: ['*.wild.test', 'www.example.test'], origin: { bucket: 'pages' }, ...more },
    })
  await put({
    defaultBehavior: { indexDocument: 'index.html' },
    behaviors: [{ pathPattern: { type: 'prefix', pattern: '/private/' }, access: 'authenticated' }],
    headers: { preset: 'standard' },
    restrictions: {
      sourceIp: { deny: ['192.0.2.9'] },
      originSecretHeader: { name: 'X-O', value },
      rateLimit: { requestsPerSecond: 1 },
    },
  })
  const headers = { 'X-O': value }
  const ask = async (body: object, as = admin.signed) =>
    as({ method: 'POST', path: '/api/v1/distributions/site/test', body: { headers, ...body } })
  const tested = async (body: object) => (await ask(body)).json
  const operation = admin.operations.find(({ id }) => id === 'testDistribution')!
  for (let round = 0; round < 3; round++) {
    const answer = await tested({ url: '/docs/' })
    t.same(responseProblems(operation, answer), [])
    t.match(
      answer,
      {
        status: 200,
        decision: 'allow',
        host: 'www.example.test',
        key: 'docs/index.html',
        behavior: { index: -1, access: 'public' },
        restriction: { allowed: true },
        responseHeaders: { 'content-type': 'text/html', 'x-content-type-options': 'nosniff' },
      },
      'no token is spent',
    )
  }
  t.match(await tested({ url: 'https://a.wild.test/docs' }), {
    status: 302,
    redirect: { location: 'https://a.wild.test/docs/' },
  })
  t.match(await tested({ url: 'https://Ä.wild.test/docs/' }), { status: 200, host: 'xn--4ca.wild.test' })
  t.match(await tested({ url: '/../x' }), { status: 400, decision: 'deny', reason: 'path' })
  t.match(await tested({ url: '/missing' }), { status: 404, decision: 'allow' })
  const typed = { status: 404, decision: 'allow' }
  for (const url of ['/ü x.html?y=ü', 'https://www.example.test/ü x.html']) t.match(await tested({ url }), typed, url)
  t.match(await tested({ url: '/docs/', ip: '192.0.2.9' }), {
    status: 403,
    restriction: { allowed: false, reason: 'source_ip' },
  })
  t.match(await tested({ url: '/docs/', headers: {} }), { status: 403, reason: 'origin_secret' })
  t.match(await tested({ url: '/private/x' }), {
    status: 403,
    reason: 'unauthenticated',
    behavior: { index: 0, access: 'authenticated' },
  })
  t.match(await tested({ url: '/private/x', principal: 'eve' }), {
    status: 403,
    source: 'policy',
    reason: 'access_denied',
  })
  t.match(await tested({ url: '/private/x', principal: 'admin' }), { status: 404, decision: 'allow' })
  t.match((await ask({ url: 'https://nobody.test/' })).json, { status: 400, code: 'invalid_argument' })
  t.match((await ask({ url: '/x', ip: 'nowhere' })).json, { status: 400 })
  t.match((await ask({ url: '/x', principal: 'nobody' })).json, { status: 400 })
  await admin.signed({ method: 'PUT', path: '/api/v1/buckets/pages/block-public', body: { enabled: true } })
  t.match(await tested({ url: '/docs/' }), { status: 403, source: 'block-public' })
  const draft = { id: 'site', aliases: ['draft.example.test'], origin: { bucket: 'pages' }, mode: 's3' }
  const s3 = { headers: {}, draft }
  t.match(await tested({ url: '/docs/index.html', ...s3 }), {
    status: 403,
    mode: 's3',
    host: 'draft.example.test',
    decision: 'deny',
    source: 'policy',
    reason: 'AccessDenied',
    key: 'docs/index.html',
  })
  t.match(await tested({ url: '/docs/index.html', principal: 'admin', ...s3 }), { status: 200, decision: 'allow' })
  t.match(await tested({ url: '/none', principal: 'admin', ...s3 }), { status: 404, reason: 'NoSuchKey', rule: '' })
  t.match(await tested({ url: '/docs/index.html', method: 'PUT', principal: 'eve', ...s3 }), { status: 403 })
  t.match(await tested({ url: '/?nothing-known', method: 'PATCH', principal: 'admin', ...s3 }), { status: 501 })
  await admin.signed({
    method: 'PUT',
    path: '/api/v1/buckets/pages/access-rules',
    body: {
      rules: [
        { id: 'reader', effect: 'allow', principals: ['eve'], actions: ['read'] },
        {
          id: 'night',
          effect: 'deny',
          principals: ['*'],
          actions: ['read'],
          priority: 1,
          conditions: { timeWindow: { from: '2031-01-01T22:00:00Z', to: '2031-01-02T06:00:00Z' } },
        },
      ],
    },
  })
  const byRule = { status: 403, decision: 'deny', source: 'access-rule', rule: 'night' }
  const atNight = { url: '/docs/index.html', time: '2031-01-01T23:00:00Z' }
  t.match(await tested({ url: '/docs/index.html', principal: 'eve', ...s3 }), { status: 200, decision: 'allow' })
  t.match(await tested({ ...atNight, principal: 'eve', ...s3 }), byRule)
  await admin.signed({ method: 'PUT', path: '/api/v1/buckets/pages/block-public', body: { enabled: false } })
  const website = {
    ...draft,
    mode: 'website',
    behaviors: [{ pathPattern: { type: 'prefix', pattern: '/private/' }, access: 'authenticated' }],
  }
  t.match(await tested({ ...atNight, headers: {}, draft: website }), byRule)
  t.match(await tested({ ...atNight, url: '/private/x', principal: 'eve', headers: {}, draft: website }), byRule)
  t.match((await ask({ url: '/', draft: { ...draft, id: 'other' } })).json, { status: 400 })
  t.match((await ask({ url: '/', draft: { ...draft, aliases: ['a b'] } })).json, { code: 'invalid_distribution' })
  t.match((await ask({ url: 'http://www.example.test/', draft })).json, { status: 400 }, 'the draft has other hosts')
  t.notOk(
    (await admin.kernel.services.audit.recent(1000)).some(({ type }) => type === 'web'),
    'nothing is recorded',
  )
})
