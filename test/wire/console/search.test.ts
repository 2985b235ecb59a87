/** The search of the web console, which leads to pages, buckets, folders, settings and people. */
import t from 'tap'
import { withoutBrowser } from '../browser.ts'
import { eventually, startConsole } from '../console.ts'

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

  t.test('search opens from the editor of JSON, too, and nothing is deleted there', async t => {
    const { page, flaws } = await browser.open(t, {}, /404 GET .*policy/)
    // On a Mac the key deletes the rest of the line in an editor.
    await page.addInitScript(() => Object.defineProperty(navigator, 'platform', { get: () => 'MacIntel' }))
    await signIn(page, '/buckets/photos?tab=policy')
    const editor = page.locator('.cm-content')
    const text = await editor.innerText()
    await editor.click()
    await page.keyboard.press('Home')
    await page.keyboard.press('Control+K')
    await page.locator('input[aria-label="Search"]:focus').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    t.equal(await editor.innerText(), text)
    await page.locator('.cm-content:focus').waitFor()
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

  t.test('what is typed before the search is loaded is not lost', async t => {
    const { page, flaws } = await browser.open(t)
    const { promise: isReleased, resolve: release } = Promise.withResolvers<void>()
    let held = 0
    await page.route(/search-hits-[^/]*\.js$/, async route => {
      held++
      await isReleased
      await route.continue()
    })
    await signIn(page)
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await page.keyboard.press('ControlOrMeta+K')
    await page.keyboard.type('rest', { delay: 40 })
    await eventually('the search is being loaded', async () => held > 0)
    t.equal(await page.getByRole('option').count(), 0)
    release()
    await page.keyboard.type('art', { delay: 40 })
    await page.getByRole('option', { name: 'Server, restart', exact: true }).waitFor()
    t.equal(await page.locator('input[aria-label="Search"]:focus').inputValue(), 'restart')
    t.same(flaws, [])
  })

  t.test('Enter before there is a hit leads to the first one when it comes', async t => {
    const { page, flaws } = await browser.open(t)
    await signIn(page)
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    const { promise: isReleased, resolve: release } = Promise.withResolvers<void>()
    await page.route(/\/buckets\?.*prefix=phot/, async route => {
      await isReleased
      await route.continue()
    })
    await page.keyboard.press('ControlOrMeta+K')
    await page.locator('.mantine-Combobox-options, [role=listbox]').first().waitFor()
    await page.keyboard.insertText('photos')
    await page.keyboard.press('Enter')
    release()
    await page.getByRole('heading', { name: 'photos', level: 1 }).waitFor()
    t.same(flaws, [])
  })

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

  t.test('the search is above a dialog that is open, and Escape closes it alone', async t => {
    const { page, flaws } = await browser.open(t)
    await signIn(page, '/users')
    await page.getByRole('button', { name: 'Create user' }).click()
    const dialog = page.getByRole('dialog', { name: 'Create user' })
    const name = dialog.getByLabel('User')
    await name.fill('typed')
    for (const round of ['first', 'second']) {
      await page.keyboard.press('ControlOrMeta+K')
      const field = page.getByLabel('Search', { exact: true })
      await field.waitFor()
      // Nothing is above the field that has the focus.
      const isSeen = await page.evaluate<boolean>(`(() => {
        const { x, y, width, height } = document.activeElement.getBoundingClientRect()
        return document.elementFromPoint(x + width / 2, y + height / 2) === document.activeElement
      })()`)
      t.equal(await page.evaluate('document.activeElement.getAttribute("aria-label")'), 'Search')
      t.ok(isSeen, `${round} time`)
      await page.keyboard.press('Escape')
      await field.waitFor({ state: 'detached' })
      t.equal(await page.getByRole('dialog').count(), 1, 'nothing is asked')
      t.equal(await name.inputValue(), 'typed')
      await eventually(
        'the focus is back',
        async () => (await page.evaluate('document.activeElement.value')) === 'typed',
      )
    }
    t.same(flaws, [])
  })

  t.test('an exact name is found first, and the focus goes to the page that it leads to', async t => {
    await admin.call('POST', '/buckets', { name: 'site' })
    const { page, flaws } = await browser.open(t)
    await signIn(page, '/users')
    await page.getByRole('heading', { name: 'Users' }).waitFor()
    await page.keyboard.press('ControlOrMeta+K')
    await page.locator('input[aria-label="Search"]:focus').waitFor()
    await page.keyboard.type('site')
    await page.getByRole('option', { name: 'Distributions, website' }).waitFor()
    await page.locator('[role=option][data-combobox-selected]', { hasText: /^site$/ }).waitFor()
    t.match(await page.getByRole('option').first().innerText(), /^site$/)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'site', level: 1 }).waitFor()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await eventually(
      'the focus is on the page',
      async () => (await page.evaluate('document.activeElement.id')) === 'content',
    )
    await page.keyboard.press('Tab')
    const place = "document.activeElement.closest('#content') !== null"
    t.ok(await page.evaluate(place), 'the next stop is within it')
    t.same(flaws, [])
  })
}
