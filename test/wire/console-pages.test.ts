/** What holds everywhere in the web console: for a keyboard, a slow machine, a connection that is slow or cut. What holds on each page: console-pictures; what each page is for: the folder console. */
import type { Page } from 'playwright-core'
import t from 'tap'
import { accessibilityFlaws, aNewVisitor, comesToRest, withoutBrowser } from './browser.ts'
import { eventually, startConsole } from './console.ts'
import { accessKey, secretKey } from './server.ts'

// Only a page that hangs takes so long.
t.setTimeout(900_000)

/** Compressed, with a session and an empty cache: the application and the overview. */
const firstLoadBytesMax = 250 * 1024
const filesMax = 60
const slowdown = 4
/** Of a bad mobile network: milliseconds, bytes a second. */
const slowLine = { offline: false, latency: 200, downloadThroughput: 300_000, uploadThroughput: 60_000 }

/** Leaves the milliseconds from the start of the page's load until this heading is there. */
const noteWhenShown = (heading: string) => `new MutationObserver((_, observer) => {
  if (document.querySelector('h1')?.textContent !== ${JSON.stringify(heading)}) return
  globalThis.shownMs = performance.now()
  observer.disconnect()
}).observe(document, { subtree: true, childList: true, characterData: true })`

/** Grows with the files of the application that the page loads, from the browser's cache too: name and compressed size. */
function watchAssets(page: Page): Map<string, number> {
  const assets = new Map<string, number>()
  page.on('response', answer => {
    const name = /\/assets\/(.*)$/.exec(new URL(answer.url()).pathname)?.[1]
    if (name !== undefined) assets.set(name, Number(answer.headers()['content-length']))
  })
  return assets
}

/** Runs in the page. */
const isFocusedInView = new Function(
  'element',
  `const { top, bottom } = element.getBoundingClientRect()
  return document.activeElement === element && top >= 0 && bottom <= innerHeight`,
) as (element: unknown) => boolean

if (withoutBrowser !== false) {
  t.comment(withoutBrowser)
  t.end()
} else {
  const { server, url: console, admin, browser, signIn } = await startConsole(t, {}, { isTimed: true })
  await admin.call('POST', '/buckets', { name: 'photos' })
  await admin.call('POST', '/buckets/photos/objects/upload?key=big.bin', 'not so big')

  t.test('without keys no encryption is offered, and a new folder opens', async t => {
    const { page, flaws } = await browser.open(t)
    const dialog = page.getByRole('dialog')
    await signIn(page, '/buckets')
    await page.getByRole('button', { name: 'Create bucket' }).click()
    await dialog.getByText('This server has no encryption keys').waitFor()
    t.ok(await dialog.getByRole('option', { name: /SSE-S3/ }).isDisabled())
    await dialog.getByRole('link', { name: 'Encryption keys' }).click()
    await page.getByText('openssl rand -base64 32').waitFor()
    t.same(await accessibilityFlaws(page), [])
    await page.getByRole('main').getByRole('link', { name: 'Buckets' }).click()
    await page.getByRole('link', { name: 'photos' }).click()
    await page.getByRole('button', { name: 'New folder' }).click()
    await dialog.getByLabel('Name').fill('fresh')
    await page.keyboard.press('Enter')
    await page.getByText('Nothing is here yet').waitFor()
    t.equal(new URL(page.url()).searchParams.get('prefix'), 'fresh/')
    t.equal(await page.getByText('is done').count(), 0, 'nothing was made')
    t.same(flaws, [])
  })

  t.test('the error of a long dialog is brought into view, with the focus', async t => {
    const { page, flaws } = await browser.open(t, { viewport: { width: 1000, height: 500 } })
    await signIn(page, '/access-keys')
    await page.getByRole('button', { name: 'Create access key' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('switch', { name: 'It may do less than its user' }).check({ force: true })
    const editor = dialog.getByRole('textbox', { name: 'Document' })
    await editor.click()
    await page.keyboard.press('ControlOrMeta+End')
    await dialog.getByRole('button', { name: 'Create', exact: true }).click()
    const alert = dialog.getByRole('alert').filter({ hasText: 'Replace BUCKET by the name of your bucket' })
    await alert.waitFor()
    const isSeen = () => alert.evaluate(isFocusedInView)
    await eventually('the error is seen', isSeen)
    t.same(flaws, [])
  })

  t.test('a double click makes one access key', async t => {
    const { page, flaws } = await browser.open(t)
    await signIn(page, '/access-keys')
    const count = async () => (await admin.call('GET', '/access-keys')).items.length
    const before = await count()
    await page.getByRole('button', { name: 'Create access key' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Create', exact: true }).dblclick()
    await page.getByRole('textbox', { name: 'Secret key' }).waitFor()
    t.equal(await count(), before + 1)
    t.same(flaws, [])
  })

  t.test(
    'what moves a button away while it is pressed does not cost the press, and one can still change one’s mind',
    async t => {
      const { page, flaws } = await browser.open(t)
      await signIn(page, '/access-keys')
      const count = async () => (await admin.call('GET', '/access-keys')).items.length
      const before = await count()
      const dialog = page.getByRole('dialog')
      await page.getByRole('button', { name: 'Create access key' }).click()
      const button = dialog.getByRole('button', { name: 'Create', exact: true })
      const press = async () => {
        await comesToRest(page)
        const { x, y, width, height } = (await button.boundingBox())!
        await page.mouse.move(x + width / 2, y + height / 2)
        await page.mouse.down()
        return { x, y }
      }
      const { x, y } = await press()
      await page.mouse.move(x - 200, y - 100, { steps: 4 })
      await page.mouse.up()
      t.ok(await dialog.isVisible(), 'the pointer went elsewhere before it was released')
      t.equal(await count(), before)
      // Rows have moved: it is the button of another one by now.
      await press()
      await page.evaluate('document.querySelector("[role=dialog] button[type=submit]").ariaLabel = "Delete"')
      await page.mouse.up()
      await page.evaluate('document.querySelector("[role=dialog] button[type=submit]").removeAttribute("aria-label")')
      t.ok(await dialog.isVisible(), 'it was not meant')
      t.equal(await count(), before)
      // The page was scrolled below the pointer.
      await press()
      await page.mouse.wheel(0, 40)
      await page.evaluate(`document.querySelector('[role=dialog] form').style.paddingTop = '120px'`)
      await page.mouse.up()
      await page.evaluate(`document.querySelector('[role=dialog] form').style.paddingTop = ''`)
      // Another dialog has opened above.
      await press()
      await page.evaluate(`document.body.insertAdjacentHTML('beforeend', '<div role="dialog" id="above"></div>')`)
      await page.mouse.up()
      await page.evaluate('document.getElementById("above").remove()')
      t.ok(await dialog.isVisible(), 'neither was meant')
      t.equal(await count(), before)
      const pressed = await press()
      // As a notice that goes away, or an answer that comes.
      await page.evaluate(`document.querySelector('[role=dialog] form').style.paddingTop = '120px'`)
      t.ok((await button.boundingBox())!.y > pressed.y + 100, 'the button is elsewhere')
      await page.mouse.up()
      await page.getByRole('textbox', { name: 'Secret key' }).waitFor()
      t.equal(await count(), before + 1)
      t.same(flaws, [])
    },
  )

  t.test('an address that does not exist has the navigation, and a way back', async t => {
    const { page, flaws } = await browser.open(t)
    await signIn(page, '/nowhere/at/all')
    await page.getByRole('heading', { name: 'There is no such page.' }).waitFor()
    await page.getByRole('navigation').getByRole('link', { name: 'Buckets' }).waitFor()
    t.same(await accessibilityFlaws(page), [])
    await page.getByRole('link', { name: 'Go to the first page' }).click()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    t.same(flaws, [])
  })

  t.test('one signs in, uploads and shares by keyboard alone', async t => {
    const { page, flaws } = await browser.open(t)
    const { keyboard } = page
    // Long before it comes: the browser has to be told that it is waited for.
    const choosing = page.waitForEvent('filechooser')
    const focused = 'document.activeElement.getAttribute("aria-label") ?? document.activeElement.textContent'
    /** Presses Tab until what has the focus is called so. */
    const tabTo = async (name: RegExp) => {
      for (let tries = 0; tries < 120; tries++) {
        if (name.test(String(await page.evaluate(focused)))) return
        await keyboard.press('Tab')
      }
      throw new Error(`Tab does not lead to ${name}`)
    }
    await page.goto(`${console}/sign-in?from=/buckets/photos`)
    await page.getByLabel('Access key').waitFor()
    await page.getByLabel('Access key').focus()
    await keyboard.type(accessKey)
    await keyboard.press('Tab')
    await keyboard.type(secretKey)
    await keyboard.press('Enter')
    await page.getByRole('button', { name: 'big.bin', exact: true }).waitFor()

    await tabTo(/^Upload files$/)
    await keyboard.press('Enter')
    await (await choosing).setFiles({ name: 'typed.txt', mimeType: 'text/plain', buffer: Buffer.from('by keyboard') })
    await page.getByRole('button', { name: 'typed.txt', exact: true }).waitFor()
    await tabTo(/^\s*typed\.txt$/)
    await keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'typed.txt' }).waitFor()
    await tabTo(/^Share$/)
    await keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'Share typed.txt' }).waitFor()
    await tabTo(/^Make link$/)
    await keyboard.press('Enter')
    const link = await page.getByLabel('Link', { exact: true }).inputValue()
    t.equal(await (await fetch(link)).text(), 'by keyboard')
    await eventually('the link can be copied at once', async () => (await page.evaluate(focused)) === 'Copy')
    for (let stops = 0; stops < 8; stops++) {
      await keyboard.press('Tab')
      const place = await page.evaluate("document.activeElement.closest('[role=dialog]')?.textContent")
      t.match(place, /Share typed\.txt/, 'the focus stays in the dialog')
    }
    await keyboard.press('Escape')
    await page.getByRole('dialog', { name: 'Share typed.txt' }).waitFor({ state: 'detached' })
    await eventually('the focus is back', async () => (await page.evaluate(focused)) === 'Share')
    await keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })

    // On a narrow screen the menu is beside it until it is opened.
    await page.setViewportSize({ width: 390, height: 740 })
    await page.getByRole('button', { name: 'Menu' }).focus()
    const inMenu = (): Promise<boolean> => page.evaluate("document.activeElement.closest('nav') !== null")
    for (let stops = 0; stops < 12; stops++) {
      await keyboard.press('Tab')
      t.equal(await inMenu(), false, 'the focus is where one sees it')
    }
    await page.getByRole('button', { name: 'Menu' }).focus()
    await keyboard.press('Enter')
    await eventually('the focus is in the menu', inMenu)
    t.same(await accessibilityFlaws(page), [])
    await keyboard.press('Escape')
    await page.locator('[aria-label="Menu"][aria-expanded="false"]:focus').waitFor()
    t.same(flaws, [])
  })

  t.test('a page that is opened while the connection is cut opens when it is back', async t => {
    const { page, flaws } = await browser.open(t, {}, /no answer|ERR_INTERNET_DISCONNECTED/)
    await signIn(page, '/buckets')
    await page.getByRole('link', { name: 'photos' }).waitFor()
    await page.evaluate('globalThis.isSamePage = true')
    await page.context().setOffline(true)
    await page.getByRole('link', { name: 'Event targets' }).click()
    await page.getByText('The server cannot be reached').first().waitFor()
    await page.context().setOffline(false)
    await page.getByRole('heading', { name: 'Event targets', level: 1 }).waitFor()
    await page.getByText('The server cannot be reached').waitFor({ state: 'detached' })
    t.equal(await page.evaluate('globalThis.isSamePage'), true, 'nothing was loaded anew: uploads would have been lost')
    t.same(flaws, [])
  })

  t.test('a first load is small, and is usable on a slow machine', async t => {
    const { page, flaws } = await browser.open(t, aNewVisitor)
    const devtools = await page.context().newCDPSession(page)
    await devtools.send('Network.enable')
    await devtools.send('Network.setCacheDisabled', { cacheDisabled: true })
    await page.addInitScript(noteWhenShown('Overview'))
    const assets = watchAssets(page)
    await signIn(page)
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await page.waitForLoadState('networkidle')
    assets.clear()
    await devtools.send('Emulation.setCPUThrottlingRate', { rate: slowdown })
    await page.goto(console)
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    // It costs what it takes away.
    await devtools.send('Emulation.setCPUThrottlingRate', { rate: 1 })
    await page.waitForLoadState('networkidle')
    const cold = [...assets.values()].reduce((sum, bytes) => sum + bytes, 0)
    const shownMs = Math.round(Number(await page.evaluate('globalThis.shownMs')))
    t.comment(
      `${assets.size} files, ${cold} bytes; shown after ${shownMs} ms with the CPU slowed down ${slowdown} times`,
    )
    t.ok(cold <= firstLoadBytesMax, `${cold} bytes`)
    t.ok(assets.size <= filesMax, `${assets.size} files`)
    t.same(flaws, [])
  })

  t.test('on a slow line files go up, a preview appears and a live page lives', async t => {
    const { page, flaws } = await browser.open(t, aNewVisitor)
    const devtools = await page.context().newCDPSession(page)
    await devtools.send('Network.enable')
    await signIn(page, '/buckets')
    await page.getByRole('link', { name: 'photos' }).waitFor()
    // What a first load needs is measured above; the pages that follow are loaded on the slow line.
    await devtools.send('Network.emulateNetworkConditions', slowLine)
    await page.evaluate(`history.pushState(null, '', '/buckets/photos?prefix=slow/')`)
    await page.getByText('Nothing is here yet').waitFor()
    const text = 'line by line\n'.repeat(12_000)
    const file = { name: 'slow.txt', mimeType: 'text/plain', buffer: Buffer.from(text) }
    await page.locator('input[type=file]').first().setInputFiles(file)
    await page.getByText('0 of 1 done').waitFor()
    await page.getByText('1 of 1 done').waitFor()
    await page.getByRole('button', { name: 'slow.txt', exact: true }).click()
    await page.getByRole('tab', { name: 'Preview' }).click()
    await page.getByText('line by line').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('link', { name: 'Live requests' }).click()
    await page.getByText('Live.').waitFor()
    await fetch(`${server.endpoint}/photos/slowly`)
    await page.getByRole('cell', { name: 'GET /photos/slowly' }).waitFor()
    t.same(flaws, [])
  })
}
