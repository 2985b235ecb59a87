/** Objects in the web console: versions, metadata, copies, archives, presigned URLs, retention. */
import { randomBytes } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import { PutObjectCommand } from '@aws-sdk/client-s3'
import t from 'tap'
import { accessibilityFlaws, withoutBrowser } from '../browser.ts'
import { chooseFrom, eventually, keysOf, startConsole } from '../console.ts'
import { createClient } from '../sdk.ts'

// Only a page that hangs takes so long.
t.setTimeout(900_000)

if (withoutBrowser !== false) {
  t.comment(withoutBrowser)
  t.end()
} else {
  const { admin, browser, server, signIn, url } = await startConsole(t, {
    environment: { SVC_SSEC_ALLOW_INSECURE: 'on' },
  })
  await admin.call('POST', '/buckets', { name: 'photos', versioning: true })

  t.test('versions: an old one comes back, and one can be deleted for good', async t => {
    for (const text of ['first', 'second']) await admin.call('POST', '/buckets/photos/objects/upload?key=note', text)
    const { page, flaws } = await browser.open(t)
    await signIn(page, '/buckets/photos')
    await page.getByRole('button', { name: 'note', exact: true }).click()
    await page.waitForURL(/[?&]object=note$/)
    await page.reload()
    await page.getByRole('dialog').getByRole('tab', { name: 'Versions' }).click()
    const versions = page.getByRole('button', { name: /^Show version of/ })
    await versions.nth(1).waitFor()
    const names = await Promise.all((await versions.all()).map(button => button.getAttribute('aria-label')))
    t.equal(new Set(names).size, 2, 'two of one second are told apart')
    const more = page.getByRole('button', { name: /^More for version/ })
    await chooseFrom(more.last(), 'Restore')
    await page.getByText('The old version is the current one again').waitFor()
    t.equal((await admin.call('GET', '/buckets/photos/objects/stat?key=note')).size, '"first"'.length)
    await page.getByRole('row').nth(2).waitFor()
    t.same(await accessibilityFlaws(page), [])
    await chooseFrom(more.last(), 'Delete')
    await page
      .getByRole('dialog', { name: 'Delete this version' })
      .getByRole('button', { name: 'Delete', exact: true })
      .click()
    await page.getByRole('dialog', { name: 'Delete this version' }).waitFor({ state: 'detached' })
    t.equal((await admin.call('GET', '/buckets/photos/objects/versions?key=note')).items.length, 2)
    t.same(flaws, [])
  })

  t.test('an object is deleted in its panel, found by its key, told to be deleted, and undeleted', async t => {
    await admin.call('POST', '/buckets/photos/objects/upload?key=lost', 'here')
    const { page, flaws } = await browser.open(t, {}, /404 GET .*stat/)
    await signIn(page, '/buckets/photos')
    await page.getByRole('button', { name: 'lost', exact: true }).click()
    await chooseFrom(page.getByRole('button', { name: 'More for lost' }), 'Delete')
    await page.getByRole('dialog', { name: 'Delete lost?' }).getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('button', { name: 'lost', exact: true }).waitFor({ state: 'detached' })
    t.same(await keysOf(admin, 'photos', 'lost'), [])
    await page.getByLabel('Filter by prefix').fill('lost')
    await page.getByRole('button', { name: 'Look for old versions of an object with the name “lost”' }).click()
    const panel = page.getByRole('dialog', { name: 'lost' })
    await panel.getByText(/^Deleted on /).waitFor()
    await panel.getByText('delete marker', { exact: true }).waitFor()
    for (const name of ['Download', 'Share', 'More for lost']) {
      t.equal(await panel.getByRole('button', { name, exact: true }).count(), 0, `no ${name}`)
    }
    t.equal(await panel.getByRole('tab', { name: 'Details' }).count(), 0)
    t.same(await accessibilityFlaws(page), [])
    await panel.getByRole('button', { name: 'Undelete', exact: true }).dblclick()
    await page.getByText('The delete marker is removed').waitFor()
    await panel.getByText(/^Deleted on /).waitFor({ state: 'detached' })
    t.same(await keysOf(admin, 'photos', 'lost'), ['lost'])
    t.equal((await admin.call('GET', '/buckets/photos/objects/versions?key=lost')).items.length, 1)
    // The same in the list of its versions.
    await admin.call('DELETE', '/buckets/photos/objects', { objects: [{ key: 'lost' }] })
    await page.reload()
    await panel.getByRole('button', { name: 'Undelete lost' }).click()
    await panel.getByText(/^Deleted on /).waitFor({ state: 'detached' })
    t.same(await keysOf(admin, 'photos', 'lost'), ['lost'])
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

  t.test('metadata and tags are changed, and a file is renamed and moved', async t => {
    await admin.call('POST', '/buckets', { name: 'archive' })
    const { page, flaws } = await browser.open(t)
    await signIn(page, '/buckets/photos')
    const note = page.getByRole('button', { name: 'note', exact: true })
    await note.press('Enter')
    await page.getByRole('dialog', { name: 'note' }).waitFor()
    await page.keyboard.press('Escape')
    // The focus is where it was before the details.
    await note.and(page.locator(':focus')).press('Enter')
    // By keyboard alone, and back to where one was.
    const more = page.getByRole('button', { name: 'More for note' })
    await more.press('Enter')
    await page.getByRole('menuitem', { name: 'Presigned URL' }).waitFor()
    t.same(await accessibilityFlaws(page), [])
    await page.keyboard.press('Escape')
    await page.getByRole('menu').waitFor({ state: 'detached' })
    await page.getByRole('dialog', { name: 'note' }).waitFor()
    await more.and(page.locator(':focus')).press('Enter')
    await page.locator('[role=menuitem]:focus', { hasText: 'Presigned URL' }).waitFor()
    for (let item = 0; item < 2; item++) await page.keyboard.press('ArrowDown')
    await page.locator('[role=menuitem]:focus', { hasText: 'Edit' }).press('Enter')
    const dialog = page.getByRole('dialog', { name: 'Metadata and tags' })
    await dialog.getByLabel('Content type').fill('text/plain')
    await dialog.getByRole('button', { name: 'Add entry' }).click()
    await dialog.getByLabel('Name of entry 1').fill('author')
    await dialog.getByLabel('Value of entry 1').fill('Ada')
    await dialog.getByRole('button', { name: 'Add tag' }).click()
    await dialog.getByLabel('Name of tag 1').fill('state')
    await dialog.getByLabel('Value of tag 1').fill('final')
    t.same(await accessibilityFlaws(page), [])
    // However it is closed: what was typed is lost only when somebody says so.
    const question = page.getByRole('dialog', { name: 'Close without saving?' })
    for (const close of [
      () => page.keyboard.press('Escape'),
      () => dialog.getByRole('button', { name: 'Close' }).click(),
      () => dialog.getByRole('button', { name: 'Cancel' }).click(),
    ]) {
      await close()
      await question.waitFor()
      await page.keyboard.press('Escape')
      await question.waitFor({ state: 'detached' })
      t.equal(await dialog.getByLabel('Value of tag 1').inputValue(), 'final')
    }
    await page.keyboard.press('Escape')
    await question.waitFor()
    t.same(await accessibilityFlaws(page), [])
    await question.getByRole('button', { name: 'Stay here' }).click()
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('cell', { name: 'Ada', exact: true }).waitFor()
    await more.and(page.locator(':focus')).waitFor()
    t.match(await admin.call('GET', '/buckets/photos/objects/stat?key=note'), {
      contentType: 'text/plain',
      userMetadata: { author: 'Ada' },
      tags: { state: 'final' },
    })
    await chooseFrom(more, 'Copy or move')
    const copy = page.getByRole('dialog', { name: 'Copy, move or rename' })
    await copy.getByLabel('To bucket').fill('archive')
    await copy.getByLabel('New key').fill('2026/')
    await copy.getByLabel('Move').check()
    await copy.getByRole('button', { name: 'Copy or move' }).click()
    await page.getByRole('button', { name: 'note', exact: true }).waitFor({ state: 'detached' })
    // A slash at the end is that of a folder.
    t.same(await keysOf(admin, 'archive'), ['2026/note'])
    t.notOk((await keysOf(admin, 'photos')).includes('note'))
    t.same(flaws, [])
  })

  t.test('folders are copied with what is in them, and come down as one archive', async t => {
    for (const key of ['album/one', 'album/deep/two', 'three']) {
      await admin.call('POST', `/buckets/photos/objects/upload?key=${key}`, key)
    }
    const { page, flaws } = await browser.open(t, {}, /404 POST .*(download-zip|copy)|404 GET .*nosuch/)
    await signIn(page, '/buckets/photos')
    await page.getByLabel('Select album/').check()
    await page.getByLabel('Select three').check()
    await page.getByRole('button', { name: 'Download as ZIP' }).hover()
    await page.getByRole('tooltip').getByText('An archive that ends early is incomplete.').waitFor()
    t.same(await accessibilityFlaws(page), [])
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download as ZIP' }).click(),
    ])
    const archive = await buffer(await download.createReadStream())
    for (const name of ['album/one', 'album/deep/two', 'three']) t.ok(archive.includes(name), `the archive has ${name}`)
    await page.getByRole('button', { name: 'Copy or move' }).click()
    const copy = page.getByRole('dialog')
    const bucket = copy.getByRole('combobox', { name: 'To bucket' })
    await bucket.fill('nosuch')
    await copy.getByLabel('Into folder').fill('/copies')
    await copy.getByRole('button', { name: 'Copy or move' }).click()
    await eventually('the bucket is wrong', async () => (await bucket.getAttribute('aria-invalid')) === 'true')
    await bucket.fill('photos')
    await copy.getByRole('button', { name: 'Copy or move' }).click()
    await copy.waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'copies/' }).waitFor()
    t.same(await keysOf(admin, 'photos', 'copies/'), ['copies/album/deep/two', 'copies/album/one', 'copies/three'])
    await admin.call('DELETE', '/buckets/photos/objects', { objects: [{ key: 'three' }] })
    await page.getByRole('button', { name: 'Download as ZIP' }).click()
    await page.getByRole('alert').filter({ hasText: 'three: ' }).waitFor()
    t.equal(new URL(page.url()).pathname, '/buckets/photos', 'the console is still there')
    await admin.call('POST', '/buckets/photos/objects/upload?key=three', 'three')
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

  t.test('a presigned URL does what it says, and no more', async t => {
    const { page, flaws } = await browser.open(t)
    await admin.call('POST', '/buckets/photos/objects/upload?key=signed.txt', 'signed')
    await signIn(page, '/buckets/photos')
    await page.getByRole('button', { name: 'signed.txt', exact: true }).click()
    await chooseFrom(page.getByRole('button', { name: 'More for signed.txt' }), 'Presigned URL')
    const dialog = page.getByRole('dialog', { name: 'Make a presigned URL' })
    await dialog.getByLabel('Name of the file').fill('naïve name.txt')
    await dialog.getByRole('button', { name: 'Make URL' }).click()
    const urlOf = () => dialog.getByLabel('URL', { exact: true }).inputValue()
    const read = await fetch(await urlOf())
    t.equal(await read.text(), '"signed"')
    t.match(read.headers.get('content-disposition'), "filename*=UTF-8''na%C3%AFve%20name.txt")
    t.equal((await fetch(await urlOf(), { method: 'PUT', body: 'x' })).status, 403)
    t.same(await accessibilityFlaws(page), [])
    await dialog.getByLabel('It is for').selectOption('writing (PUT)')
    await dialog.getByRole('textbox', { name: 'Key of the object' }).fill('signed-new.txt')
    await dialog.getByRole('button', { name: 'Make URL' }).click()
    await dialog.getByText('curl -T FILE').waitFor()
    t.equal((await fetch(await urlOf(), { method: 'PUT', body: 'new' })).status, 200)
    t.same(await keysOf(admin, 'photos', 'signed'), ['signed-new.txt', 'signed.txt'])
    t.same(flaws, [])
  })

  t.test('a list is sorted by name, size and date, upwards and downwards, with folders first', async t => {
    await admin.call('POST', '/buckets', { name: 'sorted' })
    // Their order by date is none of the other orders.
    for (const [key, size] of [
      ['b', 30],
      ['c', 10],
      ['folder/x', 1],
      ['a', 20],
    ] as const) {
      await admin.call('POST', `/buckets/sorted/objects/upload?key=${key}`, 'x'.repeat(size))
      await setTimeout(20)
    }
    const { page, flaws } = await browser.open(t)
    await signIn(page, '/buckets/sorted')
    const table = page.getByRole('table', { name: 'sorted' })
    await table.getByRole('button', { name: 'a', exact: true }).waitFor()
    const names = async () =>
      (await table.locator('[role=cell].object-name').allTextContents()).map(name => name.trim())
    t.same(await names(), ['folder/', 'a', 'b', 'c'])
    for (const [column, upwards] of [
      ['Name', ['folder/', 'a', 'b', 'c']],
      ['Size', ['folder/', 'c', 'a', 'b']],
      ['Modified', ['folder/', 'b', 'c', 'a']],
    ] as const) {
      const head = table.getByRole('columnheader', { name: column })
      const sorted = (order: string) =>
        eventually(`sorted ${order}`, async () => (await head.getAttribute('aria-sort')) === order)
      await head.getByRole('button').click()
      await sorted('ascending')
      t.same(await names(), upwards, `${column}, upwards`)
      await head.getByRole('button').click()
      await sorted('descending')
      t.same(await names(), ['folder/', ...upwards.slice(1).toReversed()], `${column}, downwards`)
      await head.getByRole('button').click()
      await sorted('none')
      t.same(await names(), ['folder/', 'a', 'b', 'c'])
    }
    t.same(flaws, [])
  })

  t.test('retention and a legal hold keep a version from being deleted, until they are taken away', async t => {
    await admin.call('POST', '/buckets', { name: 'vault', objectLock: true })
    await admin.call('POST', '/buckets/vault/objects/upload?key=deed.txt', 'deed')
    const { page, flaws } = await browser.open(t, {}, /400 PUT .*retention|(403|409) |404 GET .*stat/)
    await signIn(page, '/buckets/vault')
    await page.getByRole('button', { name: 'deed.txt', exact: true }).click()
    const card = (name: RegExp) => page.getByRole('region', { name })
    await card(/^Retention$/)
      .getByRole('combobox')
      .selectOption({ index: 1 })
    await card(/^Retention$/)
      .getByRole('button', { name: 'Save' })
      .click()
    await page.getByText('Retention: Saved.').waitFor()
    const hold = card(/^Protection of this version$/).getByRole('switch')
    await hold.check({ force: true })
    const tab = (name: string) => page.getByRole('dialog').getByRole('tab', { name })
    await tab('Versions').click()
    await page.getByRole('table', { name: 'Versions' }).waitFor()
    await tab('Details').click()
    t.ok(await hold.isChecked(), 'what is not saved stays')
    await page.keyboard.press('Escape')
    await page.getByRole('dialog', { name: 'Close without saving?' }).getByRole('button', { name: 'Stay here' }).click()
    t.ok(await hold.isChecked(), 'and is asked about')
    await card(/^Protection of this version$/)
      .getByRole('button', { name: 'Save' })
      .click()
    await eventually('it is held', async () => {
      const { enabled } = await admin.call('GET', '/buckets/vault/objects/legal-hold?key=deed.txt')
      return enabled === true
    })
    t.match(await admin.call('GET', '/buckets/vault/objects/retention?key=deed.txt'), { mode: 'GOVERNANCE' })
    t.same(await accessibilityFlaws(page), [])
    await page.getByRole('dialog').getByRole('tab', { name: 'Versions' }).click()
    const more = page.getByRole('button', { name: /^More for version/ })
    await chooseFrom(more.first(), 'Delete')
    const dialog = page.getByRole('dialog', { name: /Delete/ })
    await dialog.getByText('A legal hold is on').waitFor()
    await dialog.getByText('Its retention (governance) protects it until').waitFor()
    t.equal(await dialog.getByRole('checkbox').count(), 0, 'a hold cannot be bypassed')
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await dialog.getByRole('alert').waitFor()
    t.same(await keysOf(admin, 'vault'), ['deed.txt'], 'it is still there')

    // Whoever may bypass governance says so, each time.
    await admin.call('PUT', '/buckets/vault/objects/legal-hold?key=deed.txt', { enabled: false })
    await dialog.getByText('Its retention (governance) protects it until').waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await dialog.waitFor({ state: 'detached' })
    await tab('Details').click()
    const retention = card(/^Retention$/)
    const soon = new Date(Date.now() + 7 * 86_400_000).toISOString().slice(0, 10)
    await retention.getByLabel('Until').fill(soon)
    await retention.getByRole('button', { name: 'Save' }).click()
    await retention.getByText('protected by object lock').waitFor()
    await retention.getByLabel('Although it is protected').check()
    t.same(await accessibilityFlaws(page), [])
    await retention.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Retention: Saved.').last().waitFor()
    await eventually('it is shorter', async () => {
      const { retainUntil } = await admin.call('GET', '/buckets/vault/objects/retention?key=deed.txt')
      return retainUntil.startsWith(soon)
    })
    await tab('Versions').click()
    await chooseFrom(more.first(), 'Delete')
    await dialog.getByLabel('Delete it although it is protected').check()
    t.same(await accessibilityFlaws(page), [])
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await dialog.waitFor({ state: 'detached' })
    t.same(await keysOf(admin, 'vault'), [])

    // What nobody can undo is asked about, and what is not stricter is not.
    await admin.call('POST', '/buckets/vault/objects/upload?key=will.txt', 'will')
    await page.goto(`${url}/buckets/vault`)
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

  t.test('a link works until a date, and names the file as one wishes', async t => {
    const { page, flaws } = await browser.open(t, { timezoneId: 'Asia/Kolkata' })
    await admin.call('POST', '/buckets/photos/objects/upload?key=until.txt', 'until')
    await signIn(page, '/buckets/photos')
    await page.getByRole('button', { name: 'until.txt', exact: true }).click()
    await page.getByRole('button', { name: 'Share' }).click()
    const dialog = page.getByRole('dialog', { name: 'Share until.txt' })
    await dialog.getByLabel('The link works for').selectOption('until a date and time')
    const date = dialog.getByLabel('Until')
    const localOf = (ms: number) => new Date(ms + 5.5 * 3_600_000).toISOString().slice(0, 16)
    await date.fill(localOf(Date.now() + 8 * 86_400_000))
    // No link works for longer.
    await date.and(page.locator(':out-of-range')).waitFor()
    const endsMs = Math.floor(Date.now() / 60_000) * 60_000 + 3 * 3_600_000
    await date.fill(localOf(endsMs))
    await dialog.getByLabel('Name of the file').fill('other name.txt')
    t.same(await accessibilityFlaws(page), [])
    await dialog.getByRole('button', { name: 'Make link' }).click()
    const answer = await fetch(await dialog.getByLabel('Link', { exact: true }).inputValue())
    t.match(answer.headers.get('content-disposition'), 'other name.txt')
    const { items } = await admin.call('GET', '/shares')
    const { expiresAt } = items.find(({ key }: { key: string }) => key === 'until.txt')
    // Of whole seconds, from when it was asked for.
    t.ok(Math.abs(Date.parse(expiresAt) - endsMs) <= 60_000, expiresAt)
    t.same(flaws, [])
  })
}
