/** A folder with many thousands of small files goes up through the web console: all arrive, a reload loses nothing, and the page stays small. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryFolder } from 'svc/testing'
import t from 'tap'
import { aNewVisitor, withoutBrowser } from './browser.ts'
import { eventually, startConsole } from './console.ts'

const fileCount = process.env.TEST_LONG === undefined ? 2000 : 20_000
const filesPerFolder = 250
/** Uploads that are under way when everything is paused. */
const filesAtOnce = 6
/** Of objects of scripts, whatever the number of files. An idle page has 6 MB; what the browser frees by itself is freed before. */
const heapBytesMax = 24 * 1024 ** 2

// As many files as that take a while on a machine that is busy.
t.setTimeout(3_600_000)

if (withoutBrowser !== false) {
  t.comment(withoutBrowser)
  t.end()
} else {
  const { admin, browser, signIn } = await startConsole(t)
  await admin.call('POST', '/buckets', { name: 'many' })
  const folder = join(temporaryFolder(t), 'photos')
  for (let index = 0; index < fileCount; index++) {
    const inner = join(folder, `day-${Math.floor(index / filesPerFolder)}`)
    if (index % filesPerFolder === 0) mkdirSync(inner, { recursive: true })
    writeFileSync(join(inner, `picture-${index}.txt`), `picture ${index}`)
  }

  /** Number and bytes of all objects, listed page by page. */
  const stored = async () => {
    const keys = new Set<string>()
    let cursor = ''
    do {
      const page = await admin.call('GET', `/buckets/many/objects?delimiter=&limit=1000&cursor=${cursor}`)
      for (const { key } of page.objects) keys.add(key)
      cursor = encodeURIComponent(page.nextCursor)
    } while (cursor !== '')
    return keys.size
  }

  t.test(`${fileCount} files arrive once each, over a reload in the middle, in a page of bounded memory`, async t => {
    const { page, flaws } = await browser.open(t, aNewVisitor)
    const devtools = await page.context().newCDPSession(page)
    let heapBytes = 0
    const measure = async () => {
      await devtools.send('HeapProfiler.collectGarbage')
      heapBytes = Math.max(heapBytes, (await devtools.send('Runtime.getHeapUsage')).usedSize)
    }
    let arrived = 0
    page.on('response', answer => {
      if (answer.request().method() === 'POST' && answer.url().includes('/objects/upload') && answer.ok()) arrived++
    })
    const choose = () => page.locator('input[webkitdirectory]').setInputFiles(folder)
    const panel = page.getByRole('region', { name: /^Uploads: / })
    const untilArrived = (count: number, done: () => Promise<boolean>) =>
      eventually(
        `${count} files have arrived`,
        async () => {
          await measure()
          return done()
        },
        fileCount * 500,
      )

    await signIn(page, '/buckets/many')
    await page.getByText('Nothing is here yet').waitFor()
    await choose()
    await untilArrived(fileCount / 4, async () => arrived >= fileCount / 4)
    t.ok((await panel.locator('.upload-row').count()) < 20, 'only rows in view are drawn')
    await panel.getByRole('button', { name: 'Pause all' }).click()
    await panel.getByRole('button', { name: 'Go on with all' }).waitFor()
    // What the browser keeps is written shortly afterwards.
    await page.waitForTimeout(2000)
    const before = arrived
    await page.reload()
    await page.getByText(/uploads were interrupted/).waitFor()
    const kept = await stored()
    t.ok(kept >= before && kept <= before + filesAtOnce, 'whatever was answered is there')
    await choose()
    const all = fileCount.toLocaleString('en')
    await untilArrived(fileCount, () => page.getByText(`Uploads: ${all} of ${all} done`).isVisible())
    await measure()
    t.equal(await stored(), fileCount)
    t.ok(arrived <= fileCount + filesAtOnce, `${arrived} were answered: only what was under way is sent again`)
    t.comment(`at most ${Math.round(heapBytes / 1024 ** 2)} MiB of objects of scripts`)
    t.ok(heapBytes <= heapBytesMax, `${heapBytes} bytes`)
    t.same(flaws, [])
  })
}
