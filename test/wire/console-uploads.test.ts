/** Uploads in the web console that a reload or a cut connection interrupts. */
import { createHash, randomBytes } from 'node:crypto'
import { mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryFolder } from 'svc/testing'
import t from 'tap'
import { accessibilityFlaws, aNewVisitor, withoutBrowser } from './browser.ts'
import { eventually, filesIn, keysOf, startConsole } from './console.ts'

/** Whether a sentence of the panel is within its row, and not cut. */
const isWhole = new Function(
  'element',
  `const room = element.closest('.upload-place').getBoundingClientRect()
  const { bottom, right } = element.getBoundingClientRect()
  return bottom <= room.bottom && right <= room.right && element.scrollWidth <= element.clientWidth`,
) as (element: unknown) => boolean

// Only a page that hangs takes so long.
t.setTimeout(900_000)

const digestOf = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

if (withoutBrowser !== false) {
  t.comment(withoutBrowser)
  t.end()
} else {
  const { admin, browser, signIn } = await startConsole(t)
  await admin.call('POST', '/buckets', { name: 'archive' })
  const folder = temporaryFolder(t)

  const storedDigest = async (key: string) => {
    const { url } = await admin.call('POST', '/presign', { method: 'GET', bucket: 'archive', key })
    return digestOf(Buffer.from(await (await fetch(url)).arrayBuffer()))
  }

  t.test('an upload goes on after a reload with the parts that had arrived, when the same file is chosen', async t => {
    const big = Buffer.alloc(40 * 1024 ** 2, 'reload ')
    writeFileSync(join(folder, 'reload.bin'), big)
    const { page, flaws } = await browser.open(t)
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
    t.equal(await storedDigest('reload.bin'), digestOf(big))
    await page.reload()
    await page.getByRole('button', { name: 'reload.bin', exact: true }).waitFor()
    t.equal(await page.getByText('interrupted').count(), 0)
    t.same(flaws, [])
  })

  t.test('after a reload what had arrived is looked for before it is called done', async t => {
    const write = (name: string, bytes: Buffer) => {
      writeFileSync(join(folder, name), bytes)
      return bytes
    }
    for (const name of ['kept.txt', 'deleted.txt', 'changed.txt']) write(name, Buffer.from(name))
    const whole = write('whole.bin', Buffer.alloc(17 * 1024 ** 2, 'whole '))
    write('held.bin', Buffer.alloc(40 * 1024 ** 2, 'held '))
    const names = ['kept.txt', 'deleted.txt', 'changed.txt', 'whole.bin', 'held.bin']
    const paths = names.map(name => join(folder, name))
    const { page, flaws } = await browser.open(t, {}, /^404 GET .*stat/)
    await signIn(page, '/buckets/archive')
    await page.route(/held.*\/parts\/3|\/parts\/3.*held/, () => {})
    await filesIn(page).setInputFiles(paths)
    await page.getByText('4 of 5 done').waitFor()
    await page.waitForTimeout(1500)
    page.on('dialog', dialog => void dialog.accept())
    await page.reload()
    await page.unroute(/held.*\/parts\/3|\/parts\/3.*held/)
    await page.getByText('1 upload was interrupted').waitFor()
    await admin.call('DELETE', '/buckets/archive/objects', { objects: [{ key: 'deleted.txt' }] })
    await admin.call('POST', '/buckets/archive/objects/upload?key=changed.txt', 'by another')
    const theirs = await storedDigest('changed.txt')
    const sent: string[] = []
    page.on('request', request => {
      const { pathname, searchParams } = new URL(request.url())
      if (/\/(upload|parts\/\d+)$/.test(pathname)) sent.push(searchParams.get('key')!)
    })
    await filesIn(page).setInputFiles(paths)
    await page.getByText('sent again: it had arrived, and was not there any more').waitFor()
    await page.getByText('It had arrived, and there is another object of that name now').waitFor()
    await page.getByText('4 of 5 done').waitFor()
    t.same([...new Set(sent)].sort(), ['deleted.txt', 'held.bin'], 'only what is missing is sent')
    t.equal(await storedDigest('deleted.txt'), digestOf(Buffer.from('deleted.txt')))
    t.equal(await storedDigest('changed.txt'), theirs, 'nothing of others is replaced')
    t.equal(await storedDigest('whole.bin'), digestOf(whole))
    await page.getByRole('button', { name: /^Cancel .*changed.txt/ }).click()
    await filesIn(page).setInputFiles(join(folder, 'changed.txt'))
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /^Replace/ })
      .click()
    const ours = digestOf(Buffer.from('changed.txt'))
    await eventually('changed.txt is replaced', async () => (await storedDigest('changed.txt')) === ours)
    t.same(flaws, [])
  })

  t.test('what somebody else has stored since is replaced by no upload that goes on', async t => {
    const bytes = Buffer.alloc(17 * 1024 ** 2, 'parts ')
    const names = ['told.txt', 'waits.txt', 'begun.bin']
    const paths = names.map(name => join(folder, name))
    for (const path of paths) writeFileSync(path, path.endsWith('.bin') ? bytes : path)
    const byAnother = (key: string) => admin.call('POST', `/buckets/archive/objects/upload?key=${key}`, 'by another')
    const { page, flaws } = await browser.open(
      t,
      {},
      /^404 (GET|POST) .*(uploads|stat)|^412 POST .*upload|no answer: .*(complete|upload)/,
    )
    await signIn(page, '/buckets/archive')
    page.on('dialog', dialog => void dialog.accept())
    // One has arrived, one was never sent, and of one nobody was told that it is stored.
    const held = /key=waits|\/complete/
    let completed = () => {}
    const isCompleted = new Promise<void>(done => {
      completed = done
    })
    await page.route(held, async route => {
      if (!route.request().url().includes('/complete')) return
      await route.fetch()
      completed()
    })
    await filesIn(page).setInputFiles(paths)
    await isCompleted
    await page.getByText('1 of 3 done').waitFor()
    const reload = async () => {
      // The journal is written now and then.
      await page.waitForTimeout(1500)
      await page.reload()
    }
    await reload()
    await page.unroute(held)
    await page.getByText('2 uploads were interrupted').waitFor()
    for (const name of ['told.txt', 'waits.txt']) await byAnother(name)
    const theirs = await storedDigest('told.txt')
    const sent: string[] = []
    page.on('request', request => {
      if (/\/(upload|parts\/\d+)\?/.test(request.url())) sent.push(request.url())
    })
    await filesIn(page).setInputFiles(paths)
    const dialog = page.getByRole('dialog')
    await dialog.getByText('Replace 2 objects?').waitFor()
    for (const name of ['waits.txt', 'begun.bin']) await dialog.getByText(name).waitFor()
    await dialog.getByRole('button', { name: /^Upload only/ }).click()
    const another = page.getByText('It had arrived, and there is another object of that name now')
    await another.waitFor()
    // Nor after one more reload, with an answer of yes for the others.
    await reload()
    await filesIn(page).setInputFiles(paths)
    await dialog.getByText('Replace 2 objects?').waitFor()
    await dialog.getByRole('button', { name: 'Replace all' }).click()
    await another.waitFor()
    await page.getByText('2 of 3 done').waitFor()
    t.equal(await storedDigest('told.txt'), theirs)
    t.equal(await storedDigest('begun.bin'), digestOf(bytes))
    t.same(
      sent.map(url => new URL(url).searchParams.get('key')),
      ['waits.txt'],
      'what is stored already is not sent again',
    )
    // The answer is lost, and somebody stores another object before it is asked for again.
    writeFileSync(join(folder, 'lost.bin'), bytes)
    let isAsked = false
    await page.route(/\/complete/, async route => {
      if (isAsked) return route.continue()
      isAsked = true
      await route.fetch()
      await byAnother('lost.bin')
      await route.abort('connectionreset')
    })
    await filesIn(page).setInputFiles(join(folder, 'lost.bin'))
    await another.nth(1).waitFor()
    t.equal(await storedDigest('lost.bin'), theirs)
    // The same of a file in one request; and where nobody else was there, what has arrived is what was sent.
    for (const [name, isTaken] of [
      ['lost.txt', true],
      ['own.txt', false],
    ] as const) {
      // As the client of the Admin API sends it.
      writeFileSync(join(folder, name), JSON.stringify(name))
      let isFirst = true
      await page.route(new RegExp(`upload.key=${name}`), async route => {
        if (!isFirst) return route.continue()
        isFirst = false
        // The bytes of a file are not for a route to pass on.
        if (isTaken) await byAnother(name)
        else await admin.call('POST', `/buckets/archive/objects/upload?key=${name}`, name)
        await route.abort('connectionreset')
      })
      await filesIn(page).setInputFiles(join(folder, name))
    }
    await page.getByText('Somebody else has stored an object of that name since').waitFor()
    await page.getByText('3 of 6 done').waitFor()
    t.equal(await storedDigest('lost.txt'), theirs)
    t.equal(await storedDigest('own.txt'), digestOf(Buffer.from('"own.txt"')))
    t.same(flaws, [])
  })

  t.test('another file of the same name, size and date is not mixed with parts that had arrived', async t => {
    const path = join(folder, 'twin.bin')
    const write = (byte: number) => {
      const bytes = Buffer.alloc(40 * 1024 ** 2, byte)
      writeFileSync(path, bytes)
      utimesSync(path, 1_000_000, 1_000_000)
      return bytes
    }
    write(3)
    const { page, flaws } = await browser.open(t)
    await signIn(page, '/buckets/archive')
    const arrived: string[] = []
    page.on('response', answer => {
      if (/\/parts\/\d+/.test(answer.url())) arrived.push(/parts\/(\d+)/.exec(answer.url())![1]!)
    })
    await page.route(/\/parts\/3/, () => {})
    await filesIn(page).setInputFiles(path)
    while (arrived.length < 2) await page.waitForEvent('response')
    await page.waitForTimeout(1500)
    page.on('dialog', dialog => void dialog.accept())
    await page.reload()
    await page.unroute(/\/parts\/3/)
    await page.getByText('1 upload was interrupted').waitFor()
    const other = write(4)
    await filesIn(page).setInputFiles(path)
    await page.getByText('1 of 1 done').waitFor()
    await page.getByText('begun anew: it is another file than the one of which parts had arrived').waitFor()
    t.equal(await storedDigest('twin.bin'), digestOf(other))
    t.same((await admin.call('GET', '/buckets/archive/uploads')).items, [], 'nothing is left of the first one')
    t.same(flaws, [])
  })

  t.test('an upload that was given up elsewhere begins anew by itself', async t => {
    const bytes = Buffer.alloc(40 * 1024 ** 2, 'given up ')
    writeFileSync(join(folder, 'given-up.bin'), bytes)
    const { page, flaws } = await browser.open(t, {}, /^404 (PUT .*\/parts\/[123]|GET .*\/stat)$/)
    await signIn(page, '/buckets/archive')
    // The third part waits until its upload is gone; that of the next upload does not.
    let goOn = () => {}
    const isHeld = new Promise<void>(held => {
      void page.route(
        /\/parts\/3/,
        async route => {
          await new Promise<void>(done => {
            goOn = done
            held()
          })
          await route.continue()
        },
        { times: 1 },
      )
    })
    await filesIn(page).setInputFiles(join(folder, 'given-up.bin'))
    await isHeld
    const [{ uploadId }] = (await admin.call('GET', '/buckets/archive/uploads')).items
    await admin.call('DELETE', `/buckets/archive/uploads/${uploadId}?key=given-up.bin`)
    goOn()
    await page.getByText('1 of 1 done').waitFor()
    await page.getByText('begun anew: the upload was given up elsewhere').waitFor()
    t.equal(await storedDigest('given-up.bin'), digestOf(bytes))
    t.same(flaws, [])
  })

  t.test('what is dropped anywhere on a bucket goes up into its open folder, and on other pages nowhere', async t => {
    const dropped = join(folder, 'dropped')
    mkdirSync(join(dropped, 'inner'), { recursive: true })
    writeFileSync(join(dropped, 'outer.txt'), 'outer')
    writeFileSync(join(dropped, 'inner/deep.txt'), 'deep')
    writeFileSync(join(folder, 'single.txt'), 'single')
    const { page, flaws } = await browser.open(t, aNewVisitor)
    await signIn(page, '/buckets/archive?prefix=drop/')
    await page.getByRole('button', { name: 'Upload files' }).waitFor()
    const zone = page.locator('.drop-zone')
    const box = (await zone.boundingBox())!
    // As the browser itself tells it when files come from the desktop.
    const devtools = await page.context().newCDPSession(page)
    const drag = (type: 'dragEnter' | 'dragOver' | 'drop', y = box.y + box.height / 2) =>
      devtools.send('Input.dispatchDragEvent', {
        type,
        x: box.x + box.width / 2,
        y,
        data: { items: [], files: [dropped, join(folder, 'single.txt')], dragOperationsMask: 1 },
      })
    for (const type of ['dragEnter', 'dragOver'] as const) await drag(type)
    await page.locator('.drop-zone[data-dragged]').waitFor()
    t.equal(await zone.getAttribute('data-hint'), 'Drop files and folders to upload them here')
    // Far above the list, at the head of the page.
    for (const type of ['dragOver', 'drop'] as const) await drag(type, 5)
    await page.locator('.drop-zone[data-dragged]').waitFor({ state: 'detached' })
    await page.getByText('3 of 3 done').waitFor()
    t.same(await keysOf(admin, 'archive', 'drop/'), [
      'drop/dropped/inner/deep.txt',
      'drop/dropped/outer.txt',
      'drop/single.txt',
    ])
    await page.getByRole('button', { name: 'single.txt', exact: true }).waitFor()

    await page.getByRole('link', { name: 'Shares' }).click()
    await page.getByRole('heading', { name: 'Shares' }).waitFor()
    const { length: entries } = page.context().pages()
    for (const type of ['dragEnter', 'dragOver', 'drop'] as const) await drag(type)
    // Also when the page has changed below the pointer: then the drop comes to an element that no `dragover` came to.
    for (const type of ['dragEnter', 'dragOver'] as const) await drag(type)
    await drag('drop', 5)
    await page.getByRole('link', { name: 'Buckets' }).click()
    await page.getByRole('heading', { name: 'Buckets' }).waitFor()
    t.equal(page.context().pages().length, entries, 'no file is opened')
    t.match(await keysOf(admin, 'archive', 'drop/'), { length: 3 })
    t.same(flaws, [])
  })

  t.test('an upload of one user does not go on as that of another who signs in on the page', async t => {
    writeFileSync(join(folder, 'private.bin'), Buffer.alloc(70 * 1024 ** 2, 'private '))
    const { page } = await browser.open(t, {}, /401|403/)
    const users = await Promise.all(
      ['first-user', 'next-user'].map(name => admin.createUser(name, { policyNames: ['readwrite'] })),
    )
    const [first, next] = users as [(typeof users)[number], (typeof users)[number]]
    // With a session, not by the form of this page.
    await signIn(page, '/buckets/archive', first.accessKeyId, first.secretAccessKey)
    let goOn = () => {}
    const isReleased = new Promise<void>(done => {
      goOn = done
    })
    let isBegun = false
    await page.route(/\/parts\/\d+/, async route => {
      isBegun = true
      await isReleased
      await route.continue()
    })
    await filesIn(page).setInputFiles(join(folder, 'private.bin'))
    await eventually('parts are under way', async () => isBegun)
    const deleted: string[] = []
    page.on('request', request => request.method() === 'DELETE' && deleted.push(request.url()))
    await page.context().clearCookies()
    goOn()
    await page.getByLabel('Access key').fill(next.accessKeyId)
    await page.locator('input[type=password]').fill(next.secretAccessKey)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { level: 1 }).waitFor()
    await eventually('nothing is left of the upload', async () => (await page.getByText('private.bin').count()) === 0)
    await page.getByRole('button', { name: 'Go on with all' }).waitFor({ state: 'detached' })
    t.same(await keysOf(admin, 'archive', 'private'), [])
    t.same(deleted, [], 'the next user is not made to ask for anything')
  })

  t.test('an upload waits for a connection that is cut, goes on by itself, and replaces nothing unasked', async t => {
    const { page } = await browser.open(t)
    await signIn(page, '/buckets/archive?prefix=cut/')
    await page.getByText('Nothing is here yet').waitFor()
    await page.context().setOffline(true)
    writeFileSync(join(folder, 'small.txt'), 'small')
    await filesIn(page).setInputFiles(join(folder, 'small.txt'))
    await page.getByText('no connection').waitFor()
    await page.context().setOffline(false)
    await page.getByText('1 of 1 done').waitFor()
    t.same(await keysOf(admin, 'archive', 'cut/'), ['cut/small.txt'])

    const text = async () => String(await admin.download('/buckets/archive/objects/download?key=cut/small.txt'))
    const dialog = page.getByRole('dialog')
    for (const name of ['small.txt', 'new.txt']) writeFileSync(join(folder, name), 'changed')
    const choose = () => filesIn(page).setInputFiles(['small.txt', 'new.txt'].map(name => join(folder, name)))
    await choose()
    await dialog.getByText('Replace 1 object?').waitFor()
    await dialog.getByText('cut/small.txt').waitFor()
    t.same(await accessibilityFlaws(page), [])
    await dialog.getByRole('button', { name: 'Upload only the new file' }).click()
    await page.getByText('2 of 2 done').waitFor()
    t.same(await keysOf(admin, 'archive', 'cut/'), ['cut/new.txt', 'cut/small.txt'])
    t.equal(await text(), 'small')
    await choose()
    await dialog.getByText('Replace 2 objects?').waitFor()
    await dialog.getByRole('button', { name: 'Upload nothing' }).click()
    await dialog.waitFor({ state: 'detached' })
    await choose()
    await dialog.getByRole('button', { name: 'Replace all' }).click()
    await page.getByText('4 of 4 done').waitFor()
    t.equal(await text(), 'changed')
    // Two names of one key.
    for (const name of ['\u00e9.txt', 'e\u0301.txt']) writeFileSync(join(folder, name), name)
    await filesIn(page).setInputFiles(['\u00e9.txt', 'e\u0301.txt'].map(name => join(folder, name)))
    await page.getByText('differ in the Unicode form').waitFor()
    await page.getByText('5 of 5 done').waitFor()
    // One that has not begun waits as well.
    writeFileSync(join(folder, 'parts.bin'), Buffer.alloc(17 * 1024 ** 2))
    await page.route(/\/uploads$/, route => route.abort('connectionreset'), { times: 1 })
    await filesIn(page).setInputFiles(join(folder, 'parts.bin'))
    await page.getByText('6 of 6 done').waitFor()
  })

  t.test('an upload in parts that the quota refuses says that its parts take space, until it is cancelled', async t => {
    await admin.call('POST', '/buckets', { name: 'tight' })
    const { uploadId } = await admin.call('POST', '/buckets/tight/uploads', { key: 'older', contentType: 'text/plain' })
    await admin.call('PUT', `/buckets/tight/uploads/${uploadId}/parts/1?key=older`, 'x'.repeat(1024 ** 2))
    await admin.call('PUT', '/buckets/tight/quota', { type: 'hard', size: 5 * 1024 ** 2 })
    writeFileSync(join(folder, 'whole.bin'), randomBytes(5 * 1024 ** 2))
    writeFileSync(join(folder, 'wide.bin'), randomBytes(17 * 1024 ** 2))
    const { page } = await browser.open(t, {}, /409 (PUT|POST) .*upload/)
    await signIn(page, '/buckets/tight')
    await filesIn(page).setInputFiles(join(folder, 'whole.bin'))
    await page.getByText('over the quota of the bucket').waitFor()
    await page.getByText('Parts of uploads that are not completed count: they have 1.0\u00a0MiB').waitFor()
    await page.getByText('0\u00a0B / 5.0\u00a0MiB').waitFor()
    t.equal(await page.getByRole('progressbar', { name: /5\.0/ }).getAttribute('aria-valuenow'), '0')
    await filesIn(page).setInputFiles(join(folder, 'wide.bin'))
    const reason = page.getByText('parts that have arrived take space until you cancel it')
    await reason.waitFor()
    t.equal(await page.getByText('nothing was stored').count(), 0)
    await eventually('the whole of it is seen', () => reason.evaluate(isWhole))
    const items = (await admin.call('GET', '/buckets/tight/uploads')).items as { key: string }[]
    t.same(
      items.map(({ key }) => key),
      ['older', 'wide.bin'],
    )
    await page.getByRole('button', { name: 'Cancel upload wide.bin' }).click()
    await eventually(
      'its parts are gone',
      async () => (await admin.call('GET', '/buckets/tight/uploads')).items.length === 1,
    )
    await page.getByRole('link', { name: 'Uploads', exact: true }).first().click()
    await page.getByRole('row', { name: /^older/ }).waitFor()
  })

  t.test('what the server has refused as too large is not to be continued on the next page', async t => {
    await admin.call('POST', '/buckets', { name: 'limited' })
    await admin.call('POST', '/buckets/limited/objects/upload?key=small.bin', 'x')
    await admin.call('PATCH', '/config/browser', { settings: { upload_max_size: '1KiB' } })
    t.teardown(() => admin.call('PATCH', '/config/browser', { settings: { upload_max_size: null } }))
    writeFileSync(join(folder, 'large.bin'), randomBytes(2048))
    const { page } = await browser.open(t, {}, /413 POST .*upload/)
    await signIn(page, '/buckets/limited')
    await filesIn(page).setInputFiles(join(folder, 'large.bin'))
    await page.getByRole('button', { name: 'Try again large.bin' }).waitFor()
    // What the browser keeps is written shortly afterwards.
    await page.waitForTimeout(1500)
    await page.reload()
    await page.getByRole('button', { name: 'small.bin', exact: true }).waitFor()
    await page.waitForTimeout(1500)
    t.equal(await page.getByText('interrupted').count(), 0)
  })

  t.test(
    'a pause lets the parts under way arrive, and the panel keeps no row of the list from being pressed',
    async t => {
      const bytes = Buffer.alloc(70 * 1024 ** 2, 'paused ')
      writeFileSync(join(folder, 'paused.bin'), bytes)
      for (let row = 10; row < 40; row++)
        await admin.call('POST', `/buckets/archive/objects/upload?key=rows/${row}`, 'x')
      const { page, flaws } = await browser.open(t)
      await signIn(page, '/buckets/archive?prefix=rows/')
      await page.getByRole('button', { name: '10', exact: true }).waitFor()
      const begun: string[] = []
      let goOn = () => {}
      const isReleased = new Promise<void>(done => {
        goOn = done
      })
      await page.route(/\/parts\/\d+/, async route => {
        begun.push(/parts\/(\d+)/.exec(route.request().url())![1]!)
        await isReleased
        await route.continue()
      })
      await filesIn(page).setInputFiles(join(folder, 'paused.bin'))
      await eventually('three parts are under way', async () => begun.length === 3)
      // Nothing is left for an archive: nobody is asked whether to leave.
      const asked: string[] = []
      page.on('dialog', dialog => {
        asked.push(dialog.type())
        void dialog.accept()
      })
      await page.getByLabel('Select 10', { exact: true }).check()
      const [archive] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'Download as ZIP' }).click(),
      ])
      t.ok((await archive.createReadStream()).readable)
      t.same(asked, [])
      await page.getByLabel('Select 10', { exact: true }).uncheck()
      await page.getByRole('button', { name: 'Pause rows/paused.bin' }).click()
      await page.getByText('pausing: parts arrive').waitFor()

      const panel = page.locator('.upload-panel')
      const lastIsPressed = `(() => {
      scrollTo(0, document.documentElement.scrollHeight)
      const last = [...document.querySelectorAll('.object-info')].at(-1)
      const { x, y, width, height } = last.getBoundingClientRect()
      return last.contains(document.elementFromPoint(x + width / 2, y + height / 2))
    })()`
      for (const [width, height] of [
        [1440, 700],
        [360, 740],
      ] as const) {
        await page.setViewportSize({ width, height })
        await eventually(
          `the last row is free at ${width} px`,
          async () => (await page.evaluate(lastIsPressed)) === true,
        )
      }
      await panel.getByRole('button', { name: 'Show less of the uploads' }).click()
      await panel.locator('.upload-rows').waitFor({ state: 'detached' })
      await eventually('the last row is free', async () => (await page.evaluate(lastIsPressed)) === true)
      t.same(await accessibilityFlaws(page), [])
      await panel.getByRole('button', { name: 'Show the uploads' }).click()
      await panel.locator('.upload-rows').waitFor()

      goOn()
      await panel.getByText('paused', { exact: true }).waitFor()
      t.same(begun.toSorted(), ['1', '2', '3'], 'nothing more begins')
      await page.getByRole('button', { name: 'Go on rows/paused.bin' }).click()
      await page.getByText('1 of 1 done').waitFor()
      await panel.locator('.upload-rows').waitFor({ state: 'detached' })
      await panel.getByRole('button', { name: 'Show the uploads' }).click()
      await panel.locator('.upload-rows').waitFor()
      t.same(begun.toSorted(), ['1', '2', '3', '4', '5'], 'what was under way is not sent again')
      t.equal(await storedDigest('rows/paused.bin'), digestOf(bytes))
      t.same(flaws, [])
    },
  )
}
