/** Operating in the web console, against the services that it is about: throttled sign-ins, orders of certificates, DNS, deliveries, healing. */
import { globSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Page } from 'playwright-core'
import { startPebble } from 'svc/plugins/acme/testing'
import { createTestAuthority } from 'svc/plugins/certificates/testing'
import { skipWithoutNamed, startNamed } from 'svc/plugins/dns/testing'
import { findLastingPort, temporaryFolder } from 'svc/testing'
import t from 'tap'
import { accessibilityFlaws, aNewVisitor, withoutBrowser } from '../browser.ts'
import { requireProgram } from '../clients.ts'
import { chooseFrom, eventually, startConsole } from '../console.ts'
import { secretKey } from '../server.ts'

// Only a page that hangs takes so long.
t.setTimeout(900_000)

const skip = withoutBrowser || requireProgram('pebble').skip || skipWithoutNamed()
const zone = 'example.test'
/** What `datetime-local` takes. */
const localTime = (ms: number) => new Date(ms).toISOString().slice(0, 16)

if (skip !== false) {
  t.comment(skip)
  t.end()
} else {
  const webPort = await findLastingPort()
  // At `away` nothing answers, so that no authority gives a certificate for it.
  const named = await startNamed(t, { zones: { [zone]: ['www IN A 127.0.0.1', 'away IN A 127.0.0.2'] } })
  const pebble = await startPebble(t, { httpPort: webPort, tlsPort: 9, dnsServer: named.server })
  const drives = temporaryFolder(t)
  const { url, admin, browser, signIn, signInByForm } = await startConsole(t, {
    drive: join(drives, 'd{1...4}'),
    environment: {
      SVC_WEB_ADDRESS: `127.0.0.1:${webPort}`,
      SVC_WEB_TLS_ADDRESS: '127.0.0.1:0',
      SVC_ACME_DIRECTORY: pebble.directory,
      SVC_ACME_CA_CERT: pebble.caFile,
      SVC_ACME_DNS_NAMESERVERS: named.server,
      SVC_ACME_HTTP_PORT: String(webPort),
    },
  })
  const { call } = admin
  const upload = (key: string, body: string) => call('POST', `/buckets/photos/objects/upload?key=${key}`, body)
  await call('POST', '/buckets', { name: 'photos' })
  for (const key of ['a', 'b', 'c']) await upload(key, 'x'.repeat(300_000))
  const row = (page: Page, name: RegExp) => page.getByRole('row', { name }).first()

  t.test('who fails to sign in too often is told how long to wait, as the seconds pass', async t => {
    const { page, flaws } = await browser.open(t, aNewVisitor, /(401|429) POST .*login/)
    // The tests of other files and this one have the same address: only this key is guessed.
    const guess = { accessKey: 'nobody', secretKey: 'a guess' }
    for (let tries = 0; tries < 5; tries++) {
      await fetch(`${url}/api/v1/auth/login`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(guess),
      })
    }
    await page.clock.install()
    await signInByForm(page, '/', guess.accessKey, secretKey)
    const told = page.getByRole('alert')
    await told.getByText(/Try again in \d+ seconds\./).waitFor()
    const seconds = async () => Number(/in (\d+) second/.exec((await told.textContent()) ?? '')?.[1])
    const first = await seconds()
    t.ok(first > 0 && first <= 60, `${first} seconds`)
    await page.clock.runFor(10_000)
    await eventually('ten seconds less', async () => (await seconds()) <= first - 10)
    await page.clock.runFor(60_000)
    await told.getByText('You can try again now.').waitFor()
    t.same(await accessibilityFlaws(page), [])
    t.same(flaws, [])
  })

  t.test(
    'certificates: an order is seen to succeed, and another one to fail at its step; it can be tried again',
    async t => {
      const { page, flaws } = await browser.open(t, {}, /409 PUT .*distributions|429 POST .*renew/)
      await signIn(page, '/certificates')
      await page.getByText('There is no certificate').waitFor()
      for (const id of ['www', 'away']) {
        await call('POST', '/distributions', {
          id,
          aliases: [`${id}.${zone}`],
          origin: { bucket: 'photos' },
          tls: { certificate: 'auto', challenge: 'http-01' },
        })
      }
      // Nobody loads the page again.
      await row(page, /^www www\.example\.test valid /).waitFor()
      const failed = row(page, /^away away\.example\.test failed /)
      await failed.waitFor()
      t.match(await failed.textContent(), /away\.example\.test, step “[\w -]+”: .+127\.0\.0\.2/)
      t.match(await failed.textContent(), /Next try: /)
      t.same(await accessibilityFlaws(page), [])

      const { fingerprint } = await call('GET', '/certificates/www')
      await page.getByRole('button', { name: 'Renew www' }).click()
      await page.getByText('www is being renewed.').waitFor()
      await eventually(
        'it is another one',
        async () => (await call('GET', '/certificates/www')).fingerprint !== fingerprint,
      )
      const { acme } = await call('GET', '/certificates/away')
      // The server waits after a failure. Whoever has mended the cause need not.
      const renewAway = () => page.getByRole('button', { name: 'Renew away' }).click()
      const orderQuestion = page.getByRole('dialog', { name: 'Order it all the same?' })
      await renewAway()
      await orderQuestion.getByText('The authority is not asked again before').waitFor()
      t.same(await accessibilityFlaws(page), [])
      await orderQuestion.getByRole('button', { name: 'Cancel' }).click()
      await orderQuestion.waitFor({ state: 'detached' })
      t.equal((await call('GET', '/certificates/away')).acme.attempts, acme.attempts, 'not ordered unasked')
      await renewAway()
      await orderQuestion.getByRole('button', { name: 'Order now' }).click()
      await eventually(
        'it is tried again',
        async () => (await call('GET', '/certificates/away')).acme.attempts > acme.attempts,
      )
      await failed.waitFor()
      t.equal(await page.getByRole('button', { name: 'Delete away' }).count(), 0, 'it goes with its distribution')
      await page.getByRole('link', { name: 'Overview' }).click()
      const attention = page.getByRole('alert').filter({ hasText: 'Needs attention' })
      await attention.getByText('The certificate away could not be ordered.').click()
      await failed.waitFor()

      await page.getByRole('link', { name: 'Distributions' }).click()
      await row(page, /^away .*away: /).waitFor()
      t.same(await accessibilityFlaws(page), [])
      // The one that was ordered goes with the setting: not while visitors get it, unless that is wanted.
      await page.getByRole('link', { name: 'www', exact: true }).click()
      const chosen = page.getByRole('combobox', { name: 'Certificate' })
      const options = page.getByRole('listbox', { name: 'Certificate' }).getByRole('option')
      await page.getByText('www: valid').waitFor()
      await chosen.click()
      await options.getByText('none').click()
      const question = page.getByRole('dialog', { name: 'Save it all the same?' })
      for (const answer of ['Cancel', 'Save']) {
        await page.getByRole('button', { name: 'Save', exact: true }).click()
        await question.getByText(`Visitors of www.${zone} get "www" now`).waitFor()
        t.same(await accessibilityFlaws(page), [])
        t.equal((await call('GET', '/distributions/www')).tls.certificate, 'auto')
        await question.getByRole('button', { name: answer }).click()
        await question.waitFor({ state: 'hidden' })
      }
      await page.getByText('www is saved.').waitFor()
      t.equal((await call('GET', '/distributions/www')).tls.certificate, 'none')
      t.same(flaws, [])
    },
  )

  t.test('a certificate that is for the domain of a distribution without one is served all the same', async t => {
    const authority = createTestAuthority(temporaryFolder(t))
    const { page, flaws } = await browser.open(t)
    await signIn(page, '/certificates')
    const { chain, key } = authority.issue([`plain.${zone}`])
    await call('POST', '/certificates', { id: 'uploaded', certificate: chain, privateKey: key })
    await call('POST', '/distributions', {
      id: 'plain',
      aliases: [`plain.${zone}`, `bare.${zone}`],
      origin: { bucket: 'photos' },
    })
    const uploaded = row(page, /^uploaded .*served for plain\.example\.test/)
    await uploaded.waitFor()
    await page.getByRole('button', { name: 'Delete uploaded' }).click()
    await page.getByText(`It is served to the visitors of plain.${zone} now.`).waitFor()
    t.same(await accessibilityFlaws(page), [])
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('link', { name: 'Distributions' }).click()
    await row(
      page,
      /^plain .*uploaded: valid ?for plain\.example\.test, until .*none for bare\.example\.test/,
    ).waitFor()
    t.same(await accessibilityFlaws(page), [])
    await page.getByRole('link', { name: 'plain', exact: true }).click()
    await page.getByText('uploaded: valid').waitFor()
    const chosen = page.getByRole('combobox', { name: 'Certificate' })
    await chosen.click()
    t.equal(await chosen.inputValue(), 'none')
    const options = page.getByRole('listbox', { name: 'Certificate' }).getByRole('option')
    await options.getByText('auto').waitFor()
    t.same(await options.allTextContents(), ['none', 'auto', 'uploaded'], 'all, whatever is chosen now')
    await options.getByText('uploaded').click()
    await chosen.fill('au')
    await eventually('what is typed chooses', async () => (await options.allTextContents()).join() === 'auto')
    t.same(flaws, [])
  })

  t.test(
    'a DNS provider is set up, tested where it works and where it does not, and changed without its secret',
    async t => {
      const { page, flaws } = await browser.open(t, {}, /400 POST .*dns-providers/)
      const dialog = page.getByRole('dialog')
      const test = async (domain: string) => {
        await page.getByRole('button', { name: 'Test home' }).click()
        await dialog.getByLabel('Domain').fill(domain)
        await dialog.getByRole('button', { name: /^Test/ }).click()
      }
      await signIn(page, '/dns-providers')
      await page.getByRole('button', { name: 'Add DNS provider' }).click()
      await dialog.getByRole('textbox', { name: 'Name', exact: true }).fill('home')
      await dialog.getByRole('combobox', { name: 'Type' }).click()
      await page.getByRole('option', { name: 'rfc2136' }).click()
      // Each kind says what it needs.
      const nameserver = dialog.getByRole('textbox', { name: 'Nameserver' })
      await nameserver.fill('169.254.169.254')
      await dialog.getByRole('textbox', { name: 'TSIG key name' }).fill(named.key.name)
      t.equal(await dialog.getByLabel('TSIG algorithm').inputValue(), 'hmac-sha256')
      const secret = dialog.locator('input[type=password]')
      await secret.fill(named.key.secret)
      t.same(await accessibilityFlaws(page), [])
      await dialog.getByRole('button', { name: 'Save' }).click()
      await dialog.locator('.mantine-InputWrapper-error', { hasText: 'must not be a link-local' }).waitFor()
      t.equal(await nameserver.getAttribute('aria-invalid'), 'true', 'what is wrong is marked at its field')
      await nameserver.fill(named.server)
      await dialog.getByRole('button', { name: 'Save' }).click()
      await row(page, /^home rfc2136 /).waitFor()
      await test(`www.${zone}`)
      await page.getByText(`Published, seen and removed at _acme-challenge.www.${zone}`).waitFor()
      t.same(await named.values(`_acme-challenge.www.${zone}`), [])
      await test('else.test')
      await dialog.getByText(/Failed at step “\w+”: /).waitFor()
      t.same(await accessibilityFlaws(page), [])
      await page.keyboard.press('Escape')

      await chooseFrom(page.getByRole('button', { name: 'More for home' }), 'Edit')
      t.equal(await dialog.getByRole('textbox', { name: 'Nameserver' }).inputValue(), named.server)
      t.equal(await dialog.locator('input[type=password]').inputValue(), '', 'the secret is never shown')
      await dialog.getByLabel('Note').fill('Of the office')
      await dialog.getByRole('button', { name: 'Save' }).click()
      await page.getByText('Of the office').waitFor()
      await test(`www.${zone}`)
      await page.getByText(`Published, seen and removed at _acme-challenge.www.${zone}`).last().waitFor()
      await page.keyboard.press('Escape')

      await page.getByRole('link', { name: 'Distributions' }).click()
      await page.getByRole('button', { name: 'Publish a bucket' }).click()
      await dialog.getByRole('combobox', { name: 'Bucket' }).fill('photos')
      await dialog.getByLabel('Domains').fill(`*.wild.${zone}`)
      await page.keyboard.press('Enter')
      await dialog.getByLabel('Certificate').selectOption('auto: ordered by itself (ACME)')
      await dialog.getByRole('combobox', { name: 'DNS provider' }).click()
      await page.getByRole('option', { name: 'home' }).click()
      await dialog.getByRole('button', { name: 'Publish' }).click()
      await page.getByRole('button', { name: 'Yes, let everybody in' }).click()
      await page.getByText(`wild.${zone} is published`).waitFor()
      const { tls } = await call('GET', `/distributions/wild.${zone}`)
      t.match(tls, { certificate: 'auto', challenge: 'dns-01', dnsProvider: 'home' })
      t.same(flaws, [])
    },
  )

  t.test(
    'a target of events is tested while it answers and while it does not, and gets what a time range has',
    async t => {
      const told: string[] = []
      let status = 200
      const sink = createServer(async (request, answer) => {
        told.push(await text(request))
        answer.writeHead(status).end()
      })
      await new Promise<void>(done => sink.listen(0, '127.0.0.1', done))
      t.teardown(() => {
        sink.closeAllConnections()
        sink.close()
      })
      const settings = { enable: 'on', endpoint: `http://127.0.0.1:${(sink.address() as AddressInfo).port}/` }
      await call('PATCH', '/config/notify_webhook:hook', { settings })
      const [{ arn }] = (await call('GET', '/notify/targets')).items
      await call('PUT', '/buckets/photos/events', {
        subscriptions: [{ id: 'new', arn, events: ['s3:ObjectCreated:*'] }],
      })
      const timesTold = (key: string) => told.filter(event => event.includes(`"photos/${key}"`)).length
      for (const key of ['d', 'e']) {
        await upload(key, key)
        await eventually(`${key} is told`, async () => timesTold(key) === 1)
      }
      // In the zone of UTC what is typed is what is sent.
      const { page, flaws } = await browser.open(t, { timezoneId: 'UTC' })
      const dialog = page.getByRole('dialog')
      await signIn(page, '/events')
      const test = page.getByRole('button', { name: /^Test .*hook/ })
      await test.click()
      await page.getByText(/^A test event has reached/).waitFor()
      t.match(told.at(-1), /s3:TestEvent/)
      status = 500
      await test.click()
      const failure = page.getByRole('alert').filter({ hasText: 'The test event has not reached webhook:hook' })
      await failure.getByText(/500/).waitFor()
      const row = page.getByRole('row', { name: /webhook:hook/ })
      // Nothing waits for it: it may take the next event.
      await row.getByText('last delivery failed').waitFor()
      await row.getByText(/500.*\d:\d\d/s).waitFor()
      status = 200
      await test.click()
      await row.getByText('online').waitFor()
      await call('PATCH', '/config/notify_webhook:new', { settings })
      await page
        .getByRole('row', { name: /webhook:new/ })
        .getByText('not tried yet')
        .waitFor()
      await call('DELETE', '/config/notify_webhook:new')
      t.same(await accessibilityFlaws(page), [])

      const replay = async (from: number, to: number) => {
        await chooseFrom(page.getByRole('button', { name: 'More for webhook:hook' }), 'Replay')
        await dialog.getByLabel('Bucket').fill('photos')
        await dialog.getByLabel('From').fill(localTime(from))
        await dialog.getByLabel('Until').fill(localTime(to))
        await dialog.getByRole('button', { name: 'Replay', exact: true }).click()
      }
      const hour = 3_600_000
      await replay(Date.now() - 2 * hour, Date.now() - hour)
      await page.getByText('No kept event fits').waitFor()
      await replay(Date.now() - hour, Date.now() + hour)
      await page.getByText('2 events are queued').waitFor()
      for (const key of ['d', 'e']) await eventually(`${key} is told again`, async () => timesTold(key) === 2)

      // What is given up while somebody reads the list, and is asked, is not what “all” meant.
      status = 400
      const giveUp = async (...names: string[]) => {
        const { deadLetters: before } = (await call('GET', '/notify/targets')).items[0]
        for (const name of names) await upload(name, name)
        await eventually(`${names} are given up`, async () => {
          const [{ deadLetters }] = (await call('GET', '/notify/targets')).items
          return deadLetters === before + names.length
        })
      }
      const letters = async () =>
        (await call('GET', '/notify/queues/webhook:hook/dead-letters')).items.map(({ key }: { key: string }) => key)
      await giveUp('f', 'g')
      await chooseFrom(page.getByRole('button', { name: 'More for webhook:hook' }), 'Show what was given up')
      await page.getByRole('cell', { name: 'photos/g' }).waitFor()
      await giveUp('h')
      await page.getByRole('button', { name: 'Discard all' }).click()
      const question = page.getByRole('dialog', { name: 'Discard 2 events?' })
      await giveUp('i')
      await question.getByRole('button', { name: 'Discard all' }).click()
      await page.getByText('2 events are discarded. 2 more were given up meanwhile').waitFor()
      await page.getByRole('cell', { name: 'photos/i' }).waitFor()
      await page.getByRole('cell', { name: 'photos/g' }).waitFor({ state: 'detached' })
      t.same(await letters(), ['h', 'i'])
      await giveUp('j')
      status = 200
      await page.getByRole('button', { name: 'Send all again' }).click()
      await page.getByText('2 events are sent to webhook:hook again. One more was given up meanwhile').waitFor()
      await page.getByRole('cell', { name: 'photos/j' }).waitFor()
      t.same(await letters(), ['j'])
      for (const key of ['h', 'i']) await eventually(`${key} is told again`, async () => timesTold(key) === 2)
      await call('PATCH', '/config/notify_webhook:hook', { settings: { enable: 'off' } })
      await page.getByRole('button', { name: 'Send all again' }).click()
      await page
        .getByText('1 event waits for webhook:hook again. The target is not enabled: no event is sent')
        .waitFor()
      await page.getByText('Nothing was given up.').waitFor()
      t.equal(timesTold('j'), 1)
      t.same(flaws, [])
    },
  )

  t.test('a heal job is started, and each job is seen until its end without loading the page again', async t => {
    for (const blob of globSync(join(drives, 'd3/blobs/*/*'))) rmSync(blob)
    const { page, flaws } = await browser.open(t)
    const dialog = page.getByRole('dialog')
    await signIn(page, '/healing')
    await page.getByRole('button', { name: 'Start' }).click()
    await dialog.getByLabel('Bucket').fill('photos')
    await dialog.getByLabel('Read every byte').check()
    await dialog.getByRole('button', { name: 'Start' }).click()
    await row(page, /^photos\/ every byte completed 10 3 3 0 /).waitFor()
    await call('POST', '/heal', { recursive: true, dryRun: true })
    await row(page, /^everything by the records, only looked completed /i).waitFor()
    t.same(await accessibilityFlaws(page), [])
    t.same(flaws, [])
  })

  t.test(
    'an entry of the audit opens with all that it has, by keyboard and by pointer, and no column is cut',
    async t => {
      const { page, flaws } = await browser.open(t, { viewport: { width: 1440, height: 900 } })
      await fetch(`${url}/api/v1/users`)
      await signIn(page, '/audit')
      const refused = row(page, /listUsers/)
      await refused.waitFor()
      const cut = `[...document.querySelectorAll('.items .mantine-ScrollArea-viewport')].map(one => one.scrollWidth - one.clientWidth)`
      t.same(await page.evaluate(cut), [0], 'every column is in view')
      const button = refused.getByRole('button')
      await button.focus()
      await page.keyboard.press('Enter')
      const dialog = page.getByRole('dialog')
      await dialog.getByText('requestId', { exact: true }).waitFor()
      const { items } = await call('GET', '/audit?action=listUsers&limit=1')
      for (const value of [items[0].requestId, items[0].userAgent, items[0].path]) {
        await dialog.getByRole('cell', { name: value, exact: true }).waitFor()
      }
      t.same(JSON.parse((await dialog.getByLabel('As JSON', { exact: true }).textContent())!), items[0])
      await dialog.getByRole('button', { name: 'Copy' }).waitFor()
      t.same(await accessibilityFlaws(page), [])
      await page.keyboard.press('Escape')
      await dialog.waitFor({ state: 'detached' })
      await button.and(page.locator(':focus')).waitFor()
      await refused.getByRole('cell').nth(4).click()
      await dialog.waitFor()
      await page.keyboard.press('Escape')
      await dialog.waitFor({ state: 'detached' })
      // On a phone: the operation first, the time below, and many records in a window.
      await page.setViewportSize({ width: 360, height: 740 })
      const boxOf = async (cell: number) => (await refused.getByRole('cell').nth(cell).boundingBox())!
      // A window is drawn anew in its own time.
      await eventually('the cells stand below each other', async () => (await boxOf(1)).y < (await boxOf(0)).y)
      t.ok((await refused.boundingBox())!.height < 120)
      t.same(await accessibilityFlaws(page), [])
      t.same(flaws, [])
    },
  )
}
