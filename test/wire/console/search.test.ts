/** The search of the web console, which leads to pages, buckets, folders, settings and people. */
import t from 'tap'
import { withoutBrowser } from '../browser.ts'
import { startConsole } from '../console.ts'

// Only a page that hangs takes so long.
t.setTimeout(900_000)

if (withoutBrowser !== false) {
  t.comment(withoutBrowser)
  t.end()
} else {
  const { admin, browser, signIn } = await startConsole(t)
  await admin.call('POST', '/buckets', { name: 'photos' })
  await admin.call('POST', '/buckets/photos/objects/upload?key=big.bin', 'not so big')

  t.test('search finds pages and buckets by keyboard alone', async t => {
    const { page, flaws } = await browser.open(t)
    await signIn(page)
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await page.keyboard.press('ControlOrMeta+K')
    // Nobody clicks into it first.
    await page.locator('input[aria-label="Search"]:focus').waitFor()
    await page.keyboard.type('phot')
    await page.getByRole('option', { name: 'photos' }).waitFor()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'photos' }).waitFor()

    // The answer to a text comes after the hit was selected: the selection stays. Of a text that was not asked about before.
    const search = /\/buckets\?.*prefix=photo(&|$)/
    const { promise: isReleased, resolve: release } = Promise.withResolvers<void>()
    await page.route(search, async route => {
      await isReleased
      await route.continue()
    })
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.keyboard.press('ControlOrMeta+K')
    await page.getByRole('option', { name: 'photos' }).waitFor()
    await page.locator('input[aria-label="Search"]:focus').waitFor()
    const asked = page.waitForRequest(search)
    const answered = page.waitForResponse(search)
    await page.keyboard.type('photo')
    await asked
    await page.locator('[role=option][data-combobox-selected]').getByText('photos').waitFor()
    release()
    await answered
    await page.locator('[role=option][data-combobox-selected]').getByText('photos').waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
    await page.keyboard.press('ControlOrMeta+K')
    await page.locator('input[aria-label="Search"]:focus').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    t.same(flaws, [])
  })

  t.test(
    'search finds pages and commands by what people call them, and no tab of a bucket that is not there',
    async t => {
      const { page, flaws } = await browser.open(t)
      await signIn(page, '/server')
      await page.getByRole('heading', { name: 'Server', level: 1 }).waitFor()
      await page.keyboard.press('ControlOrMeta+K')
      const search = page.locator('input[aria-label="Search"]:focus')
      for (const [words, found] of [
        ['restart', 'Server, restart'],
        ['backup', 'Tools, backup'],
        ['password', 'Your account, password'],
        ['webhook', 'Event targets, webhook'],
        ['delete bucket', 'Buckets, delete bucket'],
        ['photos quota', 'photos: Settings, Quota'],
        ['lifecycle', 'Buckets, lifecycle'],
        ['scrub', 'Healing, scrub'],
        ['pool', 'Drives, pools'],
        ['rotate key', 'Encryption keys, rotate key'],
        ['key rotate', 'Encryption keys, rotate key'],
        ['throttling', 'ratelimit, throttling'],
        ['public access', 'access, Public access'],
        ['scrubs', 'scanner, deep_cycle'],
        ['sign out', 'Sign out'],
      ] as const) {
        await search.fill(words)
        await page.getByRole('option', { name: found, exact: true }).waitFor()
        t.same(await page.getByRole('option', { name: /^(delete|sign): / }).allTextContents(), [], words)
      }
      await search.fill('theme')
      await page.keyboard.press('Enter')
      await page.locator('[data-mantine-color-scheme=dark]').waitFor()
      await page.keyboard.press('ControlOrMeta+K')
      await search.fill('log out')
      await page.keyboard.press('Enter')
      await page.getByLabel('Access key').waitFor()
      t.same(flaws, [])
    },
  )

  t.test('search finds folders, settings, distributions by their domains, users, groups and policies', async t => {
    await admin.call('POST', '/buckets/photos/objects/upload?key=2026/summer/a.txt', 'a')
    await admin.call('POST', '/users', { accessKey: 'ursula', secretKey: 'ursulas-secret' })
    await admin.call('POST', '/users', { accessKey: 'urban', secretKey: 'urbans-secret' })
    await admin.call('POST', '/groups', { name: '2026' })
    const aliases = ['pictures.example.test']
    await admin.call('POST', '/distributions', { id: 'shop', aliases, origin: { bucket: 'photos' } })
    const { page, flaws } = await browser.open(t)
    await signIn(page)
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    const find = async (text: string, hit: string) => {
      await page.keyboard.press('ControlOrMeta+K')
      await page.getByLabel('Search', { exact: true }).fill(text)
      await page.getByRole('option', { name: hit, exact: true }).click()
    }
    await find('photos/20', 'photos/2026/')
    await page.getByRole('link', { name: 'summer/' }).waitFor()
    await find('photos/bi', 'All that begin with photos/bi')
    await page.getByRole('button', { name: 'big.bin', exact: true }).waitFor()
    t.equal(await page.getByRole('link', { name: '2026/' }).count(), 0, 'and nothing else is listed')
    await find('s3_ip', 'ratelimit')
    await page.getByLabel('s3_ip', { exact: true }).waitFor()
    await find('example.te', 'shop, pictures.example.test')
    await page.getByRole('heading', { name: 'shop', level: 1 }).waitFor()
    await find('urs', 'ursula')
    await page.getByRole('cell', { name: 'ursula', exact: true }).waitFor()
    t.equal(await page.getByRole('cell', { name: 'urban', exact: true }).count(), 0, 'the list is narrowed to the hit')
    await find('urb', 'urban')
    await page.getByRole('cell', { name: 'urban', exact: true }).waitFor()
    t.equal(await page.getByRole('searchbox').inputValue(), 'urban', 'also on the page itself')
    // A name of digits stays a text in the address.
    await find('2026', '2026')
    await page.getByRole('heading', { name: 'Groups' }).waitFor()
    await page.getByRole('cell', { name: '2026', exact: true }).waitFor()
    await find('readw', 'readwrite')
    await page.getByRole('heading', { name: 'Policies' }).waitFor()
    await page.getByRole('cell', { name: 'readwrite', exact: true }).waitFor()
    t.same(flaws, [])
  })
}
