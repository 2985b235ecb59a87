/** Distributions, signed links, access rules, event rules and tools in the web console, as an operator uses them. */
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { PutBucketOwnershipControlsCommand } from '@aws-sdk/client-s3'
import { createTestAuthority } from 'svc/plugins/certificates/testing'
import { temporaryFolder } from 'svc/testing'
import t from 'tap'
import { accessibilityFlaws, withoutBrowser } from './browser.ts'
import { eventually, startConsole } from './console.ts'
import { createClient } from './sdk.ts'

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
  /** As visitors ask, whose resolver knows the domain. */
  const statusOf = (to: URL) =>
    new Promise<number | undefined>((done, fail) => {
      const { port } = new URL(server.endpoint)
      const asked = request(
        { port, path: to.pathname + to.search, headers: { host: to.host }, agent: false },
        answer => {
          answer.resume().on('end', () => done(answer.statusCode))
        },
      )
      asked.on('error', fail).end()
    })
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
    await dialog.getByRole('button', { name: 'Publish' }).click()
    await question.getByRole('button', { name: 'Yes, let everybody in' }).click()
    await page.getByRole('heading', { name: host, level: 1 }).waitFor()
    const { port } = new URL(server.endpoint)
    const address = page.getByRole('link', { name: `http://${host}:${port}/` })
    await address.waitFor()
    await page.getByText(`the server listens on port ${port}`).waitFor()

    await page.getByRole('tab', { name: 'Behaviours' }).click()
    await page.getByRole('button', { name: 'Add behaviour' }).click()
    await page.getByRole('textbox', { name: 'Path', exact: true }).fill('/private/')
    const behavior = page.getByRole('region', { name: '/private/' })
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
    await page.getByRole('button', { name: 'Add behaviour' }).click()
    await page.locator('input[placeholder="/private/"]:focus').fill('/early/')
    await page.getByRole('button', { name: 'Move behaviour 2 up' }).click()
    await page.getByRole('button', { name: '1. /early/' }).waitFor()
    await page.locator('[aria-label="Move behaviour 1 up"]:focus').waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: '1. /early/' }).waitFor()
    await page.getByRole('button', { name: 'Move behaviour 1 down' }).click()
    await page.getByRole('button', { name: '2. /early/' }).waitFor()
    await page.locator('[aria-label="Move behaviour 2 down"]:focus').waitFor()
    await page.getByRole('button', { name: 'Remove behaviour 2' }).click()
    await page.locator('main button:focus', { hasText: '1. /private/' }).waitFor()
    await page.getByRole('button', { name: 'Add behaviour' }).click()
    await page.getByRole('button', { name: '1. /private/' }).click()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.locator('[aria-invalid=true]').waitFor()
    t.equal(
      await page.getByRole('button', { name: '2. new' }).getAttribute('aria-expanded'),
      'true',
      'opened for its fault',
    )
    t.equal(
      (await admin.call('GET', `/distributions/${host}`)).behaviors.length,
      1,
      'a behaviour without a path is not saved',
    )
    await page.getByRole('button', { name: 'Remove behaviour 2' }).click()
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

    await page.getByRole('tab', { name: 'Headers' }).click()
    await page.getByRole('button', { name: 'Add header' }).click()
    await page.getByLabel('Value of header 1').fill('a value')
    await page.getByRole('tab', { name: 'General' }).click()
    await page.getByRole('combobox', { name: 'Domains' }).fill('127.0.0.1')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Save' }).click()
    const domains = page.locator('.mantine-InputWrapper-root', { has: page.getByRole('combobox', { name: 'Domains' }) })
    await domains.locator('.mantine-InputWrapper-error').waitFor()
    await page.keyboard.press('Backspace')
    await domains.locator('.mantine-InputWrapper-error').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Save' }).click()
    const headerName = page.getByLabel('Name of header 1')
    await eventually('a name is missing', async () => (await headerName.getAttribute('aria-invalid')) === 'true')
    t.same(await accessibilityFlaws(page), [])
    for (const [number, name] of ['X-One', 'X-One'].entries()) {
      if (number > 0) await page.getByRole('button', { name: 'Add header' }).click()
      await page.getByLabel(`Name of header ${number + 1}`).fill(name)
    }
    await page.getByText('X-One is there twice: leave one of them.').waitFor()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByLabel('Name of header 2').fill('X Two')
    await page.getByRole('button', { name: 'Save' }).click()
    await page
      .locator('.mantine-InputWrapper-error', { hasText: /^X Two/ })
      .or(page.getByText('is no header'))
      .waitFor()
    t.notOk((await admin.call('GET', `/distributions/${host}`)).headers.response, 'none of it is saved')
    await page.getByRole('button', { name: 'Remove header 2' }).click()
    await page.getByRole('tab', { name: 'Restrictions' }).click()
    const rate = page.getByLabel('Requests a second')
    await rate.fill('0')
    await page.getByRole('button', { name: 'Save' }).click()
    await eventually('0 is wrong', async () => (await rate.getAttribute('aria-invalid')) === 'true')
    t.equal(await rate.inputValue(), '0', 'it is not made 1')
    await rate.fill('')
    await page.getByLabel('At once').fill('5')
    await page.getByRole('button', { name: 'Save' }).click()
    await eventually('a burst needs a rate', async () => (await rate.getAttribute('aria-invalid')) === 'true')
    await page.getByLabel('At once').fill('')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText(`${host} is saved`).waitFor()
    t.match(await admin.call('GET', `/distributions/${host}`), { headers: { response: { 'X-One': 'a value' } } })

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

  t.test('a part of a distribution is opened to everybody only after an answer', async t => {
    const { page, flaws } = await browser.open(t)
    const stored = await admin.call('GET', `/distributions/${host}`)
    await signIn(page, `/distributions/${host}`)
    await page.getByRole('tab', { name: 'Behaviours' }).click()
    const part = page.getByRole('button', { name: '1. /private/', exact: true })
    const who = page.getByRole('region', { name: '/private/' }).getByLabel('Who may see it')
    await part.click()
    await who.selectOption('everybody')
    await page.getByRole('button', { name: 'Save' }).click()
    const question = page.getByRole('dialog', { name: 'Open this to everybody?' })
    await question.getByText('will be able to read objects whose name is “private/*”, without credentials').waitFor()
    t.same(await accessibilityFlaws(page), [])
    await question.getByRole('button', { name: 'Cancel' }).click()
    await question.waitFor({ state: 'detached' })
    t.same(await admin.call('GET', `/distributions/${host}`), stored, 'nothing is saved without an answer')
    await page.getByRole('button', { name: 'Save' }).click()
    await question.getByRole('button', { name: 'Yes, let everybody in' }).click()
    await page.getByText(`${host} is saved`).waitFor()
    t.match(await admin.call('GET', `/distributions/${host}`), { behaviors: [{ access: 'public' }] })
    // The page stays where it was.
    await part.click()
    await who.selectOption('nobody')
    await page.getByRole('button', { name: 'Save' }).click()
    await eventually('it is closed without a question', async () => {
      const { behaviors } = await admin.call('GET', `/distributions/${host}`)
      return behaviors[0].access === 'deny'
    })
    // Read anew, the default is open again.
    const isReadAnew = page.locator('button[aria-expanded=false]', { hasText: '1. /private/' })
    await isReadAnew.waitFor()
    await part.click()
    const anyCase = page.getByRole('region', { name: '/private/' }).getByLabel('In upper or lower case')
    await anyCase.check()
    await page.getByRole('button', { name: 'Save' }).click()
    await eventually('it is closed in any case', async () => {
      const { behaviors } = await admin.call('GET', `/distributions/${host}`)
      return behaviors[0].pathPattern.caseInsensitive === true
    })
    await isReadAnew.waitFor()
    await part.click()
    t.equal(await anyCase.isChecked(), true)
    await anyCase.uncheck()
    await page.getByRole('button', { name: 'Save' }).click()
    await question.getByText('objects whose name is “private/*” (in upper or lower case), without').waitFor()
    await question.getByRole('button', { name: 'Yes, let everybody in' }).click()
    await question.waitFor({ state: 'detached' })
    t.same(flaws, [])
  })

  t.test('a change that somebody else made first is told, and nothing typed is lost before one says so', async t => {
    const { page, flaws } = await browser.open(t, {}, /412 PUT/)
    await signIn(page, `/distributions/${host}`)
    await page.getByLabel('Note').fill('mine')
    const stored = await admin.call('GET', `/distributions/${host}`)
    await admin.call('PUT', `/distributions/${host}`, { ...stored, comment: 'theirs' })
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Somebody else has changed it').waitFor()
    t.equal(await page.getByLabel('Note').inputValue(), 'mine')
    await page.getByRole('button', { name: 'Load what is stored now' }).click()
    await eventually('the stored note', async () => (await page.getByLabel('Note').inputValue()) === 'theirs')
    await page.getByText('Somebody else has changed it').waitFor({ state: 'detached' })
    // Forms of their own keep what is typed there while the distribution is saved.
    await page.getByRole('tab', { name: 'Cache' }).click()
    const quota = page.getByLabel('Memory that its answers may take')
    await quota.fill('64MiB')
    await page.getByRole('tab', { name: 'General' }).click()
    await page.getByLabel('Note').fill('mine again')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText(`${host} is saved`).waitFor()
    await eventually('nothing is left to save', () => page.getByRole('button', { name: 'Save' }).first().isDisabled())
    t.equal(await page.getByLabel('Note').inputValue(), 'mine again')
    await page.getByRole('tab', { name: 'Cache' }).click()
    t.equal(await quota.inputValue(), '64MiB')
    await quota.fill('')
    t.same(flaws, [])
  })

  t.test('lifecycle and policy of a bucket are changed only if they are still what was read', async t => {
    const { page, flaws } = await browser.open(t, {}, /412 PUT/)
    const rules = (days: number) => ({
      rules: [{ id: 'uploads', enabled: true, abortIncompleteUpload: { daysAfterInitiation: days } }],
    })
    await admin.call('PUT', '/buckets/site/lifecycle', rules(3))
    await signIn(page, '/buckets/site?tab=lifecycle')
    await page.getByText('removed after 3 days').waitFor()
    await page.getByRole('button', { name: 'What would they delete?' }).click()
    await page.getByText('Nothing would be deleted.').first().waitFor()
    await page.getByRole('button', { name: 'Edit rule uploads' }).click()
    await page.getByRole('dialog').getByLabel('Remove uploads').fill('4')
    await admin.call('PUT', '/buckets/site/lifecycle', rules(5))
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await page.getByText('Somebody else has changed it').waitFor()
    t.match(await admin.call('GET', '/buckets/site/lifecycle'), rules(5))
    await page.getByRole('button', { name: 'Load what is stored now' }).click()
    await page.getByText('removed after 5 days').waitFor()
    await admin.call('PUT', '/buckets/site/lifecycle', rules(6))
    await page.getByRole('button', { name: 'All rules as JSON' }).click()
    await page.locator('.cm-content').click()
    await page.keyboard.press('ControlOrMeta+A')
    await page.keyboard.press('Delete')
    await page.keyboard.insertText('[]')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Somebody else has changed it').waitFor()
    await page.getByRole('button', { name: 'Load what is stored now' }).click()
    await page.getByText('removed after 6 days').waitFor()

    const statement = { Effect: 'Deny', Principal: '*', Action: 's3:DeleteObject', Resource: 'arn:aws:s3:::site/*' }
    const policy = (Sid: string) => ({ Version: '2012-10-17', Statement: [{ Sid, ...statement }] })
    await admin.call('PUT', '/buckets/site/policy', policy('first'))
    await page.getByRole('tab', { name: 'Policy' }).click()
    await page.getByText('"first"').waitFor()
    t.ok(await page.getByRole('button', { name: 'Save' }).isDisabled(), 'nothing is changed')
    await page.getByRole('button', { name: 'Remove policy' }).click()
    await page.getByRole('dialog').getByText('Every statement of the policy goes.').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
    await admin.call('PUT', '/buckets/site/policy', policy('second'))
    await page.locator('.cm-content').click()
    await page.keyboard.press('ControlOrMeta+End')
    await page.keyboard.insertText(' ')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Somebody else has changed it').waitFor()
    t.match(await admin.call('GET', '/buckets/site/policy'), policy('second'))
    await admin.call('DELETE', '/buckets/site/policy')
    t.same(flaws, [])
  })

  t.test('keys are made in a group, and links that the server signs open what the key opens', async t => {
    const { page, flaws } = await browser.open(t)
    const dialog = page.getByRole('dialog')
    await signIn(page, '/key-groups')
    await page.getByRole('button', { name: 'Create key group' }).click()
    await dialog.getByLabel('Name').fill('links')
    await dialog.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('button', { name: 'Add key links' }).click()
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

  t.test('a bucket is published for signed links by somebody who has no key group yet', async t => {
    const { page, flaws } = await browser.open(t, {}, /404 POST .*distributions/)
    const dialog = page.getByRole('dialog', { name: 'Publish a bucket' })
    await signIn(page, '/distributions')
    await page.getByRole('button', { name: 'Publish a bucket' }).click()
    await dialog.getByLabel('Bucket').fill('site')
    await dialog.getByLabel('Domains').fill('members.test')
    await page.keyboard.press('Enter')
    await dialog.getByLabel('Visitors').selectOption('who has a signed link')
    await dialog.getByLabel('Bucket').fill('nobody')
    await dialog.getByRole('button', { name: 'Publish' }).click()
    await dialog.locator('.mantine-InputWrapper-error', { hasText: 'There is no bucket nobody' }).waitFor()
    await dialog.getByLabel('Bucket').fill('site')
    t.same(
      (await admin.call('GET', '/keygroups')).items.filter(({ id }: { id: string }) => id === 'members.test'),
      [],
      'no key is made for what is refused',
    )
    t.equal(await dialog.getByLabel('Key group of signed links').inputValue(), '', 'a new one')
    t.same(await accessibilityFlaws(page), [])
    await dialog.getByRole('button', { name: 'Publish' }).click()
    await page.getByRole('heading', { name: 'members.test', level: 1 }).waitFor()
    await page.getByRole('button', { name: 'Make a signed link' }).click()
    const link = page.getByRole('dialog')
    await link.getByLabel('Path').fill('/index.html')
    await link.getByRole('button', { name: 'Make a signed link' }).click()
    const url = new URL(await link.getByLabel('Signed link').inputValue())
    t.equal(await statusOf(url), 200)
    t.equal(await statusOf(new URL('/index.html', url)), 403)
    t.match(await admin.call('GET', '/keygroups/members.test'), { usedBy: ['members.test'] })
    await admin.call('DELETE', '/distributions/members.test')
    t.same(flaws, [])
  })

  t.test('places of mistakes in a policy are those of the text that is shown', async t => {
    const { page, flaws } = await browser.open(t, {}, /404 GET .*site\/policy/)
    await signIn(page, '/buckets/site?tab=policy')
    await page.locator('.cm-content').click()
    await page.keyboard.press('ControlOrMeta+A')
    await page.keyboard.press('Delete')
    const statement = { Effect: 'Allow', Principal: '*', Action: 's3:Nothing', Resource: 'arn:aws:s3:::other/*' }
    await page.keyboard.insertText(JSON.stringify({ Version: '2012-10-17', Statement: [statement] }))
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('alert').getByText('2 mistakes were found in it').waitFor()
    await page.getByText(/^Line 1, column \d+: .*other/).waitFor()
    t.equal(await page.getByText(/\bline [2-9]/i).count(), 0, 'no place of another layout')
    t.same(await accessibilityFlaws(page), [])
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
    await page.getByLabel('Choose').selectOption('everybody may read objects')
    await page.getByText('It replaces the rules that allow and whose names begin with preset-').waitFor()
    await page.getByRole('button', { name: 'Apply' }).click()
    await dialog.getByText('will be able to read every object of this bucket, without credentials').waitFor()
    t.equal((await fetchSite('/site/index.html')).status, 403, 'nothing is opened without an answer')
    await dialog.getByRole('button', { name: 'Yes, let everybody in' }).click()
    await openness.getByText('The access rule “preset-public-read” lets everybody read every object').waitFor()
    t.equal((await fetchSite('/site/index.html')).status, 200)
    t.match(await admin.call('GET', '/buckets/site/access-rules'), { warnings: [/lets every client read objects/] })
    t.equal(await page.getByText('lets every client').count(), 0, 'one opening is told once')
    t.same(await accessibilityFlaws(page), [])
    t.equal(await page.getByLabel('Choose').inputValue(), 'public-read', 'the choice is what is stored')
    t.ok(await page.getByRole('button', { name: 'Apply' }).isDisabled(), 'and there is nothing to apply')
    await page.getByLabel('Choose').selectOption('nobody gets in by a rule')
    await page.getByText('every other rule that allows something to everybody').waitFor()
    await page.getByRole('button', { name: 'Apply' }).click()
    await dialog.getByText('This removes the rule preset-public-read.').waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    t.equal((await fetchSite('/site/index.html')).status, 200, 'nothing is closed without an answer')

    await page.getByLabel('Choose').selectOption('everybody may write objects')
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

    const Rules = [{ ObjectOwnership: 'ObjectWriter' as const }]
    const ownership = { Bucket: 'site', OwnershipControls: { Rules } }
    await createClient(server).send(new PutBucketOwnershipControlsCommand(ownership))
    await page.getByRole('switch', { name: 'Block public access' }).check({ force: true })
    const closed = page.getByRole('alert').filter({ hasText: 'are refused (403) here' })
    await closed.getByText(shown).waitFor()
    await closed.getByText('The access rule “preset-public-read”').waitFor()
    await closed.getByText('objects that everybody may read by theirs are refused (403) as well').waitFor()
    t.same(await accessibilityFlaws(page), [])
    t.equal((await fetchSite('/site/index.html')).status, 200, 'it is told before it is saved')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Block public access: Saved.').waitFor()
    await page.getByText('This would let everybody in, and has no effect now:').waitFor()
    t.equal((await fetchSite('/site/index.html')).status, 403)
    await page.getByText('The whole deployment blocks public access').waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'The distribution open' }).click()
    await page.getByText('Public access to the bucket site is blocked: what is public here answers 403.').waitFor()
    t.same(await accessibilityFlaws(page), [])
    await page.getByRole('link', { name: 'Distributions' }).click()
    await page.getByRole('row', { name: /^open .*its bucket is blocked: 403/ }).waitFor()
    await page.getByRole('row', { name: new RegExp(`^${host} .*enabled Disable`) }).waitFor()
    // Whatever the row says: it opens what it would open now.
    await page.getByRole('button', { name: 'Disable open', exact: true }).click()
    const disables = page.getByRole('dialog', { name: 'Disable open?' })
    await disables.getByText('Every request to open.example.test is answered 403 until it is enabled again.').waitFor()
    t.same(await accessibilityFlaws(page), [])
    t.match(await admin.call('GET', '/distributions/open'), { enabled: true }, 'nothing goes off without an answer')
    await disables.getByRole('button', { name: 'Disable' }).click()
    await page.getByRole('button', { name: 'Enable open', exact: true }).click()
    const opens = page.getByRole('dialog', { name: 'Open this to everybody?' })
    await opens.getByText('every object of the bucket site').waitFor()
    t.same(await accessibilityFlaws(page), [])
    await opens.getByRole('button', { name: 'Cancel' }).click()
    await opens.waitFor({ state: 'detached' })
    t.match(await admin.call('GET', '/distributions/open'), { enabled: false })
    await page.getByRole('button', { name: 'Enable open', exact: true }).click()
    await opens.getByRole('button', { name: 'Yes, let everybody in' }).click()
    await page.getByRole('button', { name: 'Disable open', exact: true }).waitFor()
    await page.getByRole('link', { name: 'Buckets' }).click()
    await page.getByRole('button', { name: 'Delete bucket site' }).click()
    const stops = dialog.getByRole('alert').filter({ hasText: 'It is published. Delete these distributions first' })
    await stops.getByRole('link', { name: `${host} (${host})` }).waitFor()
    await stops.getByRole('link', { name: 'open (open.example.test)' }).waitFor()
    t.same(await accessibilityFlaws(page), [])
    await dialog.getByLabel(/Type site/).fill('site')
    t.ok(await dialog.getByRole('button', { name: 'Delete', exact: true }).isDisabled())
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await page.goto(`${url}/buckets/site?tab=access`)
    await page.getByText('This would let everybody in, and has no effect now:').waitFor()
    t.match(await admin.call('PUT', '/access/block-public', { enabled: true }), { enabled: true })
    await page.reload()
    await page.getByText('The whole deployment blocks public access').waitFor()
    await page.getByRole('switch', { name: 'Block public access to this bucket' }).waitFor()
    t.match(await admin.call('PUT', '/access/block-public', { enabled: false }), { enabled: false })

    await page.getByRole('tab', { name: 'Policy' }).click()
    await page.getByText('Policies of users and groups decide.').waitFor()
    t.same(await accessibilityFlaws(page), [])
    await page.getByRole('link', { name: 'Its 2 access rules decide too.' }).click()
    await page.getByRole('button', { name: 'Edit rule no-drafts' }).waitFor()
    t.same(flaws, [])
  })

  t.test('an S3 endpoint keeps who gets in, and is not opened without a question', async t => {
    const stored = () => admin.call('GET', '/distributions/endpoint')
    const { page, flaws } = await browser.open(t)
    await signIn(page, '/distributions')
    await page.getByRole('button', { name: 'Publish a bucket' }).click()
    const dialog = page.getByRole('dialog', { name: 'Publish a bucket' })
    await dialog.getByLabel('Bucket').fill('site')
    await dialog.getByLabel('Publish as').selectOption('s3')
    await dialog.getByLabel('Domains').fill('s3.example.test')
    await page.keyboard.press('Enter')
    await dialog.getByLabel('Name').fill('endpoint')
    await dialog.getByRole('button', { name: 'Publish' }).click()
    const question = page.getByRole('dialog', { name: 'Open this to everybody?' })
    const opened = question.getByText('what policies, access rules and access control lists of the bucket site allow')
    await opened.waitFor()
    await question.getByRole('button', { name: 'Cancel' }).click()
    await question.waitFor({ state: 'detached' })
    await t.rejects(stored(), /404/, 'nothing is published without an answer')
    await dialog.getByRole('button', { name: 'Publish' }).click()
    await question.getByRole('button', { name: 'Yes, let everybody in' }).click()
    await page.getByRole('heading', { name: 'endpoint', level: 1 }).waitFor()
    await page.getByRole('tab', { name: 'Behaviours' }).click()
    const access = page.getByLabel('Who may see it').first()
    await access.selectOption({ value: 'authenticated' })
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('endpoint is saved.').waitFor()
    await page.getByText('Not saved yet.').waitFor({ state: 'detached' })

    // A new value of the header is shown until somebody has it.
    await page.getByRole('tab', { name: 'Restrictions' }).click()
    const header = page.getByLabel('Header that a proxy in front has to send')
    await header.fill('X-Origin')
    await page.getByLabel('Its value').fill('a-value-of-the-proxy')
    await page.getByRole('button', { name: 'Save' }).click()
    const rotate = page.getByRole('button', { name: 'New value' })
    await rotate.click()
    const sure = page.getByRole('dialog', { name: 'A new value for the header?' })
    const [answer] = await Promise.all([
      page.waitForResponse(/origin-secret\/rotate$/),
      sure.getByRole('button', { name: 'New value' }).click(),
    ])
    const made = await answer.json()
    const once = page.getByRole('dialog', { name: 'New value for the header' })
    await page.getByText('The old one works for another 24 hours, so').waitFor({ state: 'detached' })
    const { values } = (await stored()).restrictions.originSecretHeader
    t.equal(values.length, 2)
    t.equal(await once.getByLabel('x-origin', { exact: true }).inputValue(), made.value)
    t.same(await accessibilityFlaws(page), [])
    await page.keyboard.press('Escape')
    await once.getByRole('button', { name: 'I have kept it' }).click()
    await once.waitFor({ state: 'detached' })
    await page.getByRole('tab', { name: 'General' }).click()
    await page.getByLabel('Note').fill('for programs')
    await page.getByRole('tab', { name: 'Restrictions' }).click()
    await page.getByText('First save what you have changed.').waitFor()
    t.ok(await rotate.isDisabled(), 'nothing typed is lost')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('First save what you have changed.').waitFor({ state: 'detached' })
    t.match(await stored(), { comment: 'for programs', defaultBehavior: { access: 'authenticated' } })
    t.same((await stored()).restrictions.originSecretHeader.values, values, 'with the new value')
    await page.getByRole('tab', { name: 'Behaviours' }).click()
    t.equal(await access.inputValue(), 'authenticated')
    await access.selectOption({ value: 'public' })
    await page.getByRole('button', { name: 'Save' }).click()
    await opened.waitFor()
    t.same(await accessibilityFlaws(page), [])
    await question.getByRole('button', { name: 'Cancel' }).click()
    await question.waitFor({ state: 'detached' })
    t.match(await stored(), { defaultBehavior: { access: 'authenticated' } })
    await admin.call('DELETE', '/distributions/endpoint')
    t.same(flaws, [])
  })

  t.test('the simulator names the statement that decides', async t => {
    await admin.putPolicy('no-deletion', { Sid: 'keep', Effect: 'Deny', Action: ['s3:DeleteObject'], Resource: ['*'] })
    await admin.putPolicy('all-of-site', { Effect: 'Allow', Action: ['s3:GetObject'], Resource: ['*'] })
    await admin.createUser('bob', { policyNames: ['no-deletion', 'all-of-site'] })
    const { page, flaws } = await browser.open(t)
    await signIn(page, '/users')
    await page.getByRole('button', { name: 'Try what bob may do' }).click()
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
    await theirs.close()
    t.same(theirFlaws, [])
    await signIn(page, '/buckets/site?tab=events')
    await page.getByText('Add one on the page “Event targets”').waitFor()
    await admin.call('PATCH', '/config/notify_webhook:hook', { settings })
    await page.reload()
    await page.getByRole('button', { name: 'Add rule' }).click()
    await page.getByLabel('Suffix').fill('.html')
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
    await page.getByRole('button', { name: /^Replay to/ }).click()
    await page.getByRole('dialog').getByLabel('Bucket').fill('site')
    await page.getByRole('dialog').getByRole('button', { name: 'Replay', exact: true }).click()
    await page.getByText('1 event is queued').waitFor()
    while (count() < 2) await page.waitForTimeout(100)
    t.same(flaws, [])
  })

  t.test('tools: an export is looked at before it is imported, and the speed test draws its rates', async t => {
    const { page, flaws } = await browser.open(t, { acceptDownloads: true }, /400 POST .*config\/import/)
    await signIn(page, '/tools')
    await page.getByLabel('Type of file').selectOption({ index: 1 })
    const wrong = { name: 'settings.txt', mimeType: 'text/plain', buffer: Buffer.from('ratelimit =\n') }
    await page.locator('input[type=file]').setInputFiles(wrong)
    await page.getByRole('button', { name: 'What would change' }).click()
    await page.locator('.mantine-InputWrapper-error', { hasText: /^line 1 must have keys/ }).waitFor()
    await page.getByLabel('Type of file').selectOption({ index: 0 })
    const archived = { id: 'archived', aliases: ['archived.example.test'], origin: { bucket: 'site' } }
    await admin.call('POST', '/distributions', archived)
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Export everything' }).click(),
    ])
    const file = await download.path()
    t.equal(readFileSync(file).subarray(0, 2).toString(), 'PK')
    await page.locator('input[type=file]').setInputFiles(file)
    await page.getByRole('button', { name: 'What would change' }).click()
    await page.getByText('The server has it all: nothing changes.').waitFor()
    await page.getByText(/^The file has .*1 buckets?/).waitFor()
    t.same(await accessibilityFlaws(page), [])
    await page.getByRole('button', { name: 'Import', exact: true }).click()
    await page.getByText('Imported:').waitFor()

    // What opens a bucket is not imported without an answer.
    await admin.call('DELETE', '/distributions/archived')
    await page.getByRole('button', { name: 'What would change' }).click()
    await page.getByText('distribution/archived').waitFor()
    await page.getByRole('button', { name: 'Import', exact: true }).click()
    const question = page.getByRole('dialog', { name: 'Import what decides who gets in?' })
    await question.getByText('distribution/archived').waitFor()
    t.same(await accessibilityFlaws(page), [])
    await question.getByRole('button', { name: 'Cancel' }).click()
    await question.waitFor({ state: 'detached' })
    t.rejects(admin.call('GET', '/distributions/archived'), /404/, 'a question imports nothing')
    const agree = async () => {
      await page.getByRole('button', { name: 'Import', exact: true }).click()
      await question.getByRole('button', { name: 'Import' }).click()
      await question.waitFor({ state: 'detached' })
    }
    // Nor is what nobody has been asked about.
    await admin.call('POST', '/distributions', { ...archived, comment: 'theirs' })
    await agree()
    await page.getByText('something has changed meanwhile').waitFor()
    t.match(await admin.call('GET', '/distributions/archived'), { comment: 'theirs' })
    await agree()
    await page.getByText('Imported:').waitFor()
    t.match(await admin.call('GET', '/distributions/archived'), { id: 'archived', comment: '' })
    await page.getByLabel('Seconds').first().fill('1')
    await page.getByRole('button', { name: 'Run' }).click()
    await page.getByText('GET', { exact: true }).waitFor()
    t.same(flaws, [])
  })

  t.test('a certificate comes from files, chosen or dropped, of which each may have any part', async t => {
    const { page, flaws } = await browser.open(t, {}, /409 (PUT|DELETE) .*certificates/)
    const authority = createTestAuthority(temporaryFolder(t))
    const { chain: certificate, key: issuedKey } = authority.issue(['noted.example.test'])
    await admin.call('POST', '/distributions', {
      id: 'noted',
      aliases: ['noted.example.test'],
      origin: { bucket: 'site' },
    })
    await admin.call('POST', '/certificates', {
      id: 'noted',
      certificate,
      privateKey: issuedKey,
      comment: 'of the shop',
    })
    await signIn(page, '/certificates')
    const dialog = page.getByRole('dialog')
    await page.getByRole('cell', { name: 'noted of the shop' }).waitFor()
    await page.getByRole('button', { name: 'Replace noted' }).click()
    t.equal(await dialog.getByLabel('Note').inputValue(), 'of the shop', 'a new one keeps the note')
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await dialog.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Upload certificate' }).click()
    const block = (label: string, text: string) => `-----BEGIN ${label}-----\n${text}\n-----END ${label}-----`
    const [own, middle, key] = [
      block('CERTIFICATE', 'b3du'),
      block('CERTIFICATE', 'bWlk'),
      block('EC PRIVATE KEY', 'a2V5'),
    ]
    const folder = temporaryFolder(t)
    writeFileSync(join(folder, 'chain.pem'), `subject: own\r\n${own.replaceAll('\n', '\r\n')}\r\n${middle}\n`)
    writeFileSync(join(folder, 'all.pem'), `${key}\n${own}\n`)
    writeFileSync(join(folder, 'binary.cer'), Buffer.from([0x30, 0x82, 1, 1]))
    const chain = dialog.getByLabel('Certificate chain')
    const privateKey = dialog.getByLabel('Private key')
    const choose = (name: string) => dialog.locator('input[type=file]').setInputFiles(join(folder, name))
    await choose('chain.pem')
    await dialog.getByText('The certificate is below. Its key is in another file.').waitFor()
    t.equal(await chain.inputValue(), `${own}\n${middle}`)
    t.equal(await privateKey.inputValue(), '')
    await choose('binary.cer')
    await dialog.getByText('Neither a certificate nor a key in PEM: binary.cer').waitFor()
    t.equal(await chain.inputValue(), `${own}\n${middle}`)
    t.same(await accessibilityFlaws(page), [])

    const sealed = block('RSA PRIVATE KEY', 'Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00FF\n\na2V5')
    writeFileSync(join(folder, 'sealed.key'), sealed)
    await choose('sealed.key')
    await eventually('a key with headers', async () => (await privateKey.inputValue()) === sealed)

    const { x, y, width, height } = (await dialog.locator('.pem-files').boundingBox())!
    const devtools = await page.context().newCDPSession(page)
    for (const type of ['dragEnter', 'dragOver', 'drop'] as const) {
      await devtools.send('Input.dispatchDragEvent', {
        type,
        x: x + width / 2,
        y: y + height / 2,
        data: { items: [], files: [join(folder, 'all.pem')], dragOperationsMask: 1 },
      })
    }
    await dialog.getByText('The certificate and the key are below.').waitFor()
    t.same([await chain.inputValue(), await privateKey.inputValue()], [own, key])
    await page.reload()

    // A domain that gets it without naming it does not lose it without a question. A chain that clients may refuse is told of.
    const other = authority.issue(['other.example.test'])
    const domainsOf = async () => (await admin.call('GET', '/certificates/noted')).domains
    await page.getByRole('button', { name: 'Replace noted' }).click()
    await chain.fill(other.leaf)
    await privateKey.fill(other.key)
    await dialog.getByRole('button', { name: 'Save' }).click()
    const question = page.getByRole('dialog', { name: 'Replace it all the same?' })
    await question.getByText('Visitors of noted.example.test get "noted" now').waitFor()
    t.same(await accessibilityFlaws(page), [])
    await question.getByRole('button', { name: 'Cancel' }).click()
    await question.waitFor({ state: 'detached' })
    t.same(await domainsOf(), ['noted.example.test'], 'nothing is stored')
    t.equal(await chain.inputValue(), other.leaf, 'the form stays')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await question.getByRole('button', { name: 'Replace' }).click()
    await dialog.getByText('The chain is the leaf alone').waitFor()
    t.same(await accessibilityFlaws(page), [])
    t.same(await domainsOf(), ['other.example.test'])
    await dialog.locator('.dialog-buttons').getByRole('button', { name: 'Close' }).click()
    await dialog.waitFor({ state: 'detached' })

    // Nor is one deleted that has come to be served since the list was read.
    const before = { certificate, privateKey: issuedKey, comment: '' }
    const deletion = page.getByRole('dialog', { name: 'Delete noted?' })
    await page.getByRole('button', { name: 'Delete noted' }).click()
    await deletion.getByText('Visitors of other.example.test').waitFor()
    await admin.call('PUT', '/certificates/noted', before)
    await deletion.getByRole('button', { name: 'Delete' }).click()
    const served = page.getByRole('dialog', { name: 'Delete it all the same?' })
    await served.getByText('Visitors of noted.example.test get "noted" now').waitFor()
    await served.getByRole('button', { name: 'Cancel' }).click()
    await served.waitFor({ state: 'detached' })
    await deletion.getByRole('button', { name: 'Delete' }).click()
    await served.getByRole('button', { name: 'Delete' }).click()
    await deletion.waitFor({ state: 'detached' })
    t.same((await admin.call('GET', '/certificates')).items, [])
    await admin.call('DELETE', '/distributions/noted')
    t.same(flaws, [])
  })
}
