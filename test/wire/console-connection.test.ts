/** The web console over a line that is slow, and cut in the middle: uploads, downloads, previews and live pages say so, and go on. */
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import type { Page } from 'playwright-core'
import { temporaryFolder } from 'svc/testing'
import t from 'tap'
import { startBadLine } from './bad-line.ts'
import { aNewVisitor, withoutBrowser } from './browser.ts'
import { eventually, filesIn, openPage, startConsole } from './console.ts'
import { accessKey, secretKey } from './server.ts'

// Only a page that hangs takes so long.
t.setTimeout(900_000)

const digestOf = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')
const mebibyte = 1024 ** 2

if (withoutBrowser !== false) {
  t.comment(withoutBrowser)
  t.end()
} else {
  const { server, url, admin, browser } = await startConsole(t)
  const { call } = admin
  const line = await startBadLine(t, Number(new URL(url).port))
  const large = Buffer.alloc(12 * mebibyte, 'over a bad line ')
  const picture = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
  const folder = temporaryFolder(t)
  const fileOf = (name: string, bytes: Buffer | string) => {
    writeFileSync(join(folder, name), bytes)
    return join(folder, name)
  }
  await call('POST', '/buckets', { name: 'photos' })
  const expected =
    /no answer|401 GET|(404|412) POST .*\/objects\/(copy|upload)|404 GET .*\/stat|ERR_(CONNECTION|EMPTY|INCOMPLETE|SOCKET)|Failed to fetch/
  const { page, another, flaws } = await browser.open(t, aNewVisitor, expected)
  await page.goto(`http://127.0.0.1:${line.port}/buckets/photos`)
  await page.getByLabel('Access key').fill(accessKey)
  await page.locator('input[type=password]').fill(secretKey)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByText('Nothing is here yet').waitFor()

  t.test('an upload that is cut in the middle of a body goes on by itself, and arrives whole', async t => {
    line.bytesPerSecond = 4 * mebibyte
    await filesIn(page).setInputFiles([
      fileOf('large.bin', large),
      fileOf('note.txt', 'line by line\n'.repeat(20)),
      fileOf('dot.png', Buffer.from(picture, 'base64')),
    ])
    await page
      .getByText(/[1-9]\d* ?% of 1|\d of 3 done/)
      .first()
      .waitFor()
    line.cut()
    await page.getByText('no connection').first().waitFor()
    line.mend()
    line.bytesPerSecond = 0
    await page.getByText('3 of 3 done').waitFor()
    const { url } = await call('POST', '/presign', { method: 'GET', bucket: 'photos', key: 'large.bin' })
    t.equal(digestOf(Buffer.from(await (await fetch(url)).arrayBuffer())), digestOf(large))
    t.same(flaws, [])
  })

  t.test('a download that is cut is told as failed, never as a shorter file; the next one is whole', async t => {
    await page.getByRole('button', { name: 'large.bin', exact: true }).click()
    const download = async () => {
      const [begun] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('link', { name: 'Download' }).click(),
      ])
      return begun
    }
    line.bytesPerSecond = mebibyte
    const first = await download()
    line.cut()
    t.not(await first.failure(), null, 'the browser says that it has failed')
    line.mend()
    line.bytesPerSecond = 8 * mebibyte
    const second = await download()
    t.equal(digestOf(await buffer(await second.createReadStream())), digestOf(large), 'and slowly it comes whole')
    line.bytesPerSecond = 0
    await page.keyboard.press('Escape')
    t.same(flaws, [])
  })

  t.test('a preview that is cut says so, and can be asked for again', async t => {
    for (const [name, isShown] of [
      ['note.txt', () => page.getByText('line by line').first().waitFor()],
      [
        'dot.png',
        () =>
          eventually('the picture is shown', () =>
            page
              .getByRole('img', { name: 'Preview of dot.png' })
              .evaluate(one => (one as unknown as { naturalWidth: number }).naturalWidth === 1),
          ),
      ],
    ] as const) {
      await page.getByRole('button', { name, exact: true }).click()
      await page.getByText('Content type').waitFor()
      line.cut()
      await page.getByRole('tab', { name: 'Preview' }).click()
      const again = page.getByRole('tabpanel').getByRole('button', { name: 'Try again' })
      await again.waitFor()
      line.mend()
      await again.click()
      await isShown()
      await page.keyboard.press('Escape')
      await page.getByRole('dialog').waitFor({ state: 'detached' })
    }
    t.same(flaws, [])
  })

  t.test('live pages say that they are cut off, and go on when the line is back', async t => {
    await call('PATCH', '/config/notify_webhook:hook', { settings: { enable: 'on', endpoint: 'http://127.0.0.1:9/' } })
    const open = async (path: string, heading: string) => {
      const other = await another()
      await other.goto(new URL(path, page.url()).href)
      await other.locator('h1').getByText(heading, { exact: true }).waitFor()
      return other
    }
    const [trace, logs, events, overview] = await Promise.all([
      open('/trace', 'Live requests'),
      open('/logs', 'Log'),
      open('/events', 'Event targets'),
      open('/', 'Overview'),
    ])
    const live = [trace, logs].map(one => one.getByText('Live.'))
    const target = events.getByRole('row', { name: /webhook:hook/ })
    const well = overview.getByText('All drives work')
    const unreachable = [events, overview].map(one => one.getByText('The server cannot be reached'))
    await Promise.all([...live, target, well].map(one => one.waitFor()))

    line.cut()
    await Promise.all([
      ...live.map(one => one.waitFor({ state: 'detached' })),
      ...unreachable.map(one => one.first().waitFor()),
    ])
    t.ok(await target.isVisible(), 'what was read stays in view')
    // Each part of the page finds that out with its own next request.
    await well.waitFor({ state: 'detached' })
    t.pass('nothing is well that nobody can see')

    line.mend()
    await Promise.all([...live, well].map(one => one.waitFor()))
    // Of the targets, and of the queues without one.
    await eventually('all lists are read again', async () => {
      const counts = await Promise.all(unreachable.map(one => one.count()))
      return counts.every(count => count === 0)
    })
    await fetch(`${server.endpoint}/photos/after-the-cut`)
    await trace.getByRole('cell', { name: 'GET /photos/after-the-cut' }).first().waitFor()
    await logs.getByRole('cell', { name: 'made a new drive' }).first().waitFor()
    for (const one of [trace, logs, events, overview]) await one.close()
    t.same(flaws, [])
  })

  t.test('live pages in many tabs leave connections to the rest of the console', async t => {
    const tabs = []
    for (const path of ['/trace', '/logs', '/trace', '/logs', '/trace', '/logs', '/trace']) {
      const tab = await another()
      await tab.goto(new URL(path, page.url()).href)
      await tab.getByText('Live.').waitFor()
      tabs.push(tab)
      // The browser of a test shows all of its tabs.
      await look(tab, false)
    }
    const rest = await another()
    await rest.goto(new URL('/buckets', page.url()).href)
    await rest.getByRole('link', { name: 'photos' }).waitFor()
    const [first, last] = [tabs[0]!, tabs.at(-1)!]
    t.notOk(await first.getByText('Live.').isVisible(), 'the first has made room')
    t.ok(await last.getByText('Live.').isVisible())
    await look(first, true)
    await first.getByText('Live.').waitFor()
    await fetch(`${server.endpoint}/photos/in-many-tabs`)
    await first.getByRole('cell', { name: 'GET /photos/in-many-tabs' }).first().waitFor()
    for (const tab of [...tabs, rest]) await tab.close()
    t.same(flaws, [])
  })

  t.test('a change whose answer is lost is made once, and told as it is', async t => {
    const keys = async () => (await call('GET', '/access-keys')).items.length
    const before = await keys()
    await openPage(page, '/access-keys', 'Access keys')
    await page.getByRole('button', { name: 'Create access key' }).click()
    // The browser sends it again by itself.
    line.loseAnswer()
    await page.getByRole('dialog').getByRole('button', { name: 'Create', exact: true }).click()
    await page.getByRole('textbox', { name: 'Secret key' }).waitFor()
    t.equal(await keys(), before + 1)

    const names = Array.from({ length: 40 }, (_, number) => `f${number}.txt`)
    for (const name of names) await call('POST', `/buckets/photos/objects/upload?key=from%2F${name}`, name)
    await page.goto(new URL('/buckets/photos', page.url()).href)
    await page.getByLabel('Select from/', { exact: true }).check()
    await page.getByRole('button', { name: 'Copy or move' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Into folder').fill('to/')
    await dialog.getByLabel('Move').check()
    line.bytesPerSecond = 20_000
    line.loseAnswer()
    await dialog.getByRole('button', { name: 'Copy or move' }).click()
    await dialog.getByText(/^[1-9]\d* of 40$/).waitFor()
    line.cut()
    await dialog.getByText('There is no connection to the server. It goes on').waitFor()
    line.bytesPerSecond = 0
    line.mend()
    await page.getByText('40 done.').waitFor()
    t.equal((await call('GET', '/buckets/photos/objects?prefix=to/from/&delimiter=')).objects.length, 40)
    t.equal((await call('GET', '/buckets/photos/objects?prefix=from/&delimiter=')).objects.length, 0)
    t.same(flaws, [])
  })

  t.test('what is sent again takes the place of nothing that was stored meanwhile', async t => {
    const contentOf = async (key: string) => {
      const answer = await page.request.get(`${url}/api/v1/buckets/photos/objects/download?key=${key}`)
      return answer.ok() ? (await answer.text()).replaceAll('"', '') : String(answer.status())
    }
    const put = (key: string, content: string) => call('POST', `/buckets/photos/objects/upload?key=${key}`, content)
    /** The server does it, and nobody hears of it, nor remembers: as where the line is away for long. */
    const loseOne = (path: string, meanwhile: () => Promise<unknown> = async () => {}, postData?: string) =>
      page.route(
        `**/api/v1/buckets/photos/objects/${path}*`,
        async route => {
          // The bytes of a file are not in the request that is shown here.
          const headers = { ...route.request().headers(), 'idempotency-key': 'another' }
          await route.fetch({ headers, ...(postData !== undefined && { postData }) })
          await meanwhile()
          await route.abort('connectionreset')
        },
        { times: 1 },
      )
    for (const key of ['up.txt', 'from.txt', 'to.txt', 'moved.txt']) await put(key, `first of ${key}`)
    await page.goto(new URL('/buckets/photos', page.url()).href)
    await page.getByLabel('Select up.txt', { exact: true }).waitFor()
    await loseOne('upload', () => put('up.txt', 'of somebody else'), 'of this page')
    await filesIn(page).setInputFiles(fileOf('up.txt', 'of this page'))
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /^Replace/ })
      .click()
    await page.getByText('Somebody else has stored an object of that name since').waitFor()
    t.equal(await contentOf('up.txt'), 'of somebody else')
    await loseOne('upload', undefined, 'of this page')
    await filesIn(page).setInputFiles(fileOf('to.txt', 'of this page'))
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /^Replace/ })
      .click()
    await eventually('it is stored', async () => (await contentOf('to.txt')) === 'of this page')

    const copy = async (key: string, to: string, options: readonly string[]) => {
      await page.getByLabel(`Select ${key}`, { exact: true }).check()
      await page.getByRole('button', { name: 'Copy or move' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('New key').fill(to)
      for (const option of options) await dialog.getByLabel(option).check()
      await dialog.getByRole('button', { name: 'Copy or move' }).click()
      return dialog
    }
    await loseOne('copy', () => put('to.txt', 'of somebody else'))
    const dialog = await copy('from.txt', 'to.txt', ['Replace what'])
    await dialog.getByText('The connection was lost before the answer came').waitFor()
    t.equal(await dialog.getByText('There is no connection').count(), 0, 'it has ended, and nothing goes on')
    t.equal(await contentOf('to.txt'), 'of somebody else')
    await dialog.getByRole('button', { name: 'Copy or move' }).click()
    await dialog.waitFor({ state: 'detached' })
    t.equal(await contentOf('to.txt'), 'first of from.txt', 'it is named as it is now')
    // A move that was done is told as done, and what is stored in the old place since does not follow it.
    await page.goto(new URL('/buckets/photos', page.url()).href)
    await loseOne('copy')
    await copy('moved.txt', 'there.txt', ['Move'])
    await dialog.waitFor({ state: 'detached' })
    t.same([await contentOf('moved.txt'), await contentOf('there.txt')], ['404', 'first of moved.txt'])
    await page.goto(new URL('/buckets/photos', page.url()).href)
    await loseOne('copy', () => put('there.txt', 'new work'))
    await copy('there.txt', 'last.txt', ['Move', 'Replace what'])
    await dialog.getByText('The connection was lost before the answer came').waitFor()
    t.same([await contentOf('there.txt'), await contentOf('last.txt')], ['new work', 'first of moved.txt'])
    t.same(flaws, [])
  })

  t.test('what nobody waits for any more is not done when the line is back', async t => {
    await page.goto(new URL('/buckets/photos', page.url()).href)
    await page.getByLabel('Select to/', { exact: true }).check()
    await page.getByRole('button', { name: 'Copy or move' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Into folder').fill('later/')
    await dialog.getByLabel('Move').check()
    line.bytesPerSecond = 20_000
    await dialog.getByRole('button', { name: 'Copy or move' }).click()
    await dialog.getByText(/^[1-9]\d* of 40$/).waitFor()
    line.cut()
    await dialog.getByText('There is no connection to the server. It goes on').waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    const question = page.getByRole('dialog', { name: 'End it here?' })
    await question.getByText('what is left is not moved any more when you close this. What is done already').waitFor()
    // It goes on meanwhile. The next time that the line is lost, nobody has asked to close.
    line.bytesPerSecond = 1000
    line.mend()
    await question.waitFor({ state: 'detached' })
    line.cut()
    await dialog.getByText('There is no connection to the server. It goes on').waitFor()
    t.equal(await question.count(), 0)
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await question.getByRole('button', { name: 'Close and end it' }).click()
    await dialog.waitFor({ state: 'detached' })
    await page.getByRole('alert').getByText('Copy or move 1 entry').waitFor()
    const keys = async () =>
      (await call('GET', '/buckets/photos/objects?delimiter=')).objects.map((one: { key: string }) => one.key)
    const before: string[] = await keys()
    t.ok(
      before.some(key => key.startsWith('to/')),
      'some had not gone yet',
    )
    line.bytesPerSecond = 0
    line.mend()
    await page.goto(new URL('/buckets/photos', page.url()).href)
    await page.getByLabel('Select to/', { exact: true }).waitFor()
    t.same(await keys(), before)
    t.same(flaws, [])
  })

  t.test('a line that is dead, and was not closed, is noticed', async t => {
    const [uploads, overview, trace] = [await another(), await another(), await another()]
    for (const one of [uploads, overview, trace]) await one.clock.install()
    await trace.goto(new URL('/trace', page.url()).href)
    await trace.getByText('Live.').waitFor()
    await uploads.goto(new URL('/buckets/photos', page.url()).href)
    await overview.goto(new URL('/', page.url()).href)
    await overview.getByText('All drives work').waitFor()
    await uploads.getByRole('button', { name: 'large.bin', exact: true }).waitFor()
    line.bytesPerSecond = mebibyte
    await filesIn(uploads).setInputFiles(fileOf('larger.bin', Buffer.alloc(30 * mebibyte)))
    await uploads
      .getByText(/[1-9]\d* ?%/)
      .first()
      .waitFor()
    line.hush()
    /** Requests become due, and then their answers. */
    const laterOn = (one: Page, what: string, holds: () => Promise<boolean>) =>
      eventually(what, async () => {
        await one.clock.fastForward(30_000)
        return holds()
      })
    await laterOn(uploads, 'the upload', () => uploads.getByText('nothing is heard of the server').isVisible())
    await laterOn(overview, 'the overview', () =>
      overview.getByText('The server cannot be reached').first().isVisible(),
    )
    await laterOn(trace, 'the live page', async () => !(await trace.getByText('Live.').isVisible()))
    line.bytesPerSecond = 0
    line.mend()
    await trace.getByText('Live.').waitFor()
    await uploads.getByText('1 of 1 done').waitFor()
    for (const one of [uploads, overview, trace]) await one.close()
    t.same(flaws, [])
  })

  t.test('a live page whose session is over leads to the sign-in when its stream begins again', async t => {
    await openPage(page, '/trace', 'Live requests')
    await page.getByText('Live.').waitFor()
    await page.context().clearCookies()
    line.cut()
    await page.getByText('Live.').waitFor({ state: 'detached' })
    line.mend()
    await page.getByLabel('Access key').waitFor()
    await page.getByText('Your session has ended').waitFor()
    t.same(flaws, [])
  })
}

/** As when somebody goes to this tab, or to another one. */
const look = (tab: Page, isSeen: boolean) =>
  tab.evaluate(`Object.defineProperty(document, 'hidden', { configurable: true, get: () => ${!isSeen} });
    document.dispatchEvent(new Event('visibilitychange'))`)
