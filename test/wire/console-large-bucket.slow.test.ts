/** A bucket with very many keys in the web console: it opens, scrolls and filters without reading it all, in a page of bounded memory. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryFolder } from 'svc/testing'
import t from 'tap'
import { aNewVisitor, withoutBrowser } from './browser.ts'
import { consolePages, eventually, openPage, startConsole } from './console.ts'
import { longestTaskMs } from './main-thread.ts'
import { look, nameOf, takesPictures, visitor } from './pictures.ts'

const keyCount = process.env.TEST_LONG === undefined ? 100_000 : 1_000_000
/** How far somebody scrolls, in pages of the server. */
const pagesScrolled = process.env.TEST_LONG === undefined ? 30 : 390
const rowHeight = 40
/** Higher than 16 million pixels no list becomes. */
const rowsMax = 400_000
/** Of objects of scripts: an idle page has 6 MiB, and a page of the server half a MiB. */
const heapBytesMax = 24 * 1024 ** 2
const fillMsMax = 3_000_000

t.setTimeout(fillMsMax + 900_000)

/** A plugin that writes the keys from within the server, which is much quicker than one request each. */
const filler = `export default {
  name: 'filler',
  requires: ['objects', 'iam'],
  setup: ({ services: { objects, iam }, threads, log }) => ({
    async start() {
      if (!threads.isMain) return
      await objects.createBucket('large', { region: 'us-east-1', owner: iam.owner })
      const attributes = { system: {}, user: {}, storageClass: 'STANDARD' }
      const body = { sizeBytes: 0, expectedDigests: () => ({}), consume: async () => {} }
      let next = 0
      const write = async () => {
        while (next < ${keyCount}) {
          const key = 'key-' + String(next++).padStart(7, '0')
          await objects.putObject({ bucket: 'large', key, attributes, body, checksumAlgorithm: undefined })
        }
      }
      void Promise.all(Array.from({ length: 512 }, write)).then(() => log.info('the bucket is full'))
    },
  }),
}`

const keyOf = (index: number) => `key-${String(index).padStart(7, '0')}`

if (withoutBrowser !== false) {
  t.comment(withoutBrowser)
  t.end()
} else {
  const plugin = join(temporaryFolder(t), 'filler.mjs')
  writeFileSync(plugin, filler)
  const environment = { SVC_PLUGINS: `svc/plugins/standard,${plugin}` }
  const { server, browser, signIn } = await startConsole(t, { environment }, { isTimed: true })
  await eventually('the bucket is full', async () => server.log().includes('the bucket is full'), fillMsMax)

  t.test(`a bucket with ${keyCount} keys opens, scrolls, goes back and filters with what is in view alone`, async t => {
    const { page, flaws } = await browser.open(t, aNewVisitor)
    const devtools = await page.context().newCDPSession(page)
    let listings = 0
    page.on('request', request => {
      if (new URL(request.url()).pathname.endsWith('/buckets/large/objects')) listings++
    })
    const heapBytes = async () => {
      await devtools.send('HeapProfiler.collectGarbage')
      return (await devtools.send('Runtime.getHeapUsage')).usedSize
    }
    const shown = (index: number) => page.getByRole('button', { name: keyOf(index), exact: true })
    const scrollTo = (row: number) => page.evaluate(`scrollTo(0, ${row * rowHeight})`)
    /** Without the heads of the columns. */
    const listed = async () =>
      Number(await page.getByRole('table', { name: 'large' }).getAttribute('aria-rowcount')) - 1

    await signIn(page, '/buckets/large')
    await shown(0).waitFor()
    t.equal(listings, 1, 'one page is read')
    let pages = 1
    const scrollOn = async () => {
      for (const end = Math.min(pages + 10, pagesScrolled); pages < end; pages++) {
        await scrollTo(pages * 1000)
        await eventually(`page ${pages + 1} is listed`, async () => (await listed()) > pages * 1000)
      }
    }
    let longest = 0
    while (pages < pagesScrolled) longest = Math.max(longest, await longestTaskMs(page, scrollOn))
    t.equal(listings, pagesScrolled, 'each page is read once on the way down')
    const heap = await heapBytes()
    t.comment(`${Math.round(heap / 1024 ** 2)} MiB of objects of scripts after ${pagesScrolled} pages`)
    t.ok(heap <= heapBytesMax, `${heap} bytes`)
    t.ok((await page.getByRole('row').count()) < 100, 'only rows in view are drawn')

    const jump = async () => {
      // To and fro, each time to rows that have been dropped meanwhile.
      for (let jumps = 0; jumps < 20; jumps++) {
        const row = ((jumps % 2 === 0 ? jumps : 20 - jumps) / 20) * pagesScrolled * 1000
        await scrollTo(Math.floor(row) + 100)
        await shown(Math.floor(row) + 100).waitFor()
      }
    }
    const longestOfJumps = await longestTaskMs(page, jump)
    const round = Math.round
    t.comment(
      `the longest task took ${round(longest)} ms of its thread on the way down, ${round(longestOfJumps)} ms in jumps`,
    )
    t.ok((await heapBytes()) <= heapBytesMax, 'jumps leave nothing')

    const beforeMiddle = listings
    const middle = Math.floor(pagesScrolled / 2) * 1000 + 500
    await scrollTo(middle)
    await shown(middle).waitFor()
    t.ok(listings <= beforeMiddle + 2, 'what was dropped is read again, and nothing else')
    await scrollTo(0)
    await shown(0).waitFor()

    if (process.env.TEST_LONG !== undefined) {
      for (; pages < rowsMax / 1000; pages++) {
        await scrollTo(pages * 1000)
        await eventually(`page ${pages + 1} is listed`, async () => (await listed()) > pages * 1000)
      }
      const all = listings
      await scrollTo(rowsMax)
      await page.getByText('The first 400,000 are listed').waitFor()
      t.equal(await listed(), rowsMax, 'the list ends before it is too high for browsers')
      t.ok(listings <= all + 1, 'no further page is read')
      await scrollTo(0)
      await shown(0).waitFor()
    }

    const before = listings
    await page.getByLabel('Filter by prefix').fill(keyOf(keyCount - 7).slice(0, -1))
    await shown(keyCount - 7).waitFor()
    t.equal(await listed(), 10)
    t.ok(listings - before <= 2, 'the server filters')
    t.same(flaws, [])
  })

  if (takesPictures) {
    t.test('pages that show what a bucket holds fit their windows', async t => {
      const { page, flaws } = await browser.open(t, visitor, /404 GET .*(encryption|policy|lifecycle)/)
      await signIn(page)
      await page.getByRole('heading', { name: 'Overview' }).waitFor()
      for (const [path, heading] of consolePages('large')) {
        if (!/^\/($|buckets|drives|healing|metrics|tools)/.test(path)) continue
        await openPage(page, path, heading)
        await look(t, page, `large/${nameOf(path)}`)
      }
      t.same(flaws, [])
    })
  }
}
