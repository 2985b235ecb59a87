/** Real Chromium on websites: the example that one command publishes, and what only a browser judges. */
import { join } from 'node:path'
import { PutObjectCommand } from '@aws-sdk/client-s3'
import t from 'tap'
import { svcctlProgram } from '../services/programs.ts'
import { createAdminClient } from './admin.ts'
import { startBrowser, wholeBrowser, withoutBrowser } from './browser.ts'
import { run } from './clients.ts'
import { createClient } from './sdk.ts'
import { accessKey, secretKey, startServer } from './server.ts'

const root = join(import.meta.dirname, '../..')

/** Silence: 8 kHz, 8 bit, mono. Of some minutes: more than a browser asks for at once. */
function wave(seconds: number): Buffer {
  const head = Buffer.alloc(44)
  const size = seconds * 8000
  head.write('RIFF', 0)
  head.writeUInt32LE(36 + size, 4)
  head.write('WAVEfmt ', 8)
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20)
  head.writeUInt16LE(1, 22)
  head.writeUInt32LE(8000, 24)
  head.writeUInt32LE(8000, 28)
  head.writeUInt16LE(1, 32)
  head.writeUInt16LE(8, 34)
  head.write('data', 36)
  head.writeUInt32LE(size, 40)
  return Buffer.concat([head, Buffer.alloc(size, 0x80)])
}

t.test('a browser on websites', { skip: withoutBrowser }, async t => {
  const server = await startServer({ environment: { SVC_WEB_ADDRESS: '127.0.0.1:0' } })
  t.teardown(() => server.remove())
  const s3 = createClient(server)
  t.teardown(() => s3.destroy())
  const admin = createAdminClient(server)
  const web = Number(String(server.startup.web).split(':').at(-1))
  const at = (path: string, name = 'www') => `http://${name}.example.test:${web}${path}`
  const ctl = async (...args: string[]) => {
    const outcome = await run(process.execPath, [svcctlProgram, ...args], server, { input: secretKey })
    t.equal(outcome.code, 0, args.join(' '), { stderr: outcome.stderr })
    return outcome.stdout
  }
  const console = `http://${String(server.startup.console)}`
  await ctl('--admin-url', console, 'alias', 'set', 'home', server.endpoint, accessKey, '--secret-key-stdin')
  await ctl('dist', 'publish', join(root, 'examples/website/site'), '--domain', 'www.example.test')
  const put = async (Key: string, Body: string | Buffer, ContentType: string) => {
    await s3.send(new PutObjectCommand({ Bucket: 'www.example.test', Key, Body, ContentType }))
  }
  await put('sorry.html', '<title>Sorry</title><h1>Nothing is here</h1>', 'text/html')
  await put('film/sound.wav', wave(400), 'audio/wav')
  await put(
    'film/index.html',
    '<title>Sound</title><audio id="a" src="sound.wav" preload="auto" controls></audio>',
    'text/html',
  )
  await put('paid/page.html', '<title>Paid</title><img src="dot.svg" alt="a dot">', 'text/html')
  const dot = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><circle r="9"/></svg>'
  await put('paid/dot.svg', dot, 'image/svg+xml')
  await put('data.json', '{"answer":42}', 'application/json')
  await admin.call('POST', '/keygroups', { id: 'paid', keys: [] })
  await admin.call('POST', '/keygroups/paid/keys', { generate: true })
  const site = await admin.call('GET', '/distributions/www.example.test')
  await admin.call('PUT', '/distributions/www.example.test', {
    ...site,
    headers: { preset: 'strict', cors: { allowedOrigins: [at('', 'app')] } },
    errorPages: [{ status: 404, path: '/sorry.html' }],
    behaviors: [
      { pathPattern: { type: 'prefix', pattern: '/paid/' }, access: 'signed', signing: { keyGroup: 'paid' } },
      {
        pathPattern: { type: 'prefix', pattern: '/data' },
        responseHeaders: { 'Cross-Origin-Resource-Policy': 'cross-origin' },
      },
    ],
  })
  await admin.call('PUT', '/distributions/app', {
    id: 'app',
    aliases: ['app.example.test', 'other.example.test'],
    origin: { bucket: 'www.example.test' },
    defaultBehavior: { spaFallback: 'index.html', indexDocument: 'index.html' },
  })
  const browser = await startBrowser(t, {
    more: ['--host-resolver-rules=MAP *.example.test 127.0.0.1', '--autoplay-policy=no-user-gesture-required'],
    program: wholeBrowser,
  })

  await t.test('index documents, the security preset, error pages', async t => {
    const { page, flaws } = await browser.open(t, {}, /^404 GET \/(missing|favicon\.ico)$/)
    const first = (await page.goto(at('/')))!
    t.equal(first.status(), 200)
    t.match(first.headers(), {
      'content-security-policy': /default-src 'self'/,
      'content-encoding': /^(br|gzip|zstd)$|^$/,
    })
    t.equal(await page.title(), 'A site')
    t.match(await page.evaluate('getComputedStyle(document.body).fontFamily'), /sans-serif/, 'its style is applied')
    await page.click('text=Documents')
    await page.waitForURL(at('/docs/'))
    t.equal(await page.title(), 'Documents')
    await page.goto(at('/docs'))
    t.equal(page.url(), at('/docs/'), 'led to the folder')
    const missing = (await page.goto(at('/missing')))!
    t.equal(missing.status(), 404)
    t.equal(await page.title(), 'Sorry')
    t.same(flaws, [], 'no error in the console')
    await page.evaluate(
      "document.body.append(Object.assign(document.createElement('script'), { textContent: 'window.ran = 1' }))",
    )
    t.equal(await page.evaluate('window.ran'), undefined, 'the policy keeps scripts of others out')
    t.match(flaws.join('\n'), /Content Security Policy/)
  })

  await t.test('a single page, whatever its path is', async t => {
    const { page, flaws } = await browser.open(t, {}, /favicon/)
    t.equal((await page.goto(at('/users/42', 'app')))!.status(), 200)
    t.equal(await page.title(), 'A site')
    t.same(flaws, [])
  })

  await t.test('pages of one origin read from another where CORS lets them, and nowhere else', async t => {
    const { page } = await browser.open(t)
    const read = () => page.evaluate(`fetch('${at('/data.json')}').then(a => a.json(), error => String(error))`)
    await page.goto(at('/', 'app'))
    t.same(await read(), { answer: 42 })
    await page.goto(at('/', 'other'))
    t.match(await read(), /TypeError/)
  })

  await t.test('signed cookies open a page with all that it loads', async t => {
    const { page, flaws } = await browser.open(t, {}, /favicon|^403 GET \/paid\/page\.html$/)
    t.equal((await page.goto(at('/paid/page.html')))!.status(), 403)
    const signed = await admin.call('POST', '/distributions/www.example.test/sign', {
      kind: 'cookies',
      url: at('/paid/page.html'),
      resource: at('/paid/*'),
    })
    const cookies = signed.cookies.map(({ name, value, path, secure, httpOnly }: Record<string, string | boolean>) => ({
      name,
      value,
      domain: 'www.example.test',
      path,
      secure,
      httpOnly,
    }))
    await page.context().addCookies(cookies)
    t.equal((await page.goto(at('/paid/page.html')))!.status(), 200)
    t.ok(await page.evaluate("document.querySelector('img').naturalWidth > 0"), 'the picture, too')
    t.same(flaws, [])
  })

  await t.test('sound is read by ranges', async t => {
    const { page, flaws } = await browser.open(t, {}, /favicon/)
    const statuses: number[] = []
    page.on('response', answer => {
      if (answer.url().endsWith('.wav')) statuses.push(answer.status())
    })
    await page.goto(at('/film/'))
    // The policy of the site forbids the repeated evaluation of `waitForFunction`: each of these is evaluated once.
    const evaluateWhen = (event: string, isReached: string) =>
      page.evaluate(`new Promise(resolve => {
        const audio = document.querySelector('audio')
        const look = () => (${isReached}) && resolve()
        audio.addEventListener('${event}', look)
        look()
      })`)
    // Of the first bytes alone the browser may make an estimate.
    await evaluateWhen('durationchange', 'Math.round(audio.duration) === 400')
    await page.evaluate("document.querySelector('audio').currentTime = 390")
    await evaluateWhen('seeked', '!audio.seeking && audio.readyState >= 2')
    t.ok(statuses.length > 0 && statuses.every(status => status === 206), String(statuses))
    t.same(flaws, [])
  })
})
