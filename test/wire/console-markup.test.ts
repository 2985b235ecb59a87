/** Whatever was stored, logged or answered is text in the web console: markup and scripts in it make no element, and nothing of it runs. */
import { writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { temporaryFolder } from 'svc/testing'
import t from 'tap'
import { aNewVisitor, withoutBrowser } from './browser.ts'
import { chooseFrom, eventually, retype, startConsole } from './console.ts'

// Only a page that hangs takes so long.
t.setTimeout(900_000)

const image = '<img src=x onerror=globalThis.planted=1>'
const link = 'javascript:globalThis.planted=1'
const script = '</script><script>globalThis.planted=1</script>'
/** For what may be long. */
const markup = `${image} ${script} <a href="${link}">here</a>`

/** What nothing stored can have made: an element, or an address that runs. Breaches of the page's policy are errors of its console. */
const traces = `[
  ...document.querySelectorAll('img[src="x"], [onerror], [onload], script:not([type=module]), a[href^="javascript:" i], iframe[src^="javascript:" i]'),
].map(element => element.outerHTML.slice(0, 200)).concat(globalThis.planted === undefined ? [] : ['a script ran'])
  .concat(globalThis.breaches ?? [])`

/** Notes what the policy of the page had to refuse. */
const noteBreaches = `addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI, sample }) => {
  (globalThis.breaches ??= []).push(violatedDirective + ' ' + blockedURI + ' ' + sample)
})`

/** A plugin that logs markup, and holds a lock for a source that is called so. */
const loud = `export default {
  name: 'loud',
  requires: ['locks'],
  setup: ({ services: { locks }, threads, log }) => ({
    serve() {
      log.warn({ object: ${JSON.stringify(markup)} }, ${JSON.stringify(`logged ${markup}`)})
      if (!threads.isMain) return
      const untilLost = ({ signal }) => new Promise(done => signal.addEventListener('abort', done))
      void locks.hold(${JSON.stringify(`svc/${image}`)}, { source: ${JSON.stringify(image)} }, untilLost)
    },
  }),
}`

if (withoutBrowser !== false) {
  t.comment(withoutBrowser)
  t.end()
} else {
  const plugin = join(temporaryFolder(t), 'loud.mjs')
  writeFileSync(plugin, loud)
  const { server, url, admin, browser, signIn, signInByForm } = await startConsole(t, {
    environment: { SVC_PLUGINS: `svc/plugins/standard,${plugin}`, SVC_CACHE_WEBHOOK_ALLOW: '127.0.0.0/8' },
  })
  const { call } = admin
  const key = `${image}/${image}`
  const keyQuery = `key=${encodeURIComponent(key)}`
  await call('POST', '/buckets', { name: 'photos', versioning: true })
  await call('POST', `/buckets/photos/objects/upload?${keyQuery}`, 'x')
  await call('POST', `/buckets/photos/objects/upload?key=${encodeURIComponent(link)}`, 'x')
  await call('PUT', `/buckets/photos/objects/metadata?${keyQuery}`, {
    contentType: 'text/plain',
    cacheControl: image,
    userMetadata: { author: markup },
  })
  await call('POST', '/buckets/photos/objects/share', { key })
  await call('POST', '/users', { accessKey: 'ada', secretKey: 'secret-of-ada', description: markup })
  await call('POST', '/groups', { name: 'staff', description: markup })
  await call('POST', '/access-keys', { name: 'program', description: markup })
  await call('PUT', '/policies/sids', {
    document: {
      Version: '2012-10-17',
      Statement: [{ Sid: 'one', Effect: 'Allow', Action: 's3:GetObject', Resource: `arn:aws:s3:::photos/${image}` }],
    },
  })
  await call('PUT', '/buckets/photos/access-rules', {
    rules: [
      {
        id: 'rule',
        description: markup,
        effect: 'allow',
        principals: ['*'],
        actions: ['read'],
        match: { type: 'prefix', pattern: image },
      },
    ],
  })
  await call('PUT', '/buckets/photos/lifecycle', {
    rules: [{ id: image, enabled: true, filter: { prefix: image }, expiration: { days: 30 } }],
  })
  await call('POST', '/distributions', {
    id: 'www.example.test',
    aliases: ['www.example.test'],
    origin: { bucket: 'photos' },
    comment: markup,
    defaultBehavior: { access: 'public' },
    errorPages: [{ status: 404, path: `/${image}.html` }],
  })
  await call('POST', '/keygroups', { id: 'links', comment: markup })
  await call('POST', '/cache/policies', { name: 'short', comment: markup })

  const shows = (page: Page, text: string) => page.getByText(text).first().waitFor()

  t.test('it would be noticed', async t => {
    const { page } = await browser.open(t)
    await page.setContent(markup)
    t.match(await page.evaluate(traces), [/^<img src="x"/, /^<script>/, /^<a href="javascript:/, 'a script ran'])
  })

  t.test('on every page', async t => {
    const { page, flaws } = await browser.open(t, aNewVisitor, /404 GET .*(encryption|policy)/)
    await page.addInitScript(noteBreaches)
    await signIn(page)
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    const look = async (name: string) => t.same(await page.evaluate(traces), [], name)
    const visit = async (path: string, text: string) => {
      await page.goto(url + path)
      await shows(page, text)
      await look(path)
    }
    await visit('/buckets/photos', link)
    await page.getByRole('link', { name: `${image}/` }).click()
    await page.getByRole('button', { name: image, exact: true }).click()
    await page.getByRole('cell', { name: markup }).waitFor()
    await look('details')
    await page.getByRole('dialog').getByRole('tab', { name: 'Versions' }).click()
    await page.getByRole('row').nth(1).waitFor()
    await look('versions')
    for (const [path, text] of [
      ['/shares', image],
      ['/users', 'ada'],
      ['/groups', 'staff'],
      ['/access-keys', 'program'],
      ['/buckets/photos?tab=access', image],
      ['/buckets/photos?tab=lifecycle', image],
      ['/distributions', 'www.example.test'],
      ['/distributions/www.example.test', 'www.example.test'],
      ['/key-groups', 'links'],
      ['/cache?tab=policies', 'short'],
      ['/locks', image],
    ] as const) {
      await visit(path, text)
    }
    await page.goto(`${url}/distributions/www.example.test`)
    await page.getByRole('tab', { name: 'Errors and redirects' }).click()
    await look('error pages')
    await page.goto(`${url}/policies`)
    await page.getByRole('button', { name: 'Edit sids' }).click()
    await page.locator('.cm-content').getByText(image).first().waitFor()
    await look('policy')
    t.same(flaws, [])
  })

  t.test('in live lines, the log and the audit, of requests that anybody may send', async t => {
    const { page, flaws } = await browser.open(t, aNewVisitor)
    await page.addInitScript(noteBreaches)
    await signIn(page, '/trace')
    await page.getByText('Live.').waitFor()
    // As an attacker sends it: no client of HTTP would write such a path.
    await new Promise<void>((done, fail) => {
      request(
        `${server.endpoint}/photos/${encodeURIComponent(image)}?x=${encodeURIComponent(script)}`,
        { headers: { 'user-agent': markup, referer: link } },
        answer => answer.resume().on('end', done),
      )
        .on('error', fail)
        .end()
    })
    await page.getByRole('cell', { name: 'globalThis.planted' }).first().waitFor()
    t.same(await page.evaluate(traces), [])
    await page.goto(`${url}/logs`)
    await page.getByLabel('Component').fill('loud')
    await shows(page, `logged ${image}`)
    t.same(await page.evaluate(traces), [])
    await page.goto(`${url}/audit`)
    await page.getByRole('cell', { name: 'globalThis.planted' }).first().waitFor()
    t.same(await page.evaluate(traces), [])
    t.same(flaws, [])
  })

  t.test('in the words with which the server refuses, and in what an address of the console says', async t => {
    const { page, flaws } = await browser.open(t, aNewVisitor, /40\d (POST|PUT|GET) /)
    await page.addInitScript(noteBreaches)
    await signIn(page, '/buckets')
    await page.getByRole('button', { name: 'Create bucket' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill(image)
    await dialog.getByRole('button', { name: 'Create' }).click()
    await dialog.locator('.mantine-InputWrapper-error').waitFor()
    t.same(await page.evaluate(traces), [])
    await page.goto(`${url}/users`)
    await page.getByRole('button', { name: 'Create user' }).click()
    await dialog.getByLabel('User').fill(image)
    await dialog.getByRole('button', { name: 'Create' }).click()
    await dialog
      .getByText(/must|invalid/i)
      .first()
      .waitFor()
    t.same(await page.evaluate(traces), [])
    await page.goto(`${url}/policies`)
    await page.getByRole('button', { name: 'Create policy' }).click()
    await dialog.getByLabel('Name').fill(image)
    const statement = { Effect: 'Allow', Action: 's3:GetObject', Resource: 'arn:aws:s3:::photos/*' }
    const document = JSON.stringify({ Version: '2012-10-17', Statement: [statement] })
    await retype(dialog.locator('.cm-content'), document)
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog
      .locator('.mantine-InputWrapper-error')
      .getByText(/has 1 to 128/)
      .waitFor()
    t.same(await page.evaluate(traces), [])
    for (const path of [`/buckets/${encodeURIComponent(image)}`, `/distributions/${encodeURIComponent(markup)}`]) {
      await page.goto(url + path)
      await page.getByRole('alert').first().waitFor()
      t.same(await page.evaluate(traces), [], path)
    }
    await page.goto(`${url}/buckets/photos?prefix=${encodeURIComponent(markup)}`)
    await shows(page, image)
    t.same(await page.evaluate(traces), [])
    t.same(flaws, [])
  })

  t.test(
    'in events that were given up, settings of a bucket, DNS providers, and what a cache in front answers',
    async t => {
      // Its status line has markup, too. With 400 a delivery is given up at once; the test of a rule is taken.
      let status = 200
      const sink = createServer(socket => {
        socket.on('error', () => {})
        socket.on('data', () => socket.end(`HTTP/1.1 ${status} ${image}\r\nconnection: close\r\n\r\n${markup}`))
      })
      await new Promise<void>(done => sink.listen(0, '127.0.0.1', done))
      t.teardown(() => sink.close())
      const endpoint = `http://127.0.0.1:${(sink.address() as AddressInfo).port}/`
      await call('PATCH', '/config/notify_webhook:hook', { settings: { enable: 'on', endpoint, comment: markup } })
      const [{ arn }] = (await call('GET', '/notify/targets')).items
      const events = ['s3:ObjectCreated:*']
      await call('PUT', '/buckets/photos/events', { subscriptions: [{ id: 'rule', arn, events, prefix: image }] })
      status = 400
      await call('POST', `/buckets/photos/objects/upload?key=${encodeURIComponent(`${image}told`)}`, 'x')
      await eventually('it is given up', async () => (await call('GET', '/notify/targets')).items[0].deadLetters > 0)
      await call('PUT', '/buckets/photos/cors', {
        rules: [{ id: image, allowedOrigins: ['*'], allowedMethods: ['GET'], allowedHeaders: [] }],
      })
      await call('POST', '/dns-providers', {
        name: 'home',
        type: 'rfc2136',
        comment: markup,
        rfc2136: { nameserver: '127.0.0.1:53', tsigKeyName: 'key' },
        credentials: { tsigSecret: 'c2VjcmV0' },
      })
      const webhook = {
        id: 'front',
        type: 'generic',
        url: `${endpoint}{path}`,
        method: 'PURGE',
        headers: { 'X-Of': image },
      }
      await call('PUT', '/distributions/www.example.test/cache/settings', { webhooks: [webhook] })

      const { page, flaws } = await browser.open(t, aNewVisitor, /400 (PUT|POST) |404 GET .*(encryption|policy)/)
      await page.addInitScript(noteBreaches)
      await signIn(page, '/events')
      await chooseFrom(page.getByRole('button', { name: 'More for webhook:hook' }), 'Show what was given up')
      await page.getByRole('cell', { name: `photos/${image}told` }).waitFor()
      t.same(await page.evaluate(traces), [], 'given up')
      await page.goto(`${url}/buckets/photos?tab=events`)
      await page.getByLabel('Suffix').waitFor()
      t.same(await page.evaluate(traces), [], 'rules of events')
      await page.goto(`${url}/buckets/photos?tab=settings`)
      await page.getByRole('group', { name: 'rule 1' }).waitFor()
      await page.getByRole('button', { name: 'Add tag' }).click()
      await page.getByLabel('Name of tag 1').fill(image)
      await page.getByLabel('Value of tag 1').fill(script)
      await page.getByRole('button', { name: 'Save' }).click()
      await page.locator('.mantine-InputWrapper-error').first().waitFor()
      t.same(await page.evaluate(traces), [], 'tags, which may have no markup, are refused')
      await page.goto(`${url}/dns-providers`)
      await shows(page, image)
      t.same(await page.evaluate(traces), [], 'DNS providers')
      await page.goto(`${url}/distributions/www.example.test`)
      await page.getByRole('tab', { name: 'Cache', exact: true }).click()
      await page.getByRole('button', { name: 'Test front' }).click()
      await page.getByText(/The test failed/).waitFor()
      t.same(await page.evaluate(traces), [], 'a cache in front')
      t.same(flaws, [])
    },
  )

  t.test('characters that turn text around or have no shape are named, and hide nothing', async t => {
    const hostile = 'photo\u202egnp.exe'
    await call('POST', `/buckets/photos/objects/upload?key=${encodeURIComponent(hostile)}`, 'x')
    await call('POST', '/users', { accessKey: 'bob', secretKey: 'secret-of-bob', description: 'a\u202ebc' })
    const { page, flaws } = await browser.open(t)
    await signIn(page, '/buckets/photos')
    await page.locator('main bdi', { hasText: 'photoU+202Egnp.exe' }).waitFor()
    t.equal(await page.locator('main .hidden-character').textContent(), 'U+202E')
    await page.getByRole('checkbox', { name: 'Select photo[U+202E]gnp.exe' }).check()
    await page.getByRole('button', { name: 'Delete' }).first().click()
    await page.getByRole('dialog', { name: 'Delete photo[U+202E]gnp.exe?' }).waitFor()
    const hidden = () => page.evaluate(`/[\\u202a-\\u202e\\u2066-\\u2069]/.test(document.body.textContent)`)
    t.notOk(await hidden(), 'nothing of it is on the page')
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'photoU+202Egnp.exe' }).click()
    await page.getByRole('dialog').locator('bdi', { hasText: 'photoU+202Egnp.exe' }).waitFor()
    t.notOk(await hidden(), 'nor in what is known of it')
    await page.goto(`${url}/users`)
    await page.locator('main bdi', { hasText: 'aU+202Ebc' }).waitFor()
    t.notOk(await hidden(), 'nor where a user is described')
    t.same(flaws, [])
  })

  t.test('a cookie that a page of another port has planted makes nobody work as another user', async t => {
    const { page, flaws } = await browser.open(t, {}, /401 GET /)
    await signIn(page, '/buckets')
    await page.getByRole('heading', { name: 'Buckets' }).waitFor()
    const login = await fetch(`${url}/api/v1/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ accessKey: 'ada', secretKey: 'secret-of-ada' }),
    })
    const [, value] = /^svc_session=([\w-]+)/.exec(login.headers.getSetCookie()[0]!)!
    const { hostname } = new URL(url)
    const plant = (path: string, planted: string) =>
      page.context().addCookies([{ name: 'svc_session', value: planted, domain: hostname, path }])
    await plant('/api/v1', value!)
    await page.goto(`${url}/users`)
    await page.getByLabel('Access key').waitFor()
    await signInByForm(page, '/users')
    await page.getByRole('heading', { name: 'Users' }).waitFor()
    await page.reload()
    await page.getByRole('heading', { name: 'Users' }).waitFor()
    const kept = (await page.context().cookies()).filter(({ name }) => name === 'svc_session')
    t.same(
      kept.map(({ path }) => path),
      ['/'],
      'the sign-in has removed the other one',
    )
    const paths = ['/api', '/api/v1', '/api/v1/users', '/api/v1/auth', '/api/v1/auth/session', '/api/v1/me']
    for (const path of paths) await plant(path, 'x'.repeat(43))
    await page.reload()
    await page.getByRole('heading', { name: 'Users' }).waitFor()
    t.same(flaws, [], 'and junk locks nobody out')
  })

  t.test('the address to go to after the sign-in is none that runs', async t => {
    const { page, flaws } = await browser.open(t)
    await signInByForm(page, `/sign-in?from=${encodeURIComponent(link)}`)
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    t.same(await page.evaluate(traces), [])
    t.same(flaws, [])
  })
}
