/** Publishing in the web console: distributions, access, certificates, the cache and what is imported: what is asked, what others have changed, what few may do. What their pages are for: console/publishing and console/cache. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PutBucketOwnershipControlsCommand } from '@aws-sdk/client-s3'
import { createTestAuthority } from 'svc/plugins/certificates/testing'
import { temporaryFolder } from 'svc/testing'
import t from 'tap'
import { accessibilityFlaws, aNewVisitor, withoutBrowser } from './browser.ts'
import { eventually, startConsole, visitDomain } from './console.ts'
import { createClient } from './sdk.ts'

// Only a page that hangs takes so long.
t.setTimeout(900_000)

if (withoutBrowser !== false) {
  t.comment(withoutBrowser)
  t.end()
} else {
  const { server, url, admin, browser, signIn } = await startConsole(t, {
    environment: { SVC_S3_DISTRIBUTIONS: 'on', SVC_CACHE_WEBHOOK_ALLOW: '127.0.0.0/8' },
  })
  for (const name of ['site', 'cached']) {
    await admin.call('POST', '/buckets', { name })
    await admin.call('POST', `/buckets/${name}/objects/upload?key=index.html`, 'home')
  }
  const host = 'www.example.test'
  await admin.call('POST', '/distributions', {
    id: host,
    aliases: [host],
    origin: { bucket: 'site' },
    defaultBehavior: { access: 'public', indexDocument: 'index.html' },
    behaviors: [{ pathPattern: { type: 'prefix', pattern: '/private/' }, access: 'deny' }],
  })
  await admin.call('POST', '/distributions', { id: 'www', aliases: ['cached.test'], origin: { bucket: 'cached' } })
  const statusOf = async (to: URL, more: { readonly cookie?: string } = {}) =>
    (await visitDomain(new URL(server.endpoint).port, to, more)).statusCode
  const fetchSite = (path: string) => fetch(server.endpoint + path)

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
    const mayGoOn = Promise.withResolvers<void>()
    await page.route(/\/distributions\/[^/]+$/, async route => {
      if (route.request().method() === 'PUT') await mayGoOn.promise
      await route.continue()
    })
    await page.getByLabel('Note').fill('mine again')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.locator('form[inert]').first().waitFor()
    await page.getByLabel('Note').focus()
    await page.keyboard.type(' and what would be lost')
    t.equal(await page.getByLabel('Note').inputValue(), 'mine again', 'nothing is typed while it is on its way')
    mayGoOn.resolve()
    await page.getByText(`${host} is saved`).waitFor()
    await page.getByRole('button', { name: 'Save' }).waitFor({ state: 'detached' })
    t.equal(await page.getByLabel('Note').inputValue(), 'mine again')
    await page.getByRole('tab', { name: 'Cache' }).click()
    t.equal(await quota.inputValue(), '64MiB')
    await quota.fill('')
    t.same(flaws, [])
  })

  t.test('what is wrong in a part of a distribution is said on its tab, and none of it is saved', async t => {
    const { page, flaws } = await browser.open(t, {}, /400 PUT .*distributions/)
    await signIn(page, `/distributions/${host}?tab=behaviors`)
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
    const path = page.getByRole('textbox', { name: 'Path', exact: true })
    await path.fill('/%C3%BC/')
    await page.getByRole('button', { name: 'Save' }).click()
    const wrong = page.locator('.mantine-InputWrapper-error', { hasText: 'write "/ü/"' })
    await wrong.waitFor()
    t.equal(await path.getAttribute('aria-invalid'), 'true', 'nor one that matches nothing')
    await page.getByRole('button', { name: 'Remove behaviour 2' }).click()
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
    await dialog.getByLabel('Visitors').selectOption('users of this server')
    await dialog.getByText('Other browsers get 403: nobody is asked to sign in.').waitFor()
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

    // A folder: its page, and what the page has links to.
    await link.getByLabel('Path').fill('/*')
    await link.getByRole('button', { name: 'Make a signed link' }).click()
    await link.getByText('choose “everything below it”').waitFor()
    await link.getByLabel('Path').fill('/')
    await link.getByLabel('It opens').selectOption('everything below it')
    await link.getByRole('button', { name: 'Make a signed link' }).click()
    const cookies = await link.getByLabel('Cookies').innerText()
    const folder = new URL(await link.getByLabel('Signed link').inputValue())
    t.equal(folder.pathname, '/')
    t.equal(await statusOf(folder), 200)
    t.equal(await statusOf(new URL(`/index.html${folder.search}`, url)), 200)
    t.match(
      cookies.split('\n'),
      Array(3).fill(/^Set-Cookie: Cdn-[\w-]+=\S+; Domain=members\.test; Path=\/; .*HttpOnly$/),
    )
    const cookie = /-b '(.*?)'/.exec(await link.getByLabel('With curl').innerText())![1]!
    t.equal(await statusOf(new URL('/index.html', url), { cookie }), 200)
    t.same(await accessibilityFlaws(page), [])
    t.match(await admin.call('GET', '/keygroups/members.test'), { usedBy: ['members.test'] })

    // A path alone has no address at a wildcard.
    const published = await admin.call('GET', '/distributions/members.test')
    const { createdAt: _, updatedAt: __, etag: ___, warnings: ____, served: _____, ...document } = published
    await admin.call('PUT', '/distributions/members.test', { ...document, aliases: ['*.members.test'] })
    await page.reload()
    await page.getByRole('button', { name: 'Make a signed link' }).click()
    await link.getByText('The whole address: the domains of this distribution have wildcards').waitFor()
    t.equal(await link.getByLabel('Path').inputValue(), '')
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
    await page.getByText('as S3 clients do, and presigned links').waitFor()
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
    await page.getByLabel('Its value').fill('a-value-that-replaces')
    await page.getByText('First save what you have changed.').waitFor()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('First save what you have changed.').waitFor({ state: 'detached' })
    const replaced = (await stored()).restrictions.originSecretHeader.values
    t.equal(replaced.length, 1, 'one that is typed replaces all')
    t.notOk(values.includes(replaced[0]))
    await page.getByRole('tab', { name: 'Behaviours' }).click()
    t.equal(await access.inputValue(), 'authenticated')
    await access.selectOption({ value: 'public' })
    await page.getByRole('button', { name: 'Save' }).click()
    await opened.waitFor()
    t.same(await accessibilityFlaws(page), [])
    await question.getByRole('button', { name: 'Cancel' }).click()
    await question.waitFor({ state: 'detached' })
    t.match(await stored(), { defaultBehavior: { access: 'authenticated' } })

    // Who answers at its domains once it is deleted.
    const aliases = ['s3.example.test', 'endpoint.test']
    await admin.call('PUT', '/distributions/endpoint', { ...(await stored()), aliases })
    const wild = { id: 'wild', aliases: ['*.example.test'], origin: { bucket: 'site' } }
    await admin.call('POST', '/distributions', { ...wild, defaultBehavior: { access: 'deny' } })
    await page.goto(`${url}/distributions`)
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Delete endpoint' }).click()
    const deletion = page.getByRole('dialog', { name: 'Delete endpoint?' })
    await deletion.getByText('From then on wild has s3.example.test, with its *.example.test.').waitFor()
    await deletion.getByText('From then on no distribution answers at endpoint.test.').waitFor()
    t.same(await accessibilityFlaws(page), [])
    await deletion.getByLabel(/Type endpoint/).fill('endpoint')
    await deletion.getByRole('button', { name: 'Delete', exact: true }).click()
    await deletion.waitFor({ state: 'detached' })
    await t.rejects(stored(), /404/)
    await admin.call('DELETE', '/distributions/wild')
    t.same(flaws, [])
  })

  t.test('a certificate comes from files, chosen or dropped, of which each may have any part', async t => {
    const { page, flaws } = await browser.open(t, aNewVisitor, /409 (PUT|DELETE) .*certificates/)
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

  t.test('a certificate that is awaited comes while the page is open and somebody types', async t => {
    await admin.call('POST', '/keygroups', { id: 'links' })
    const signer = { generate: true, algorithm: 'ed25519', storePrivateKey: true }
    await admin.call('POST', '/keygroups/links/keys', signer)
    const stored = await admin.call('GET', `/distributions/${host}`)
    const defaultBehavior = { ...stored.defaultBehavior, access: 'signed', signing: { keyGroup: 'links' } }
    await admin.call('PUT', `/distributions/${host}`, { ...stored, defaultBehavior, behaviors: [] })
    const { page, flaws } = await browser.open(t)
    const dialog = page.getByRole('dialog')
    const served: object[] = []
    await page.route(`**/api/v1/distributions/${host}`, async route => {
      if (route.request().method() !== 'GET') return route.continue()
      const response = await route.fetch()
      await route.fulfill({ response, json: { ...(await response.json()), tls: { certificate: 'auto' }, served } })
    })
    await page.route('**/api/v1/info', async route => {
      const response = await route.fetch()
      const info = (await response.json()) as { nodes: { listeners: object[] }[] }
      for (const { listeners } of info.nodes) {
        listeners.push({ name: 'web', address: '::', port: 80, secure: false })
        listeners.push({ name: 'web-tls', address: '::', port: 443, secure: true })
      }
      await route.fulfill({ response, json: info })
    })
    await signIn(page, `/distributions/${host}`)
    await page.getByRole('link', { name: `http://${host}/`, exact: true }).waitFor()
    const note = page.getByLabel('Note')
    await note.fill('typed meanwhile')
    await page.getByRole('button', { name: 'Make a signed link' }).click()
    await dialog.getByLabel('Path').fill('/index.html')
    await dialog.getByRole('button', { name: 'Make a signed link' }).click()
    const link = dialog.getByLabel('Signed link')
    t.match(await link.inputValue(), `http://${host}/index.html`)
    served.push({ domain: host, certificate: host, state: 'valid', notAfter: '2999-01-01T00:00:00Z', covers: true })
    await dialog.getByRole('option', { name: `https://${host}`, exact: true }).waitFor({ state: 'attached' })
    await link.waitFor({ state: 'detached' })
    await dialog.getByRole('button', { name: 'Make a signed link' }).click()
    t.match(await link.inputValue(), `https://${host}/index.html`)
    await page.keyboard.press('Escape')
    await page.getByRole('link', { name: `https://${host}/`, exact: true }).waitFor()
    await page.getByText(`${host}: valid`).waitFor()
    t.equal(await note.inputValue(), 'typed meanwhile')
    t.same(flaws, [])
  })

  t.test(
    'public access to a bucket is blocked by one who is told what stops, and what would open again is asked about',
    async t => {
      await admin.call('POST', '/distributions', {
        id: 'open',
        aliases: ['open.example.test'],
        origin: { bucket: 'site' },
      })
      const allow = { effect: 'allow', principals: ['*'], actions: ['read'] }
      await admin.call('PUT', '/buckets/site/access-rules', {
        rules: [{ id: 'preset-public-read', priority: 100, ...allow }],
      })
      const shown = 'The distribution open shows everybody at open.example.test every object of this bucket.'
      const { page, flaws } = await browser.open(t, {}, /404 GET .*site\/policy/)
      const dialog = page.getByRole('dialog')
      await signIn(page, '/buckets/site?tab=access')
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
      await disables
        .getByText('Every request to open.example.test is answered 403 until it is enabled again.')
        .waitFor()
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
      t.same(flaws, [])
    },
  )

  t.test(
    'what decides who gets in is imported only after an answer, and not what nobody has been asked about',
    async t => {
      const archived = { id: 'archived', aliases: ['archived.example.test'], origin: { bucket: 'site' } }
      await admin.call('POST', '/distributions', archived)
      await admin.call('POST', '/users', { accessKey: 'ada', secretKey: 'ada-secret-1' })
      await admin.call('POST', '/access-keys', { user: 'ada', accessKey: 'ADASKEY' })
      const { page, flaws } = await browser.open(t)
      await signIn(page, '/tools')
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('region', { name: 'Export' }).getByRole('link', { name: 'Export everything' }).click(),
      ])
      const file = await download.path()
      await page.locator('input[type=file]').setInputFiles(file)
      await admin.call('DELETE', '/distributions/archived')
      await page.getByRole('button', { name: 'What would change' }).click()
      await page.getByText('distribution/archived').waitFor()
      await page.getByRole('button', { name: 'Import', exact: true }).click()
      const question = page.getByRole('dialog', { name: 'Import what decides who gets in?' })
      await question.getByText('distribution/archived').waitFor()
      t.same(await accessibilityFlaws(page), [])
      await question.getByRole('button', { name: 'Cancel' }).click()
      await question.waitFor({ state: 'detached' })
      await t.rejects(admin.call('GET', '/distributions/archived'), /404/, 'a question imports nothing')
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
      // A note lets nobody in.
      await page.getByText('distribution/archived (comment)').waitFor()
      await page.getByRole('button', { name: 'Import', exact: true }).click()
      await page.getByText('Imported:').waitFor()
      t.match(await admin.call('GET', '/distributions/archived'), { id: 'archived', comment: '' })
      await admin.call('PUT', '/distributions/archived', { ...archived, enabled: false })
      await page.getByRole('button', { name: 'What would change' }).click()
      await page.getByText('distribution/archived (enabled)').waitFor()
      // Under way it takes nothing else, and goes on without its page.
      const released = Promise.withResolvers<void>()
      await page.route(/\/cluster\/import\?(?!.*dryRun=true)/, async route => {
        await released.promise
        await route.continue()
      })
      await agree()
      await page.locator('[inert] input[type=file]').waitFor({ state: 'attached' })
      await page.getByRole('link', { name: 'Locks' }).click()
      await page.getByRole('heading', { name: 'Locks' }).waitFor()
      released.resolve()
      await page.getByText('“Import” is done').waitFor()
      t.match(await admin.call('GET', '/distributions/archived'), { enabled: true })
      await page.goBack()
      await page.locator('input[type=file]').setInputFiles(file)
      await page.unrouteAll()
      // What was taken from a user since the export is not given back without an answer.
      await admin.call('PATCH', '/users/ada', { status: 'disabled' })
      await admin.call('DELETE', '/access-keys/ADASKEY')
      await page.getByRole('button', { name: 'What would change' }).click()
      await page.getByText('user/ada (status)').waitFor()
      await page.getByRole('button', { name: 'Import', exact: true }).click()
      await question.getByText('access-key/ADASKEY').waitFor()
      await question.getByText('user/ada (status)').waitFor()
      await question.getByText('brings back what the change took away').waitFor()
      await question.getByRole('button', { name: 'Cancel' }).click()
      await question.waitFor({ state: 'detached' })
      t.match(await admin.call('GET', '/users/ada'), { status: 'disabled' })
      await agree()
      await page.getByText('Imported:').waitFor()
      t.match(await admin.call('GET', '/users/ada'), { status: 'enabled' })
      // Nor does what goes, where it had let somebody in itself.
      await admin.call('POST', '/distributions', { ...archived, id: 'further', aliases: ['further.example.test'] })
      await admin.call('POST', '/keygroups', { id: 'further' })
      await page.getByLabel('Items that are not in the file').selectOption('replace')
      await page.getByRole('button', { name: 'What would change' }).click()
      await page.getByText('distribution/further').waitFor()
      await page.getByRole('button', { name: 'Import', exact: true }).click()
      await page.getByText('No export has the private keys of key groups').waitFor()
      t.equal(await question.count(), 0)
      await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      await admin.call('DELETE', '/distributions/further')
      await admin.call('DELETE', '/keygroups/further')
      t.same(flaws, [])
    },
  )

  t.test('answers are counted by status, also where the cache is not asked; an S3 endpoint has none', async t => {
    const closed = 'closed.example.test'
    const endpoint = 's3.example.test'
    const origin = { bucket: 'site' }
    const restrictions = { sourceIp: { allow: ['192.0.2.1'] } }
    await admin.call('POST', '/distributions', { id: 'closed', aliases: [closed], origin, restrictions })
    await admin.call('POST', '/distributions', { id: 'endpoint', aliases: [endpoint], origin, mode: 's3' })
    for (const at of [closed, closed, endpoint]) await statusOf(new URL(`http://${at}/index.html`))
    const { page, flaws } = await browser.open(t)
    await signIn(page, '/distributions/closed?tab=statistics')
    await page.getByRole('row', { name: '403 2 100' }).waitFor()
    await page.getByText('The cache was not asked since the start').waitFor()
    await page.getByRole('group', { name: 'Entries of all distributions' }).waitFor()
    await page.getByText('Of the whole cache of each node').waitFor()
    t.same(await accessibilityFlaws(page), [])

    await page.getByRole('link', { name: 'Distributions' }).click()
    await page.getByRole('link', { name: 'endpoint', exact: true }).click()
    await page.getByRole('tab', { name: 'Statistics' }).click()
    await page.getByRole('row', { name: '403 1 100' }).waitFor()
    const none = page.getByText('An S3 endpoint is not cached here').filter({ visible: true })
    await none.waitFor()
    t.equal(await page.getByRole('group', { name: 'Answered from the cache' }).count(), 0)
    t.equal(await page.getByRole('tab', { name: 'Warm up' }).count(), 0)
    await page.getByRole('tab', { name: 'Cache' }).click()
    await none.waitFor()
    await page.getByRole('button', { name: 'Add cache in front' }).waitFor()
    t.equal(await page.getByRole('combobox', { name: 'Policy', exact: true }).count(), 0)
    t.equal(await page.getByText('What counts at').count(), 0)
    t.equal(await page.getByRole('alert').count(), 0)
    await page.getByRole('tab', { name: 'Purge' }).click()
    await none.waitFor()
    t.same(await accessibilityFlaws(page), [])
    for (const id of ['closed', 'endpoint']) await admin.call('DELETE', `/distributions/${id}`)
    t.same(flaws, [])
  })

  t.test('who may only purge sees what purging needs, and no page that refuses', async t => {
    await admin.putPolicy('purge-only', { Effect: 'Allow', Action: 'admin:InvalidateCache', Resource: '*' })
    await admin.call('POST', '/buckets', { name: 'hidden' })
    await admin.call('POST', '/distributions', {
      id: 'hidden',
      aliases: ['h.example.test'],
      origin: { bucket: 'hidden' },
    })
    const ofHidden = { Action: 'admin:InvalidateCache', Resource: 'arn:aws:s3:::hidden' }
    await admin.putPolicy('not-of-hidden', { Effect: 'Deny', ...ofHidden })
    const policyNames = ['purge-only', 'not-of-hidden']
    const { accessKeyId, secretAccessKey } = await admin.createUser('deploy', { policyNames })
    const { page, flaws } = await browser.open(t)
    await signIn(page, '/', accessKeyId, secretAccessKey)
    await page.getByRole('link', { name: 'Cache' }).click()
    for (const name of ['Statistics', 'Inspect', 'Warm up', 'Purge']) {
      await page.getByRole('tab', { name }).click()
      await page.getByRole('tabpanel', { name }).waitFor()
      await page.waitForLoadState('networkidle')
    }
    t.equal(await page.getByRole('tab').count(), 4)
    await page.getByRole('combobox', { name: 'Distribution' }).fill('www')
    await page.getByRole('combobox', { name: 'Tags' }).fill('news')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Purge', exact: true }).click()
    await page.getByRole('row', { name: /tag news.* www/ }).waitFor()
    // What may have hit others is not listed.
    await page.getByText(/^Not listed: purges that may have hit distributions/).waitFor()
    await page.goto(`${url}/cache?tab=settings`)
    await page.getByText('You may not see this tab. It needs admin:ManageCache.').waitFor()
    await page.goto(`${url}/trace`)
    await page.getByText('You may not see this page. It needs admin:ServerTrace.').waitFor()
    t.equal(await page.getByRole('alert').count(), 0)
    t.same(await accessibilityFlaws(page), [])
    t.equal(new URL(page.url()).origin, url)
    t.same(flaws, [])
  })

  t.test('a policy of the cache that somebody else has stored is not replaced, and can be loaded', async t => {
    await admin.call('POST', '/cache/policies', { name: 'news', ttl: { default: '2m' } })
    const news = await admin.call('GET', '/cache/policies/news')
    const { page, flaws } = await browser.open(t, {}, /412 PUT .*policies/)
    const dialog = page.getByRole('dialog')
    await signIn(page, '/cache?tab=policies')
    await page.getByRole('button', { name: 'Edit news' }).click()
    await admin.call('PUT', '/cache/policies/news', { ...news, comment: 'theirs' })
    await dialog.getByLabel('Note').fill('mine')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByText('Somebody else has changed it').waitFor()
    await dialog.getByRole('button', { name: 'Load what is stored now' }).click()
    await dialog.waitFor({ state: 'detached' })
    await page.getByText('theirs').waitFor()
    await page.getByRole('button', { name: 'Edit news' }).click()
    t.equal(await dialog.getByLabel('Note').inputValue(), 'theirs')
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await dialog.waitFor({ state: 'detached' })
    t.same(flaws, [])
  })

  t.test('settings of the cache that somebody else has stored are not replaced, and can be loaded', async t => {
    const { page, flaws } = await browser.open(t, {}, /412 PUT .*cache/)
    await signIn(page, '/distributions/www')
    await page.getByRole('tab', { name: 'Cache' }).click()
    await page.getByRole('button', { name: 'What counts, and where it is from' }).click()
    const stored = await admin.call('GET', '/distributions/www/cache/settings')
    await admin.call('PUT', '/distributions/www/cache/settings', {
      ...stored,
      cache: { policy: 'aggressive', enabled: false },
    })
    await page.getByLabel('Path', { exact: true }).fill('/docs/b.html')
    await page.getByText('off (distribution)').waitFor()
    await page.getByRole('combobox', { name: 'Policy', exact: true }).first().fill('standard')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Somebody else has changed it').waitFor()
    await page.getByRole('button', { name: 'Load what is stored now' }).click()
    await eventually(
      'the stored policy',
      async () =>
        (await page.getByRole('combobox', { name: 'Policy', exact: true }).first().inputValue()) === 'aggressive',
    )
    await admin.call('PUT', '/distributions/www/cache/settings', { cache: { policy: 'aggressive' } })
    t.same(flaws, [])
  })
}
