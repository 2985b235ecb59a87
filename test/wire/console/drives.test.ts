/** The page of drives with a drive that fails and comes back, as an operator uses it. */
import { globSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryFolder } from 'svc/testing'
import t from 'tap'
import { accessibilityFlaws, withoutBrowser } from '../browser.ts'
import { eventually, startConsole } from '../console.ts'

// Only a page that hangs takes so long.
t.setTimeout(900_000)

interface Disk {
  readonly path: string
  readonly state: string
  readonly total: number
  readonly used: number
  readonly free: number
}

if (withoutBrowser !== false) {
  t.comment(withoutBrowser)
  t.end()
} else {
  const folder = temporaryFolder(t)
  const { admin, browser, signIn } = await startConsole(t, { drive: join(folder, 'drive{1...4}') })
  const drives = async (): Promise<Disk[]> => (await admin.call('GET', '/info')).nodes[0].disks
  await admin.call('POST', '/buckets', { name: 'data' })
  const healed = async (request: object) => {
    const job = await admin.call('POST', '/heal', { recursive: true, ...request })
    await eventually('the job ends', async () => (await admin.call('GET', `/heal/${job.id}`)).finished)
  }

  t.test('the picture of a failed drive leads to its replacement, and what is rebuilt is told in bytes', async t => {
    const { page, flaws } = await browser.open(t)
    const [, lost] = await drives()
    renameSync(lost!.path, `${lost!.path}-away`)
    const becomes = (state: string) =>
      eventually(`a drive that is ${state}`, async () => (await drives())[1]!.state === state)
    await becomes('offline')
    await admin.call('POST', '/buckets/data/objects/upload?key=a.bin', 'x'.repeat(1_000_000))

    const guide = page.getByRole('dialog', { name: `Replace ${lost!.path}` })
    // What is to be done about the drive does not wait for what is counted.
    const counting = Promise.withResolvers<void>()
    await page.route('**/api/v1/redundancy', async route => {
      await counting.promise
      await route.continue()
    })
    await signIn(page, '/healing')
    const early = page.getByRole('alert').filter({ hasText: `${lost!.path} is offline` })
    await early.getByRole('link', { name: `Replace ${lost!.path}` }).waitFor()
    counting.resolve()
    const ledger = page.getByRole('alert').filter({ hasText: '1 of 4 drives cannot be read.' })
    await ledger.getByText('0 of 1 version or part is stored with full redundancy').waitFor()
    await ledger.getByText('Objects of up to 512 bytes lie whole on every drive, and are not counted.').waitFor()
    t.same(await accessibilityFlaws(page), [])
    await ledger.getByRole('link', { name: `Replace ${lost!.path}` }).click()
    await guide.waitFor()
    await page.keyboard.press('Escape')
    await guide.waitFor({ state: 'detached' })
    const shared = 'Drives of this set share a file system: how many may fail without loss depends on which.'
    await page.getByText(shared).waitFor()
    t.equal(await page.getByRole('columnheader', { name: 'Rebuilt' }).count(), 0, 'nothing is rebuilt')
    await page.getByRole('link', { name: 'Overview' }).click()
    // They are folders of one disk here.
    await page.getByRole('alert').getByText('are on one file system: if it is lost, all of them are lost').waitFor()
    const failed = page.getByRole('alert').filter({ hasText: 'Drive drive2 is offline.' })
    await failed.getByText('Everything can be read and written now.').waitFor()
    t.match(
      await failed.getByRole('link', { name: 'Replace drive2' }).getAttribute('href'),
      `/drives?replace=${encodeURIComponent(lost!.path)}`,
    )
    await failed.getByRole('link', { name: 'Healing' }).waitFor()
    t.same(await accessibilityFlaws(page), [])
    await page.getByRole('link', { name: new RegExp(`^${lost!.path} is offline`) }).click()
    // Objects of less redundancy have one shard of parity.
    await guide.getByText(`${shared} Wait until this one is rebuilt before you replace the next.`).waitFor()
    await guide.getByText('Objects of the class REDUCED_REDUNDANCY bear the loss of none.').waitFor()
    await guide.getByText('Make an empty folder at the same path').waitFor()
    // Its folder is gone.
    await guide.getByText(`test ! -e ${lost!.path} || mv`).waitFor()
    await guide.getByText(/^Still missing: shards of 1 version or part/).waitFor()
    t.same(await accessibilityFlaws(page), [])

    renameSync(`${lost!.path}-away`, lost!.path)
    await becomes('online')
    await guide.getByText('Everything in this set is stored with full redundancy.').waitFor()
    await page.keyboard.press('Escape')
    await guide.waitFor({ state: 'detached' })

    // As many as it has parity are away: what is stored can be read, as long as no working one is taken out.
    const all = await drives()
    for (const { path } of all.slice(2)) renameSync(path, `${path}-away`)
    await eventually(
      'two are away',
      async () => (await drives()).filter(({ state }) => state === 'offline').length === 2,
    )
    await page.goto(new URL(`/drives?replace=${all[0]!.path}`, page.url()).href)
    const first = page.getByRole('dialog', { name: `Replace ${all[0]!.path}` })
    await first
      .getByText('Most of this set cannot be read without this drive: as many others are offline or being rebuilt')
      .waitFor()
    await first.getByText('The set takes no writes until another drive is back or rebuilt.').waitFor()
    t.equal(await first.getByText('than it has parity').count(), 0)
    t.same(await accessibilityFlaws(page), [])
    for (const { path } of all.slice(2)) renameSync(`${path}-away`, path)
    await eventually('they are back', async () => (await drives()).every(({ state }) => state === 'online'))
    await first.getByText('Everything in this set is stored with full redundancy.').waitFor()
    await page.keyboard.press('Escape')
    await first.waitFor({ state: 'detached' })
    const row = page.getByRole('row', { name: new RegExp(`^${lost!.path} `) })
    await row.getByText('online').waitFor()
    await page.getByText(shared).waitFor()
    // Used and free are the whole, but for what a file system keeps for root; this one may keep nothing.
    const { total, used, free } = (await drives())[1]!
    t.equal(
      await row.getByText('of the used space is reserved by the file system').count(),
      total - used - free > 0 ? 1 : 0,
    )
    t.same(await accessibilityFlaws(page), [])

    // What only a dry run knows is told everywhere, also to who may start none.
    const [blob] = globSync(join(lost!.path, 'blobs/*/*'))
    rmSync(blob!)
    await healed({ bucket: 'data', deep: true, dryRun: true })
    await page.goto(new URL('/drives', page.url()).href)
    const known = 'A dry run has found 1 version or part with missing or corrupt shards'
    await page.getByText(`This set is not known to have full redundancy. ${known}`).waitFor()
    t.equal(await page.getByText('stored with full redundancy').count(), 0)
    t.equal(await page.getByText('Of all sets together').count(), 0, 'the only set says it')
    // A second pool says what is missing in its own set, and the whole is told once.
    await page.route('**/api/v1/info', async route => {
      const response = await route.fetch()
      const info = await response.json()
      info.pools.push({ ...info.pools[0], index: 1 })
      await route.fulfill({ response, json: info })
    })
    await page.route('**/api/v1/redundancy', async route => {
      const response = await route.fetch()
      const whole = await response.json()
      const nothing = { records: 0, bytes: 0, belowRecords: 0, belowBytes: 0, failingRecords: 0 }
      whole.sets.push({ ...whole.sets[0], ...nothing, pool: 1, summary: '1 of 4 drives cannot be read.' })
      await route.fulfill({ response, json: whole })
    })
    await page.reload()
    await page.getByText(`Of all sets together: ${known}`).waitFor()
    await page.getByText('not known to have full redundancy. 1 of 4 drives cannot be read.').waitFor()
    t.equal(await page.getByText(known).count(), 2, 'of the whole, and of the first set')
    await page.unrouteAll()
    t.same(flaws, [])
    const statement = { Effect: 'Allow', Action: ['admin:ServerInfo'], Resource: ['*'] }
    await admin.call('PUT', '/policies/look', { document: { Version: '2012-10-17', Statement: [statement] } })
    await admin.call('POST', '/users', { accessKey: 'looker', secretKey: 'looker-secret' })
    await admin.call('POST', '/policies/attach', { user: 'looker', policyNames: ['look'] })
    const { page: own, flaws: ownFlaws } = await browser.open(t)
    // Of folders of one disk a line of its own is told in any case.
    await own.route('**/api/v1/info', async route => {
      const response = await route.fetch()
      const info = await response.json()
      for (const disk of info.nodes[0].disks) disk.sharesFileSystem = false
      await route.fulfill({ response, json: info })
    })
    await signIn(own, '/', 'looker', 'looker-secret')
    const health = own.getByRole('alert').filter({ hasText: 'Not everything is stored with full redundancy.' })
    await health.getByText(known).waitFor()
    t.equal(await own.getByText('Needs attention').count(), 0)
    await healed({ bucket: 'data', deep: true })
    await own.goto(new URL('/server', own.url()).href)
    await own.getByText('any 2 drives may fail (objects of the class REDUCED_REDUNDANCY: 1).').waitFor()
    // Words are words; only what is compared letter by letter is set as code.
    const fact = (name: string) => own.getByRole('row', { name: new RegExp(`^${name} `) }).locator('code')
    await fact('Deployment').waitFor()
    t.equal(await fact('Drives').count(), 0)
    t.same(ownFlaws, [])
  })

  t.test('an object that is lost is not said to be repaired, and a heal job names it', async t => {
    const blobs = () => globSync(join(folder, 'drive{1,2,3}/blobs/*/*'))
    const kept = new Set(blobs())
    await admin.call('POST', '/buckets/data/objects/upload?key=lost.bin', 'x'.repeat(1_000_000))
    for (const blob of blobs()) if (!kept.has(blob)) rmSync(blob)
    await healed({ deep: true })
    await admin.call('POST', '/heal', { bucket: 'data', recursive: true, dryRun: true })

    const { page, flaws } = await browser.open(t)
    await signIn(page, '/')
    const attention = page.getByRole('alert').filter({ hasText: 'Some of what is stored may be lost.' })
    await attention.getByText('1 version or part could not be repaired in the last attempt, and may be lost').waitFor()
    await attention.getByText(/^1 of 2 versions and parts lacks a shard, .* It is lost: the job lists it\./).waitFor()
    t.equal(await attention.getByText('repaired while').count(), 0)
    await page.goto(new URL('/drives', page.url()).href)
    await page
      .getByText(/^This set is not known to have full redundancy\. 1 of 2 versions and parts lacks a shard/)
      .waitFor()
    await page.getByRole('link', { name: /may be lost/ }).click()
    await page.getByText('1 of them could not be healed in the last attempt').waitFor()

    const looked = page.getByRole('row', { name: /^data\/ by the records, only looked completed / })
    const titles = await page.getByRole('columnheader').allTextContents()
    t.equal(await looked.getByRole('cell').nth(titles.indexOf('Lost')).textContent(), '1')
    const job = page.getByRole('row', { name: /^everything every byte completed / })
    await job.getByRole('button', { name: 'everything' }).click()
    const dialog = page.getByRole('dialog', { name: 'Heal job: everything' })
    const lost = dialog.getByRole('row', { name: /^data\/lost\.bin lost / })
    await lost.getByText('the data cannot be read any more').waitFor()
    await lost.getByText(`${join(folder, 'drive1')}: missing`).waitFor()
    await dialog.getByText('What is lost cannot be healed. Upload it again from a backup.').waitFor()
    await dialog.getByText('svcctl admin heal start ALIAS --recursive --deep --remove --wait').waitFor()
    t.same(await accessibilityFlaws(page), [])
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    t.same(flaws, [])
  })
}
