/** Settings, targets, people and keys in the web console: what others have changed meanwhile, what is asked, and what is away or missing. What their pages are for: console/server and console/basics. */
import { findLastingPort } from 'svc/testing'
import t from 'tap'
import { accessibilityFlaws, withoutBrowser } from './browser.ts'
import { eventually, retype, startConsole } from './console.ts'

// Only a page that hangs takes so long.
t.setTimeout(900_000)

if (withoutBrowser !== false) {
  t.comment(withoutBrowser)
  t.end()
} else {
  const formerKey = `former:${Buffer.alloc(32, 7).toString('base64')}`
  const newKey = `new:${Buffer.alloc(32, 8).toString('base64')}`
  // A page that waits for a server that starts anew knows no other port.
  const SVC_CONSOLE_ADDRESS = `127.0.0.1:${await findLastingPort()}`
  const {
    server,
    url: console,
    admin,
    browser,
    signIn,
  } = await startConsole(t, { environment: { SVC_CONSOLE_ADDRESS, SVC_KMS_SECRET_KEY: formerKey } })
  await admin.call('POST', '/buckets', { name: 'photos', versioning: true })
  const read = async () => (await admin.call('GET', '/config')) as Record<string, Record<string, string>>

  t.test(
    'what somebody else has set of a bucket is not replaced unseen, and what is typed while it is saved stays',
    async t => {
      const { page, flaws } = await browser.open(t, {}, /404 GET .*encryption|412 (PUT|DELETE) .*(quota|encryption)/)
      await admin.call('PUT', '/buckets/photos/quota', { type: 'hard', size: 105 * 1024 })
      await signIn(page, '/buckets/photos?tab=settings')
      const quota = page.getByRole('textbox', { name: 'Size of all versions and parts of uploads', exact: true })
      await eventually('the quota', async () => (await quota.inputValue()) === '105')
      await quota.fill('300')
      await admin.call('PUT', '/buckets/photos/quota', { type: 'hard', size: 2048 * 1024 })
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByText('Somebody else has changed it').waitFor()
      t.match(await admin.call('GET', '/buckets/photos/quota'), { size: 2048 * 1024 })
      await admin.call('PUT', '/buckets/photos/quota', { type: 'hard', size: 105 * 1024 })
      await page.getByRole('button', { name: 'Load what is stored now' }).click()
      await eventually('the quota', async () => (await quota.inputValue()) === '105')
      // What was read as none is not removed where somebody else has set one.
      const encryption = page.getByRole('region', { name: 'Default encryption' })
      await encryption.getByRole('combobox').selectOption('AES256')
      await encryption.getByRole('combobox').selectOption('none')
      await admin.call('PUT', '/buckets/photos/encryption', { algorithm: 'AES256' })
      await encryption.getByRole('button', { name: 'Save' }).click()
      await encryption.getByText('Somebody else has changed it').waitFor()
      t.match(await admin.call('GET', '/buckets/photos/encryption'), { algorithm: 'AES256' })
      await admin.call('DELETE', '/buckets/photos/encryption')
      await encryption.getByRole('button', { name: 'Load what is stored now' }).click()
      await encryption.getByRole('button', { name: 'Save' }).waitFor({ state: 'detached' })
      const paste = async (text: string) => {
        await quota.focus()
        await page.evaluate(`{
        const clipboardData = new DataTransfer()
        clipboardData.setData('text/plain', ${JSON.stringify(text)})
        document.activeElement.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }))
      }`)
      }
      await paste('1,5')
      await eventually('a comma for decimals', async () => (await quota.inputValue()) === '1.5')
      await paste('1,500')
      await page.getByText('“1,500” was not pasted').waitFor()
      t.equal(await quota.inputValue(), '1.5')
      await quota.fill('')
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByText('Quota: Saved.').waitFor()
      // What is typed while it is being saved stays, and can be saved.
      let goOn = () => {}
      let mayGoOn = new Promise<void>(done => {
        goOn = done
      })
      let change: (() => Promise<unknown>) | undefined
      await page.route(/\/quota$/, async route => {
        if (route.request().method() === 'PUT') await mayGoOn
        else await change?.()
        await route.continue()
      })
      const quotaIs = async (of: number) => {
        await eventually('the quota', async () => (await admin.call('GET', '/buckets/photos/quota')).size === of)
        await eventually('what is typed', async () => (await quota.inputValue()) === (of === 0 ? '' : '3'))
      }
      await quota.fill('200')
      await page.getByRole('button', { name: 'Save' }).click()
      await quota.fill('3')
      goOn()
      await eventually('it can be saved', async () => !(await page.getByRole('button', { name: 'Save' }).isDisabled()))
      const { size: first } = await admin.call('GET', '/buckets/photos/quota')
      t.equal(await quota.inputValue(), '3')
      await page.getByRole('button', { name: 'Save' }).click()
      await quotaIs((first / 200) * 3)
      // It is upon what was saved, and not upon what somebody else has stored since.
      await quota.fill('4')
      change = () => admin.call('PUT', '/buckets/photos/quota', { type: 'hard', size: 77 })
      mayGoOn = new Promise(done => {
        goOn = done
      })
      await page.getByRole('button', { name: 'Save' }).click()
      await quota.fill('5')
      goOn()
      await eventually('it can be saved', async () => !(await page.getByRole('button', { name: 'Save' }).isDisabled()))
      change = undefined
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByRole('alert').getByRole('button', { name: 'Load what is stored' }).click()
      await eventually('that of the other', async () => (await quota.inputValue()) !== '5')
      t.equal((await admin.call('GET', '/buckets/photos/quota')).size, 77)
      await quota.fill('')
      await page.getByRole('button', { name: 'Save' }).click()
      await quotaIs(0)
      t.same(flaws, [])
    },
  )

  t.test('new versions are protected from everybody only after an answer', async t => {
    await admin.call('PUT', '/buckets/photos/objectlock', { enabled: true, mode: 'GOVERNANCE', days: 2 })
    const { page, flaws } = await browser.open(t, {}, /404 GET .*encryption/)
    await signIn(page, '/buckets/photos?tab=settings')
    // What nobody can undo is asked about, and what is not stricter is not.
    await page.getByLabel('Default retention').selectOption('COMPLIANCE')
    await page.getByRole('button', { name: 'Save' }).click()
    const forAll = page.getByRole('dialog', { name: 'Protect new versions from everybody?' })
    await forAll.getByText('from now on for 2 days').waitFor()
    t.same(await accessibilityFlaws(page), [])
    await forAll.getByRole('button', { name: 'Cancel' }).click()
    await forAll.waitFor({ state: 'detached' })
    t.match(await admin.call('GET', '/buckets/photos/objectlock'), { mode: 'GOVERNANCE' }, 'nothing is stored')
    await page.getByRole('button', { name: 'Save' }).click()
    await forAll.getByRole('button', { name: 'Yes, protect them' }).click()
    await page.getByText('Object lock: Saved.').last().waitFor()
    await forAll.waitFor({ state: 'detached' })
    await page.getByRole('textbox', { name: 'For so many' }).fill('1')
    await page.getByRole('button', { name: 'Save' }).click()
    await eventually('a shorter one is saved without a question', async () => {
      const { days } = await admin.call('GET', '/buckets/photos/objectlock')
      return days === 1
    })
    t.same(flaws, [])
  })

  t.test('what is typed in a setting and not saved is not lost unasked', async t => {
    const { page, flaws } = await browser.open(t, {}, /404 GET .*(encryption|lifecycle)/)
    await signIn(page, '/buckets/photos?tab=settings')
    await page.getByRole('button', { name: 'Add tag' }).waitFor()
    // What is typed and not saved is not lost unasked.
    await page.getByRole('button', { name: 'Add tag' }).click()
    await page.getByLabel('Name of tag 1').fill('typed')
    await page.getByRole('link', { name: 'Buckets' }).click()
    await page.getByRole('dialog').getByText('Leave without saving?').waitFor()
    t.same(await accessibilityFlaws(page), [])
    await page.getByRole('dialog').getByRole('button', { name: 'Stay here' }).click()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('dialog').getByText('not saved, and is lost when you sign out').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
    t.equal(await page.getByLabel('Name of tag 1').inputValue(), 'typed')
    await page.getByRole('tab', { name: 'Lifecycle' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Leave' }).click()
    await page.getByText('No rule: nothing is deleted by itself.').waitFor()
    t.same(flaws, [])
  })

  t.test('a value of the server that somebody else has set is told before it is replaced', async t => {
    const { page, flaws } = await browser.open(t)
    await signIn(page, '/settings?open=api')
    const deadline = page.getByLabel('requests_deadline', { exact: true })
    const max = page.getByLabel('requests_max', { exact: true })
    const save = page.getByRole('button', { name: 'Save' })
    await deadline.waitFor()
    // Of one key the other value is told before it is replaced.
    await deadline.fill('44s')
    await admin.call('PATCH', '/config/api', { settings: { requests_deadline: '99s' } })
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Somebody else has set it to “99s” meanwhile').waitFor()
    t.match(await admin.call('GET', '/config/api'), { settings: { requests_deadline: '99s' } })
    await page.getByRole('button', { name: 'Save' }).click()
    await eventually(
      'it is replaced',
      async () => (await admin.call('GET', '/config/api')).settings.requests_deadline === '44s',
    )
    await eventually('what was saved is read again', () => save.isDisabled())
    // Also where it is read for something else.
    await deadline.fill('55s')
    await admin.call('PATCH', '/config/api', { settings: { requests_deadline: '66s', requests_max: '88' } })
    await page.getByRole('button', { name: /ratelimit/i }).click()
    await page.getByLabel('s3_ip', { exact: true }).fill('2000')
    await save.click()
    await page.getByRole('button', { name: /^S3 API/ }).click()
    await page.getByText('Somebody else has set it to “66s” meanwhile').waitFor()
    t.equal(await max.inputValue(), '88')
    await save.click()
    await eventually('what was told is replaced', async () => {
      const { requests_deadline, requests_max } = (await admin.call('GET', '/config/api')).settings
      return requests_deadline === '55s' && requests_max === '88'
    })
    await admin.call('DELETE', '/config/ratelimit')
    await admin.call('DELETE', '/config/api')
    t.same(flaws, [])
  })

  t.test('a limit with which the console would not open again is saved only after an answer', async t => {
    const { page, flaws } = await browser.open(t)
    const dialog = page.getByRole('dialog')
    await signIn(page, '/settings?open=ratelimit')
    const limit = page.getByLabel('admin_ip', { exact: true })
    const form = page.locator('form').filter({ has: limit })
    await limit.fill('1')
    await form.getByRole('button', { name: 'Save' }).click()
    await dialog.getByText('A page of it sends up to 30 requests at once').waitFor()
    t.same(await accessibilityFlaws(page), [])
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await dialog.waitFor({ state: 'detached' })
    t.equal((await read()).ratelimit!.admin_ip, '0')
    await limit.fill('30')
    await form.getByRole('button', { name: 'Save' }).click()
    await eventually('it is saved', async () => (await read()).ratelimit!.admin_ip === '30')
    // The flaws that are looked for would have what is refused.
    await page.goto(new URL('/', page.url()).href)
    await page.getByRole('heading', { name: 'Drives' }).waitFor()
    await page.waitForLoadState('networkidle')
    await admin.call('DELETE', '/config/ratelimit')
    t.same(flaws, [])
  })

  t.test('of all settings as one document nothing that somebody else has stored is replaced', async t => {
    const { page, flaws } = await browser.open(t, {}, /412 PUT .*\/config$/)
    const dialog = page.getByRole('dialog')
    const editor = dialog.locator('.cm-content')
    const wanted = await read()
    await signIn(page, '/settings')
    await page.getByRole('button', { name: 'Edit all as one document' }).click()
    await editor.waitFor()
    await retype(editor, JSON.stringify({ ...wanted, ratelimit: { ...wanted.ratelimit, s3_ip: '900' } }))
    await dialog.getByRole('button', { name: 'Look at the changes' }).click()
    await admin.call('PATCH', '/config/ratelimit', { settings: { s3_ip: '850' } })
    await dialog.getByRole('button', { name: 'Save these changes' }).click()
    await dialog.getByText('Somebody else has changed it').waitFor()
    t.equal((await read()).ratelimit!.s3_ip, '850', 'what the other one did stays')
    await dialog.getByRole('button', { name: 'Load what is stored now' }).click()
    await dialog.getByRole('button', { name: 'Look at the changes' }).waitFor()
    await dialog.getByText('"850"').waitFor()
    await dialog.getByRole('button', { name: 'Close' }).click()
    await dialog.waitFor({ state: 'detached' })
    await admin.call('DELETE', '/config/ratelimit')
    t.same(flaws, [])
  })

  t.test('public access is blocked everywhere by one who is told what stops', async t => {
    const { page, flaws } = await browser.open(t)
    await signIn(page, '/settings')
    const everywhere = page.getByLabel('Block public access in every bucket')
    await everywhere.click({ force: true })
    await page.getByText('No bucket and no website is open to everybody now').waitFor()
    await page.getByText('objects that everybody may read by theirs are refused (403) as well').waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    for (let index = 0; index < 12; index++) {
      const name = `open-${String(index).padStart(2, '0')}`
      await admin.call('POST', '/buckets', { name })
      await admin.call('PUT', `/buckets/${name}/access`, { prefix: '', preset: 'download' })
    }
    const publish = (id: string, more: object) =>
      admin.call('POST', '/distributions', {
        id,
        aliases: [`${id}.example.test`],
        origin: { bucket: 'open-00' },
        ...more,
      })
    await publish('shown', {})
    await publish('members', { defaultBehavior: { access: 'authenticated' } })
    await everywhere.click({ force: true })
    const closed = page.getByRole('alert').filter({ hasText: 'nobody gets in without credentials any more' })
    await closed.getByText('open-09').waitFor()
    await closed.getByText('and 2 more').waitFor()
    await closed.getByText('shown (shown.example.test)').waitFor()
    t.equal(await closed.getByText('members').count(), 0, 'its visitors have credentials')
    t.same(await accessibilityFlaws(page), [])
    await page.getByRole('button', { name: 'Save' }).first().click()
    await page.getByText('Block public access everywhere: Saved.').waitFor()
    t.match(await admin.call('GET', '/access/block-public'), { enabled: true })
    await admin.call('PUT', '/access/block-public', { enabled: false })
    t.same(flaws, [])

    // Who may list one bucket alone, which is not open.
    await admin.call('POST', '/buckets', { name: 'own' })
    await admin.putPolicy(
      'helper',
      { Action: ['admin:GetConfig', 'admin:ConfigUpdate'], Resource: ['*'] },
      { Action: ['s3:ListBucket', 's3:GetBucketPolicyStatus'], Resource: ['arn:aws:s3:::own'] },
    )
    const { secretAccessKey } = await admin.createUser('hel', { policyNames: ['helper'] })
    const { page: helper, flaws: helperFlaws } = await browser.open(t)
    await signIn(helper, '/settings', 'hel', secretAccessKey)
    await helper.getByLabel('Block public access in every bucket').click({ force: true })
    const unseen = helper.getByRole('alert').filter({ hasText: 'Nothing that you may see is open to everybody now.' })
    await unseen.getByText('Which buckets are open you may not see of all').waitFor()
    await unseen.getByText('Which websites stop you may not see').waitFor()
    t.same(await accessibilityFlaws(helper), [])
    t.same(helperFlaws, [])
  })

  t.test('a target that somebody else has changed or removed is not made as it was', async t => {
    const settings = { enable: 'on', endpoint: 'http://127.0.0.1:9/' }
    await admin.call('PATCH', '/config/notify_webhook:new', { settings })
    const { page, flaws } = await browser.open(t)
    const dialog = page.getByRole('dialog')
    await signIn(page, '/events')
    // What somebody else has switched off meanwhile stays off, and what is gone is not made again.
    const edit = async (comment: string) => {
      // The name opens it.
      await page.getByRole('button', { name: 'webhook:new', exact: true }).click()
      await eventually('what is stored', async () => (await dialog.getByLabel('Comment').inputValue()) === comment)
    }
    await edit('')
    await admin.call('PATCH', '/config/notify_webhook:new', { settings: { enable: 'off' } })
    await dialog.getByLabel('Comment').fill('mine')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })
    t.match((await admin.call('GET', '/config/notify_webhook:new')).settings, { enable: 'off', comment: 'mine' })
    await edit('mine')
    await admin.call('PATCH', '/config/notify_webhook:new', { settings: { comment: 'theirs', enable: 'on' } })
    await dialog.getByLabel('Comment').fill('mine again')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByText('Somebody else has set it to “theirs” meanwhile').waitFor()
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })
    t.match((await admin.call('GET', '/config/notify_webhook:new')).settings, { enable: 'on', comment: 'mine again' })
    await edit('mine again')
    await admin.call('DELETE', '/config/notify_webhook:new')
    await dialog.getByLabel('Comment').fill('gone')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByText('Somebody has deleted this target').waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Close and lose it' }).click()
    await dialog.waitFor({ state: 'detached' })
    t.same(flaws, [])
  })

  t.test('groups and notes of a user that others change are not set back, and a group with members stays', async t => {
    await admin.call('POST', '/users', { accessKey: 'anna', secretKey: 'annas-secret' })
    const { page, flaws } = await browser.open(t)
    const dialog = page.getByRole('dialog')
    // A group that somebody takes away while the dialog is open stays away.
    for (const name of ['admins', 'dev']) await admin.call('POST', '/groups', { name, members: [] })
    await admin.call('POST', '/groups/admins/members', { members: ['anna'] })
    await signIn(page, '/users')
    // The name opens it, and so does the button.
    await page.getByRole('button', { name: 'anna', exact: true }).click()
    await dialog.getByText('admins', { exact: true }).waitFor()
    await admin.call('DELETE', '/groups/admins/members/anna')
    await dialog.getByLabel('Groups').fill('dev')
    await page.keyboard.press('Enter')
    await page.keyboard.press('Tab')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })
    t.same((await admin.call('GET', '/users/anna')).groups, ['dev'])
    await admin.call('DELETE', '/groups/dev/members/anna')
    // A note that somebody else writes meanwhile is not replaced unseen.
    await page.getByRole('button', { name: 'Edit anna' }).click()
    await admin.call('PATCH', '/users/anna', { description: 'theirs' })
    await dialog.getByLabel('Note').fill('mine')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByText('Somebody else has changed the note to “theirs” meanwhile.').waitFor()
    t.equal((await admin.call('GET', '/users/anna')).description, 'theirs')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })
    t.equal((await admin.call('GET', '/users/anna')).description, 'mine')
    // The server deletes no group that has members.
    await admin.call('POST', '/groups/dev/members', { members: ['anna'] })
    await page.getByRole('link', { name: 'Groups', exact: true }).click()
    await page.getByRole('button', { name: 'Delete dev' }).click()
    await dialog.getByText('It has one member').waitFor()
    t.ok(await dialog.getByRole('button', { name: 'Delete' }).isDisabled())
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await admin.call('DELETE', '/groups/dev/members/anna')
    for (const name of ['admins', 'dev']) await admin.call('DELETE', `/groups/${name}`)
    t.same(flaws, [])
  })

  t.test('an audit target that is away is told as a target of events is', async t => {
    const settings = { enable: 'on', endpoint: `http://127.0.0.1:${await findLastingPort()}/audit` }
    await admin.call('PATCH', '/config/audit_webhook:away', { settings })
    await eventually('it has failed', async () => {
      const { items } = await admin.call('GET', '/audit/targets')
      return items[0].lastError !== ''
    })
    const { page, flaws } = await browser.open(t)
    await signIn(page)
    await page.getByRole('link', { name: /^Audit target audit_webhook:away is offline: ./ }).click()
    await page.getByRole('heading', { name: 'Audit targets' }).waitFor()
    await page.getByRole('row', { name: /audit_webhook:away .*offline/ }).waitFor()
    t.same(await accessibilityFlaws(page), [])

    await page.getByRole('link', { name: 'Settings', exact: true }).last().click()
    await page.getByRole('button', { name: /^Audit target webhook:away ?audit_webhook:away/ }).click()
    const fields = page.getByRole('region', { name: /^Audit target webhook:away ?audit_webhook:away/ })
    await fields.getByRole('button', { name: 'Remove' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText(/Audit records that wait for it \(now [1-9]\d*\) stay in its queue/).waitFor()
    await dialog.getByRole('button', { name: 'Remove' }).click()
    await page.getByText('audit_webhook:away is removed').waitFor()
    t.same(flaws, [])
  })

  t.test('a former master key that is missing is told, until “Reseal” has wrapped all again', async t => {
    const startWith = async (...keys: string[]) => {
      const [SVC_KMS_SECRET_KEY = '', SVC_KMS_SECRET_KEY_PREVIOUS = ''] = keys
      await server.stop()
      await server.start({ SVC_CONSOLE_ADDRESS, SVC_KMS_SECRET_KEY, SVC_KMS_SECRET_KEY_PREVIOUS })
    }
    await admin.call('POST', '/buckets', { name: 'sealed' })
    await admin.call('PUT', '/buckets/sealed/encryption', { algorithm: 'AES256' })
    await admin.call('POST', '/buckets/sealed/objects/upload?key=letter', 'secret')
    await startWith(newKey, formerKey)
    await startWith(newKey)
    const { page, flaws } = await browser.open(t, {}, /^no answer: |^503 |^401 GET /)
    const isMissing = /^Not every key is there \(builtin\): data keys .* key "former" .* is missing: .*PREVIOUS/
    await signIn(page, '/keys')
    await page.getByRole('alert').filter({ hasText: isMissing }).waitFor()
    t.equal(await page.getByText('Keys work').count(), 0)
    t.same(await accessibilityFlaws(page), [])
    for (const path of ['/', '/server']) {
      await page.goto(console + path)
      await page.getByRole('alert').getByRole('link', { name: isMissing }).waitFor()
    }
    await startWith(newKey, formerKey)
    await signIn(page, '/keys')
    await page.getByText('The running server has 1 former key.').waitFor()
    const dialog = page.getByRole('dialog')
    const reseal = async () => {
      await page.getByRole('button', { name: 'Reseal' }).click()
      await dialog.getByRole('button', { name: 'Reseal' }).click()
    }
    await reseal()
    const areSpare = dialog.getByText('Former keys that the server was started with are no longer needed.', {
      exact: true,
    })
    await areSpare.waitFor()
    await dialog.getByText('1 wrapped again').waitFor()
    t.same(await accessibilityFlaws(page), [])
    await startWith(newKey)
    await signIn(page, '/keys')
    await page.getByText('Keys work (builtin). The running server has no former key.').waitFor()
    await reseal()
    // As where a key was changed in an environment file that the server has not read: the former one is in use.
    await dialog.getByText('The running server knows no former key: everything is wrapped with the key').waitFor()
    t.equal(await areSpare.count(), 0)
    t.equal((await admin.call('GET', '/kms/status')).error, '')
    t.same(flaws, [])
  })
}
