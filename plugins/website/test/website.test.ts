/** Websites over real sockets: what visitors get for a path. */
import { PutBucketVersioningCommand } from '@aws-sdk/client-s3'
import t from 'tap'
import { startSite } from './site.ts'

const site = {
  id: 'site',
  aliases: ['www.example.test'],
  origin: { bucket: 'pages' },
  defaultBehavior: { indexDocument: 'index.html' },
}

t.test('a website', async t => {
  const server = await startSite()
  t.teardown(() => server.stop())
  await server.put('pages', {
    'index.html': { body: '<h1>home</h1>', ContentType: 'text/html', CacheControl: 'max-age=60' },
    'about.html': { body: '<h1>about</h1>', ContentType: 'binary/octet-stream' },
    'docs/index.html': { body: 'docs', ContentType: 'text/html' },
    'docs/ünï.txt': 'umlauts',
    'a//b.txt': 'two slashes',
    '404.html': { body: 'nothing here', ContentType: 'text/html' },
    'app.html': { body: 'app', ContentType: 'text/html' },
    'moved.html': { body: '', WebsiteRedirectLocation: '/about.html' },
    'away.html': { body: '', WebsiteRedirectLocation: '//evil.test/x' },
    'secret/key.txt': 'secret',
    'digits.txt': { body: '0123456789', ContentType: 'text/plain' },
  })
  await server.put('other', { 'private.txt': 'of another bucket' })

  await t.test('no thread serves the host before it is published, and every thread does afterwards', async t => {
    t.equal((await server.get('/')).status, 421)
    await server.publish(site)
    const answer = await server.get('/')
    t.equal(answer.status, 200)
    t.equal(answer.body, '<h1>home</h1>')
    t.equal(answer.headers['content-type'], 'text/html')
    t.equal(answer.headers['cache-control'], 'max-age=60')
    t.equal(answer.headers['x-cache'], 'MISS')
    t.match(answer.headers['x-amz-request-id'], /^[0-9A-F]{16}$/)
    t.notOk(Object.keys(answer.headers).some(name => name.startsWith('x-amz-') && name !== 'x-amz-request-id'))
  })

  await t.test('paths', async t => {
    const statuses: [string, number, string?][] = [
      ['/about.html', 200, '<h1>about</h1>'],
      ['/docs/', 200, 'docs'],
      ['/docs/%C3%BCn%C3%AF.txt', 200, 'umlauts'],
      ['/docs/u%CC%88ni%CC%88.txt', 200, 'umlauts'],
      ['/docs%2Findex.html', 200, 'docs'],
      ['/a//b.txt', 200, 'two slashes'],
      ['/a/b.txt', 404],
      ['/missing', 404],
      ['/missing/', 404],
      [`/${'x'.repeat(1025)}`, 404],
      ['/about.html?versionId=null', 200],
      ['http://www.example.test/about.html', 200, '<h1>about</h1>'],
    ]
    for (const [path, status, body] of statuses) {
      const answer = await server.get(path)
      t.equal(answer.status, status, path)
      if (body !== undefined) t.equal(answer.body, body, path)
    }
    const folder = await server.get('/docs?x=1')
    t.equal(folder.status, 302)
    t.equal(folder.headers.location, 'http://www.example.test/docs/?x=1')
    t.equal(
      (await server.get('/docs', { host: 'www.example.test:8080' })).headers.location,
      'http://www.example.test:8080/docs/',
    )
    t.equal((await server.get('/about.html')).headers['content-type'], 'text/html; charset=utf-8', 'by its extension')
    const moved = await server.get('/moved.html')
    t.equal(moved.status, 301)
    t.equal(moved.headers.location, '/about.html')
    t.equal((await server.get('/away.html')).headers.location, '/evil.test/x', 'no other host')
  })

  await t.test('nothing outside of the site has a name', async t => {
    const attacks = [
      '/../other/private.txt',
      '/docs/../../other/private.txt',
      '/%2e%2e/other/private.txt',
      '/..%2fother%2fprivate.txt',
      '/%2e%2e%2fother/private.txt',
      '/docs/./index.html',
      '/docs/%2e/index.html',
      '/docs/..',
      '/.',
      '/..\\other',
      '/docs%5C..%5C..%5Cother',
      '/about.html%00',
      '/about.html%00.txt',
      '/%01',
      '/%7f',
      '/%0d%0aSet-Cookie:x',
      '/%c0%ae%c0%ae/other',
      '/%c0%af',
      '/%e0%80%af',
      '/%f0%80%80%af',
      '/%ed%a0%80',
      '/%ff',
      '/%',
      '/%2',
      '/%zz',
      '/%u002e',
      '/about.html#x',
    ]
    for (const path of attacks) t.equal((await server.get(path)).status, 400, path)
    const literal = [
      '/%252e%252e/other/private.txt',
      '/%252fother',
      '/svc/health/live',
      '/svc/metrics/v1/node',
      '/api/v1/openapi.json',
      '/other/private.txt',
      '/pages/index.html',
      '/...',
      '/.well-known/acme-challenge/x',
    ]
    for (const path of literal) t.equal((await server.get(path)).status, 404, path)
    for (const query of [
      '?list-type=2',
      '?policy',
      '?acl',
      '?versions',
      '?location',
      '?uploads',
      '?X-Amz-Signature=x',
    ]) {
      t.match(await server.get(`/${query}`), { status: 200, body: '<h1>home</h1>' }, `${query} means nothing`)
    }
    for (const method of ['PUT', 'POST', 'DELETE', 'PATCH', 'TRACE', 'PROPFIND']) {
      t.match(await server.get('/x', { method }), { status: 405, headers: { allow: 'GET, HEAD, OPTIONS' } }, method)
    }
    await server.publish({ ...site, origin: { bucket: 'pages', pathPrefix: 'docs/' } })
    t.match(await server.get('/'), { status: 200, body: 'docs' })
    for (const path of ['/index.html', '/docs/index.html']) {
      const answer = await server.get(path)
      t.equal(answer.status, path === '/index.html' ? 200 : 404, path)
    }
    t.equal((await server.get('/secret/key.txt')).status, 404)
    await server.publish(site)
  })

  await t.test('hosts', async t => {
    for (const host of ['WWW.EXAMPLE.TEST', 'www.example.test.', 'www.example.test:80', 'Www.Example.Test.:443']) {
      t.equal((await server.get('/', { host })).status, 200, host)
    }
    const foreign = [
      'example.test',
      'a.www.example.test',
      'www.example.test..',
      'www.example.test:80:80',
      'www.example.test:@evil.test',
      'www.example.test@evil.test',
      'www.example.test/x',
      '[::1]',
      '127.0.0.1',
      '*.example.test',
      'www.example.test%00',
    ]
    for (const host of foreign) {
      const { status } = await server.get('/', { host })
      t.ok(status === 421 || status === 400, `${host}: ${status}`)
    }
    const forwarded = await server.get('/', { host: 'x.test', headers: { 'X-Forwarded-Host': 'www.example.test' } })
    t.equal(forwarded.status, 421, 'nobody is trusted to forward a host')
    t.equal(
      (await server.get('http://www.example.test/', { host: 'x.test' })).status,
      200,
      'an absolute target has the say',
    )
    t.equal((await server.get('http://x.test/', { host: 'www.example.test' })).status, 421)
  })

  await t.test('conditions and ranges', async t => {
    const whole = await server.get('/digits.txt')
    const { etag, 'last-modified': modified } = whole.headers
    t.equal(whole.headers['accept-ranges'], 'bytes')
    const answer = (headers: Record<string, string>, method = 'GET') => server.get('/digits.txt', { headers, method })
    t.match(await answer({ 'If-None-Match': etag }), { status: 304, body: '', headers: { etag } })
    t.match(await answer({ 'If-None-Match': `"x", W/${etag}` }), { status: 304 })
    t.match(await answer({ 'If-None-Match': '*' }), { status: 304 })
    t.match(await answer({ 'If-None-Match': '"x"', 'If-Modified-Since': modified }), { status: 200 })
    t.match(await answer({ 'If-Modified-Since': modified }), { status: 304 })
    t.match(await answer({ 'If-Match': '"x"' }), { status: 412, headers: { 'cache-control': 'no-store' } })
    t.match(await answer({ 'If-Match': `W/${etag}` }), { status: 412 }, 'If-Match compares strongly')
    t.match(await answer({ 'If-Match': etag }), { status: 200 })
    t.match(await answer({ 'If-Unmodified-Since': 'Mon, 01 Jan 2001 00:00:00 GMT' }), { status: 412 })
    t.match(await answer({ Range: 'bytes=2-4' }), {
      status: 206,
      body: '234',
      headers: { 'content-range': 'bytes 2-4/10' },
    })
    t.match(await answer({ Range: 'bytes=-3' }), { status: 206, body: '789' })
    t.match(await answer({ Range: 'bytes=0-1,3-4' }), { status: 200, body: '0123456789' })
    t.match(await answer({ Range: 'bytes=10-' }), { status: 416, headers: { 'content-range': 'bytes */10' } })
    t.match(await answer({ Range: 'bytes=2-4', 'If-Range': etag }), { status: 206 })
    t.match(await answer({ Range: 'bytes=2-4', 'If-Range': `W/${etag}` }), { status: 200 })
    // Text has forms: a date names none of them.
    t.match(await answer({ Range: 'bytes=2-4', 'If-Range': modified }), { status: 200 })
    const head = await answer({ Range: 'bytes=2-4' }, 'HEAD')
    t.match(head, { status: 206, body: '', headers: { 'content-length': '3' } })
    t.match(await answer({}, 'HEAD'), { status: 200, body: '', headers: { 'content-length': '10', etag } })
    t.match(await server.get('/missing', { method: 'HEAD' }), { status: 404, body: '' })
  })

  await t.test('fallback, error pages, redirects, headers', async t => {
    await server.publish({
      ...site,
      errorPages: [
        { status: 404, path: '/404.html' },
        { status: 403, path: '404.html', responseStatus: 404 },
      ],
      redirects: [
        { from: '/old/*', to: '/docs/:splat', status: 301 },
        { from: '/user/:name', to: '/people/:name?from=old' },
        { from: '/moved-away', toHost: 'other.test:8443', to: '/' },
        { from: '/about.html', to: '/about.html' },
      ],
      behaviors: [
        { pathPattern: { type: 'prefix', pattern: '/app/' }, spaFallback: '/app.html' },
        { pathPattern: { type: 'glob', pattern: '/secret/**' }, access: 'deny' },
        {
          pathPattern: { type: 'regex', pattern: '\\.(css|txt)$' },
          cache: { cacheControl: 'max-age=9' },
          responseHeaders: { 'X-Site': 'text', 'X-Frame-Options': '' },
        },
      ],
      headers: { preset: 'strict', response: { 'X-Site': 'mine' } },
    })
    t.match(await server.get('/missing?x'), {
      status: 404,
      body: 'nothing here',
      headers: { 'content-type': 'text/html' },
    })
    t.match(await server.get('/missing', { method: 'HEAD' }), {
      status: 404,
      body: '',
      headers: { 'content-length': '12' },
    })
    t.match(await server.get('/app/users/7'), { status: 200, body: 'app' })
    t.match(await server.get('/secret/key.txt'), {
      status: 404,
      body: 'nothing here',
      headers: { 'cache-control': 'no-store' },
    })
    t.match(
      await server.get('/secret%2Fkey.txt'),
      { status: 404, body: 'nothing here' },
      'an encoded slash is the slash',
    )
    const location = async (path: string, given = {}) => (await server.get(path, given)).headers.location
    t.equal(await location('/old/a/b%20c?q=1'), 'http://www.example.test/docs/a/b%20c?q=1')
    t.equal(await location('/old//evil.test'), 'http://www.example.test/docs//evil.test')
    t.equal(await location('/user/%2F%2Fevil.test'), undefined, 'a segment has no slash')
    t.equal(await location('/user/a%3Fb'), 'http://www.example.test/people/a%3Fb?from=old')
    t.equal(await location('/user/a%20b?x=1'), 'http://www.example.test/people/a%20b?from=old')
    t.equal(await location('/moved-away', { method: 'POST' }), 'http://other.test:8443/')
    t.equal((await server.get('/about.html')).status, 200, 'a rule that leads to the request itself is passed over')
    const text = (await server.get('/digits.txt')).headers
    t.match(text, { 'x-site': 'text', 'cache-control': 'max-age=9', 'x-content-type-options': 'nosniff' })
    t.equal(text['x-frame-options'], undefined, 'an empty value removes')
    t.equal(text['strict-transport-security'], undefined, 'not in plain HTTP')
    t.match((await server.get('/')).headers, {
      'x-site': 'mine',
      'x-frame-options': 'DENY',
      'content-security-policy': /default-src 'self'/,
    })
  })

  await t.test('https only, behind a proxy that ends TLS', async t => {
    await server.publish({ ...site, redirects: [{ httpsOnly: true, status: 308 }] })
    const answer = await server.get('/a%20b?q=1', { host: 'www.example.test:8080' })
    t.match(answer, { status: 308, headers: { location: 'https://www.example.test/a%20b?q=1' } })
  })

  await t.test('pages of other origins', async t => {
    const cors = {
      allowedOrigins: ['https://app.test'],
      allowedHeaders: ['X-A'],
      exposeHeaders: ['ETag'],
      maxAge: 60,
      allowCredentials: true,
    }
    await server.publish({ ...site, headers: { cors } })
    const from = (origin: string, method = 'GET', more = {}) =>
      server.get('/digits.txt', { method, headers: { Origin: origin, ...more } })
    t.match((await from('https://app.test')).headers, {
      'access-control-allow-origin': 'https://app.test',
      'access-control-allow-credentials': 'true',
      'access-control-expose-headers': 'ETag',
      vary: 'Origin',
    })
    const foreign = (await from('https://evil.test')).headers
    t.equal(foreign['access-control-allow-origin'], undefined)
    t.equal(foreign.vary, 'Origin, Accept-Encoding')
    const preflight = await from('https://app.test', 'OPTIONS', {
      'Access-Control-Request-Method': 'GET',
      'Access-Control-Request-Headers': 'x-a',
    })
    t.match(preflight, {
      status: 204,
      headers: {
        'access-control-allow-methods': 'GET, HEAD',
        'access-control-allow-headers': 'x-a',
        'access-control-max-age': '60',
      },
    })
    const refused = await from('https://app.test', 'OPTIONS', { 'Access-Control-Request-Method': 'DELETE' })
    t.match(refused, { status: 204 })
    t.equal(refused.headers['access-control-allow-origin'], undefined)
    t.match(await server.get('/x', { method: 'OPTIONS' }), { status: 204, headers: { allow: 'GET, HEAD, OPTIONS' } })
    t.equal(
      (await server.get('/missing', { headers: { Origin: 'https://app.test' } })).headers[
        'access-control-allow-origin'
      ],
      'https://app.test',
    )
  })

  await t.test('public access that is blocked, a distribution that is disabled', async t => {
    await server.publish(site)
    const block = (enabled: boolean) =>
      server.signed({ method: 'PUT', path: '/api/v1/buckets/pages/block-public', body: { enabled } })
    t.equal((await block(true)).status, 200)
    const blocked = await server.get('/')
    t.match(blocked, { status: 403, headers: { 'cache-control': 'no-store' } })
    t.notMatch(blocked.body, /home/)
    t.equal((await block(false)).status, 200)
    t.equal((await server.get('/')).status, 200)
    await server.publish({ ...site, enabled: false })
    t.equal((await server.get('/')).status, 403)
    await server.publish(site)
  })

  await t.test('an error page is not shown while its bucket or its folder is closed to everybody', async t => {
    const put = (path: string, body: object) =>
      server.signed({ method: 'PUT', path: `/api/v1/buckets/pages/${path}`, body })
    const refused = async () => {
      const { status, body } = await server.get('/about.html')
      return `${status} ${body === 'secret' ? 'the page' : ''}`.trim()
    }
    const errorPages = [{ status: 403, path: '/secret/key.txt', responseStatus: 200 }]
    await server.publish({ ...site, defaultBehavior: { access: 'deny' }, errorPages })
    t.equal(await refused(), '200 the page', 'no behavior closes it')
    await server.publish({ ...site, enabled: false, errorPages })
    t.equal(await refused(), '403', 'nothing is shown of what is disabled')
    await server.publish({ ...site, defaultBehavior: { access: 'deny' }, errorPages })
    t.equal((await put('block-public', { enabled: true })).status, 200)
    t.equal(await refused(), '403')
    const saved = await server.signed({
      method: 'PUT',
      path: '/api/v1/distributions/site',
      body: { ...site, defaultBehavior: { access: 'deny' }, errorPages },
    })
    t.match(saved.json.warnings.join(), /built-in pages are shown instead of the error pages/)
    t.equal((await put('block-public', { enabled: false })).status, 200)
    t.equal(await refused(), '200 the page')
    const closed = {
      id: 'closed',
      effect: 'deny',
      principals: ['*'],
      actions: ['read'],
      match: { type: 'prefix', pattern: 'secret/' },
    }
    const rules = await put('access-rules', { rules: [closed] })
    t.equal(rules.status, 200, rules.text)
    t.equal(await refused(), '403')
    // Nor to whoever is let in by the behavior, and not to that object.
    await server.publish({
      ...site,
      defaultBehavior: { access: 'public' },
      errorPages: [{ status: 404, path: '/secret/key.txt' }],
    })
    const missing = async () => (await server.get('/nothing')).body === 'secret'
    t.notOk(await missing())
    t.equal((await put('access-rules', { rules: [] })).status, 200)
    t.ok(await missing())
    await server.publish({ ...site, defaultBehavior: { access: 'deny' }, errorPages })
    t.equal(await refused(), '200 the page')
    await server.publish(site)
  })

  await t.test('versions are served by their id if the site allows it', async t => {
    await server.s3.send(
      new PutBucketVersioningCommand({ Bucket: 'pages', VersioningConfiguration: { Status: 'Enabled' } }),
    )
    await server.put('pages', { 'v.txt': 'one' })
    await server.publish({ ...site, origin: { bucket: 'pages', versionPinning: true } })
    const first = (await server.get('/v.txt')).headers['x-amz-version-id']
    await server.put('pages', { 'v.txt': 'two' })
    t.match(await server.get('/v.txt'), { body: 'two' })
    t.match(await server.get(`/v.txt?versionId=${first}`), {
      body: 'one',
      headers: { 'cache-control': /immutable/, 'x-amz-version-id': first },
    })
    t.equal((await server.get('/v.txt?versionId=zzz')).status, 404)
    t.equal((await server.get(`/about.html?versionId=${first}`)).status, 404, 'an id of another object')
  })

  await t.test('the host of a deleted distribution is not served', async t => {
    t.equal((await server.signed({ method: 'DELETE', path: '/api/v1/distributions/site' })).status, 204)
    t.equal((await server.get('/')).status, 421)
  })
})
