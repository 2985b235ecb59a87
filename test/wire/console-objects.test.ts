/** Objects in the web console: versions, metadata, copies, previews, archives, and uploads that a reload or a cut connection interrupts. */
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import type { Page } from 'playwright-core'
import { temporaryFolder } from 'svc/testing'
import t from 'tap'
import { accessibilityFlaws, withoutBrowser } from './browser.ts'
import { eventually, noticeScripts, startConsole } from './console.ts'

// Only a page that hangs takes so long.
t.setTimeout(900_000)

const digestOf = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

/** Leaves a second of film, as the browser itself encodes it, in base64. */
const recordFilm = `(async () => {
  const canvas = document.createElement('canvas')
  canvas.width = 64
  canvas.height = 48
  const context = canvas.getContext('2d')
  const recorder = new MediaRecorder(canvas.captureStream(20), { mimeType: 'video/webm' })
  const parts = []
  recorder.ondataavailable = ({ data }) => parts.push(data)
  const stopped = new Promise(done => { recorder.onstop = done })
  recorder.start()
  for (let frame = 0; frame < 25; frame++) {
    context.fillStyle = 'hsl(' + frame * 14 + ' 80% 50%)'
    context.fillRect(0, 0, 64, 48)
    await new Promise(done => setTimeout(done, 50))
  }
  recorder.stop()
  await stopped
  const bytes = new Uint8Array(await new Blob(parts).arrayBuffer())
  return btoa(Array.from(bytes, byte => String.fromCharCode(byte)).join(''))
})()`

/** What is known of an element that plays. */
interface Player {
  currentTime: number
  play(): Promise<void>
}

/** So many seconds of 440 Hz: WAV, 8 bits, mono. */
function tone(seconds: number): Buffer {
  const rate = 8000
  const samples = Buffer.from(
    Array.from({ length: rate * seconds }, (_, at) => 128 + Math.round(60 * Math.sin((at / rate) * 440 * 2 * Math.PI))),
  )
  const head = Buffer.alloc(44)
  head.write('RIFF', 0)
  head.writeUInt32LE(36 + samples.length, 4)
  head.write('WAVEfmt ', 8)
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20)
  head.writeUInt16LE(1, 22)
  head.writeUInt32LE(rate, 24)
  head.writeUInt32LE(rate, 28)
  head.writeUInt16LE(1, 32)
  head.writeUInt16LE(8, 34)
  head.write('data', 36)
  head.writeUInt32LE(samples.length, 40)
  return Buffer.concat([head, samples])
}

if (withoutBrowser !== false) {
  t.comment(withoutBrowser)
  t.end()
} else {
  const { admin, browser, signIn } = await startConsole(t)
  await admin.call('POST', '/buckets', { name: 'photos', versioning: true })
  const folder = temporaryFolder(t)
  const keysOf = async (bucket: string, prefix = ''): Promise<string[]> => {
    const { objects } = await admin.call('GET', `/buckets/${bucket}/objects?delimiter=&prefix=${prefix}`)
    return objects.map(({ key }: { key: string }) => key)
  }
  const filesIn = (page: Page) => page.locator('input[type=file]').first()

  t.test('versions: an old one comes back, and one can be deleted for good', async t => {
    for (const text of ['first', 'second']) await admin.call('POST', '/buckets/photos/objects/upload?key=note', text)
    const { page, flaws } = await browser.open()
    await signIn(page, '/buckets/photos')
    await page.getByRole('button', { name: 'note', exact: true }).click()
    await page.getByRole('tab', { name: 'Versions' }).click()
    await page.getByRole('button', { name: /^Restore version/ }).click()
    await page.getByText('The old version is the current one again').waitFor()
    t.equal((await admin.call('GET', '/buckets/photos/objects/stat?key=note')).size, '"first"'.length)
    await page.getByRole('row').nth(2).waitFor()
    t.same(await accessibilityFlaws(page), [])
    await page
      .getByRole('button', { name: /^Delete version/ })
      .last()
      .click()
    await page
      .getByRole('dialog', { name: 'Delete this version' })
      .getByRole('button', { name: 'Delete', exact: true })
      .click()
    await page.getByRole('dialog', { name: 'Delete this version' }).waitFor({ state: 'detached' })
    t.equal((await admin.call('GET', '/buckets/photos/objects/versions?key=note')).items.length, 2)
    t.same(flaws, [])
  })

  t.test('a deleted object is found by its key, and is back when its delete marker is deleted', async t => {
    await admin.call('POST', '/buckets/photos/objects/upload?key=lost', 'here')
    await admin.call('DELETE', '/buckets/photos/objects', { objects: [{ key: 'lost' }] })
    const { page, flaws } = await browser.open({}, /404 GET .*stat/)
    await signIn(page, '/buckets/photos')
    await page.getByLabel('Filter by prefix').fill('lost')
    await page.getByRole('button', { name: 'Show old versions of “lost”' }).click()
    await page.getByRole('tab', { name: 'Versions' }).click()
    await page.getByText('deleted here').waitFor()
    await page
      .getByRole('button', { name: /^Delete version/ })
      .first()
      .click()
    await page.getByRole('button', { name: 'Delete', exact: true }).last().click()
    await page.getByText('deleted here').waitFor({ state: 'detached' })
    t.same(await keysOf('photos', 'lost'), ['lost'])
    t.same(flaws, [])
  })

  t.test('metadata and tags are changed, and a file is renamed and moved', async t => {
    await admin.call('POST', '/buckets', { name: 'archive' })
    const { page, flaws } = await browser.open()
    await signIn(page, '/buckets/photos')
    await page.getByRole('button', { name: 'note', exact: true }).click()
    await page.getByRole('button', { name: 'Edit', exact: true }).click()
    const dialog = page.getByRole('dialog', { name: 'Metadata and tags' })
    await dialog.getByLabel('Content type').fill('text/plain')
    await dialog.getByRole('button', { name: 'Add entry' }).click()
    await dialog.getByLabel('Name of entry 1').fill('author')
    await dialog.getByLabel('Value of entry 1').fill('Ada')
    await dialog.getByRole('button', { name: 'Add tag' }).click()
    await dialog.getByLabel('Name of tag 1').fill('state')
    await dialog.getByLabel('Value of tag 1').fill('final')
    t.same(await accessibilityFlaws(page), [])
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('cell', { name: 'Ada', exact: true }).waitFor()
    t.match(await admin.call('GET', '/buckets/photos/objects/stat?key=note'), {
      contentType: 'text/plain',
      userMetadata: { author: 'Ada' },
      tags: { state: 'final' },
    })
    await page.getByRole('button', { name: 'Copy or move' }).click()
    const copy = page.getByRole('dialog', { name: 'Copy, move or rename' })
    await copy.getByLabel('To bucket').fill('archive')
    await copy.getByLabel('New key').fill('2026/renamed')
    await copy.getByLabel('Move').check()
    await copy.getByRole('button', { name: 'Copy or move' }).click()
    await page.getByRole('button', { name: 'note', exact: true }).waitFor({ state: 'detached' })
    t.same(await keysOf('archive'), ['2026/renamed'])
    t.notOk((await keysOf('photos')).includes('note'))
    t.same(flaws, [])
  })

  t.test('folders are copied with what is in them, and come down as one archive', async t => {
    for (const key of ['album/one', 'album/deep/two', 'three']) {
      await admin.call('POST', `/buckets/photos/objects/upload?key=${key}`, key)
    }
    const { page, flaws } = await browser.open({ acceptDownloads: true })
    await signIn(page, '/buckets/photos')
    await page.getByLabel('Select album/').check()
    await page.getByLabel('Select three').check()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download as ZIP' }).click(),
    ])
    const archive = await buffer(await download.createReadStream())
    for (const name of ['album/one', 'album/deep/two', 'three']) t.ok(archive.includes(name), `the archive has ${name}`)
    await page.getByRole('button', { name: 'Copy or move' }).click()
    const copy = page.getByRole('dialog')
    await copy.getByLabel('Into folder').fill('copies')
    await copy.getByRole('button', { name: 'Copy or move' }).click()
    await copy.waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'copies/' }).waitFor()
    t.same(await keysOf('photos', 'copies/'), ['copies/album/deep/two', 'copies/album/one', 'copies/three'])
    t.same(flaws, [])
  })

  t.test('previews show pictures and text, and run nothing', async t => {
    const picture = Buffer.from(
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
      'base64',
    )
    const script = '<script>alert(1)</script>'
    const files = {
      'dot.png': picture,
      'page.html': `<!doctype html><h1>Hello</h1>${script}`,
      'drawing.svg': `<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)">${script}</svg>`,
      'liar.png': script,
      'data.json': '{"a": 1}',
    }
    for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content)
    const { page, flaws } = await browser.open()
    noticeScripts(page, flaws)
    await signIn(page, '/buckets/photos?prefix=shown/')
    await filesIn(page).setInputFiles(Object.keys(files).map(name => join(folder, name)))
    await page.getByText('5 of 5 done').waitFor()
    const look = async (name: string) => {
      await page.getByRole('button', { name, exact: true }).click()
      await page.getByRole('tab', { name: 'Preview' }).click()
    }
    await look('dot.png')
    const image = page.getByRole('img', { name: 'Preview of shown/dot.png' })
    await image.waitFor()
    await eventually(
      'the picture is shown',
      async () => (await image.evaluate(one => (one as unknown as { naturalWidth: number }).naturalWidth)) === 1,
    )
    await page.keyboard.press('Escape')
    for (const [name, text] of [
      ['page.html', '<h1>Hello</h1>'],
      ['drawing.svg', 'onload'],
      ['data.json', '{"a": 1}'],
      ['liar.png', 'The browser cannot show it'],
    ] as const) {
      await look(name)
      await page.getByText(text).waitFor()
      t.same(await accessibilityFlaws(page), [], name)
      await page.keyboard.press('Escape')
      await page.getByRole('tab', { name: 'Preview' }).waitFor({ state: 'detached' })
    }
    t.same(flaws, [])
  })

  t.test('films and sound are played, from their middle too', async t => {
    const blank = await browser.open()
    const film = Buffer.from((await blank.page.evaluate(recordFilm)) as string, 'base64')
    await blank.close()
    for (const [key, type, body] of [
      ['film.webm', 'video/webm', film],
      ['tone.wav', 'audio/wav', tone(30)],
    ] as const) {
      writeFileSync(join(folder, key), body)
      const { page, flaws } = await browser.open()
      await signIn(page, '/buckets/photos')
      await filesIn(page).setInputFiles(join(folder, key))
      await page.getByText('1 of 1 done').waitFor()
      t.match(await admin.call('GET', `/buckets/photos/objects/stat?key=${key}`), { contentType: type })
      const ranges: string[] = []
      page.on('request', request => {
        if (request.url().includes('/download')) ranges.push(request.headers().range ?? 'all')
      })
      await page.getByRole('button', { name: key, exact: true }).click()
      await page.getByRole('tab', { name: 'Preview' }).click()
      const player = page.locator(type.startsWith('video') ? 'video' : 'audio')
      await player.waitFor()
      const at = () => player.evaluate(element => (element as unknown as Player).currentTime)
      await player.evaluate(element => (element as unknown as Player).play())
      await eventually(`${key} plays`, async () => (await at()) > 0.2)
      if (type === 'audio/wav') {
        await player.evaluate(element => {
          ;(element as unknown as Player).currentTime = 25
        })
        await eventually('it goes on from there', async () => (await at()) > 25.1)
      }
      t.ok(ranges.length > 0 && ranges.every(range => range.startsWith('bytes=')), 'in ranges')
      t.same(await accessibilityFlaws(page), [])
      t.same(flaws, [])
    }
  })

  t.test('a presigned URL does what it says, and no more', async t => {
    const { page, flaws } = await browser.open()
    await admin.call('POST', '/buckets/photos/objects/upload?key=signed.txt', 'signed')
    await signIn(page, '/buckets/photos')
    await page.getByRole('button', { name: 'signed.txt', exact: true }).click()
    await page.getByRole('button', { name: 'Presigned URL' }).click()
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
    t.same(await keysOf('photos', 'signed'), ['signed-new.txt', 'signed.txt'])
    t.same(flaws, [])
  })

  t.test('retention and a legal hold keep a version from being deleted, until they are taken away', async t => {
    await admin.call('POST', '/buckets', { name: 'vault', objectLock: true })
    await admin.call('POST', '/buckets/vault/objects/upload?key=deed.txt', 'deed')
    const { page, flaws } = await browser.open({}, /400 PUT .*retention|(403|409) /)
    await signIn(page, '/buckets/vault')
    await page.getByRole('button', { name: 'deed.txt', exact: true }).click()
    await page.getByLabel('Retention').selectOption({ index: 1 })
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Retention: Saved.').waitFor()
    await page.getByRole('switch', { name: /hold/i }).check({ force: true })
    await page.getByRole('button', { name: 'Save' }).click()
    await eventually('it is held', async () => {
      const { enabled } = await admin.call('GET', '/buckets/vault/objects/legal-hold?key=deed.txt')
      return enabled === true
    })
    t.match(await admin.call('GET', '/buckets/vault/objects/retention?key=deed.txt'), { mode: 'GOVERNANCE' })
    t.same(await accessibilityFlaws(page), [])
    await page.getByRole('tab', { name: 'Versions' }).click()
    await page
      .getByRole('button', { name: /^Delete/ })
      .first()
      .click()
    const dialog = page.getByRole('dialog', { name: /Delete/ })
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await dialog.getByRole('alert').waitFor()
    t.same(await keysOf('vault'), ['deed.txt'], 'it is still there')
    t.same(flaws, [])
  })

  t.test('an upload goes on after a reload with the parts that had arrived, when the same file is chosen', async t => {
    const big = Buffer.alloc(40 * 1024 ** 2, 'reload ')
    writeFileSync(join(folder, 'reload.bin'), big)
    const { page, flaws } = await browser.open()
    await signIn(page, '/buckets/archive')
    const arrived: string[] = []
    page.on('response', answer => {
      if (/\/parts\/\d+/.test(answer.url())) arrived.push(/parts\/(\d+)/.exec(answer.url())![1]!)
    })
    // The third part never arrives.
    await page.route(/\/parts\/3/, () => {})
    await filesIn(page).setInputFiles(join(folder, 'reload.bin'))

    while (arrived.length < 2) await page.waitForEvent('response')
    // What the browser keeps is written shortly afterwards.
    await page.waitForTimeout(1500)
    page.on('dialog', dialog => void dialog.accept())
    await page.reload()
    await page.unroute(/\/parts\/3/)
    await page.getByText('1 upload was interrupted').waitFor()
    t.same(await accessibilityFlaws(page), [])
    arrived.length = 0
    await filesIn(page).setInputFiles(join(folder, 'reload.bin'))
    await page.getByText('1 of 1 done').waitFor()
    t.same(arrived, ['3'], 'only what was missing is sent')
    const url = await admin.call('POST', '/presign', { method: 'GET', bucket: 'archive', key: 'reload.bin' })
    const bytes = Buffer.from(await (await fetch(url.url)).arrayBuffer())
    t.equal(digestOf(bytes), digestOf(big))
    await page.reload()
    await page.getByRole('button', { name: 'reload.bin', exact: true }).waitFor()
    t.equal(await page.getByText('interrupted').count(), 0)
    t.same(flaws, [])
  })

  t.test('an upload waits for a connection that is cut, and then goes on by itself', async t => {
    const { page } = await browser.open()
    await signIn(page, '/buckets/archive?prefix=cut/')
    await page.getByText('Nothing is here yet').waitFor()
    await page.context().setOffline(true)
    writeFileSync(join(folder, 'small.txt'), 'small')
    await filesIn(page).setInputFiles(join(folder, 'small.txt'))
    await page.getByText('no connection').waitFor()
    await page.context().setOffline(false)
    await page.getByText('1 of 1 done').waitFor()
    t.same(await keysOf('archive', 'cut/'), ['cut/small.txt'])
  })

  t.test('who may only read is offered nothing else', async t => {
    await admin.putPolicy('read-photos', {
      Action: ['s3:ListBucket', 's3:GetObject', 's3:GetBucketLocation'],
      Resource: ['arn:aws:s3:::photos', 'arn:aws:s3:::photos/*'],
    })
    const { accessKeyId, secretAccessKey } = await admin.createUser('reader', { policyNames: ['read-photos'] })
    const { page, flaws } = await browser.open()
    await signIn(page, '/buckets/photos', accessKeyId, secretAccessKey)
    await page.getByLabel('Select three').check()
    await page.getByRole('button', { name: 'Download as ZIP' }).waitFor()
    for (const name of ['Upload files', 'Delete', 'Copy or move']) {
      t.equal(await page.getByRole('button', { name }).count(), 0, `no ${name}`)
    }
    await page.getByRole('button', { name: 'three', exact: true }).click()
    await page.getByText('Content type').waitFor()
    t.equal(await page.getByRole('tab', { name: 'Versions' }).count(), 0)
    t.equal(await page.getByRole('button', { name: 'Edit', exact: true }).count(), 0)
    t.same(flaws, [])
  })
}
