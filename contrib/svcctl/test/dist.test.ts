/** `dist`: buckets on names of their own, against the real server. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { HeadObjectCommand } from '@aws-sdk/client-s3'
import { temporaryFolder } from 'svc/testing'
import t, { type Test } from 'tap'
import { cacheControlOf } from '../distributions/cache-headers.ts'
import { startServer } from './server.ts'
import { createSession } from './session.ts'

// Nobody is there: an order that is wished for fails at once.
const server = await startServer({ config: { acme: { directory: 'https://127.0.0.1:1/directory' } } })
t.teardown(() => server.stop())
const { run, folder } = createSession(temporaryFolder(t))
const env = { SVCCTL_SECRET_KEY: 'change-me-please' }
await run(['--admin-url', server.adminUrl, 'alias', 'set', 'home', server.endpoint, 'admin'], { env })
const files = { 'index.html': '<h1>1</h1>', 'assets/app.3f2a9c1b.js': 'x', 'assets/logo.svg': '<svg/>' }
for (const [name, text] of Object.entries(files)) {
  mkdirSync(join(folder, 'site', name, '..'), { recursive: true })
  writeFileSync(join(folder, 'site', name), text)
}

const succeeds = async (t: Test, ...args: string[]) => {
  const outcome = await run(args)
  t.equal(outcome.code, 0, args.join(' '), { stderr: outcome.stderr })
  return outcome
}

t.test('cache headers go by names', async t => {
  const kept = ['a.3f2a9c1b.js', 'assets/index-BkX3_9aZ.css', 'main.0123456789abcdef.mjs']
  for (const key of kept) t.match(cacheControlOf(key), /immutable/, key)
  for (const key of ['logo.svg', 'my-document.pdf', 'a.js', 'very-long-name-of-a-file.png']) {
    t.equal(cacheControlOf(key), 'public, max-age=3600', key)
  }
  t.equal(cacheControlOf('docs/index.html'), 'no-cache')
})

t.test('publish makes bucket, objects and distribution; a second run keeps changed settings', async t => {
  const first = await succeeds(t, '--json', 'dist', 'publish', 'site', '--domain', 'www.example.test')
  t.match(first.records.at(-1), { status: 'published', files: 3, address: 'http://www.example.test/' })
  const head = await server.s3.send(
    new HeadObjectCommand({ Bucket: 'www.example.test', Key: 'assets/app.3f2a9c1b.js' }),
  )
  t.match(head.ContentType, /javascript/)
  t.equal(head.CacheControl, 'public, max-age=31536000, immutable')
  const file = join(folder, 'document.json')
  const { stdout } = await succeeds(t, 'dist', 'get', 'home/www.example.test')
  writeFileSync(file, JSON.stringify({ ...JSON.parse(stdout), comment: 'mine' }))
  await succeeds(t, 'dist', 'set', 'home/www.example.test', file, '--dry-run')
  await succeeds(t, 'dist', 'set', 'home/www.example.test', file)
  const again = await succeeds(
    t,
    '--json',
    'dist',
    'publish',
    'site',
    'home',
    '--domain',
    'www.example.test',
    '--domain',
    'example.test',
    '--id',
    'www.example.test',
  )
  t.match(again.records.at(-1), { status: 'updated' })
  const kept = JSON.parse((await succeeds(t, 'dist', 'get', 'home/www.example.test')).stdout)
  t.match(kept, { comment: 'mine', aliases: ['www.example.test', 'example.test'] })
  const tested = await succeeds(t, 'dist', 'test', 'home/www.example.test', '/missing', '--ip', '192.0.2.1')
  t.match(tested.stdout, /^404, allow by distribution\ndefault behavior, access public\n/)
  mkdirSync(join(folder, 'site/.git'), { recursive: true })
  mkdirSync(join(folder, 'site/.well-known'), { recursive: true })
  for (const name of ['.env', '.git/config', '.well-known/security.txt']) writeFileSync(join(folder, 'site', name), 'x')
  const hidden = await succeeds(t, '--json', 'dist', 'publish', 'site', '--domain', 'www.example.test')
  t.match(hidden.records.at(-1), { files: 4 })
  t.match(hidden.stderr, /\.env is hidden: left out[\s\S]*\.git\/config is hidden/)
  const other = await run(['dist', 'set', 'home/other', file])
  t.match(other, { code: 2, stderr: /is of the distribution "www\.example\.test", not of other/ })
  for (const domain of ['http://x.test', 'x.test:8080', 'x.test/a']) {
    t.match(await run(['dist', 'publish', 'site', '--domain', domain]), {
      code: 2,
      stderr: /without scheme, port and path/,
    })
  }
  t.equal((await run(['dist', 'publish', 'site'])).code, 2, 'a domain is needed')
  t.equal((await run(['dist', 'publish', 'document.json', '--domain', 'x.test'])).code, 2, 'a folder is needed')
})

t.test('publish says what is missing, and what to do about it', async t => {
  const publish = () => succeeds(t, 'dist', 'publish', 'site', '--domain', 'www.example.test')
  const unreachable = await publish()
  t.match(unreachable.stdout, /^4 files of site will be on http:\/\/www\.example\.test\/\n/)
  t.match(unreachable.stderr, 'No listener answers for distributions: start the server with SVC_WEB_ADDRESS')
  await succeeds(t, 'access', 'block-public', 'home/www.example.test', 'on')
  t.match((await publish()).stderr, 'svcctl access block-public home/www.example.test off')
  await succeeds(t, 'access', 'block-public', 'home/www.example.test', 'off')
  await succeeds(t, 'access', 'block-public', 'home', 'on')
  t.match((await publish()).stderr, /in the whole server is blocked[\s\S]*svcctl access block-public home off/)
  await succeeds(t, 'access', 'block-public', 'home', 'off')
  t.notMatch((await publish()).stderr, 'is blocked')
})

t.test('publish refuses a taken domain before it makes anything, and tells of a page that nobody sees', async t => {
  const taken = await run([
    'dist',
    'publish',
    'site',
    '--domain',
    'www.example.test',
    '--id',
    'second',
    '--bucket',
    'second-bucket',
  ])
  t.match(taken, {
    code: 5,
    stderr:
      /is an alias of the distribution www\.example\.test\. --id www\.example\.test publishes into that one\. \(alias_conflict, /,
  })
  t.equal(taken.stderr.split('is an alias of').length, 2, 'it is said once')
  t.notMatch(taken.stderr, /There is no bucket/, 'the bucket would be made: that it is missing is no problem')
  t.notMatch((await run(['ls', 'home'])).stdout, /second-bucket/, 'no bucket was made')
  writeFileSync(join(folder, 'site/404.html'), 'not here')
  const publish = () => succeeds(t, 'dist', 'publish', 'site', '--domain', 'www.example.test')
  t.match((await publish()).stderr, /404\.html is not used yet: add "errorPages"/)
  const file = join(folder, 'pages.json')
  const document = JSON.parse((await succeeds(t, 'dist', 'get', 'home/www.example.test')).stdout)
  const errorPages = [{ status: 404, path: '/404.html' }]
  const redirects = [{ httpsOnly: true, status: 301 }]
  writeFileSync(file, JSON.stringify({ ...document, errorPages, redirects, tls: { certificate: 'auto' } }))
  const set = await succeeds(t, 'dist', 'set', 'home/www.example.test', file)
  t.match(
    set.stderr,
    /certificate for www\.example\.test, example\.test is ordered now: `svcctl dist cert get home\/www\.example\.test`/,
  )
  const again = await publish()
  t.match(again.stdout, /https:\/\/www\.example\.test\//, 'plain HTTP is redirected')
  t.notMatch(again.stderr, /404\.html/)
  writeFileSync(file, JSON.stringify(document))
  t.notMatch((await succeeds(t, 'dist', 'set', 'home/www.example.test', file)).stderr, /ordered/)
})

t.test('create, list, resolve, disable, rotate, remove', async t => {
  await run(['mb', 'home/media'])
  await succeeds(
    t,
    'dist',
    'create',
    'home/media',
    '--bucket',
    'media',
    '--alias',
    'media.example.test',
    '--mode',
    's3',
  )
  t.equal((await run(['dist', 'create', 'home/media', '--bucket', 'media', '--alias', 'm.test'])).code, 5)
  t.equal(
    (await run(['dist', 'create', 'home/other', '--bucket', 'media', '--alias', 'media.example.test'])).code,
    5,
    'a taken name',
  )
  t.match((await succeeds(t, 'dist', 'list', 'home')).stdout, /^media {2}s3 {2}media\/ {2}media\.example\.test\n/)
  t.equal((await succeeds(t, '--json', 'dist', 'list', 'home', '--bucket', 'media')).records.length, 1)
  t.match((await succeeds(t, 'dist', 'resolve', 'home', 'media.example.test')).stdout, /exact \(step a\)/)
  t.match((await succeeds(t, 'dist', 'resolve', 'home', 'nobody.test/x')).stdout, /answered 421/)
  await succeeds(t, 'dist', 'disable', 'home/media')
  t.match((await succeeds(t, 'dist', 'list', 'home')).stdout, /^media {2}s3, disabled/)
  await succeeds(t, 'dist', 'enable', 'home/media')
  t.equal((await run(['dist', 'rotate-secret', 'home/media'])).code, 5, 'there is none to rotate')
  const value = 'a-secret-of-a-proxy-in-front'
  const document = {
    aliases: ['media.example.test'],
    origin: { bucket: 'media' },
    mode: 's3',
    restrictions: { originSecretHeader: { name: 'X-O', value } },
  }
  t.equal((await run(['dist', 'set', 'home/media', '-'], { input: JSON.stringify(document) })).code, 0)
  t.match((await succeeds(t, 'dist', 'rotate-secret', 'home/media')).stdout, /^x-o: [\w-]{43}\n$/)
  t.equal((await run(['dist', 'set', 'home/media', '-'], { input: '[' })).code, 2)
  await succeeds(t, 'dist', 'create', 'home/wild', '--bucket', 'media', '--alias', '*.example.test', '--mode', 's3')
  const asked = await run(['dist', 'remove', 'home/media'], { input: 'n\n', isAnswered: true })
  t.match(asked, {
    code: 1,
    stderr: 'wild has media.example.test then, with its *.example.test. Take home/media off its names?',
  })
  await succeeds(t, 'dist', 'remove', 'home/media', '--yes')
  await succeeds(t, 'dist', 'remove', 'home/wild', '--yes')
  t.equal((await run(['dist', 'get', 'home/media'])).code, 3)
  t.notMatch(readFileSync(join(folder, 'document.json'), 'utf8'), /a-secret/)
})

t.test('diff exits with 5 where a file differs; warnings are shown, and each place of a problem once', async t => {
  const file = join(folder, 'kept.yaml')
  const document = (fields: string) => `apiVersion: svc/v1
kind: Distribution
metadata: { name: kept }
spec: { aliases: [kept.example.test], origin: { bucket: kept }${fields} }
`
  const reference = `{ originSecretHeader: { name: x-o, values: ["\${secret:kept}"] } }`
  writeFileSync(file, document(`, restrictions: ${reference}`))
  const refused = await run(['dist', 'diff', 'home', 'kept.yaml'])
  t.match(refused, { code: 1, stderr: /There is no bucket kept: make it first \(`svcctl mb ALIAS\/kept`\)/ })
  t.equal(refused.stderr.match(/line 4/g)?.length, 1, refused.stderr)
  t.equal(refused.stderr.match(/origin\/bucket/g)?.length, 1)
  t.equal(refused.stderr.match(/no bucket/g)?.length, 1)
  await run(['mb', 'home/kept'])
  const warning = `Distribution/kept: \${secret:kept}: SVC_SECRET_KEPT is not set on this node`
  t.match(await run(['dist', 'diff', 'home', 'kept.yaml']), {
    code: 5,
    stdout: '+ Distribution/kept',
    stderr: /SVC_SECRET_KEPT is not set[\s\S]*1 document differs/,
  })
  t.match((await succeeds(t, 'dist', 'import', 'home', 'kept.yaml')).stderr, warning)
  t.match((await succeeds(t, 'dist', 'diff', 'home', 'kept.yaml')).stderr, warning)
  writeFileSync(file, document(', enabled: 3, mode: 4'))
  const wrong = await run(['dist', 'import', 'home', 'kept.yaml'])
  t.equal(wrong.stderr.match(/spec\/enabled/g)?.length, 1, wrong.stderr)
  t.equal(wrong.stderr.match(/spec\/mode/g)?.length, 1)
})

t.test('publish makes nothing of an empty folder, and says that a distribution is disabled', async t => {
  mkdirSync(join(folder, 'empty/.git'), { recursive: true })
  writeFileSync(join(folder, 'empty/.git/config'), 'x')
  const empty = await run(['dist', 'publish', 'empty', '--domain', 'empty.example.test'])
  t.match(empty, { code: 2, stderr: /has no files to publish\. Nothing was made/ })
  t.equal((await run(['stat', 'home/empty.example.test'])).code, 3, 'no bucket is left behind')
  const publish = ['dist', 'publish', 'site', '--domain', 'off.example.test']
  await succeeds(t, ...publish)
  await succeeds(t, 'dist', 'disable', 'home/off.example.test')
  const disabled = await succeeds(t, ...publish)
  t.match(disabled.stdout, 'will be on')
  t.match(disabled.stderr, /off\.example\.test is disabled: .* until `svcctl dist enable home\/off\.example\.test`/)
  await succeeds(t, 'dist', 'enable', 'home/off.example.test')
  t.notMatch((await succeeds(t, ...publish)).stderr, 'is disabled')
})

t.test('publish tells the port of the web listener, to those who may see it', async t => {
  const http = { address: '127.0.0.1:0', consoleAddress: '127.0.0.1:0', webAddress: '127.0.0.1:0' }
  const withWeb = await startServer({ config: { http } })
  t.teardown(() => withWeb.stop())
  await run(['--admin-url', withWeb.adminUrl, 'alias', 'set', 'web', withWeb.endpoint, 'admin'], { env })
  const { stdout, stderr } = await succeeds(t, 'dist', 'publish', 'site', 'web', '--domain', 'www.example.test')
  t.match(stdout, / are on http:\/\/www\.example\.test\/\n/)
  const web = withWeb.kernel.services.http.listeners().find(({ name }) => name === 'web')!
  t.match(stderr, `It listens on port ${web.port}: without a proxy the address is http://www.example.test:${web.port}/`)
  await run(['alias', 'remove', 'web', '--yes'])
})

t.test('publish into a distribution of another name keeps its bucket and its prefix', async t => {
  await succeeds(
    t,
    ...['dist', 'publish', 'site', '--domain', 'shop.example.test', '--id', 'shop', '--bucket', 'goods'],
  )
  await succeeds(t, ...['dist', 'publish', 'site', '--domain', 'shop.example.test', '--id', 'shop', '--prefix', 'v2/'])
  await succeeds(t, ...['dist', 'publish', 'site', '--domain', 'more.example.test', '--id', 'shop'])
  const { stdout } = await succeeds(t, 'dist', 'get', 'home/shop')
  t.match(JSON.parse(stdout), { origin: { bucket: 'goods', pathPrefix: 'v2/' }, aliases: { length: 2 } })
})

t.test('what a server has is named in one way: ALIAS/NAME', async t => {
  const missing = { code: 3, stderr: /_not_found/ }
  for (const args of [
    ['dist', 'get', 'home/nothing'],
    ['dist', 'cert', 'get', 'home/nothing'],
    ['dist', 'cert', 'get', 'home', 'nothing'],
    ['dist', 'keygroup', 'get', 'home/nothing'],
    ['admin', 'user', 'get', 'home/nobody'],
  ]) {
    t.match(await run(args), missing, args.join(' '))
  }
  t.match(await run(['dist', 'cert', 'get', 'home']), { code: 2, stderr: /missing required argument 'id'/ })
  t.match(await run(['dist', 'cert', 'get', 'home/a', 'b']), { code: 2, stderr: /too many arguments/ })
})

t.test('what the server says of a request names the options that people typed', async t => {
  const create = ['dist', 'create', 'home/words', '--bucket', 'www.example.test', '--alias']
  const cases = [
    [[...create, 'no_name..x'], /--alias is no DNS name: "no_name\.\.x"/],
    [[...create, 'words.example.test', '--prefix', '/x'], /--prefix begins with a slash/],
    [
      ['dist', 'sign', 'home/www.example.test', '/a', '--expire', '400d'],
      /--expire \(in seconds\) must be <= 31536000/,
    ],
    [
      ['share', 'download', 'home/www.example.test/index.html', '--expire', '30d'],
      /--expire \(in seconds\) must be <= 604800/,
    ],
    [
      ['admin', 'metrics', 'query', 'home', 'svc_s3_requests_total', '--fn', 'quantile'],
      /--fn: svc_s3_requests_total is/,
    ],
    [['admin', 'dns-provider', 'add', 'home', 'main', '--type', 'rfc2136'], /--nameserver: is missing/],
  ] as const
  for (const [args, stderr] of cases) t.match(await run(args), { code: 1, stderr }, args.join(' '))
})
