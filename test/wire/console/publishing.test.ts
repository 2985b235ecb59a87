/** Distributions, signed links, access rules, event rules and tools in the web console, as an operator uses them. */
import { readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { temporaryFolder } from 'svc/testing'
import t from 'tap'
import { accessibilityFlaws, withoutBrowser } from '../browser.ts'
import { chooseFrom, eventually, startConsole, visitDomain } from '../console.ts'

// Only a page that hangs takes so long.
t.setTimeout(900_000)

if (withoutBrowser !== false) {
  t.comment(withoutBrowser)
  t.end()
} else {
  const { server, url, admin, browser, signIn } = await startConsole(t, {
    environment: { SVC_S3_DISTRIBUTIONS: 'on' },
  })
  await admin.call('POST', '/buckets', { name: 'site' })
  await admin.call('POST', '/buckets/site/objects/upload?key=index.html', 'home')
  const host = 'www.example.test'
  const address = `http://${host}:${new URL(server.endpoint).port}`
  const isFocused = (element: unknown) =>
    element === (globalThis as { document?: { activeElement: unknown } }).document?.activeElement
  const statusOf = async (to: URL) => (await visitDomain(new URL(server.endpoint).port, to)).statusCode
  const fetchSite = (path: string) => fetch(server.endpoint + path)

  t.test('a bucket is published, its distribution tested as it is typed, and saved', async t => {
    const { page, flaws } = await browser.open(t, {}, /404 POST .*distributions|400 PUT .*distributions/)
    const dialog = page.getByRole('dialog')
    await signIn(page, '/distributions')
    await page.getByRole('button', { name: 'Publish a bucket' }).click()
    // What the browser would say in a bubble stands at each field.
    await dialog.getByRole('button', { name: 'Publish' }).click()
    const empty = dialog.locator('.mantine-InputWrapper-error', { hasText: 'must not be empty' })
    await empty.nth(1).waitFor()
    t.equal(await dialog.getByLabel('Name').getAttribute('aria-invalid'), 'true')
    await dialog.locator('input[data-path="origin.bucket"]:focus').waitFor()
    t.same(await accessibilityFlaws(page), [])
    await dialog.getByLabel('Bucket').fill('nobody')
    t.equal(await empty.count(), 1, 'said until it is mended')
    await dialog.getByLabel('Domains').fill(host)
    await page.keyboard.press('Enter')
    await dialog.getByRole('button', { name: 'Publish' }).click()
    const origin = dialog.getByLabel('Bucket')
    await eventually('the bucket is wrong', async () => (await origin.getAttribute('aria-invalid')) === 'true')
    await origin.fill('site')
    t.same(await accessibilityFlaws(page), [])
    await dialog.getByRole('button', { name: 'Publish' }).click()
    const question = page.getByRole('dialog', { name: 'Open this to everybody?' })
    await question.getByText('will be able to read every object of the bucket site, without credentials').waitFor()
    await question.getByText(`It is shown at ${host}.`).waitFor()
    t.same(await accessibilityFlaws(page), [])
    await question.getByRole('button', { name: 'Cancel' }).click()
    await question.waitFor({ state: 'detached' })
    t.same((await admin.call('GET', '/distributions')).items, [], 'nothing is published without an answer')
    // Nor where the dialog is closed before the question comes.
    const planned = Promise.withResolvers<void>()
    await page.route(/distributions\?dryRun=true$/, async route => {
      await planned.promise
      await route.continue()
    })
    await dialog.getByRole('button', { name: 'Publish' }).click()
    await dialog.getByRole('button', { name: 'Close' }).last().click()
    await page.getByText('“Publish a bucket” goes on').waitFor()
    planned.resolve()
    await page.getByText('“Publish a bucket” was not done').waitFor()
    t.same((await admin.call('GET', '/distributions')).items, [])
    await page.unrouteAll()
    await page.getByRole('button', { name: 'Publish a bucket' }).click()
    await origin.fill('site')
    await dialog.getByLabel('Domains').fill(host)
    await page.keyboard.press('Enter')
    await dialog.getByRole('button', { name: 'Publish' }).click()
    await question.getByRole('button', { name: 'Yes, let everybody in' }).click()
    await page.getByRole('heading', { name: host, level: 1 }).waitFor()
    const { port } = new URL(server.endpoint)
    const address = page.getByRole('link', { name: `http://${host}:${port}/` })
    await address.waitFor()
    await page.getByText(`the server listens on port ${port}`).waitFor()

    // It can be saved where something is changed, wherever one has scrolled, and given up.
    const save = page.getByRole('button', { name: 'Save' })
    const discard = page.getByRole('button', { name: 'Discard' })
    const note = page.getByLabel('Note')
    t.equal(await save.count(), 0, 'nothing is changed')
    await note.fill('given up')
    const usual = page.viewportSize()!
    await page.setViewportSize({ width: 360, height: 640 })
    for (const top of [0, 10_000]) {
      await page.evaluate(`scrollTo(0, ${top})`)
      const { y, height } = (await save.boundingBox())!
      t.ok(y > 0 && y + height <= 640, `on a phone it is in view: from ${y} to ${y + height} px`)
    }
    await page.setViewportSize(usual)
    t.same(await accessibilityFlaws(page), [])
    await page.getByRole('tab', { name: 'Purge' }).click()
    await save.waitFor({ state: 'detached' })
    await page.getByRole('tab', { name: 'General' }).click()
    await discard.click()
    await page.getByRole('dialog').getByRole('button', { name: 'Keep it' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    t.equal(await note.inputValue(), 'given up')
    await discard.click()
    await page.getByRole('dialog').getByRole('button', { name: 'Discard' }).click()
    await save.waitFor({ state: 'detached' })
    t.equal(await note.inputValue(), '')
    await page.getByRole('tab', { name: 'General' }).and(page.locator(':focus')).waitFor()

    await page.getByRole('tab', { name: 'Behaviours' }).click()
    await page.getByRole('button', { name: 'Add behaviour' }).click()
    await page.getByRole('textbox', { name: 'Path', exact: true }).fill('/private/')
    const behavior = page.getByRole('region', { name: '/private/' })
    await behavior.getByLabel('Who may see it').selectOption('users of this server')
    await behavior.getByText('nobody is asked to sign in').waitFor()
    await behavior.getByLabel('Who may see it').selectOption('nobody')
    await page.getByRole('tab', { name: 'Errors and redirects' }).click()
    await page.getByRole('button', { name: 'Add error page' }).click()
    await page.getByLabel('Status').fill('99')
    t.same(await accessibilityFlaws(page), [])
    await page.getByRole('tab', { name: 'General' }).click()
    await page.getByRole('button', { name: 'Save' }).click()
    // The tab of the fault is opened.
    await page.getByText('must be >= 400').last().waitFor()
    t.equal(await page.getByLabel('Status').getAttribute('aria-invalid'), 'true', 'the server’s words are at the field')
    await page.getByLabel('Status').fill('404')

    await page.getByRole('tab', { name: 'Test a request' }).click()
    const tested = page.getByRole('textbox', { name: 'Address', exact: true })
    t.equal(await tested.inputValue(), `http://${host}/`, 'as visitors get there')
    await page.getByRole('tab', { name: 'Behaviours' }).click()
    await page.getByRole('button', { name: '1. /private/' }).click()
    await behavior.getByLabel('Who may see it').selectOption('users of this server')
    await page.getByRole('tab', { name: 'Test a request' }).click()
    await tested.fill(`http://${host}/private/x`)
    await page.getByRole('button', { name: 'Test', exact: true }).click()
    await page.getByText('neither signed (Signature Version 4').waitFor()
    await page.getByRole('tab', { name: 'Behaviours' }).click()
    await page.getByRole('button', { name: '1. /private/' }).click()
    await behavior.getByLabel('Who may see it').selectOption('nobody')
    await page.getByRole('tab', { name: 'Test a request' }).click()
    await tested.fill(`http://${host}/private/x`)
    await page.getByRole('button', { name: 'Test', exact: true }).click()
    await page.getByText('Answer: 403').waitFor()
    await page.getByText('behaviour 1, nobody').waitFor()
    await page.getByText('site/private/x', { exact: true }).waitFor()
    await page.getByText('the plain page of the server', { exact: true }).waitFor()
    await tested.fill(`http://${host}/gone`)
    await page.getByRole('button', { name: 'Test', exact: true }).click()
    await page.getByText('there is no such object', { exact: true }).waitFor()
    await page.getByText('site/gone', { exact: true }).waitFor()
    await page.getByRole('tab', { name: 'Behaviours' }).click()
    await page.getByRole('tab', { name: 'Test a request' }).click()
    t.equal(await tested.inputValue(), `http://${host}/gone`, 'what was typed stays')
    await page.getByText('/404.html is set as the error page, and is not there').waitFor()
    t.same(await accessibilityFlaws(page), [])
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText(`${host} is saved`).waitFor()
    await page.goto(`${url}/buckets`)
    await page
      .getByRole('row', { name: /^site / })
      .getByText('published', { exact: true })
      .waitFor()
    await page.goto(`${url}/distributions/${host}?tab=behaviors`)
    await page.getByRole('button', { name: '1. /private/' }).click()
    const part = page.getByRole('region', { name: '/private/' })
    const own = part.getByRole('textbox', { name: 'Index document of folders' })
    const noIndex = part.getByRole('checkbox', { name: 'Index document of folders: none here' })
    t.equal(await own.getAttribute('placeholder'), 'as the default says')
    await own.fill('a.html')
    await noIndex.waitFor({ state: 'detached' })
    await own.fill('')
    t.notOk(await noIndex.isChecked(), 'what is emptied is inherited')
    await noIndex.check()
    await part.getByRole('checkbox', { name: 'Response headers: none here' }).check()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText(`${host} is saved`).waitFor()

    await page.goto(`${url}/buckets/site?tab=access`)
    await page.getByText(`shows everybody at ${host} every object of this bucket, except private/*.`).waitFor()
    await page.goto(`${url}/buckets/site?tab=distributions`)
    await page.getByRole('row', { name: new RegExp(`^${host}`) }).waitFor()
    t.equal(await page.getByRole('link', { name: `${host}:${port}` }).getAttribute('href'), `http://${host}:${port}/`)
    t.match(await admin.call('GET', `/distributions/${host}`), {
      defaultBehavior: { access: 'public', indexDocument: 'index.html' },
      behaviors: [
        {
          access: 'deny',
          pathPattern: { type: 'prefix', pattern: '/private/' },
          indexDocument: '',
          responseHeaders: {},
        },
      ],
      errorPages: [{ status: 404, path: '/404.html' }],
    })
    t.same(flaws, [])
  })

  t.test('keys are made in a group, and links that the server signs open what the key opens', async t => {
    const { page, flaws } = await browser.open(t)
    const dialog = page.getByRole('dialog')
    await signIn(page, '/key-groups')
    await page.getByRole('button', { name: 'Create key group' }).click()
    await dialog.getByLabel('Name').fill('links')
    await dialog.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('button', { name: 'Add key to links' }).click()
    t.same(await accessibilityFlaws(page), [])
    await dialog.getByRole('button', { name: 'Add key' }).click()
    await page.getByText('server signs').waitFor()
    await page.goto(page.url().replace('/key-groups', `/distributions/${host}`))
    await page.getByRole('tab', { name: 'Behaviours' }).click()
    await page.getByLabel('Who may see it').selectOption('who has a signed link')
    await page.getByRole('combobox', { name: 'Key group of signed links' }).fill('links')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText(`${host} is saved`).waitFor()
    await page.getByRole('button', { name: 'Make a signed link' }).click()
    await dialog.getByLabel('Path').fill('/index.html')
    await dialog.getByRole('button', { name: 'Make a signed link' }).click()
    const url = new URL(await dialog.getByLabel('Signed link').inputValue())
    t.equal(url.host, new URL(address).host, 'where visitors get there')
    t.match(url.search, /Signature=/)
    const copy = dialog.getByRole('button', { name: 'Copy' })
    await eventually('the focus on what is to be copied', () => copy.evaluate(isFocused))
    t.equal(await statusOf(url), 200, 'as it is')
    t.equal(await statusOf(new URL('/index.html', url)), 403)
    const tested = await admin.call('POST', `/distributions/${host}/test`, { url: url.href })
    t.equal(tested.status, 200)

    t.same(flaws, [])
  })

  t.test('access: a preset opens the bucket, a rule closes a part of it, and the test says which decided', async t => {
    const { page, flaws } = await browser.open(t, {}, /400 (PUT|POST) .*access-rules|404 GET .*site\/policy/)
    const dialog = page.getByRole('dialog')
    await signIn(page, '/buckets/site?tab=access')
    const openness = page.getByRole('alert').filter({ hasText: /without credentials/i })
    // Its distribution asks for signed links.
    await openness.getByText('Nobody gets in without credentials.', { exact: true }).waitFor()
    const open = { id: 'open', aliases: ['open.example.test'], origin: { bucket: 'site' } }
    await admin.call('POST', '/distributions', open)
    await page.reload()
    const shown = 'The distribution open shows everybody at open.example.test every object of this bucket.'
    await openness.getByText('Without credentials, everybody gets in here:').waitFor()
    await openness.getByText(shown).waitFor()
    await openness.getByRole('link', { name: 'The distribution open' }).waitFor()
    t.equal((await fetchSite('/site/index.html')).status, 403)
    const preset = page.getByLabel('Without credentials', { exact: true })
    const replaces = page.getByText('It replaces the rules that allow and whose names begin with preset-')
    await preset.selectOption('everybody may read objects')
    await replaces.waitFor()
    await page.getByRole('button', { name: 'Apply' }).click()
    await dialog.getByText('will be able to read every object of this bucket, without credentials').waitFor()
    t.equal((await fetchSite('/site/index.html')).status, 403, 'nothing is opened without an answer')
    await dialog.getByRole('button', { name: 'Yes, let everybody in' }).click()
    await openness.getByText('The access rule “preset-public-read” lets everybody read every object').waitFor()
    t.equal((await fetchSite('/site/index.html')).status, 200)
    t.match(await admin.call('GET', '/buckets/site/access-rules'), { warnings: [/lets every client read objects/] })
    t.equal(await page.getByText('lets every client').count(), 0, 'one opening is told once')
    t.same(await accessibilityFlaws(page), [])
    t.equal(await preset.inputValue(), 'public-read', 'the choice is what is stored')
    t.ok(await page.getByRole('button', { name: 'Apply' }).isDisabled(), 'and there is nothing to apply')
    t.equal(await replaces.count(), 0, 'nor to be said about it')
    await preset.selectOption('nobody gets in by a rule')
    await page.getByText('every other rule that allows something to everybody').waitFor()
    await page.getByRole('button', { name: 'Apply' }).click()
    await dialog.getByText('This removes the rule preset-public-read.').waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    t.equal((await fetchSite('/site/index.html')).status, 200, 'nothing is closed without an answer')

    await preset.selectOption('everybody may write objects')
    await page.getByRole('button', { name: 'Apply' }).click()
    await dialog.getByText('will be able to write (and so overwrite) every object').waitFor()
    await dialog.getByText('It replaces the rule preset-public-read.').waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()

    await page.getByRole('button', { name: 'Add rule' }).click()
    await dialog.getByRole('textbox', { name: 'Name', exact: true }).fill('everybody')
    await dialog.getByRole('button', { name: 'Save' }).click()
    const question = page.getByRole('dialog', { name: 'Open this to everybody?' })
    await question.getByText('will be able to read every object of this bucket, without credentials').waitFor()
    t.match(await admin.call('GET', '/buckets/site/access-rules'), { rules: { length: 1 } }, 'nothing is stored yet')
    await question.getByRole('button', { name: 'Cancel' }).click()
    await question.waitFor({ state: 'detached' })
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    // Who thinks better of the question has not given up what is typed.
    await page.getByRole('button', { name: 'Close and lose it' }).click()
    await dialog.waitFor({ state: 'detached' })

    await page.getByRole('button', { name: 'Add rule' }).click()
    await dialog.getByRole('textbox', { name: 'Name', exact: true }).fill('no-drafts')
    const who = dialog.getByRole('combobox', { name: 'Who' })
    await who.fill('ghost')
    await page.keyboard.press('Enter')
    await dialog.getByText('This server has no ghost: the rule counts for nobody').waitFor()
    await page.keyboard.press('Backspace')
    await dialog.getByText('This server has no ghost').waitFor({ state: 'detached' })
    await page.keyboard.press('Tab')
    await dialog.getByLabel('The rule', { exact: true }).selectOption('denies')
    await dialog.getByLabel('Keys').selectOption('that fit an expression (RE2)')
    await dialog.getByLabel('Pattern').fill('^(draft')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByText('missing closing )').first().waitFor()
    t.equal(await dialog.getByLabel('Pattern').getAttribute('aria-invalid'), 'true')
    t.same(await accessibilityFlaws(page), [])
    await dialog.getByLabel('Pattern').fill('^draft')
    await dialog.getByRole('button', { name: 'Test before saving' }).click()
    const drawer = page.getByRole('dialog', { name: 'Test the rules' })
    await drawer.locator('input[data-autofocus]:focus').waitFor()
    await page.keyboard.press('Escape')
    await drawer.waitFor({ state: 'detached' })
    await dialog.getByRole('button', { name: 'Test before saving' }).click()
    await drawer.getByLabel('Keys of objects').fill('draft.html')
    await page.keyboard.press('Enter')
    await drawer.getByRole('button', { name: 'Test', exact: true }).click()
    await drawer.getByRole('row', { name: /draft\.html denied .*no-drafts/ }).waitFor()
    t.notMatch(await admin.call('GET', '/buckets/site/access-rules'), { rules: [{}, { id: 'no-drafts' }] })
    t.same(await accessibilityFlaws(page), [])
    await page.keyboard.press('Escape')
    await drawer.waitFor({ state: 'detached' })
    t.equal(await dialog.count(), 1, 'the key was for the drawer alone')
    await page.keyboard.press('Escape')
    await page.getByRole('dialog', { name: 'Close without saving?' }).getByRole('button', { name: 'Stay here' }).click()
    t.equal(await dialog.getByLabel('Pattern').inputValue(), '^draft')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('button', { name: 'Edit rule no-drafts' }).waitFor()
    await openness.getByText('every object of this bucket, unless “no-drafts” denies it.').waitFor()

    await page.getByRole('button', { name: 'Test', exact: true }).click()
    await dialog.getByText('What the S3 API would answer now').waitFor()
    const choices = dialog.getByLabel('What', { exact: true })
    t.match(await choices.locator('option').allTextContents(), ['read', 'list', 'write', 'delete', 'read tags'])
    await choices.selectOption('s3:PutObject')
    await choices.selectOption('read')
    t.equal(
      await dialog.getByRole('link', { name: 'open', exact: true }).getAttribute('href'),
      '/distributions/open?tab=test',
    )
    for (const key of ['index.html', 'draft.html']) {
      await dialog.getByLabel('Keys of objects').fill(key)
      await page.keyboard.press('Enter')
    }
    await dialog.getByRole('button', { name: 'Test', exact: true }).click()
    await dialog.getByRole('row', { name: /index\.html allowed/ }).waitFor()
    await dialog.getByRole('row', { name: /draft\.html denied .*no-drafts/ }).waitFor()
    t.same(await accessibilityFlaws(page), [])
    await page.keyboard.press('Escape')

    t.equal((await fetchSite('/site/draft.html')).status, 403)
    await page.getByRole('link', { name: 'Audit' }).click()
    await page.getByLabel('Show').selectOption('only errors')
    await page
      .getByRole('row', { name: /GetObject site\/draft\.html .*no-drafts/ })
      .first()
      .waitFor()
    await page.goBack()

    await page.getByRole('tab', { name: 'Policy' }).click()
    await page.getByText('Policies of users and groups decide.').waitFor()
    t.same(await accessibilityFlaws(page), [])
    await page.getByRole('link', { name: 'Its 2 access rules decide too.' }).click()
    await page.getByRole('button', { name: 'Edit rule no-drafts' }).waitFor()
    t.same(flaws, [])
  })

  t.test('the simulator names the statement that decides', async t => {
    await admin.putPolicy('no-deletion', { Sid: 'keep', Effect: 'Deny', Action: ['s3:DeleteObject'], Resource: ['*'] })
    await admin.putPolicy('all-of-site', { Effect: 'Allow', Action: ['s3:GetObject'], Resource: ['*'] })
    await admin.createUser('bob', { policyNames: ['no-deletion', 'all-of-site'] })
    const { page, flaws } = await browser.open(t)
    await signIn(page, '/users')
    await chooseFrom(page.getByRole('button', { name: 'More for bob' }), 'Try what is allowed')
    await page.getByRole('combobox', { name: 'Action' }).fill('s3:DeleteObject')
    await page.getByLabel('Bucket').fill('site')
    await page.getByRole('button', { name: 'Try', exact: true }).click()
    await page.getByText('denied', { exact: true }).waitFor()
    await page.getByRole('row', { name: /no-deletion keep Deny yes/ }).waitFor()
    t.same(await accessibilityFlaws(page), [])
    await page.getByRole('combobox', { name: 'Action' }).fill('s3:GetObject')
    await page.getByRole('button', { name: 'Try', exact: true }).click()
    await page.getByText('Statement 1 of the policy "all-of-site" allows it.').waitFor()
    // The table counts as the sentence does.
    await page.getByRole('row', { name: /all-of-site 1 Allow yes/ }).waitFor()
    t.same(flaws, [])
  })

  t.test('events: a rule of a bucket is made, and what is there is replayed to the target', async t => {
    const { page, flaws } = await browser.open(t)
    const told: string[] = []
    const sink = createServer(async (request, answer) => {
      told.push(await text(request))
      answer.end()
    })
    await new Promise<void>(done => sink.listen(0, '127.0.0.1', done))
    t.teardown(() => {
      sink.closeAllConnections()
      sink.close()
    })
    const settings = { enable: 'on', endpoint: `http://127.0.0.1:${(sink.address() as AddressInfo).port}/` }
    // Who has not the page of the targets is not sent there.
    await admin.putPolicy('site-alone', {
      Effect: 'Allow',
      Action: 's3:*',
      Resource: ['arn:aws:s3:::site', 'arn:aws:s3:::site/*'],
    })
    const { accessKeyId, secretAccessKey } = await admin.createUser('editor', { policyNames: ['site-alone'] })
    const { page: theirs, flaws: theirFlaws } = await browser.open(t)
    await signIn(theirs, '/buckets/site?tab=events', accessKeyId, secretAccessKey)
    await theirs.getByText('There is no target yet. Ask somebody').waitFor()
    await signIn(page, '/buckets/site?tab=events')
    // What leads nowhere is not there: the sentence leads to the page.
    await page.getByText('Add one on the page “Event targets”').getByRole('link').waitFor()
    for (const name of ['Add rule', 'Save']) t.equal(await page.getByRole('button', { name }).count(), 0)
    await page.getByText('Add one on the page “Event targets”').getByRole('link').click()
    await page.getByRole('heading', { name: 'Event targets', level: 1 }).waitFor()
    await page.goBack()
    await admin.call('PATCH', '/config/notify_webhook:hook', { settings: { ...settings, enable: 'off' } })
    await theirs.reload()
    await theirs.getByRole('button', { name: 'Add rule' }).click()
    await theirs.getByText('It is not enabled: the server refuses rules for it. Ask somebody').waitFor()
    await theirs.close()
    t.same(theirFlaws, [])
    await admin.call('PATCH', '/config/notify_webhook:hook', { settings })
    await page.reload()
    await page.getByRole('button', { name: 'Add rule' }).click()
    await page.getByLabel('Suffix').fill('.html')
    t.equal(await page.getByRole('button', { name: /^Move / }).count(), 0, 'one has no order')
    t.same(await accessibilityFlaws(page), [])
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved.').waitFor()
    t.match(await admin.call('GET', '/buckets/site/events'), {
      subscriptions: [{ events: ['s3:ObjectCreated:*'], suffix: '.html' }],
    })
    const count = () => told.filter(event => event.includes('told.html')).length
    await admin.call('POST', '/buckets/site/objects/upload?key=told.html', 'told')
    while (count() < 1) await page.waitForTimeout(100)
    await page.getByRole('link', { name: 'Event targets' }).click()
    await chooseFrom(page.getByRole('button', { name: 'More for webhook:hook' }), 'Replay')
    await page.getByRole('dialog').getByLabel('Bucket').fill('site')
    await page.getByRole('dialog').getByRole('button', { name: 'Replay', exact: true }).click()
    await page.getByText('1 event is queued').waitFor()
    while (count() < 2) await page.waitForTimeout(100)
    t.same(flaws, [])
  })

  t.test('tools: an export is looked at before it is imported, and the speed test draws its rates', async t => {
    const { page, flaws } = await browser.open(t, {}, /400 POST .*(config\/import|speedtest)/)
    await signIn(page, '/tools')
    const profile = page.getByRole('region', { name: 'Profile' })
    await profile.getByLabel('Measure').selectOption('memory (heap)')
    await profile.getByText('What is taken in these seconds and not given back in them').waitFor()
    await profile.getByLabel('Seconds').fill('1')
    const [recorded] = await Promise.all([
      page.waitForRequest(/\/profile\?/),
      page.waitForEvent('download'),
      profile.getByRole('button', { name: 'Record' }).click(),
    ])
    t.match(recorded.url(), /type=heap&seconds=1$/)
    const importing = page.getByRole('region', { name: 'Import' })
    await importing.getByLabel('Type of file').selectOption({ index: 1 })
    const wrong = { name: 'settings.txt', mimeType: 'text/plain', buffer: Buffer.from('ratelimit =\n') }
    await page.locator('input[type=file]').setInputFiles(wrong)
    await page.getByRole('button', { name: 'What would change' }).click()
    await page.locator('.mantine-InputWrapper-error', { hasText: /^line 1 must have keys/ }).waitFor()
    // Mended where it is, it is another file for the browser.
    const mended = join(temporaryFolder(t), 'mended.txt')
    writeFileSync(mended, 'ratelimit =\n')
    await page.locator('input[type=file]').setInputFiles(mended)
    // Browsers note date and size of a file a moment after it was chosen, or when they are asked for them.
    const noted = await page
      .locator('input[type=file]')
      .evaluate((input: unknown) => (input as { files: { size: number }[] }).files[0]?.size)
    t.equal(noted, 'ratelimit =\n'.length)
    writeFileSync(mended, 'ratelimit requests_per_second=0 and more\n')
    utimesSync(mended, 1_000_000, 1_000_000)
    await page.getByRole('button', { name: 'What would change' }).click()
    await page.getByText('The file has changed, or is gone, since it was chosen').waitFor()
    await page.getByLabel('Type of file').selectOption({ index: 0 })
    const archived = { id: 'archived', aliases: ['archived.example.test'], origin: { bucket: 'site' } }
    await admin.call('POST', '/distributions', archived)
    await admin.call('POST', '/users', { accessKey: 'ada', secretKey: 'ada-secret-1' })
    await admin.call('POST', '/access-keys', { user: 'ada', accessKey: 'ADASKEY' })
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('region', { name: 'Export' }).getByRole('link', { name: 'Export everything' }).click(),
    ])
    const file = await download.path()
    t.equal(readFileSync(file).subarray(0, 2).toString(), 'PK')
    await page.locator('input[type=file]').setInputFiles(wrong)
    await page.getByRole('button', { name: 'What would change' }).click()
    await importing
      .locator('.mantine-InputWrapper-error', { hasText: 'is no ZIP archive, as an export of everything is' })
      .waitFor()
    await page.locator('input[type=file]').setInputFiles(file)
    await page.getByRole('button', { name: 'What would change' }).click()
    await page.getByText('The server has it all: nothing changes.').waitFor()
    await page.getByText(/^The file has .*1 buckets?/).waitFor()
    t.same(await accessibilityFlaws(page), [])
    await page.getByRole('button', { name: 'Import', exact: true }).click()
    await page.getByText('Imported:').waitFor()

    const speed = page.getByRole('region', { name: 'Speed test' })
    const run = () => speed.getByRole('button', { name: 'Run' }).click()
    await speed.getByLabel('Seconds').fill('1')
    // More than any drive has free. It is said where it can be changed.
    await speed.getByLabel('Size', { exact: true }).fill('5')
    await speed.getByLabel('Unit of Size').selectOption('GiB')
    await speed.getByText(/The test needs 640\sGiB of free space: four times what it writes at a time/).waitFor()
    await speed.getByLabel('Concurrency').fill('256')
    await speed.getByText(/The test needs 5\.0\sTiB of free space: four times what it writes at a time/).waitFor()
    await run()
    const said = speed.locator('.mantine-InputWrapper-error')
    await speed.getByText(/^the test needs up to 5497558138880 bytes.* 5497558138880 bytes are 5\.0\sTiB\./).waitFor()
    t.equal(await said.count(), 1)
    t.equal(await speed.getByLabel('Size', { exact: true }).getAttribute('aria-invalid'), 'true')
    t.equal(await speed.getByRole('alert').count(), 0)
    const kinds = await speed.getByLabel('Measure').locator('option').allTextContents()
    t.same(kinds, ['objects, as clients would', 'the drives'], 'there is no network between nodes of one')
    await speed.getByLabel('Measure').selectOption('the drives')
    t.equal(await speed.getByLabel('Concurrency').count(), 0)
    await speed.getByLabel('Size', { exact: true }).fill('1')
    await speed.getByLabel('Unit of Size').selectOption('TiB')
    await run()
    await speed.getByText(/^the drive has \d+ bytes free, and the test needs .*: ask for a smaller size/).waitFor()
    await speed.getByText('not measured').waitFor()
    await speed.getByLabel('Size', { exact: true }).fill('5')
    await speed.getByLabel('Unit of Size').selectOption('MiB')
    await run()
    await speed.getByText(/, read$/).waitFor()
    await speed.getByLabel('Measure').selectOption('objects, as clients would')
    await speed.getByLabel('Concurrency').fill('2')
    t.same(await accessibilityFlaws(page), [])
    await run()
    await speed.getByText('GET', { exact: true }).waitFor()
    t.same(flaws, [])
  })
}
