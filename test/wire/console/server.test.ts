/** Server, metrics, settings, one's own account, and what is left of removed targets, in the web console as an operator uses them. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import { findLastingPort } from 'svc/testing'
import t from 'tap'
import { accessibilityFlaws, withoutBrowser } from '../browser.ts'
import { chooseFrom, eventually, retype, startConsole } from '../console.ts'
import { accessKey, secretKey } from '../server.ts'

// Only a page that hangs takes so long.
t.setTimeout(900_000)

/** As root, where the sign-in is already. */
async function enter(page: Page): Promise<void> {
  await page.getByLabel('Access key').fill(accessKey)
  await page.locator('input[type=password]').fill(secretKey)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

if (withoutBrowser !== false) {
  t.comment(withoutBrowser)
  t.end()
} else {
  // A page that waits for a restart knows no other port.
  const SVC_CONSOLE_ADDRESS = `127.0.0.1:${await findLastingPort()}`
  const {
    server,
    url: console,
    admin,
    browser,
    signIn,
  } = await startConsole(t, { environment: { SVC_CONSOLE_ADDRESS } })

  t.test('a user changes its own secret key, and signs in with the new one', async t => {
    const { secretAccessKey } = await admin.createUser('ada', { policyNames: ['readonly'] })
    const { page, flaws } = await browser.open(t, {}, /4\d\d PUT .*secret-key/)
    await signIn(page, '/buckets', 'ada', secretAccessKey)
    await page.getByRole('link', { name: 'ada: your account' }).click()
    await page.getByRole('heading', { name: 'Your account' }).waitFor()
    const fill = async (current: string, next: string, again: string) => {
      for (const [index, value] of [current, next, again].entries())
        await page.locator('input[type=password]').nth(index).fill(value)
      await page.getByRole('button', { name: 'Change', exact: true }).click()
    }
    await fill(secretAccessKey, 'a-new-secret-key', 'another-secret-key')
    await page.getByText('is not the same').waitFor()
    await fill('not-the-present-one', 'a-new-secret-key', 'a-new-secret-key')
    // At its field, and nowhere else.
    const field = page.locator('.mantine-PasswordInput-root', { has: page.getByLabel('Current secret key') })
    await field.getByText('The current secret key is wrong.').waitFor()
    t.equal(await page.getByText('The current secret key is wrong.').count(), 1)
    t.same(await accessibilityFlaws(page), [])
    await fill(secretAccessKey, 'a-new-secret-key', 'a-new-secret-key')
    await page.getByText('Your secret key is changed.').waitFor()
    t.same(flaws, [])
    const again = await browser.open(t)
    await signIn(again.page, '/account', 'ada', 'a-new-secret-key')
    await again.page.getByRole('heading', { name: 'Your account' }).waitFor()
    t.same(again.flaws, [])
  })

  t.test('a metric is found by a part of its name, and Prometheus gets a token that it can scrape with', async t => {
    const { page, flaws } = await browser.open(t)
    const dialog = page.getByRole('dialog')
    await signIn(page, '/metrics')
    await page.getByRole('combobox', { name: 'Metric' }).fill('cluster_objects')
    await page.getByRole('option', { name: 'svc_cluster_objects', exact: true }).click()
    await page.getByRole('region', { name: 'svc_cluster_objects', exact: true }).waitFor()
    await page.getByRole('button', { name: 'Token for Prometheus' }).click()
    await dialog.getByRole('button', { name: 'Make token' }).click()
    const config = await dialog.getByLabel('For prometheus.yml').innerText()
    t.same(await accessibilityFlaws(page), [])
    const [, token] = /credentials: (\S+)/.exec(config) ?? []
    const [, target] = /targets: \['([^']+)'/.exec(config) ?? []
    const [, path] = /metrics_path: (\S+)/.exec(config) ?? []
    const scraped = await fetch(`http://${target}${path}`, { headers: { authorization: `Bearer ${token}` } })
    t.match(await scraped.text(), 'svc_')
    t.same(flaws, [])
  })

  t.test('settings are reset, and replaced as one document after a look at what differs', async t => {
    const read = async () => (await admin.call('GET', '/config')) as Record<string, Record<string, string>>
    await admin.call('PATCH', '/config/ratelimit', { settings: { s3_ip: '700' } })
    const { page, flaws } = await browser.open(t, {}, /400 POST .*config.import|412 PUT .*\/config$/)
    const dialog = page.getByRole('dialog')
    await signIn(page, '/settings?open=ratelimit')
    await page.getByLabel('s3_ip', { exact: true }).waitFor()
    t.equal(await page.getByLabel('s3_ip', { exact: true }).inputValue(), '700')
    await page.getByRole('button', { name: 'Reset to defaults' }).click()
    await admin.call('PATCH', '/config/ratelimit', { settings: { s3_bucket: '70' } })
    await dialog.getByRole('button', { name: 'Reset to defaults' }).click()
    await dialog.getByText('Somebody else has changed it meanwhile, and nothing is reset').waitFor()
    t.equal((await read()).ratelimit!.s3_bucket, '70')
    await dialog.getByRole('button', { name: 'Reset to defaults' }).click()
    await page.getByText('ratelimit is reset.').waitFor()
    t.not((await read()).ratelimit!.s3_ip, '700')

    await page.getByRole('button', { name: 'Edit all as one document' }).click()
    const editor = dialog.locator('.cm-content')
    await editor.waitFor()
    const wanted = await read()
    const faulty = { ...wanted, region: { ...wanted.region, name: 'No region' }, logger: { level: 'loud' } }
    const lines = JSON.stringify(faulty, undefined, 2).split('\n')
    await retype(editor, lines.join('\n'))
    await dialog.getByRole('button', { name: 'Look at the changes' }).click()
    for (const [text, flaw] of [
      ['"name": "No region"', 'region.name must be 1 to 64 lower-case letters, digits and hyphens'],
      ['"level": "loud"', 'logger.level must be one of'],
    ] as const) {
      const line = lines.findIndex(one => one.includes(text)) + 1
      await dialog.getByText(`Line ${line}, column 5: ${flaw}`).waitFor()
    }
    t.same(await dialog.locator('.cm-lintRange-error, .cm-lintPoint-error').count(), 2, 'both are marked in the text')
    t.same(await accessibilityFlaws(page), [])
    await retype(editor, '{ "logger": }')
    await dialog.getByRole('button', { name: 'Look at the changes' }).click()
    await dialog.getByText(/^Line 1, column 13: This is no JSON/).waitFor()
    wanted.ratelimit = { ...wanted.ratelimit, s3_ip: '800' }
    // What is left out is the default, as it was: that is no difference.
    const { region: _, ...without } = wanted
    await retype(editor, JSON.stringify(without))
    await dialog.getByRole('button', { name: 'Look at the changes' }).click()
    await dialog.getByText('1 value differs').waitFor()
    await dialog.getByRole('cell', { name: 'ratelimit s3_ip' }).waitFor()
    t.same(await accessibilityFlaws(page), [])
    await dialog.getByRole('button', { name: 'Save these changes' }).click()
    await dialog.waitFor({ state: 'detached' })
    t.equal((await read()).ratelimit!.s3_ip, '800')
    t.same(flaws, [])
  })

  t.test('settings that may exist several times are added, and shown to be filled in', async t => {
    const { page, flaws } = await browser.open(t)
    const dialog = page.getByRole('dialog')
    await signIn(page, '/settings')
    await page.getByRole('button', { name: 'Add event or audit target' }).click()
    await dialog.getByLabel('Kind').selectOption({ value: 'audit_webhook' })
    const name = dialog.getByLabel('Name')
    for (const wrong of ['', 'Bad N!']) {
      await name.fill(wrong)
      await dialog.getByRole('button', { name: 'Add' }).click()
      await dialog.locator('.mantine-InputWrapper-error').waitFor()
      t.equal(await name.getAttribute('aria-invalid'), 'true')
    }
    t.same(await accessibilityFlaws(page), [])
    await name.fill('t1')
    await dialog.getByRole('button', { name: 'Add' }).click()
    await dialog.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: /^Audit target webhook:t1 ?audit_webhook:t1/ }).waitFor()
    const fields = page.getByRole('region', { name: /^Audit target webhook:t1 ?audit_webhook:t1/ })
    t.ok(await fields.getByRole('switch', { name: 'enable' }).isChecked(), 'what is added is to work')
    t.ok(await fields.getByRole('button', { name: 'Save' }).isDisabled(), 'nothing is typed yet')
    await fields.getByLabel('endpoint', { exact: true }).fill('http://127.0.0.1:9/audit')
    await fields.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved.').waitFor()
    const stored = async () => (await admin.call('GET', '/config'))['audit_webhook:t1']
    t.match(await stored(), { enable: 'on', endpoint: 'http://127.0.0.1:9/audit' })
    const entry = page.getByRole('button', { name: /^Audit target webhook:t1 ?audit_webhook:t1/ })
    t.notMatch(await entry.innerText(), /disabled/)
    await fields.getByRole('switch', { name: 'enable' }).click({ force: true })
    await fields.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('button', { name: /^Audit target webhook:t1 audit_webhook:t1 ?disabled/ }).waitFor()
    t.match(await stored(), { enable: 'off' })
    await admin.call('DELETE', '/config/audit_webhook:t1')
    t.same(flaws, [])
  })

  t.test('a target is added, disabled and removed, and what waited for it is discarded', async t => {
    // It takes events until a rule names it: what is sent to it afterwards waits.
    let isTaking = true
    const sink = createServer((_, answer) => void answer.writeHead(isTaking ? 200 : 503).end())
    await new Promise<void>(done => sink.listen(0, '127.0.0.1', done))
    t.teardown(() => sink.close())
    const endpoint = `http://127.0.0.1:${(sink.address() as AddressInfo).port}`
    const { page, flaws } = await browser.open(t, {}, /400 PATCH .*config/)
    const dialog = page.getByRole('dialog')
    await signIn(page, '/events')
    await page.getByRole('button', { name: 'Add target' }).click()
    t.equal(await dialog.getByLabel('Kind').inputValue(), 'notify_webhook', 'what most begin with')
    t.ok(await dialog.getByRole('switch', { name: 'Enabled' }).isChecked())
    await dialog.getByLabel('Name').fill('gone')
    await dialog.getByLabel('Endpoint', { exact: true }).fill('no address')
    t.same(await accessibilityFlaws(page), [])
    await dialog.getByRole('button', { name: 'Save' }).click()
    // At its field, and nowhere else.
    await dialog.locator('.mantine-InputWrapper-error').waitFor()
    t.equal(await dialog.getByRole('alert').count(), 0)
    await dialog.getByLabel('Endpoint', { exact: true }).fill(endpoint)
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('row', { name: /^webhook:gone .* not tried yet / }).waitFor()

    // One that is not enabled is told to be, where it is tested and where rules name it.
    await chooseFrom(page.getByRole('button', { name: 'More for webhook:gone' }), 'Disable')
    await dialog.getByRole('button', { name: 'Disable' }).click()
    await page.getByRole('row', { name: /^webhook:gone .* disabled / }).waitFor()
    await page.getByRole('button', { name: 'Test webhook:gone' }).click()
    await page.getByText('A test event has reached webhook:gone. But the target is not enabled').waitFor()
    await admin.call('POST', '/buckets', { name: 'told' })
    const { items } = await admin.call('GET', '/notify/targets')
    const [{ arn }] = items
    await page.goto(`${console}/buckets/told?tab=events`)
    await page.getByRole('button', { name: 'Add rule' }).click()
    await page.getByText('It is not enabled: the server refuses rules for it').waitFor()
    t.equal(await page.getByLabel('Target').locator('option:checked').textContent(), 'webhook:gone (disabled)')
    await page.getByRole('main').getByRole('link', { name: 'Event targets' }).click()
    await dialog.getByRole('button', { name: 'Leave' }).click()
    await chooseFrom(page.getByRole('button', { name: 'More for webhook:gone' }), 'Edit')
    t.equal(await dialog.getByLabel('Endpoint', { exact: true }).inputValue(), endpoint)
    await dialog.getByRole('switch', { name: 'Enabled' }).click({ force: true })
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('row', { name: /^webhook:gone .* online / }).waitFor()
    await admin.call('PUT', '/buckets/told/events', {
      subscriptions: [{ arn, events: ['s3:ObjectCreated:*'], prefix: '', suffix: '' }],
    })
    isTaking = false
    await admin.call('POST', '/buckets/told/objects/upload?key=a.txt', 'a')
    await eventually('a waiting event', async () => {
      const { items } = await admin.call('GET', '/notify/queues')
      return items.some(({ pendingEvents }: { pendingEvents: number }) => pendingEvents > 0)
    })
    await page.goto(`${console}/buckets/told?tab=events`)
    await page.getByText('the server takes new rules for it only while it answers').waitFor()
    t.equal(await page.getByLabel('Target').locator('option:checked').textContent(), 'webhook:gone (offline)')
    await page.getByRole('link', { name: 'Overview' }).click()
    await page.getByRole('link', { name: 'Event target webhook:gone is offline' }).click()
    await page.getByRole('heading', { name: 'Event targets' }).waitFor()
    await admin.call('PUT', '/buckets/told/events', { subscriptions: [] })
    await chooseFrom(page.getByRole('button', { name: 'More for webhook:gone' }), 'Remove')
    await dialog.getByRole('button', { name: 'Remove' }).click()
    await page.getByText('target removed').waitFor()
    await page.getByRole('button', { name: 'Discard the queue of webhook:gone' }).click()
    await dialog.getByLabel('Type webhook:gone to confirm').fill('webhook:gone')
    t.same(await accessibilityFlaws(page), [])
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('heading', { name: 'Queues without a target' }).waitFor({ state: 'detached' })
    t.same((await admin.call('GET', '/notify/queues')).items, [])
    t.same(flaws, [])
  })

  t.test('plugins: what has failed comes first, and what is the same of all has no column', async t => {
    const { page, flaws } = await browser.open(t)
    await signIn(page, '/plugins')
    const rows = page.getByRole('table', { name: 'Plugins' }).getByRole('row')
    await page.getByRole('cell', { name: 'webhook', exact: true }).waitFor()
    await page.getByRole('cell', { name: 'kafka from contrib' }).waitFor()
    t.equal(await page.getByText('The command svc init, which').locator('code').textContent(), 'svc init')
    const all = await rows.count()
    t.equal(await page.getByRole('columnheader', { name: 'State' }).count(), 0)
    await page.getByRole('searchbox').fill('webh')
    await eventually('one is left', async () => (await rows.count()) === 2)
    await page.getByRole('searchbox').fill('')
    await eventually('all are there', async () => (await rows.count()) === all)
    await page.route(/\/plugins\?/, async route => {
      const answer = await route.fetch()
      const { items, ...rest } = await answer.json()
      const last = { ...items.at(-1), state: 'failed', error: 'It could not start.' }
      await route.fulfill({ response: answer, json: { ...rest, items: [...items.slice(0, -1), last] } })
    })
    await page.reload()
    await rows.nth(1).getByText('It could not start.').waitFor()
    await rows.nth(1).getByRole('cell', { name: 'failed', exact: true }).waitFor()
    t.same(await accessibilityFlaws(page), [])
    t.same(flaws, [])
  })

  t.test(
    'the server is restarted, the page waits and is there again; after a stop it waits for somebody to start it',
    async t => {
      // While nothing listens every request fails.
      const { page, flaws } = await browser.open(t, {}, /^no answer: |^503 |^401 GET /)
      const dialog = page.getByRole('dialog')
      await signIn(page, '/server')
      await page.getByRole('heading', { name: 'Server', level: 1 }).waitFor()
      await page.getByRole('button', { name: 'Stop', exact: true }).click()
      t.ok(await dialog.getByRole('button', { name: 'Stop' }).isDisabled(), 'a stop has to be typed')
      await dialog.getByRole('button', { name: 'Cancel' }).click()
      t.same(await accessibilityFlaws(page), [])
      const { startedAt } = await admin.call('GET', '/info')
      await page.getByRole('button', { name: 'Restart', exact: true }).click()
      await dialog.getByRole('button', { name: 'Restart' }).click()
      // Sessions end with the server.
      await page.getByText('The server has started anew, and sessions end with it.').waitFor()
      t.not((await admin.call('GET', '/info')).startedAt, startedAt)
      await enter(page)
      await page.getByRole('heading', { name: 'Server', level: 1 }).waitFor()

      await page.getByRole('button', { name: 'Stop', exact: true }).click()
      await dialog.getByLabel('Type stop to confirm').fill('stop')
      await dialog.getByRole('button', { name: 'Stop' }).click()
      await page.getByText('The server has stopped.').waitFor()
      await server.ended
      await server.start()
      await page.getByText('The server has started anew, and sessions end with it.').waitFor()
      t.same(flaws, [])
    },
  )
}
