/** Uploads in progress, all versions, forms, folders for everybody and completion of policies, and distributions as files, in the web console. */
import { readFileSync } from 'node:fs'
import { PutBucketLifecycleConfigurationCommand } from '@aws-sdk/client-s3'
import t from 'tap'
import { accessibilityFlaws, withoutBrowser } from '../browser.ts'
import { chooseFrom, eventually, openPage, retype, startConsole } from '../console.ts'
import { createClient } from '../sdk.ts'

const fontSizeOf = new Function('element', 'return getComputedStyle(element).fontSize') as (element: unknown) => string

// Only a page that hangs takes so long.
t.setTimeout(900_000)

if (withoutBrowser !== false) {
  t.comment(withoutBrowser)
  t.end()
} else {
  const SVC_KMS_SECRET_KEY = `console:${Buffer.alloc(32, 7).toString('base64')}`
  const { url, server, admin, browser, signIn } = await startConsole(t, { environment: { SVC_KMS_SECRET_KEY } })
  await admin.call('POST', '/buckets', { name: 'photos', versioning: true })
  await admin.call('PUT', '/buckets/photos/encryption', { algorithm: 'AES256' })

  t.test('an upload that nobody completes is shown, and given up', async t => {
    await admin.call('POST', '/buckets/photos/uploads', { key: 'film.mp4', contentType: 'video/mp4' })
    const { page, flaws } = await browser.open(t)
    await signIn(page, '/buckets')
    await page.getByRole('row', { name: /photos.*SSE-S3/ }).waitFor()
    await page.getByRole('link', { name: 'photos' }).click()
    await page.getByRole('tab', { name: 'Uploads' }).click()
    await page.getByRole('row', { name: /^film\.mp4/ }).waitFor()
    t.same(await accessibilityFlaws(page), [])
    await page.getByRole('button', { name: 'Give up the upload of film.mp4' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Give up' }).click()
    await page.getByText('No upload is in progress.').waitFor()
    t.same((await admin.call('GET', '/buckets/photos/uploads')).items, [])
    t.same(flaws, [])
  })

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

  t.test('all versions of a bucket: one is restored, one is deleted', async t => {
    for (const body of ['first', 'second']) await admin.call('POST', '/buckets/photos/objects/upload?key=a.txt', body)
    await admin.call('POST', '/buckets/photos/objects/upload?key=b/c.txt', 'c')
    const { page, flaws } = await browser.open(t)
    await signIn(page, '/buckets/photos?tab=versions')
    const table = page.getByRole('table', { name: 'All versions' })
    const rows = table.getByRole('row', { name: 'a.txt' })
    await rows.nth(1).waitFor()
    await table.getByRole('row', { name: 'b/c.txt' }).waitFor()
    t.same(await accessibilityFlaws(page), [])
    const moreOf = (index: number) => rows.nth(index).getByRole('button', { name: /^More for version/ })
    await chooseFrom(moreOf(1), 'Restore')
    await rows.nth(2).waitFor()
    t.equal(
      (await admin.download('/buckets/photos/objects/download?key=a.txt')).length,
      (await admin.download(`/buckets/photos/objects/download?key=a.txt&versionId=${await oldest()}`)).length,
    )
    await chooseFrom(moreOf(1), 'Delete')
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await rows.nth(2).waitFor({ state: 'detached' })
    await page.getByRole('searchbox').fill('b/')
    await rows.first().waitFor({ state: 'detached' })
    await table.getByRole('row', { name: 'b/c.txt' }).waitFor()
    t.equal((await admin.call('GET', '/buckets/photos/objects/versions?key=a.txt')).items.length, 2)

    // On a phone: state, size and date within its width.
    await admin.call('POST', '/buckets/photos/objects/upload?key=d.txt', 'd')
    await admin.call('DELETE', '/buckets/photos/objects', { objects: [{ key: 'd.txt' }] })
    await page.setViewportSize({ width: 360, height: 740 })
    await page.reload()
    const marker = table.getByRole('row').filter({ hasText: 'delete marker' })
    await marker.waitFor()
    const [row] = (await admin.call('GET', '/buckets/photos/objects/versions?key=d.txt')).items.filter(
      ({ isDeleteMarker }: { isDeleteMarker: boolean }) => !isDeleteMarker,
    )
    await table.getByText(`${row.size}\u00a0B`).first().waitFor()
    const cut = `Array.from(document.querySelectorAll('.version-row > [role=cell]'))
      .filter(cell => cell.getBoundingClientRect().right > 360 || (!cell.matches('.object-name') && cell.scrollWidth > cell.clientWidth))
      .map(cell => cell.textContent)`
    t.same(await page.evaluate(cut), [])
    t.same(flaws, [])

    async function oldest(): Promise<string> {
      const { items } = await admin.call('GET', '/buckets/photos/objects/versions?key=a.txt')
      return items.at(-1).versionId
    }
  })

  t.test('a form that the console makes uploads what a visitor chooses', async t => {
    const { page, flaws } = await browser.open(t)
    const dialog = page.getByRole('dialog')
    await signIn(page, '/buckets/photos?prefix=b/')
    await page.getByRole('button', { name: 'Upload form' }).click()
    await dialog.getByLabel('At most (MiB').fill('1')
    await dialog.getByRole('button', { name: 'Make form' }).click()
    const html = await dialog.getByLabel('HTML').innerText()
    t.equal(await dialog.getByRole('button', { name: 'Make form' }).count(), 0, 'it is made')
    t.same(await accessibilityFlaws(page), [])
    t.same(flaws, [])

    // A page of somebody else's, in another character set.
    const visitor = await browser.open(t)
    await visitor.page.route('**/elsewhere', route => route.fulfill({ contentType: 'text/html', body: html }))
    await visitor.page.goto(new URL('/elsewhere', url).href)
    t.equal(await visitor.page.evaluate('document.characterSet'), 'windows-1252')
    const answered = visitor.page.waitForResponse(answer => answer.request().method() === 'POST')
    await visitor.page
      .locator('input[type=file]')
      .setInputFiles({ name: 'gesendet ä.txt', mimeType: 'text/plain', buffer: Buffer.from('sent') })
    await visitor.page.getByRole('button', { name: 'Upload' }).click()
    t.equal((await answered).status(), 204)
    t.equal(String(await admin.download('/buckets/photos/objects/download?key=b/gesendet%20%C3%A4.txt')), 'sent')

    await dialog.getByLabel('Content type').fill('text/')
    await dialog.getByRole('button', { name: 'Make form' }).click()
    await dialog.getByLabel('HTML').waitFor()
    await visitor.page.setContent(await dialog.getByLabel('HTML').innerText())
    const type = visitor.page.getByLabel('Content type (begins with text/)')
    t.equal(await type.inputValue(), '')
    await type.fill('text/')
    const isInvalid = async () => (await visitor.page.locator('input[name="Content-Type"]:invalid').count()) === 1
    t.ok(await isInvalid(), 'the beginning alone is no type')
    await type.fill('text/csv')
    t.notOk(await isInvalid())

    // Every object of the bucket, or those of one folder.
    const forms: { keyPrefix: string }[] = []
    page.on('request', asked => {
      if (asked.method() === 'POST' && asked.url().endsWith('/post-policy')) forms.push(asked.postDataJSON())
    })
    const folder = dialog.getByLabel('Folder')
    await folder.fill('')
    await dialog.getByRole('button', { name: 'Make form' }).click()
    const question = page.getByRole('dialog', { name: 'A form for the whole bucket?' })
    await question.getByText('can replace every object of this bucket').waitFor()
    await question.getByRole('button', { name: 'Cancel' }).click()
    await question.waitFor({ state: 'detached' })
    t.same([forms, await dialog.getByLabel('HTML').count()], [[], 0])
    await dialog.getByRole('button', { name: 'Make form' }).click()
    await question.getByRole('button', { name: 'Yes, for the whole bucket' }).click()
    await dialog.getByLabel('HTML').waitFor()
    await folder.fill('/up')
    await dialog.getByRole('button', { name: 'Make form' }).click()
    await dialog.getByLabel('HTML').waitFor()
    t.match(forms, [{ keyPrefix: '' }, { keyPrefix: 'up/' }], 'not what begins with up beside the folder')
    t.equal(await folder.inputValue(), 'up/')
  })

  t.test('a folder is opened to everybody by the policy, whose editor offers what may stand there', async t => {
    const { page, flaws } = await browser.open(t, {}, /404 GET .*policy/)
    await signIn(page, '/buckets/photos?tab=policy')
    await page.getByRole('textbox', { name: 'Example, not saved' }).waitFor()
    const region = page.getByRole('region', { name: 'Folders for everybody' })
    await region.getByLabel('Folder', { exact: true }).fill('/b/')
    await region.getByRole('button', { name: 'Allow' }).click()
    await page.getByText('will be able to read and list every object whose name begins with “b/”').waitFor()
    const list = async (query: string) => (await fetch(`${server.endpoint}/photos?list-type=2${query}`)).status
    t.equal(await list('&prefix=b/'), 403, 'nothing is opened without an answer')
    t.same(await accessibilityFlaws(page), [])
    await page.getByRole('button', { name: 'Yes, let everybody in' }).click()
    await region.getByRole('rowheader', { name: 'b/*' }).waitFor()
    await region.getByRole('cell', { name: 'read and list' }).waitFor()
    t.equal(await (await fetch(`${server.endpoint}/photos/b/c.txt`)).text(), '"c"')
    t.same([await list('&prefix=b/'), await list('')], [200, 403], 'the folder is listed, and no more')
    await page.getByRole('tab', { name: 'Access' }).click()
    await page.getByText('Statement 1 of the policy lets everybody read b/*.').waitFor()
    await page.getByText('Statement 2 of the policy lets everybody list b/*.').waitFor()
    t.same(await accessibilityFlaws(page), [])
    await page.getByRole('link', { name: 'Statement 1 of the policy' }).click()
    await region.getByRole('rowheader', { name: 'b/*' }).waitFor()

    const editor = page.locator('.cm-content')
    const stored = await admin.call('GET', '/buckets/photos/policy')
    const statements = (...more: object[]) => JSON.stringify({ ...stored, Statement: [...stored.Statement, ...more] })
    const write = { Effect: 'Allow', Principal: '*', Action: 's3:PutObject', Resource: 'arn:aws:s3:::photos/in/*' }
    const question = page.getByRole('dialog', { name: 'Open this to everybody?' })
    await retype(editor, statements(write))
    await page.getByRole('button', { name: 'Save' }).click()
    await question.getByText('will be able to write every object whose name begins with “in/”').waitFor()
    t.equal(await question.getByText('whose name begins with “b/”').count(), 0, 'of what is new')
    t.same(await accessibilityFlaws(page), [])
    await question.getByRole('button', { name: 'Cancel' }).click()
    await question.waitFor({ state: 'detached' })
    t.match(await admin.call('GET', '/buckets/photos/policy'), stored, 'nothing is stored without an answer')
    await page.getByRole('button', { name: 'Save' }).click()
    await question.getByRole('button', { name: 'Yes, let everybody in' }).click()
    await page.getByText('Saved.').waitFor()
    t.equal((await admin.call('GET', '/buckets/photos/policy')).Statement.length, 3)
    // The editor has what is stored, in lines of its own; it would replace what is typed before.
    const isLoaded = page.locator('.cm-line', { hasText: /^ {2}"Version"/ })
    await isLoaded.waitFor()
    // What closes is stored at once, and it is what was checked: in between nothing is typed.
    await retype(editor, statements())
    const released = Promise.withResolvers<void>()
    await page.route(/\/policies\/validate$/, async route => {
      await released.promise
      await route.continue()
    })
    await page.getByRole('button', { name: 'Save' }).click()
    await page.locator('[inert] .cm-content').waitFor()
    await page.keyboard.type('no JSON')
    t.notMatch(await editor.textContent(), /no JSON/)
    released.resolve()
    await eventually(
      'the statement is gone',
      async () => (await admin.call('GET', '/buckets/photos/policy')).Statement.length === 2,
    )

    await isLoaded.waitFor()
    const empty = '{"Statement": [{"Effect": "Allow", "Action": ""}]}'
    await retype(editor, empty)
    await page.keyboard.press('ControlOrMeta+End')
    for (let back = '"}]}'.length; back > 0; back--) await page.keyboard.press('ArrowLeft')
    await page.keyboard.type('s3:GetObj')
    await page
      .getByRole('option', { name: /^s3:GetObject(?![A-Z])/ })
      .first()
      .waitFor()
    // The arrow keys of the editor walk through the list.
    t.same(await accessibilityFlaws(page, { without: ['.cm-tooltip-autocomplete'] }), [])
    await page.keyboard.press('Escape')

    // What is typed and not saved is lost, and not without a word.
    const lost = page.getByRole('dialog').getByText('What is typed in the policy and not saved is lost')
    await region.getByRole('button', { name: 'Allow', exact: true }).click()
    await lost.waitFor()
    await question.getByRole('button', { name: 'Cancel' }).click()
    await question.waitFor({ state: 'detached' })
    await editor.getByText('s3:GetObj').waitFor()
    await region.getByRole('button', { name: 'Stop allowing b/*' }).click()
    await lost.waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
    await region.getByText('No folder is open to everybody by a statement of this kind.').waitFor()
    t.equal((await fetch(`${server.endpoint}/photos/b/c.txt`)).status, 403)
    await region.getByRole('button', { name: 'Allow' }).click()
    await question.waitFor()
    t.equal(await lost.count(), 0, 'nothing is typed any more')
    await page.getByRole('button', { name: 'Yes, let everybody in' }).click()
    await region.getByRole('rowheader', { name: '*', exact: true }).waitFor()
    t.equal(await list(''), 200)
    await admin.call('DELETE', '/buckets/photos/policy')
    await page.getByRole('tab', { name: 'Access' }).click()
    await page.getByText('Nobody gets in without credentials.', { exact: true }).waitFor()
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

  t.test('distributions go out as a file, and come in again after a look at what differs', async t => {
    const host = 'www.example.test'
    const { page, flaws } = await browser.open(t, {}, /404 GET .*nowhere/)
    const dialog = page.getByRole('dialog')
    await admin.call('POST', '/distributions', {
      id: host,
      aliases: [host],
      origin: { bucket: 'photos' },
      comment: 'as it was',
    })
    await signIn(page, '/distributions')
    await page.getByRole('row', { name: new RegExp(`^${host}.*none: plain HTTP only`) }).waitFor()
    t.equal(await page.getByRole('link', { name: `${host}:` }).count(), 0, 'nothing listens for it')
    const downloading = page.waitForEvent('download')
    await page.getByRole('link', { name: 'Export' }).click()
    const yaml = readFileSync(await (await downloading).path(), 'utf8')
    t.match(yaml, host)

    await page.getByRole('button', { name: 'Who answers a host?' }).click()
    await dialog.getByRole('textbox', { name: 'Host' }).fill(host)
    await dialog.getByRole('button', { name: 'Ask' }).click()
    await dialog.getByText('The host is an alias of the distribution.').waitFor()
    t.same(await accessibilityFlaws(page), [])
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })

    await page.getByRole('button', { name: 'Import' }).click()
    const fresh =
      'apiVersion: svc/v1\nkind: Distribution\nmetadata: { name: fresh }\nspec: { aliases: [fresh.example.test], origin: { bucket: photos } }\n'
    const buffer = Buffer.from(`${yaml.replace('as it was', 'from the file')}---\n${fresh}`)
    await dialog
      .locator('input[type=file]')
      .setInputFiles({ name: 'distributions.yaml', mimeType: 'application/yaml', buffer })
    await dialog.getByRole('button', { name: 'What would change' }).click()
    await dialog.getByRole('cell', { name: '"from the file"' }).waitFor()
    t.equal((await admin.call('GET', `/distributions/${host}`)).comment, 'as it was', 'a look changes nothing')
    t.same(await accessibilityFlaws(page), [])
    await dialog.getByRole('button', { name: 'Import', exact: true }).click()
    const opening = page.getByRole('dialog', { name: 'Open this to everybody?' })
    await opening
      .getByText('read what the distribution fresh shows of every object of the bucket photos, without credentials')
      .waitFor()
    await opening.getByText('It is shown at fresh.example.test.').waitFor()
    t.same(await accessibilityFlaws(page), [])
    await opening.getByRole('button', { name: 'Cancel' }).click()
    await opening.waitFor({ state: 'detached' })
    t.equal((await admin.call('GET', `/distributions/${host}`)).comment, 'as it was', 'nor does a question')
    await dialog.getByRole('button', { name: 'Import', exact: true }).click()
    await opening.getByRole('button', { name: 'Yes, let everybody in' }).click()
    await dialog.getByText('Imported.').waitFor()
    t.equal((await admin.call('GET', `/distributions/${host}`)).comment, 'from the file')
    await page.goto(`${url}/distributions/nowhere`)
    await page.getByRole('heading', { name: 'nowhere', level: 1 }).waitFor()
    await page.getByRole('link', { name: 'All distributions' }).click()
    await page.getByRole('heading', { name: 'Distributions', level: 1 }).waitFor()
    t.same(flaws, [])
  })

  t.test('the keys of a group are named and switched off', async t => {
    await admin.call('POST', '/keygroups', { id: 'links' })
    const { id } = await admin.call('POST', '/keygroups/links/keys', {
      generate: true,
      algorithm: 'ed25519',
      storePrivateKey: true,
    })
    const { page, flaws } = await browser.open(t)
    const dialog = page.getByRole('dialog')
    await admin.call('POST', '/keygroups', { id: 'unused' })
    await signIn(page, '/key-groups')
    await page.getByRole('row', { name: /^unused no key / }).waitFor()
    await chooseFrom(page.getByRole('button', { name: 'More for links' }), 'Edit')
    await dialog.getByLabel(`Name of ${id}`).fill('printing house')
    await dialog.getByLabel(`${id}: its signatures count`).uncheck()
    t.same(await accessibilityFlaws(page), [])
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByText('printing house · ed25519').waitFor()
    await page.getByText(`Key-Pair-Id: ${id}`).waitFor()
    const { keys } = await admin.call('GET', '/keygroups/links')
    t.match(keys, [{ id, name: 'printing house', enabled: false, hasPrivateKey: true }])
    t.same(flaws, [])
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

  t.test('what a rule would delete is counted before it is saved', async t => {
    await admin.call('POST', '/buckets', { name: 'trial', versioning: true })
    await admin.call('DELETE', '/buckets/trial/objects', { objects: [{ key: 'gone' }] })
    const { page, flaws } = await browser.open(t, {}, /404 GET .*lifecycle|400 (POST|PUT) .*lifecycle/)
    await signIn(page, '/buckets/trial?tab=lifecycle')
    await page.getByRole('button', { name: 'Add rule' }).click()
    const dialog = page.getByRole('dialog')
    const count = dialog.getByRole('button', { name: 'What would this rule delete?' })
    await dialog.getByLabel('Remove delete markers that no version is left below').check()
    await dialog.getByLabel('Keys that begin with').fill('other/')
    await count.click()
    await dialog.getByText('Nothing would be deleted.').first().waitFor()
    await dialog.getByLabel('Keys that begin with').fill('go')
    await dialog.getByText('Nothing would be deleted.').first().waitFor({ state: 'detached' })
    await count.click()
    await dialog.getByText('1 version or delete marker would be deleted for good').first().waitFor()
    t.match(
      await dialog.getByRole('status').innerText(),
      /^Now\s+1 version.*for good\s+At \w.*,\s20\d\d.*next day of UTC begins\s+1 version.*for good$/s,
    )
    t.same(await accessibilityFlaws(page), [])

    // What is deleted first is an old version, and gone for good in the end.
    await admin.call('POST', '/buckets/trial/objects/upload?key=go', 'text')
    const days = dialog.getByLabel('Delete objects after so many days')
    const oldDays = dialog.getByLabel('Delete old versions so many days after they were replaced')
    await dialog.getByLabel('Remove delete markers that no version is left below').uncheck()
    await days.fill('1')
    await oldDays.fill('1')
    await count.click()
    t.match(
      await dialog.getByRole('status').innerText(),
      /^Now\s+Nothing.*begins\s+Nothing.*is old enough\s+2 versions and delete markers would be deleted for good$/s,
    )

    // What is wrong is said at its field, as “Save” does.
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
    t.same((await admin.call('GET', '/buckets/trial/lifecycle')).rules, [], 'nothing is stored')
    t.same(flaws, [])
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
}
