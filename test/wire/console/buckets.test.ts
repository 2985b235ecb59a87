/** Uploads in progress, all versions, forms, folders for everybody and completion of policies, and distributions as files, in the web console. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { accessibilityFlaws, withoutBrowser } from '../browser.ts'
import { chooseFrom, eventually, retype, startConsole } from '../console.ts'

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

    t.same((await admin.call('GET', '/buckets/trial/lifecycle')).rules, [], 'nothing is stored')
    t.same(flaws, [])
  })
}
