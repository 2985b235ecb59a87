/** What holds everywhere in the web console: for a keyboard, a slow machine, a connection that is slow or cut, a session that ends, a search that is opened. What holds on each page: console-pictures; what each page is for: the folder console. */
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
  const { server, url: console, admin, browser, signIn, signInByForm } = await startConsole(t, {}, { isTimed: true })
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

  t.test('an address of another site is not followed after the sign-in', async t => {
    const { page } = await browser.open(t)
    await signInByForm(page, '/sign-in?from=//evil.test/')
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    t.equal(new URL(page.url()).host, new URL(console).host)
    // Browsers take a backslash for a slash.
    for (const from of ['//evil.test/', '/\\evil.test/', '/\\']) {
      await page.goto(`${console}/sign-in?from=${encodeURIComponent(from)}`)
      await page.getByRole('heading', { name: 'Overview' }).waitFor()
    }
  })

  t.test('what is typed stays when the session ends, for its own user and for nobody else', async t => {
    const { page, flaws } = await browser.open(t, {}, /401|404 GET .*policies/)
    await signIn(page, '/policies')
    const write = async (name: string) => {
      await page.getByRole('button', { name: 'Create policy' }).click()
      await page.getByRole('dialog').getByLabel('Name').fill(name)
      await page.context().clearCookies()
      await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
      await page.getByRole('dialog', { name: 'Sign in' }).waitFor()
    }
    const again = page.getByRole('dialog', { name: 'Sign in' })
    const enter = async (accessKeyId: string, secretAccessKey: string) => {
      await again.getByLabel('Access key').fill(accessKeyId)
      await again.locator('input[type=password]').fill(secretAccessKey)
      await again.getByRole('button', { name: 'Sign in' }).click()
      await again.waitFor({ state: 'detached' })
    }
    await write('typed')
    await again.getByText('Your session has ended').waitFor()
    t.same(await accessibilityFlaws(page), [])
    // Whoever stands before the screen gets nothing of the page: not by a copy of all, nor by keys.
    t.equal(await page.getByRole('heading', { name: 'Policies' }).isVisible(), false)
    await again.getByText('Your session has ended').click()
    await page.keyboard.press('ControlOrMeta+A')
    t.notMatch(await page.evaluate('getSelection().toString()'), /consoleAdmin|Create policy/)
    for (const key of ['Escape', 'Escape', 'ControlOrMeta+k']) await page.keyboard.press(key)
    await again.getByLabel('Access key').focus()
    t.ok(await again.getByLabel('Access key').isVisible())
    const isWhole = '(({ width, height }) => width >= innerWidth && height >= innerHeight)'
    t.ok(await page.evaluate(`${isWhole}(document.querySelector('dialog').getBoundingClientRect())`))
    await enter(accessKey, secretKey)
    const dialog = page.getByRole('dialog')
    t.equal(await dialog.getByLabel('Name').inputValue(), 'typed')
    await dialog.getByRole('alert').getByText('This was not done: the session had ended').waitFor()
    await eventually('the focus is in the dialog', () =>
      page.evaluate<boolean>('document.activeElement.closest("[role=dialog]") !== null'),
    )
    await page.locator('.cm-content').click()
    await page.keyboard.press('ControlOrMeta+A')
    await page.keyboard.press('Delete')
    const statement = { Effect: 'Allow', Action: 's3:GetObject', Resource: 'arn:aws:s3:::photos/*' }
    await page.keyboard.insertText(JSON.stringify({ Version: '2012-10-17', Statement: [statement] }))
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('row', { name: /typed/ }).waitFor()
    // Signed in elsewhere, it is covered no longer.
    await write('in-a-window')
    const elsewhere = await page.context().newPage()
    await signInByForm(elsewhere)
    await elsewhere.getByRole('heading', { name: 'Overview' }).waitFor()
    await again.waitFor({ state: 'detached' })
    t.equal(await dialog.getByLabel('Name').inputValue(), 'in-a-window')
    await elsewhere.close()
    await page.keyboard.press('Escape')
    await dialog.getByRole('button', { name: 'Close and lose it' }).click()
    await dialog.first().waitFor({ state: 'detached' })

    await write('of-another')
    const other = await admin.createUser('guest', { policyNames: ['readonly'] })
    await enter(other.accessKeyId, other.secretAccessKey)
    await page.getByRole('heading', { name: 'Buckets', level: 1 }).waitFor()
    t.equal(await page.getByRole('dialog').count(), 0, 'nothing of the page is left')
    t.same(flaws, [])

    // The same where the next user is led to the page that was open.
    const owner = await admin.createUser('owner', { policyNames: ['readwrite'] })
    const { page: buckets, flaws: bucketsFlaws } = await browser.open(t, {}, /401/)
    await signIn(buckets, '/buckets', owner.accessKeyId, owner.secretAccessKey)
    await buckets.getByRole('button', { name: 'Create bucket' }).click()
    await buckets.getByRole('dialog').getByLabel('Name').fill('private-plan')
    await buckets.context().clearCookies()
    await buckets.getByRole('dialog').getByRole('button', { name: 'Create' }).click()
    const cover = buckets.getByRole('dialog', { name: 'Sign in' })
    await cover.getByLabel('Access key').fill(other.accessKeyId)
    await cover.locator('input[type=password]').fill(other.secretAccessKey)
    await cover.getByRole('button', { name: 'Sign in' }).click()
    await cover.waitFor({ state: 'detached' })
    await buckets.getByRole('heading', { name: 'Buckets', level: 1 }).waitFor()
    t.equal(await buckets.getByRole('dialog').count(), 0, 'nothing of the page is left')
    t.same(bucketsFlaws, [])
  })

  t.test('search opens from the editor of JSON, too, and nothing is deleted there', async t => {
    const { page, flaws } = await browser.open(t, aNewVisitor, /404 GET .*policy/)
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
