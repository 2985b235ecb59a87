/** Buckets and objects in the web console: what few may do, what is refused or stopped, what others have changed, and what is told of it. What their pages are for: console/buckets and console/objects. */
import { randomBytes } from 'node:crypto'
import { PutBucketLifecycleConfigurationCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import t from 'tap'
import { accessibilityFlaws, withoutBrowser } from './browser.ts'
import { chooseFrom, eventually, keysOf, openPage, startConsole } from './console.ts'
import { createClient } from './sdk.ts'

const fontSizeOf = new Function('element', 'return getComputedStyle(element).fontSize') as (element: unknown) => string

// Only a page that hangs takes so long.
t.setTimeout(900_000)

if (withoutBrowser !== false) {
  t.comment(withoutBrowser)
  t.end()
} else {
  const { admin, browser, server, signIn } = await startConsole(t, {
    environment: {
      SVC_KMS_SECRET_KEY: `console:${Buffer.alloc(32, 7).toString('base64')}`,
      SVC_SSEC_ALLOW_INSECURE: 'on',
    },
  })
  await admin.call('POST', '/buckets', { name: 'photos', versioning: true })
  for (const key of ['album/one', 'album/deep/two', 'three'])
    await admin.call('POST', `/buckets/photos/objects/upload?key=${key}`, key)

  t.test('what uploads take of a quota is said, and what of them goes with their bucket', async t => {
    await admin.call('POST', '/buckets', { name: 'begun', quotaBytes: 8_000_000 })
    const { uploadId } = await admin.call('POST', '/buckets/begun/uploads', { key: 'film', contentType: 'video/mp4' })
    const part = 'x'.repeat(2 * 1024 ** 2 - 2)
    await admin.call('PUT', `/buckets/begun/uploads/${uploadId}/parts/1?key=film`, part)
    const { page, flaws } = await browser.open(t, {}, /404 GET .*(encryption|buckets\/begun$)/)
    await signIn(page, '/buckets')
    const row = page.getByRole('row', { name: /^begun/ })
    await row.getByText('2.0\u00a0MiB of 7.6\u00a0MiB').waitFor()
    t.equal(
      await row.getByRole('link', { name: 'begun' }).evaluate(fontSizeOf),
      await row.getByRole('cell').nth(1).evaluate(fontSizeOf),
      'a link is as large as what stands beside it',
    )
    t.same(await accessibilityFlaws(page), [])
    await row.getByRole('link', { name: '2.0 MiB of it in uploads that are not completed' }).click()
    await page.getByRole('row', { name: /^film/ }).waitFor()
    await page.getByRole('tab', { name: 'Settings' }).click()
    const quota = page.getByRole('region', { name: 'Quota' })
    await quota.getByText('2.0\u00a0MiB of 7.6\u00a0MiB').waitFor()
    await quota.getByText('Parts of uploads that are not completed count: they have 2.0\u00a0MiB').waitFor()
    t.equal(await quota.getByRole('link', { name: 'Uploads' }).count(), 1)
    await quota.getByRole('textbox').fill('1000')
    await quota.getByText('2.0\u00a0MiB are stored, more than that').waitFor()
    t.same(await accessibilityFlaws(page), [])
    await quota.getByRole('button', { name: 'Cancel' }).click()
    const deletion = page.getByRole('button', { name: 'Delete bucket begun' })
    t.equal(
      await deletion.evaluate(fontSizeOf),
      await page.getByRole('button', { name: 'Add tag' }).evaluate(fontSizeOf),
    )
    await deletion.click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('1 upload that is not completed goes with the bucket').waitFor()
    await dialog.getByText('its parts have 2.0\u00a0MiB').waitFor()
    t.equal(await dialog.getByText('is empty').count(), 0)
    t.ok(await dialog.getByRole('button', { name: 'Delete' }).isDisabled())
    await dialog.getByLabel('Type begun').fill('begun')
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await dialog.waitFor({ state: 'detached' })
    await t.rejects(admin.call('GET', '/buckets/begun'), /404/)
    t.same(flaws, [])
  })

  t.test('who may read the policy of a bucket and not write it sees it without what would be refused', async t => {
    await admin.call('POST', '/buckets', { name: 'ruled' })
    await admin.putPolicy('read-policy', {
      Action: ['s3:ListBucket', 's3:GetBucketPolicy'],
      Resource: ['arn:aws:s3:::ruled', 'arn:aws:s3:::ruled/*'],
    })
    const { accessKeyId, secretAccessKey } = await admin.createUser('auditor', { policyNames: ['read-policy'] })
    const { page, flaws } = await browser.open(t, {}, /404 GET .*policy/)
    await signIn(page, '/buckets/ruled?tab=policy', accessKeyId, secretAccessKey)
    await page.getByText('The bucket has no policy').waitFor()
    t.equal(await page.getByRole('textbox', { name: 'Document' }).count(), 0)
    const Resource = 'arn:aws:s3:::ruled/open/*'
    const statement = { Effect: 'Allow', Principal: '*', Action: 's3:GetObject', Resource }
    await admin.call('PUT', '/buckets/ruled/policy', { Version: '2012-10-17', Statement: [statement] })
    await page.reload()
    const editor = page.getByRole('textbox', { name: 'Document' })
    await editor.getByText('arn:aws:s3:::ruled/open/*').waitFor()
    t.equal(await editor.getAttribute('aria-readonly'), 'true')
    for (const name of ['Save', 'Remove policy', 'Allow']) {
      t.equal(await page.getByRole('button', { name, exact: true }).count(), 0, `no ${name}`)
    }
    t.same(await accessibilityFlaws(page), [])
    t.same(flaws, [], 'nothing is asked for that would be refused')
  })

  t.test('of a list of many pages a few are kept: a change reads these again, and nothing moves', async t => {
    const names = Array.from({ length: 40 }, (_, index) => `many-${String(index).padStart(2, '0')}`)
    for (const name of names) await admin.call('POST', '/buckets', { name })
    const { page, flaws } = await browser.open(t, { viewport: { width: 1200, height: 500 } })
    let listings = 0
    let isReleased = Promise.resolve()
    // Pages of five instead of hundreds.
    await page.route(/\/buckets\?.*limit=200/, async route => {
      listings++
      await isReleased
      await route.continue({ url: route.request().url().replace('limit=200', 'limit=5') })
    })
    const row = (name: string) => page.getByRole('row', { name })
    const placeOf = async (name: string) => Math.round((await row(name).boundingBox())!.y)
    const comesBack = () =>
      page.evaluate(`Date.now = (now => () => now() + 60_000)(Date.now)
        document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))`)
    await signIn(page, '/buckets')
    const filtered = page.waitForResponse(/prefix=many-/)
    await page.getByRole('searchbox').fill('many-')
    await filtered
    await row('many-04').waitFor()
    listings = 0
    await comesBack()
    await eventually('one page is read when somebody comes back to it', async () => listings === 1)

    for (let pages = 2; pages <= 8; pages++) {
      const last = names[pages * 5 - 6]!
      const released = Promise.withResolvers<void>()
      isReleased = released.promise
      await page.getByRole('button', { name: 'Load more' }).click()
      const before = await placeOf(last)
      released.resolve()
      await row(names[pages * 5 - 1]!).waitFor()
      t.equal(await placeOf(last), before, `${last} stays where it was`)
      t.equal(await row('many-').count(), Math.min(pages, 5) * 5)
    }
    listings = 0
    await comesBack()
    await row('many-30').scrollIntoViewIfNeeded()
    const before = await placeOf('many-30')
    await row('many-31').getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await row('many-31').waitFor({ state: 'detached' })
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    t.equal(listings, 5, 'the pages that are kept, and none of them when one comes back')
    t.equal(await placeOf('many-30'), before)
    t.equal(await row('many-').count(), 24)

    for (const first of ['many-10', 'many-05', 'many-00']) {
      await page.getByRole('button', { name: 'Show previous' }).click()
      await row(first).waitFor()
    }
    await page.getByRole('button', { name: 'Show previous' }).waitFor({ state: 'detached' })
    t.equal(await row('many-').count(), 25)
    t.same(flaws, [])
  })

  t.test(
    'on a phone each cell of a table belongs to the head of its column, though empty ones are left out',
    async t => {
      await admin.createUser('alone', {})
      const { page, flaws } = await browser.open(t, { viewport: { width: 360, height: 740 } })
      await signIn(page, '/users')
      const table = page.getByRole('table', { name: 'Users' })
      const cells = table.getByRole('row', { name: 'alone' }).getByRole('cell')
      await cells.first().waitFor()
      const heads = await table.getByRole('columnheader').allTextContents()
      t.ok((await cells.count()) < heads.length, 'empty cells are left out')
      for (const cell of await cells.all()) {
        const title = await cell.getAttribute('data-title')
        const index = Number(await cell.getAttribute('aria-colindex'))
        t.equal(heads[index - 1], title ?? 'Actions')
      }
      await page.goto(new URL('/buckets/photos?tab=versions', page.url()).href)
      const versions = page.getByRole('table', { name: 'All versions' })
      await versions.getByRole('row').nth(1).waitFor()
      const versionCells = versions.getByRole('row').nth(1).getByRole('cell')
      t.equal(await versions.getByRole('columnheader').count(), await versionCells.count())
      // The row of tabs fades where it goes on.
      for (const [left, fades] of [
        [0, ':not([data-before])[data-after]'],
        [60, '[data-before][data-after]'],
        [9999, '[data-before]:not([data-after])'],
      ] as const) {
        await page.evaluate(`document.querySelector('[role=tablist]').scrollTo(${left}, 0)`)
        await page.locator(`[role=tablist]${fades}`).waitFor()
      }
      await page.goto(new URL('/buckets/photos', page.url()).href)
      const objects = page.getByRole('table', { name: 'photos' })
      await objects.getByRole('row').nth(1).waitFor()
      const indexesOf = async (role: 'columnheader' | 'cell') => {
        const row = objects.getByRole('row').nth(role === 'cell' ? 1 : 0)
        return Promise.all((await row.getByRole(role).all()).map(one => one.getAttribute('aria-colindex')))
      }
      t.same(await indexesOf('columnheader'), ['1', '2', '3', '5'], 'the date has no room')
      t.same(await indexesOf('cell'), ['1', '2', '3', '5'])
      await openPage(page, '/distributions', 'Distributions')
      const topOf = async (name: string) => (await page.getByRole('button', { name }).boundingBox())!.y
      t.ok((await topOf('Publish a bucket')) < (await topOf('Who answers a host')), 'what the page is for comes first')
      t.same(flaws, [])
    },
  )

  t.test('a rule that other programs have stored, and this console cannot send, is named', async t => {
    await admin.call('POST', '/buckets', { name: 'foreign' })
    const s3 = createClient(server)
    t.teardown(() => s3.destroy())
    const rule = {
      ID: 'odd',
      Status: 'Enabled' as const,
      Filter: { Tag: { Key: '__proto__', Value: 'x' } },
      Expiration: { Days: 1 },
    }
    await s3.send(
      new PutBucketLifecycleConfigurationCommand({ Bucket: 'foreign', LifecycleConfiguration: { Rules: [rule] } }),
    )
    const { page, flaws } = await browser.open(t, {}, /400 PUT .*lifecycle/)
    await signIn(page, '/buckets/foreign?tab=lifecycle')
    await page.getByRole('button', { name: 'Add rule' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Remove uploads that were not completed').fill('7')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByText('Of the rule odd, which is stored: no field may be called __proto__.').waitFor()
    await page.keyboard.press('Escape')
    t.same(flaws, [])
    await admin.call('PUT', '/buckets/foreign/lifecycle', { rules: [] })
  })

  t.test('a rule says when it will have deleted what is there, and is saved after a question', async t => {
    await admin.call('POST', '/buckets', { name: 'passing' })
    await admin.call('POST', '/buckets/passing/objects/upload?key=today', 'text')
    const { page, flaws } = await browser.open(t, {}, /404 GET .*lifecycle/)
    await signIn(page, '/buckets/passing?tab=lifecycle')
    await page.getByRole('button', { name: 'Add rule' }).click()
    const dialog = page.getByRole('dialog', { name: 'Add rule' })
    await dialog.getByLabel('Delete objects after so many days').fill('1')
    await dialog.getByRole('button', { name: 'What would this rule delete?' }).click()
    t.match(
      await dialog.getByRole('status').innerText(),
      /^Now\s+Nothing would be deleted\.\s+At .* begins\s+Nothing would be deleted\.\s+At .* is here today is old enough\s+1 object would be deleted for good$/s,
    )
    await dialog.getByRole('button', { name: 'Save' }).click()
    const question = page.getByRole('dialog', { name: 'Save a rule that deletes?' })
    await question.getByText('All objects', { exact: true }).waitFor()
    await question.getByText('are deleted 1 day after they were made').waitFor()
    t.same(await accessibilityFlaws(page), [])
    await question.getByRole('button', { name: 'Cancel' }).click()
    await question.waitFor({ state: 'detached' })
    t.same((await admin.call('GET', '/buckets/passing/lifecycle')).rules, [], 'nothing is stored')
    t.equal(await dialog.getByLabel('Delete objects after so many days').inputValue(), '1', 'the form stays')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await question.getByRole('button', { name: 'Yes, let it delete' }).click()
    await page.getByText('Rule without a name').waitFor()
    t.match((await admin.call('GET', '/buckets/passing/lifecycle')).rules, [{ expiration: { days: 1 } }])

    // Where old versions are not kept any more, a delete marker takes the place of what was stored without.
    for (const status of ['enabled', 'suspended']) await admin.call('PUT', '/buckets/passing/versioning', { status })
    const rule = { id: 'some', enabled: true, filter: { prefix: '', sizeGreaterThan: 0 }, expiration: { days: 1 } }
    await admin.call('PUT', '/buckets/passing/lifecycle', { rules: [rule] })
    await page.reload()
    await page.getByRole('button', { name: 'Edit rule some' }).click()
    const edited = page.getByRole('dialog', { name: 'Edit rule some' })
    await edited.getByText('Keeping old versions is suspended').waitFor()
    await edited.getByLabel('Delete objects after so many days').fill('2')
    await edited.getByRole('button', { name: 'What would this rule delete?' }).click()
    await edited
      .getByText('1 object would be deleted, and what was stored of it while no old versions were kept would be gone')
      .waitFor()
    t.notMatch(await edited.getByRole('status').innerText(), /stay as old versions/)
    await edited.getByRole('button', { name: 'Save' }).click()
    await question.getByText('what was stored while none were kept is gone, and does not come back').waitFor()
    await question.getByRole('button', { name: 'Yes, let it delete' }).click()
    await page.getByText('are deleted 2 days after').waitFor()
    const edit = { rules: [{ ...rule, expiration: { days: 2 } }] }
    t.same(await admin.call('GET', '/buckets/passing/lifecycle'), edit, 'empty objects stay left out')
    t.same(flaws, [])
  })

  t.test('what cannot be seen in a name is said at its field', async t => {
    const { page, flaws } = await browser.open(t)
    await signIn(page, '/buckets')
    await page.getByRole('button', { name: 'Create bucket' }).click()
    const dialog = page.getByRole('dialog')
    const name = dialog.getByRole('textbox', { name: 'Name' })
    const note = dialog.locator('.hidden-note')
    await name.fill('pho\u200btos\u202e')
    await note
      .getByText('This has a space without width (U+200B), a mark that turns the text around (U+202E).')
      .waitFor()
    await name.fill(' photos ')
    await note.getByText('This has a space at the beginning, a space at the end.').waitFor()
    t.same(await accessibilityFlaws(page), [])
    // A joiner within an emoji, and letters that others have.
    await name.fill('\u{1f469}\u200d\u{1f680} fotoalb\u00fcm')
    await note.waitFor({ state: 'detached' })
    await name.fill('photos')
    t.equal(await note.count(), 0)
    t.same(flaws, [])
  })

  t.test('the panel closes when the only version is deleted for good', async t => {
    await admin.call('POST', '/buckets/photos/objects/upload?key=only', 'here')
    const { page, flaws } = await browser.open(t, {}, /404 GET .*stat/)
    await signIn(page, '/buckets/photos')
    await page.getByRole('button', { name: 'only', exact: true }).click()
    await page.getByRole('dialog', { name: 'only' }).getByRole('tab', { name: 'Versions' }).click()
    await page.getByRole('button', { name: /^Show version of/ }).click()
    await chooseFrom(page.getByRole('button', { name: 'More for only' }), 'Delete this version')
    await page
      .getByRole('dialog', { name: 'Delete this version' })
      .getByRole('button', { name: 'Delete', exact: true })
      .click()
    await page.getByRole('dialog', { name: 'only' }).waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'only', exact: true }).waitFor({ state: 'detached' })
    t.same((await admin.call('GET', '/buckets/photos/objects/versions?key=only')).items, [])
    t.same(flaws, [])
  })

  t.test('a version that is deleted is told to be, though the list of versions cannot be read afterwards', async t => {
    for (const text of ['old', 'new']) await admin.call('POST', '/buckets/photos/objects/upload?key=told', text)
    const { page, flaws } = await browser.open(t, {}, /(400|404) GET .*(versions|stat)/)
    await signIn(page, '/buckets/photos')
    await page.getByRole('button', { name: 'told', exact: true }).click()
    const panel = page.getByRole('dialog', { name: 'told' })
    await panel.getByRole('tab', { name: 'Versions' }).click()
    const question = page.getByRole('dialog', { name: 'Delete this version' })
    const more = panel.getByRole('button', { name: /^More for version/ })
    await more.last().waitFor()
    // What the server refuses is not asked for again.
    const listing = /\/objects\/versions\?/
    await page.route(listing, route => route.fulfill({ status: 400, body: 'no list' }))
    await chooseFrom(more.last(), 'Delete')
    await question.getByRole('button', { name: 'Delete', exact: true }).click()
    await question.waitFor({ state: 'detached' })
    await page.getByText('The version is deleted').waitFor()
    t.equal((await admin.call('GET', '/buckets/photos/objects/versions?key=told')).items.length, 1)
    await panel.getByRole('alert').getByText('This could not be read again').waitFor()
    await page.getByRole('alert').getByText('It is done, but what you see may be old').waitFor()
    t.equal(await more.count(), 2, 'what was read before is still there')
    await page.unroute(listing)
    await panel.getByRole('alert').getByRole('button', { name: 'Try again' }).click()
    await panel.getByRole('alert').waitFor({ state: 'detached' })
    t.equal(await more.count(), 1)

    await page.route(listing, route => route.fulfill({ status: 400, body: 'no list' }))
    await panel.getByRole('button', { name: /^Show version of/ }).click()
    await chooseFrom(page.getByRole('button', { name: 'More for told' }), 'Delete this version')
    await question.getByRole('button', { name: 'Delete', exact: true }).click()
    await question.waitFor({ state: 'detached' })
    t.same((await admin.call('GET', '/buckets/photos/objects/versions?key=told')).items, [])
    t.same(flaws, [])
  })

  t.test('a folder goes into itself, and up, without taking the place of what has not gone yet', async t => {
    await admin.call('POST', '/buckets', { name: 'nested' })
    const put = (key: string, text: string) =>
      admin.call('POST', `/buckets/nested/objects/upload?key=${encodeURIComponent(key)}`, text)
    const names = Array.from({ length: 12 }, (_, index) => String(index + 10))
    for (const name of names) {
      await put(`a/${name}`, `outer ${name}`)
      await put(`a/a/${name}`, `inner ${name}`)
    }
    const { page, flaws } = await browser.open(t)
    await signIn(page, '/buckets/nested')
    const move = async (folder: string, target: string) => {
      await page.getByLabel(`Select ${folder}`, { exact: true }).check()
      await page.getByRole('button', { name: 'Copy or move' }).click()
      const copy = page.getByRole('dialog')
      await copy.getByLabel('Into folder').fill(target)
      await copy.getByLabel('Move').check()
      await copy.getByLabel('Replace what').check()
      await copy.getByRole('button', { name: 'Copy or move' }).click()
      await copy.waitFor({ state: 'detached' })
    }
    /** As an Apple computer writes it. */
    const decomposed = 'é'.normalize('NFD')
    const textOf = async (key: string) =>
      String(await admin.download(`/buckets/nested/objects/download?key=${encodeURIComponent(key)}`))
    await move('a/', 'a')
    t.same(
      (await keysOf(admin, 'nested')).toSorted(),
      names.flatMap(name => [`a/a/${name}`, `a/a/a/${name}`]).toSorted(),
    )
    for (const name of names) {
      t.equal(await textOf(`a/a/${name}`), `"outer ${name}"`)
      t.equal(await textOf(`a/a/a/${name}`), `"inner ${name}"`)
    }
    await page.goto(new URL('/buckets/nested?prefix=a%2F', page.url()).href)
    await move('a/', '')
    for (const name of names) {
      t.equal(await textOf(`a/${name}`), `"outer ${name}"`)
      t.equal(await textOf(`a/a/${name}`), `"inner ${name}"`)
    }
    t.equal((await keysOf(admin, 'nested')).length, 2 * names.length)
    for (const name of names) {
      await put(`é/${name}`, `outer ${name}`)
      await put(`é/é/${name}`, `inner ${name}`)
    }
    await page.goto(new URL('/buckets/nested', page.url()).href)
    await move('é/', decomposed)
    for (const name of names) {
      t.equal(await textOf(`é/é/${name}`), `"outer ${name}"`)
      t.equal(await textOf(`é/é/é/${name}`), `"inner ${name}"`)
    }
    t.same(flaws, [])
  })

  t.test('who may only read is offered nothing else', async t => {
    await admin.putPolicy('read-photos', {
      Action: ['s3:ListBucket', 's3:GetObject', 's3:GetBucketLocation'],
      Resource: ['arn:aws:s3:::photos', 'arn:aws:s3:::photos/*'],
    })
    const { accessKeyId, secretAccessKey } = await admin.createUser('reader', { policyNames: ['read-photos'] })
    const { page, flaws } = await browser.open(t)
    await signIn(page, '/buckets/photos', accessKeyId, secretAccessKey)
    await page.getByText('Tick entries to download them.').waitFor({ state: 'attached' })
    await page.getByLabel('Select three').check()
    await page.getByRole('button', { name: 'Download as ZIP' }).waitFor()
    for (const name of ['Upload files', 'Delete', 'Copy or move']) {
      t.equal(await page.getByRole('button', { name }).count(), 0, `no ${name}`)
    }
    await page.getByRole('button', { name: 'three', exact: true }).click()
    await page.getByText('Content type').waitFor()
    t.equal(await page.getByRole('tab', { name: 'Versions' }).count(), 0)
    t.equal(await page.getByRole('button', { name: /^(Edit|More for three)$/ }).count(), 0)
    t.same(flaws, [])
    await page.goto(page.url().replace(/\?.*|$/, '?tab=settings'))
    await page.getByText('You may not see this tab of the bucket. It needs one of s3:GetBucketVersioning').waitFor()
    t.same(flaws, [], 'nothing is asked for that would be refused')
  })

  t.test('of an object that one may not read neither content nor links are offered', async t => {
    await admin.putPolicy('list-photos', { Action: ['s3:ListBucket'], Resource: ['arn:aws:s3:::photos'] })
    const { accessKeyId, secretAccessKey } = await admin.createUser('lister', { policyNames: ['list-photos'] })
    const { page } = await browser.open(t, {}, /403 GET/)
    await signIn(page, '/buckets/photos', accessKeyId, secretAccessKey)
    await page.getByRole('button', { name: 'three', exact: true }).click()
    const panel = page.getByRole('dialog')
    await panel.getByText('You may not read this object').waitFor()
    t.equal(await panel.getByRole('alert').count(), 0, 'a sentence is enough')
    for (const name of ['Share', 'Presigned URL', 'More for three']) {
      t.equal(await panel.getByRole('button', { name }).count(), 0, `no ${name}`)
    }
    t.equal(await panel.getByRole('link', { name: 'Download' }).count(), 0)
  })

  t.test('of an object with a key of its owner nothing is offered that a browser cannot do', async t => {
    const SSECustomerKey = randomBytes(32).toString('base64')
    const object = { Bucket: 'photos', Key: 'sealed', Body: 'secret', SSECustomerAlgorithm: 'AES256', SSECustomerKey }
    await createClient(server).send(new PutObjectCommand(object))
    const { page, flaws } = await browser.open(t)
    await signIn(page, '/buckets/photos?object=sealed')
    const panel = page.getByRole('dialog')
    await panel.getByText('encrypted with a key that its owner keeps').waitFor()
    t.same(await panel.getByRole('tab').allTextContents(), ['Details', 'Versions'])
    t.equal(await panel.getByRole('button', { name: 'Share' }).count(), 0)
    t.equal(await panel.getByRole('link', { name: 'Download' }).count(), 0)
    const more = panel.getByRole('button', { name: 'More for sealed' })
    await more.click()
    await page.getByRole('menuitem', { name: 'Edit' }).waitFor()
    t.same(await page.getByRole('menuitem').allTextContents(), ['Presigned URL', 'Edit', 'Delete'])
    await page.keyboard.press('Escape')
    await page.getByRole('menu').waitFor({ state: 'detached' })
    await chooseFrom(more, 'Presigned URL')
    const made = page.getByRole('dialog', { name: 'Make a presigned URL' })
    await made.getByLabel('It is for').waitFor()
    t.same(await made.getByLabel('It is for').locator('option').allTextContents(), [
      'writing (PUT)',
      'deleting (DELETE)',
    ])
    await made.getByRole('button', { name: 'Cancel' }).click()
    // Its tags are not encrypted.
    await chooseFrom(more, 'Edit')
    const dialog = page.getByRole('dialog', { name: 'Metadata and tags of sealed' })
    await dialog.getByRole('button', { name: 'Add tag' }).click()
    await dialog.getByLabel('Name of tag 1').fill('kind')
    await dialog.getByLabel('Value of tag 1').fill('deed')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await panel.getByText('deed').waitFor()
    t.same(flaws, [])
  })

  t.test('whoever may only write an object is offered an address for that', async t => {
    const Resource = ['arn:aws:s3:::photos', 'arn:aws:s3:::photos/*']
    await admin.putPolicy('write-photos', { Action: ['s3:ListBucket', 's3:PutObject'], Resource })
    const { accessKeyId, secretAccessKey } = await admin.createUser('writer', { policyNames: ['write-photos'] })
    const { page } = await browser.open(t, {}, /403 GET/)
    await signIn(page, '/buckets/photos', accessKeyId, secretAccessKey)
    await page.getByRole('button', { name: 'three', exact: true }).click()
    await page.getByRole('button', { name: 'Presigned URL' }).click()
    const dialog = page.getByRole('dialog', { name: 'Make a presigned URL' })
    const methods = dialog.getByLabel('It is for')
    await methods.waitFor()
    t.same(await methods.locator('option').allTextContents(), ['writing (PUT)'])
    await dialog.getByRole('button', { name: 'Make URL' }).click()
    const url = await dialog.getByLabel('URL', { exact: true }).inputValue()
    t.equal((await fetch(url, { method: 'PUT', body: 'written' })).status, 200)
  })

  t.test('ticking a row leaves the list where it is', async t => {
    const { page, flaws } = await browser.open(t, { viewport: { width: 1440, height: 900 } })
    await signIn(page, '/buckets/photos')
    const row = page.getByLabel('Select three')
    await row.waitFor()
    const before = await row.boundingBox()
    await row.check()
    await page.getByRole('button', { name: 'Download as ZIP' }).waitFor()
    t.equal((await row.boundingBox())?.y, before?.y)
    // That of the head looks like the others, and says that some are ticked.
    const all = page.getByLabel('Select all that are loaded')
    t.equal(await all.getAttribute('class'), await row.getAttribute('class'))
    t.equal(await all.and(page.locator(':indeterminate')).count(), 1)
    await all.check()
    t.equal(await all.and(page.locator(':indeterminate')).count(), 0)
    t.ok(await all.isChecked())
    t.same(flaws, [])
  })

  t.test('a copy of many objects is stopped, and what is left is told', async t => {
    await admin.call('POST', '/buckets', { name: 'many' })
    for (let index = 0; index < 20; index++)
      await admin.call('POST', `/buckets/many/objects/upload?key=of/${index}`, 'x')
    const { page, flaws } = await browser.open(t)
    await signIn(page, '/buckets/many')
    const mayGoOn = Promise.withResolvers<void>()
    await page.route(/\/objects\/copy$/, async route => {
      await mayGoOn.promise
      await route.continue()
    })
    await page.getByLabel('Select of/').check()
    await page.getByRole('button', { name: 'Copy or move' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Into folder').fill('copy')
    await dialog.getByRole('button', { name: 'Copy or move' }).click()
    await dialog.getByRole('button', { name: 'Stop' }).click()
    mayGoOn.resolve()
    // Those that were under way end.
    await page.getByRole('alert').getByText('Stopped: 4 of 20 are done.').waitFor()
    await dialog.waitFor({ state: 'detached' })
    t.equal((await keysOf(admin, 'many', 'copy/')).length, 4)
    t.same(flaws, [])
  })

  t.test('an object that is called like a folder is ticked, and deleted, alone', async t => {
    await admin.call('POST', '/buckets', { name: 'alike' })
    for (const key of ['archive/', 'archive/2024.txt'])
      await admin.call('POST', `/buckets/alike/objects/upload?key=${encodeURIComponent(key)}`, 'kept')
    const { page, flaws } = await browser.open(t)
    await signIn(page, '/buckets/alike')
    const ticked = page.getByLabel('Select archive/', { exact: true })
    await page.getByRole('link', { name: 'archive/' }).waitFor()
    await page.getByRole('searchbox').fill('archive/')
    await page.getByRole('button', { name: 'archive/', exact: true }).waitFor()
    await ticked.check()
    await page.getByRole('searchbox').fill('')
    await page.getByRole('link', { name: 'archive/' }).waitFor()
    t.equal(await ticked.isChecked(), false, 'the folder is not')
    await page.getByText('1 selected').waitFor()
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('1 object').waitFor()
    await dialog.getByRole('button', { name: 'Delete', exact: true }).click()
    await dialog.waitFor({ state: 'detached' })
    t.same(await keysOf(admin, 'alike'), ['archive/2024.txt'])
    t.same(flaws, [])
  })

  t.test('whoever may list one folder alone finds the way into it', async t => {
    await admin.putPolicy(
      'read-album',
      {
        Action: ['s3:ListBucket'],
        Resource: ['arn:aws:s3:::photos'],
        Condition: { StringLike: { 's3:prefix': 'album/*' } },
      },
      { Action: ['s3:DeleteBucket'], Resource: ['arn:aws:s3:::*'] },
    )
    const { accessKeyId, secretAccessKey } = await admin.createUser('guest', { policyNames: ['read-album'] })
    const { page, flaws } = await browser.open(t, {}, /403 GET .*objects/)
    await signIn(page, '/buckets', accessKeyId, secretAccessKey)
    await page.getByRole('button', { name: 'Delete bucket photos' }).click()
    await page.getByRole('dialog').getByText('You may not see all that is in it').waitFor()
    await page.getByRole('dialog').getByLabel('Type photos').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('link', { name: 'photos' }).click()
    await page.getByText('You may not do this').waitFor()
    await page.getByLabel('Open a folder').fill('album')
    t.same(await accessibilityFlaws(page), [])
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'deep/' }).waitFor()
    t.same(flaws, [])

    // Another user signs in, in another tab: this one notices with the next answer, and shows nothing of both.
    const other = await page.context().newPage()
    await signIn(other, '/buckets')
    await page.getByRole('link', { name: 'deep/' }).click()
    await page.getByRole('heading', { name: 'You are signed in as' }).waitFor()
    t.equal(await page.getByRole('navigation').count(), 0)
    t.same(await accessibilityFlaws(page), [])
    await page.getByRole('button', { name: 'Load the page again' }).click()
    await page.getByRole('button', { name: 'two', exact: true }).waitFor()

    // The same user once more: nothing to tell, and what one changes is sent with the token of the new session.
    await signIn(other, '/buckets')
    await page.getByLabel('Select two').check()
    await page.getByRole('button', { name: 'Delete' }).click()
    const deletion = page.getByRole('dialog')

    // What somebody else stores meanwhile is not deleted by who has not seen it.
    await admin.call('POST', '/buckets/photos/objects/upload?key=album/deep/two', 'not seen')
    await deletion.getByRole('button', { name: 'Delete' }).click()
    await deletion.getByText('album/deep/two stays, for somebody else has stored it meanwhile').waitFor()
    t.same(await keysOf(admin, 'photos', 'album/deep/'), ['album/deep/two'])
    await deletion.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('row', { name: /two 10/ }).waitFor()
    await page.getByRole('button', { name: 'Delete' }).click()
    await deletion.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('button', { name: 'two', exact: true }).waitFor({ state: 'detached' })
  })

  t.test('what is wrong in a rule is said at its field, whether it is counted or saved', async t => {
    await admin.call('POST', '/buckets', { name: 'trial', versioning: true })
    const { page, flaws } = await browser.open(t, {}, /404 GET .*lifecycle|400 (POST|PUT) .*lifecycle/)
    await signIn(page, '/buckets/trial?tab=lifecycle')
    await page.getByRole('button', { name: 'Add rule' }).click()
    const dialog = page.getByRole('dialog')
    const count = dialog.getByRole('button', { name: 'What would this rule delete?' })
    const oldDays = dialog.getByLabel('Delete old versions so many days after they were replaced')
    await dialog.getByLabel('Delete objects after so many days').fill('1')
    for (const name of ['What would this rule delete?', 'Save']) {
      await oldDays.fill('1.5')
      await dialog.getByRole('button', { name }).click()
      await dialog.getByText('must be integer').waitFor()
      t.equal(await oldDays.getAttribute('aria-invalid'), 'true', name)
      t.equal(await dialog.getByRole('alert').count(), 0, 'and only there')
      await oldDays.fill('')
      await dialog.getByText('must be integer').waitFor({ state: 'detached' })
      await dialog.getByLabel('But keep so many of the old versions').fill('1')
      await dialog.getByRole('button', { name }).click()
      await dialog.getByText('must not be empty').waitFor()
      t.equal(await oldDays.getAttribute('aria-invalid'), 'true', name)
      t.equal(await dialog.getByRole('status').count(), 0, 'nothing is counted')
      await dialog.getByLabel('But keep so many of the old versions').fill('')
    }
    for (const tag of [1, 2]) {
      await dialog.getByRole('button', { name: 'Add tag' }).click()
      await dialog.getByLabel(`Name of tag ${tag}`).fill('team')
    }
    await count.click()
    await dialog.getByText('team is there twice: leave one of them.').last().waitFor()
    // Left out, the rule would be for all objects.
    await dialog.getByRole('button', { name: 'Remove tag 2' }).click()
    await dialog.getByLabel('Name of tag 1').fill('')
    for (const name of ['What would this rule delete?', 'Save']) {
      await dialog.getByRole('button', { name }).click()
      await dialog.getByText('One has no name').waitFor()
      await dialog.getByLabel('Name of tag 1').fill('x')
      await dialog.getByText('One has no name').waitFor({ state: 'detached' })
      await dialog.getByLabel('Name of tag 1').fill('')
    }
    t.equal(await dialog.getByRole('alert').count(), 0)
    t.same(flaws, [])
  })

  t.test('a version is protected from everybody only after an answer', async t => {
    await admin.call('POST', '/buckets', { name: 'vault', objectLock: true })
    await admin.call('POST', '/buckets/vault/objects/upload?key=will.txt', 'will')
    const { page, flaws } = await browser.open(t, {}, /404 GET .*stat/)
    await signIn(page, '/buckets/vault')
    const retention = page.getByRole('region', { name: 'Retention', exact: true })
    await page.getByRole('button', { name: 'will.txt', exact: true }).click()
    const modeOf = async () => (await admin.call('GET', '/buckets/vault/objects/retention?key=will.txt')).mode
    const kind = retention.getByRole('combobox')
    await kind.selectOption({ label: 'compliance: nobody may shorten it' })
    await retention.getByRole('button', { name: 'Save' }).click()
    const question = page.getByRole('dialog', { name: 'Protect this version from everybody?' })
    await question.getByText('not you, and not root').waitFor()
    t.same(await accessibilityFlaws(page), [])
    await question.getByRole('button', { name: 'Cancel' }).click()
    await question.waitFor({ state: 'detached' })
    t.equal(await modeOf(), '', 'nothing is stored')
    t.equal(await kind.inputValue(), 'COMPLIANCE', 'what was chosen stays')
    await kind.selectOption('GOVERNANCE')
    await retention.getByRole('button', { name: 'Save' }).click()
    await eventually('governance is saved without a question', async () => (await modeOf()) === 'GOVERNANCE')
    t.equal(await question.count(), 0)
    t.same(flaws, [])
  })
}
