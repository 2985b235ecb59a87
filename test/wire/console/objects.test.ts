/** Objects in the web console: versions, metadata, copies, archives, presigned URLs, retention. */
import { buffer } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { accessibilityFlaws, withoutBrowser } from '../browser.ts'
import { chooseFrom, eventually, keysOf, startConsole } from '../console.ts'

// Only a page that hangs takes so long.
t.setTimeout(900_000)

if (withoutBrowser !== false) {
  t.comment(withoutBrowser)
  t.end()
} else {
  const { admin, browser, signIn } = await startConsole(t)
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

    t.same(flaws, [])
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
