/** What is wrong stands at its field, in the forms of buckets, objects, users and events: in the server's words, and those of the browser. */
import type { Locator } from 'playwright-core'
import t, { type Test } from 'tap'
import { withoutBrowser } from './browser.ts'
import { chooseFrom, eventually, hasData, retype, startConsole } from './console.ts'

// Only a page that hangs takes so long.
t.setTimeout(900_000)

if (withoutBrowser !== false) {
  t.comment(withoutBrowser)
  t.end()
} else {
  const SVC_KMS_SECRET_KEY = `console:${Buffer.alloc(32, 7).toString('base64')}`
  const { admin, browser, signIn, url } = await startConsole(t, { environment: { SVC_KMS_SECRET_KEY } })
  await admin.call('POST', '/buckets', { name: 'photos', versioning: true, objectLock: true })
  for (const key of ['a.txt', 'b.txt']) await admin.call('POST', `/buckets/photos/objects/upload?key=${key}`, 'text')
  await admin.call('POST', '/users', { accessKey: 'anna', secretKey: 'anna-secret-1' })
  await admin.call('PATCH', '/config/notify_webhook:hook', {
    settings: { enable: 'on', endpoint: 'http://127.0.0.1:9/' },
  })
  const long = 'x'.repeat(3000)
  /** The browser's log has each refusal of the server. */
  const open = async (t: Test, path: string) => {
    const { page, flaws } = await browser.open(t, {}, /40\d|412/)
    await signIn(page, path)
    await hasData(page)
    return { page, flaws }
  }
  const field = (scope: Locator, path: string) => scope.locator(`[data-path="${path}"]`)
  const pair = (scope: Locator, of: string, number: number) =>
    scope.getByLabel(`Name of ${of} ${number}`).or(scope.getByLabel(`Value of ${of} ${number}`))

  /** What a screen reader reads with each input. */
  const descriptions = `Array.from(document.querySelectorAll('[aria-invalid=true]'), input =>
    (input.getAttribute('aria-describedby') ?? '').split(' ').map(id => document.getElementById(id)?.textContent ?? '').join(' '))`

  /** Submits, and looks for the words in the order of the form; each is at an input, and nothing is told above the form as well. */
  async function refuses(t: Test, scope: Locator, words: readonly RegExp[], what: string, isAlone = true) {
    await scope.locator('button[type=submit]').first().click()
    const errors = scope.locator('.mantine-InputWrapper-error')
    for (const [index, text] of words.entries()) await errors.nth(index).getByText(text).waitFor()
    t.equal(await errors.count(), words.length, what)
    t.ok((await scope.locator('[aria-invalid=true]').count()) >= words.length, `${what}: the inputs are marked`)
    const said: string[] = await scope.page().evaluate(descriptions)
    for (const text of words)
      t.ok(
        said.some(one => text.test(one)),
        `${what}: read out with the input`,
      )
    if (isAlone) t.equal(await scope.getByRole('alert').count(), 0, `${what}: said once`)
  }

  t.test('sign-in', async t => {
    const { page } = await browser.open(t, {}, /40\d/)
    await page.goto(url)
    const form = page.locator('form')
    await refuses(t, form, [/must not be empty/, /must not be empty/], 'empty')
    await field(form, 'accessKey').fill(long)
    await field(form, 'secretKey').fill('secret-secret')
    await refuses(t, form, [/must have at most 128 characters/], 'a long key')
  })

  t.test('a bucket whose tags are refused is not made', async t => {
    const { page, flaws } = await open(t, '/buckets')
    await page.getByRole('button', { name: /^Create/ }).click()
    const dialog = page.getByRole('dialog')
    await field(dialog, 'name').fill('tagged')
    for (const [index, [name, value]] of [
      ['aws:x', 'a'],
      ['fine', long.slice(0, 400)],
      ['k{}', 'v'],
    ].entries()) {
      await dialog.getByRole('button', { name: /^Add tag/ }).click()
      await pair(dialog, 'tag', index + 1)
        .first()
        .fill(name!)
      await pair(dialog, 'tag', index + 1)
        .last()
        .fill(value!)
    }
    const words = [/begins with aws:/, /value of more than 256 characters/, /other characters than letters/]
    await refuses(t, dialog, words, 'tags')
    t.same(
      (await admin.call('GET', '/buckets')).items.map(({ name }: { name: string }) => name),
      ['photos'],
    )
    await pair(dialog, 'tag', 2).last().fill('v')
    await dialog.getByText(words[1]!).waitFor({ state: 'detached' })
    for (const index of [0, 2]) await dialog.getByText(words[index]!).waitFor()
    for (const index of [3, 1]) await dialog.getByRole('button', { name: `Remove tag ${index}` }).click()
    await dialog.getByRole('button', { name: 'Create' }).click()
    await dialog.waitFor({ state: 'detached' })
    t.same((await admin.call('GET', '/buckets/tagged/tags')).tags, { fine: 'v' })
    t.same(flaws, [])
  })

  t.test('a bucket is not made with a key that does not exist', async t => {
    const { page, flaws } = await open(t, '/buckets')
    await page.getByRole('button', { name: /^Create/ }).click()
    const dialog = page.getByRole('dialog')
    const quota = dialog.getByRole('textbox', { name: 'Quota' })
    const hint = page.locator(`[id="${await quota.getAttribute('aria-describedby')}"]`)
    t.match(await hint.textContent(), /no limit/, 'read out with the input')
    await field(dialog, 'name').fill('locked')
    await dialog.getByLabel('Default encryption').selectOption('aws:kms')
    await dialog.getByLabel('Key', { exact: true }).fill('nosuch')
    await refuses(t, dialog, [/no key "nosuch"/], 'a key')
    await dialog.getByLabel('Key', { exact: true }).fill('console')
    await dialog.getByText(/no key "nosuch"/).waitFor({ state: 'detached' })
    await dialog.getByRole('button', { name: 'Create' }).click()
    await dialog.waitFor({ state: 'detached' })
    t.match(await admin.call('GET', '/buckets/locked/encryption'), { kmsKeyId: 'console' })
    t.same(flaws, [])
  })

  t.test('a lifecycle rule, of which nobody is asked before it is right', async t => {
    const { page, flaws } = await open(t, '/buckets/photos?tab=lifecycle')
    await page.getByRole('button', { name: /^Add/ }).first().click()
    const dialog = page.getByRole('dialog')
    await field(dialog, 'id').fill(long.slice(0, 300))
    const days = ['expireDays', 'noncurrentDays', 'newerNoncurrentVersions', 'uploadDays']
    for (const name of days) await field(dialog, name).fill('0')
    const words = [/at most 255|limit of 255/, /'Days'.*positive/, /'NoncurrentDays'/, /from 1 to 100/, /'DaysAfterIni/]
    await refuses(t, dialog, words, 'a name and days')
    await field(dialog, 'id').fill('rule')
    for (const name of days) await field(dialog, name).fill('')
    await field(dialog, 'expireDays').fill('99999999999')
    await refuses(t, dialog, [/at most 2147483647/], 'too many days')
    t.same((await admin.call('GET', '/buckets/photos/lifecycle')).rules, [])
    // Any action mends that there is none.
    await field(dialog, 'expireDays').fill('')
    await refuses(t, dialog, [/At least one action/], 'no action')
    await field(dialog, 'uploadDays').fill('3')
    await dialog.getByText(/At least one action/).waitFor({ state: 'detached' })
    // Of two that are wrong together either is mended.
    await field(dialog, 'uploadDays').fill('')
    await dialog.getByRole('textbox', { name: 'Larger than' }).fill('5')
    await dialog.getByRole('textbox', { name: 'Smaller than' }).fill('4')
    await field(dialog, 'expireDays').fill('3')
    await dialog.locator('button[type=submit]').click()
    const errors = dialog.locator('.mantine-InputWrapper-error')
    await errors.first().waitFor()
    await dialog.getByRole('textbox', { name: 'Larger than' }).fill('')
    await errors.first().waitFor({ state: 'detached' })
    await dialog.getByRole('textbox', { name: 'Smaller than' }).fill('')
    const markers = dialog.getByLabel('Remove delete markers')
    await markers.check()
    await dialog.locator('button[type=submit]').click()
    await eventually('the checkbox has the focus', () =>
      page.evaluate<boolean>('document.activeElement.type === "checkbox"'),
    )
    t.equal(await markers.getAttribute('aria-invalid'), 'true')
    t.match(await markers.getAttribute('aria-description'), /ExpiredObjectDeleteMarker/)

    await page.goto(`${url}/buckets/photos?tab=lifecycle`)
    await page.getByRole('button', { name: 'All rules as JSON' }).click()
    const rules = [
      { enabled: true, expiration: { days: 1 } },
      { enabled: true, expiration: { days: 0 }, noncurrentExpiration: { noncurrentDays: 0 } },
    ]
    const editor = page.getByRole('textbox', { name: 'All rules as JSON' })
    await retype(editor, `[\n${rules.map(rule => JSON.stringify(rule)).join(',\n')}\n]`)
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText(/^Line 3, column \d+: expiration.days: 'Days'.*positive/).waitFor()
    await page.getByText(/^Line 3, column \d+: noncurrentExpiration.noncurrentDays:/).waitFor()
    t.equal(await editor.getAttribute('aria-invalid'), 'true')
    t.match(
      await editor.getAttribute('aria-description'),
      /expiration.days: 'Days'.*positive/,
      'read out with the text',
    )
    t.same(flaws, [])
  })

  t.test('folders and prefixes that everybody is to see', async t => {
    const { page } = await open(t, '/buckets/photos?tab=policy')
    const folders = page.locator('form').filter({ has: page.getByLabel(/^Folder/) })
    await folders.getByLabel(/^Folder/).fill('a*')
    await folders.locator('button[type=submit]').click()
    await page.getByRole('dialog').getByRole('button').last().click()
    await folders.getByText(/special in a policy/).waitFor()
    t.equal(await folders.getByRole('alert').count(), 0)
    await page.getByRole('tab', { name: 'Access' }).click()
    const presets = page.locator('form').filter({ has: page.getByRole('button', { name: 'Apply' }) })
    await presets.locator('select').selectOption('public-prefix')
    await refuses(t, presets, [/must not be empty/], 'an empty prefix, which would open the bucket')
    await field(presets, 'prefix').fill(long.slice(0, 1100))
    await presets.locator('button[type=submit]').click()
    await page.getByRole('dialog').getByRole('button').last().click()
    await presets.getByText(/at most 1024/).waitFor()
    t.equal(await presets.getByRole('alert').count(), 0)
  })

  t.test('headers, metadata and tags of an object, stored once', async t => {
    const { page } = await open(t, '/buckets/photos?object=a.txt')
    await chooseFrom(page.getByRole('button', { name: 'More for a.txt' }), 'Edit')
    const dialog = page.getByRole('dialog').last()
    await field(dialog, 'cacheControl').fill('a\u0001b')
    await dialog.getByRole('button', { name: 'Add entry' }).click()
    await pair(dialog, 'entry', 1).first().fill('a b')
    await pair(dialog, 'entry', 1).last().fill('v')
    await refuses(t, dialog, [/control character in its value/, /name with characters/], 'headers')
    await field(dialog, 'cacheControl').fill('no-cache')
    await pair(dialog, 'entry', 1).first().fill('ab')
    await dialog.getByRole('button', { name: 'Add tag' }).click()
    await pair(dialog, 'tag', 1).first().fill('k<')
    await pair(dialog, 'tag', 1).last().fill('v')
    for (let round = 0; round < 3; round++) await refuses(t, dialog, [/key with other characters/], 'a tag')
    const { items } = await admin.call('GET', '/buckets/photos/objects/versions?prefix=a.txt')
    t.equal(items.length, 2, 'the metadata was stored once')
  })

  t.test('shares, copies, retention and upload forms', async t => {
    const { page } = await open(t, '/buckets/photos?object=a.txt')
    const dialog = page.getByRole('dialog').last()
    await page.getByRole('button', { name: 'Share', exact: true }).last().click()
    const share = page.getByRole('dialog', { name: /^Share/ })
    await share.getByRole('combobox').first().selectOption('until:')
    await share.locator('input[type=datetime-local]').fill('2001-01-01T00:00')
    await refuses(t, share, [/or later/], 'a date that is past')
    await share.locator('input[type=datetime-local]').fill('')
    await refuses(t, share, [/must not be empty/], 'no date')
    await share.getByRole('combobox').first().selectOption('3600')
    await field(share, 'filename').fill('a\u0001b')
    await refuses(t, share, [/control character/], 'a name of a file')
    await page.goto(`${url}/buckets/photos?object=a.txt`)

    await chooseFrom(page.getByRole('button', { name: 'More for a.txt' }), 'Copy or move')
    const copy = page.getByRole('dialog', { name: /^Copy/ })
    await field(copy, 'place').fill(long.slice(0, 1100))
    await refuses(t, copy, [/at most 1024 characters/], 'a long key')
    await field(copy, 'place').fill('b.txt')
    await refuses(t, copy, [/There is an object with this key already/], 'a key that is taken')
    await page.goto(`${url}/buckets/photos?object=a.txt`)

    await dialog.getByRole('combobox', { name: /Retention/i }).selectOption('GOVERNANCE')
    const retention = dialog.locator('form').filter({ has: page.locator('input[type=date]') })
    await retention.locator('input[type=date]').fill('')
    await refuses(t, retention, [/must not be empty/], 'no date of retention')
    await retention.locator('input[type=date]').fill('2001-01-01')
    await refuses(t, retention, [/in the future/], 'a date of retention that is past')
  })

  t.test('users, policies, their simulation, targets and replays', async t => {
    const { page } = await open(t, '/users')
    await page.getByRole('button', { name: /^Create/ }).click()
    const dialog = page.getByRole('dialog')
    await field(dialog, 'name').fill('anna')
    await field(dialog, 'description').fill('a\u0001b')
    await refuses(t, dialog, [/is taken/, /control characters/], 'a name that is taken, and a note')
    await page.goto(`${url}/policies`)
    await page.getByRole('button', { name: /^Create/ }).click()
    await field(dialog, 'name').fill(long.slice(0, 300))
    await refuses(t, dialog, [/at most 128 characters/], 'a long name of a policy')
    await page.goto(`${url}/policies`)
    await page.getByRole('button', { name: /what is allowed/i }).click()
    await field(dialog, 'user').fill('nobody')
    await refuses(t, dialog, [/There is no user/], 'a user that is not there')
    await page.goto(`${url}/events`)
    await page.getByRole('button', { name: /^Add/ }).first().click()
    await field(dialog, 'kind').selectOption('notify_webhook')
    await field(dialog, 'settings.endpoint').or(dialog.getByLabel('Endpoint')).first().fill('http://127.0.0.1:9/')
    await field(dialog, 'id').fill('x y')
    await refuses(t, dialog, [/Letters, digits, _ and -/], 'a name of a target')
    await field(dialog, 'id').fill(long.slice(0, 300))
    await refuses(t, dialog, [/at most 129 characters/], 'a long name of a target')
    await page.goto(`${url}/events`)
    await chooseFrom(page.getByRole('button', { name: /^More for/ }).first(), 'Replay')
    await field(dialog, 'bucket').fill('nothing')
    await field(dialog, 'from').fill('2026-01-02T00:00')
    await field(dialog, 'to').fill('2026-01-01T00:00')
    await refuses(t, dialog, [/bucket does not exist/, /must be before/], 'a replay')
  })

  t.test('a field that is pressed while names are typed has the focus, and gets what is typed next', async t => {
    const { page, flaws } = await open(t, '/users')
    await page.getByRole('button', { name: 'Create user' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Policies').click()
    await page.keyboard.type('readonly')
    await field(dialog, 'description').click()
    await page.keyboard.type('typed')
    t.equal(await field(dialog, 'description').inputValue(), 'typed')
    t.same(flaws, [])
  })

  t.test('a deletion that is closed while it is under way tells its failure', async t => {
    await admin.call('POST', '/users', { accessKey: 'going', secretKey: 'going-secret-1' })
    const { page } = await browser.open(t, {}, /404 DELETE/)
    await signIn(page, '/users')
    const released = Promise.withResolvers<void>()
    await page.route(/\/users\/going$/, async route => {
      if (route.request().method() === 'DELETE') await released.promise
      await route.continue()
    })
    await chooseFrom(page.getByRole('button', { name: 'More for going' }), 'Delete')
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Delete' }).click()
    // What is under way is not cancelled.
    await dialog.getByRole('button', { name: 'Close' }).last().click()
    await dialog.waitFor({ state: 'detached' })
    await admin.call('DELETE', '/users/going')
    released.resolve()
    await page.getByText('There is no user').waitFor()
  })

  t.test(
    'nothing is typed into what is on its way, and the keyboard is where it was when it has been refused',
    async t => {
      const { page, flaws } = await open(t, '/groups')
      await page.getByRole('link', { name: 'Users', exact: true }).click()
      await page.getByRole('button', { name: 'Create user' }).click()
      const dialog = page.getByRole('dialog')
      const key = field(dialog, 'name')
      const released = Promise.withResolvers<void>()
      await page.route(/\/api\/v1\/users$/, async route => {
        if (route.request().method() === 'POST') await released.promise
        await route.continue()
      })
      await key.fill('anna')
      const isSent = page.waitForRequest(request => request.method() === 'POST')
      await key.press('Enter')
      await isSent
      await page.locator('[inert] [data-path=name]').waitFor()
      await page.keyboard.type('-other')
      t.equal(await key.inputValue(), 'anna')
      released.resolve()
      await dialog.getByText('is taken').waitFor()
      await key.and(page.locator(':focus')).waitFor()
      await page.keyboard.type('-other')
      t.equal(await key.inputValue(), 'anna-other')

      // Closed while it is on its way it goes on, and says so; what it makes is shown in its turn.
      const held = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      let sent = 0
      await page.route(/\/api\/v1\/users$/, async route => {
        if (route.request().method() === 'POST') await held[sent++]!.promise
        await route.continue()
      })
      await dialog.getByRole('button', { name: 'Create' }).click()
      await eventually('the first is sent', async () => sent === 1)
      await dialog.getByRole('button', { name: 'Close' }).last().click()
      await dialog.waitFor({ state: 'detached' })
      await page.getByText('“Create user” goes on').waitFor()
      const asksToLeave = () =>
        page.evaluate<boolean>(`!dispatchEvent(new Event('beforeunload', { cancelable: true }))`)
      t.ok(await asksToLeave(), 'closing the window would end it unseen')
      await page.getByRole('button', { name: 'Create user' }).click()
      await key.fill('bert')
      await key.press('Enter')
      await eventually('the second is sent', async () => sent === 2)
      held[1]!.resolve()
      const shown = dialog.getByLabel('Access key', { exact: true })
      await eventually('its secret', async () => (await shown.inputValue()) === 'bert')
      await page.goBack()
      await page.getByText('Leave without keeping it?').waitFor()
      await page.getByRole('button', { name: 'Stay here' }).click()
      held[0]!.resolve()
      await page.getByText('“Create user” is done').waitFor()
      t.equal(await shown.inputValue(), 'bert', 'a secret takes the place of none')
      const isKept = dialog.getByRole('button', { name: 'I have kept it' })
      await isKept.click()
      await eventually('the first secret', async () => (await shown.inputValue()) === 'anna-other')
      await isKept.click()
      await dialog.waitFor({ state: 'detached' })
      t.notOk(await asksToLeave())
      t.same(flaws, [])
    },
  )

  t.test('a new secret key that is mended in either field', async t => {
    const { page } = await browser.open(t, {}, /40\d/)
    await signIn(page, '/account', 'anna', 'anna-secret-1')
    const form = page.locator('main form')
    await field(form, 'currentSecretKey').fill('another-secret')
    await field(form, 'newSecretKey').fill('new-secret-9')
    await field(form, 'again').fill('new-secret-8')
    await refuses(t, form, [/is not the same/], 'two secrets')
    await field(form, 'newSecretKey').fill('new-secret-8')
    await form.getByText('is not the same').waitFor({ state: 'detached' })
    await refuses(t, form, [/./], 'the current one')
    const name = () => page.evaluate<string>('document.activeElement.dataset.path')
    await eventually('it has the focus', async () => (await name()) === 'currentSecretKey')
  })
}
