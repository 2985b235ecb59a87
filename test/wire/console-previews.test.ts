/** Previews of objects in the web console: pictures, text, films and sound, and nothing that runs. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { temporaryFolder } from 'svc/testing'
import t from 'tap'
import { accessibilityFlaws, aNewVisitor, wholeBrowser, withoutBrowser } from './browser.ts'
import { eventually, filesIn, noticeScripts, startConsole } from './console.ts'

// Only a page that hangs takes so long.
t.setTimeout(900_000)

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

/** A page with a word, and a script that viewers of browsers run; readers find the rest of its structure by themselves. */
const pdf = `%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R/OpenAction<</S/JavaScript/JS(app.alert\\("from the document"\\))>>>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 100]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>endobj
4 0 obj<</Length 37>>stream
BT /F 18 Tf 20 40 Td (A page) Tj ET
endstream endobj
5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj
trailer<</Root 1 0 R>>
`

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
  const { admin, browser, signIn } = await startConsole(t, {}, { program: wholeBrowser })
  await admin.call('POST', '/buckets', { name: 'photos' })
  const folder = temporaryFolder(t)

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
      'readme.md': `# Heading\n\n**bold** ${script}`,
      'page.pdf': pdf,
    }
    for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content)
    const { page, flaws } = await browser.open(t)
    noticeScripts(page, flaws)
    await signIn(page, '/buckets/photos?prefix=shown/')
    await filesIn(page).setInputFiles(Object.keys(files).map(name => join(folder, name)))
    await page.getByText('7 of 7 done').waitFor()
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
    // Until it is gone, its tab would be the one that is clicked.
    const close = async () => {
      await page.keyboard.press('Escape')
      await page.getByRole('tab', { name: 'Preview' }).waitFor({ state: 'detached' })
    }
    await close()
    for (const [name, text] of [
      ['page.html', '<h1>Hello</h1>'],
      ['drawing.svg', 'onload'],
      ['data.json', '{"a": 1}'],
      ['liar.png', 'The browser cannot show it'],
      ['readme.md', '# Heading'],
    ] as const) {
      await look(name)
      await page.getByText(text).waitFor()
      t.same(await accessibilityFlaws(page), [], name)
      await close()
    }
    t.equal(await page.locator('main').getByRole('strong').count(), 0, 'Markdown is text')
    await look('page.pdf')
    const link = page.getByRole('link', { name: 'Open in a new tab' })
    await link.waitFor()
    t.same(await accessibilityFlaws(page), [])
    t.equal(await page.locator('iframe, frame, embed, object').count(), 0)
    t.equal(page.frames().length, 1, 'no document is within that of the console')
    const opened = page.context().waitForEvent('page')
    await link.click()
    const tab = await opened
    const isAsked = tab.waitForEvent('dialog')
    const dialog = await isAsked
    t.equal(dialog.message(), 'from the document', 'the viewer of the browser has it')
    await dialog.dismiss()
    t.equal(await tab.evaluate('opener'), null)
    const address = await link.evaluate(element => String(element))
    t.match((await page.request.get(address)).headers(), { 'content-security-policy': /^sandbox;/ })
    await tab.close()
    t.equal(new URL(page.url()).pathname, '/buckets/photos')
    t.same(flaws, [])
  })

  t.test('text is unpacked as far as it is shown, whatever it unpacks to, and read in its charset', async t => {
    const store = async (key: string, bytes: Buffer, headers: object = { contentEncoding: 'gzip' }) => {
      const { url } = await admin.call('POST', '/presign', { method: 'PUT', bucket: 'photos', key })
      t.equal((await fetch(url, { method: 'PUT', body: bytes })).status, 200)
      await admin.call('PUT', `/buckets/photos/objects/metadata?key=${key}`, { contentType: 'text/plain', ...headers })
    }
    const lines = Array.from({ length: 5000 }, (_, line) => `line ${line} ${line * line}`).join('\n')
    await store('packed/small.txt', gzipSync('a few words'))
    await store('packed/lines.txt', gzipSync(lines))
    await store('packed/bomb.txt', gzipSync(Buffer.alloc(512 * 1024 ** 2, 'x')))
    await store('packed/liar.txt', Buffer.from('never packed'))
    await store('packed/latin.txt', Buffer.from('Grüße', 'latin1'), { contentType: 'text/plain; charset="ISO-8859-1"' })
    await store('packed/odd.txt', Buffer.from('Grüße'), { contentType: 'text/plain; charset=none' })
    const { page, flaws } = await browser.open(t, {}, /no answer: .*liar\.txt/)
    await signIn(page, '/buckets/photos?prefix=packed/')
    const look = async (name: string) => {
      await page.getByRole('button', { name, exact: true }).click()
      await page.getByRole('tab', { name: 'Preview' }).click()
    }
    const text = page.getByRole('region', { name: /^Preview of / })
    for (const [name, expected] of [
      ['small.txt', 'a few words'],
      ['lines.txt', lines.slice(0, 65_536)],
      ['bomb.txt', 'x'.repeat(65_536)],
      ['latin.txt', 'Grüße'],
      ['odd.txt', 'Grüße'],
    ] as const) {
      await look(name)
      t.equal(await text.textContent(), expected, name)
      t.equal(await page.getByText(/^The first .*, unpacked\.$/).count(), expected.length === 65_536 ? 1 : 0)
      await page.keyboard.press('Escape')
      await text.waitFor({ state: 'detached' })
    }
    await look('liar.txt')
    await page.getByText('The browser cannot show it').waitFor()
    t.same(flaws, [])
  })

  t.test('films and sound are played, from their middle too', async t => {
    const blank = await browser.open(t, aNewVisitor)
    const film = Buffer.from((await blank.page.evaluate(recordFilm)) as string, 'base64')
    for (const [key, type, body] of [
      ['film.webm', 'video/webm', film],
      ['tone.wav', 'audio/wav', tone(30)],
    ] as const) {
      writeFileSync(join(folder, key), body)
      const { page, flaws } = await browser.open(t)
      await signIn(page, '/buckets/photos')
      await filesIn(page).setInputFiles(join(folder, key))
      await page.getByText('1 of 1 done').waitFor()
      const stored = await admin.call('GET', `/buckets/photos/objects/stat?key=${key}`)
      t.equal(stored.contentType, type)
      t.equal(stored.cacheControl, undefined, 'what the browser says of its request is not kept with the object')
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
}
