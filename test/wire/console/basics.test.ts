/** Sign-in, buckets, objects, shares, people, settings, locks, keys and live pages in the web console, as an operator uses them. */
import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { temporaryFolder } from 'svc/testing'
import t from 'tap'
import { accessibilityFlaws, withoutBrowser } from '../browser.ts'
import { chooseFrom, eventually, startConsole } from '../console.ts'
import { accessKey, secretKey } from '../server.ts'

// Only a page that hangs takes so long.
t.setTimeout(900_000)

const kmsKey = `main:${Buffer.alloc(32, 7).toString('base64')}`

/** A plugin with work that ends when its lock is taken away, and not before. */
const lockHolder = `export default {
  name: 'holder',
  requires: ['locks'],
  setup: ({ services: { locks }, threads }) => ({
    start() {
      if (!threads.isMain) return
      const untilLost = ({ signal }) => new Promise(done => signal.addEventListener('abort', done))
      void locks.hold('svc/long-work', { source: 'longWork' }, untilLost)
    },
  }),
}`

if (withoutBrowser !== false) {
  t.comment(withoutBrowser)
  t.end()
} else {
  const holder = join(temporaryFolder(t), 'holder.mjs')
  writeFileSync(holder, lockHolder)
  const {
    server,
    url: console,
    admin,
    browser,
    signIn,
    signInByForm,
  } = await startConsole(t, {
    environment: {
      SVC_PLUGINS: `svc/plugins/standard,${holder}`,
      SVC_LOCK_REFRESH_INTERVAL: '1s',
      SVC_KMS_SECRET_KEY: kmsKey,
    },
  })

  t.test('sign-in leads to where one wanted to go, and a wrong key is told', async t => {
    const { page, flaws } = await browser.open(t, {}, /401 POST .*login/)
    await signInByForm(page, '/shares', accessKey, 'not the secret')
    await page.getByText('do not belong together').waitFor()
    t.equal(new URL(page.url()).pathname, '/sign-in')
    await page.locator('input[type=password]').fill(secretKey)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Shares' }).waitFor()
    await page.reload()
    await page.getByRole('heading', { name: 'Shares' }).waitFor()
    for (const colorScheme of ['dark', 'light'] as const) {
      await page.emulateMedia({ colorScheme })
      await page.locator(`html[data-mantine-color-scheme=${colorScheme}]`).waitFor()
      t.same(await accessibilityFlaws(page, { withFrame: true }), [])
    }
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('Access key').waitFor()
    await page.goBack()
    await page.getByLabel('Access key').waitFor()
    await page.getByText(/^Version \d/).waitFor()
    // Without a press of the mouse.
    await page.keyboard.type(accessKey)
    await page.keyboard.press('Tab')
    await page.keyboard.type(secretKey)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Shares' }).waitFor()
    t.same(flaws, [])
  })

  t.test(
    'buckets: a bad name is refused in the server’s words, a good one makes a bucket, a full one asks for its name',
    async t => {
      const { page, flaws } = await browser.open(
        t,
        {},
        /400 POST .*buckets|40[04] PUT .*encryption|4(09|12) DELETE .*scratch/,
      )
      await signIn(page, '/buckets')
      await page.getByText('There is no bucket yet').waitFor()
      t.equal(await page.getByRole('searchbox').count(), 0, 'there is nothing to filter')
      await page.getByRole('link', { name: 'Overview' }).click()
      await page.getByRole('link', { name: 'Create your first bucket' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Name').fill('No Bucket')
      await dialog.getByRole('button', { name: 'Create' }).click()
      await page.locator('.mantine-InputWrapper-error', { hasText: 'A name has 3 to 63' }).waitFor()
      await dialog.getByLabel('Name').fill('photos')
      await dialog.getByLabel('Keep old versions').check()
      await dialog.getByRole('button', { name: 'Create' }).click()
      await page.getByRole('link', { name: 'photos' }).waitFor()
      t.equal(await page.getByRole('searchbox').count(), 1)
      await page.getByRole('columnheader', { name: 'Protection' }).waitFor()
      const listed = page.getByRole('row', { name: /^photos / })
      await listed.getByRole('cell', { name: 'versioning', exact: true }).waitFor()
      t.equal(await listed.locator('.state').count(), 0, 'nothing of it stands out')
      t.match(await admin.call('GET', '/buckets/photos'), { versioning: 'enabled' })

      await page.getByRole('button', { name: 'Create bucket' }).click()
      await dialog.getByLabel('Name').fill('coded')
      await dialog.getByLabel('Default encryption').selectOption('with a named key (SSE-KMS)')
      await dialog.getByText(/Empty: the default key of this server, \w/).waitFor()
      await dialog.getByRole('textbox', { name: 'Key', exact: true }).fill('missing')
      await dialog.getByRole('button', { name: 'Add tag' }).click()
      await dialog.getByLabel('Name of tag 1').fill('team')
      await dialog.getByLabel('Value of tag 1').fill('web')
      // On a small phone the dialog is higher than the window: its buttons are in view all the same.
      const usual = page.viewportSize()!
      await page.setViewportSize({ width: 360, height: 640 })
      const { y, height } = (await dialog.getByRole('button', { name: 'Create' }).boundingBox())!
      t.ok(y + height <= 640, 'the button is in view')
      await page.setViewportSize(usual)
      await dialog.getByRole('button', { name: 'Create' }).click()
      await page.locator('.mantine-InputWrapper-error', { hasText: 'There is no key "missing"' }).waitFor()
      t.same(await accessibilityFlaws(page), [])
      await t.rejects(admin.call('GET', '/buckets/coded'), /404/, 'with its encryption, or not at all')
      await dialog.getByLabel('Default encryption').selectOption('with keys of this server (SSE-S3)')
      await dialog.getByRole('button', { name: 'Create' }).click()
      await dialog.waitFor({ state: 'detached' })
      t.match(await admin.call('GET', '/buckets/coded/encryption'), { algorithm: 'AES256' })
      t.same(await admin.call('GET', '/buckets/coded/tags'), { tags: { team: 'web' } })

      await admin.call('POST', '/buckets', { name: 'scratch' })
      await admin.call('POST', '/buckets/scratch/objects/upload?key=a', 'text')
      await page.reload()
      await page.getByRole('button', { name: 'Delete bucket scratch' }).click()
      await dialog.getByText('1 object with 1 version').waitFor()
      t.ok(await dialog.getByRole('button', { name: 'Delete' }).isDisabled())
      await dialog.getByLabel('Type scratch').fill('scratch')
      // Nobody has agreed to lose what came after the question.
      await admin.call('POST', '/buckets/scratch/objects/upload?key=b', 'text')
      const refused = page.waitForResponse(answer => answer.request().method() === 'DELETE')
      await dialog.getByRole('button', { name: 'Delete' }).click()
      t.equal((await refused).status(), 412, 'the server has compared')
      await dialog.getByText('The bucket has changed meanwhile').waitFor()
      await dialog.getByText('2 objects with 2 versions').waitFor()
      t.match(await admin.call('GET', '/buckets/scratch'), { objects: 2 })
      const deletion = /\/buckets\/scratch\?force/
      await page.route(deletion, async route => {
        await admin.call('DELETE', '/buckets/scratch/objects', { objects: [{ key: 'b' }] })
        const problem = {
          status: 409,
          code: 'bucket_not_empty',
          detail: '1 version is deleted already.',
          requestId: 'r',
        }
        await route.fulfill({ status: 409, contentType: 'application/problem+json', body: JSON.stringify(problem) })
      })
      await dialog.getByRole('button', { name: 'Delete' }).click()
      await dialog.getByText('1 version is deleted already.').waitFor()
      await dialog.getByText('This deletes 1 object with 1 version').waitFor()
      await page.unroute(deletion)
      await dialog.getByRole('button', { name: 'Delete' }).click()
      await page.getByRole('link', { name: 'scratch' }).waitFor({ state: 'detached' })
      t.same(flaws, [])
    },
  )

  t.test('objects: files and folders go up whole, come down whole, and are deleted', async t => {
    const folder = temporaryFolder(t)
    const big = Buffer.alloc(40 * 1024 ** 2, 'large ')
    writeFileSync(join(folder, 'big.bin'), big)
    writeFileSync(join(folder, 'note.txt'), 'a note')
    mkdirSync(join(folder, 'album/inner'), { recursive: true })
    writeFileSync(join(folder, 'album/one.txt'), 'one')
    writeFileSync(join(folder, 'album/inner/two.txt'), 'two')

    const { page, flaws } = await browser.open(t)
    await signIn(page, '/buckets/photos')
    await page.getByText('Nothing is here yet').waitFor()
    await page
      .locator('input[type=file]')
      .first()
      .setInputFiles([join(folder, 'big.bin'), join(folder, 'note.txt')])
    await page.locator('input[webkitdirectory]').setInputFiles(join(folder, 'album'))
    await page.getByText('4 of 4 done').waitFor()
    const { objects } = await admin.call('GET', '/buckets/photos/objects?delimiter=')
    t.same(
      objects.map(({ key }: { key: string }) => key),
      ['album/inner/two.txt', 'album/one.txt', 'big.bin', 'note.txt'],
    )
    // Chosen again, the same file goes up again, as it is by then.
    for (const text of ['a note that has changed', 'a note that has changed once more']) {
      writeFileSync(join(folder, 'note.txt'), text)
      await page.locator('input[type=file]').first().setInputFiles(join(folder, 'note.txt'))
      const isThere = async () => String(await admin.download('/buckets/photos/objects/download?key=note.txt')) === text
      await eventually(`“${text}” has arrived`, isThere)
    }

    await page.getByRole('button', { name: 'big.bin', exact: true }).click()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Download' }).click(),
    ])
    const bytes = await buffer(await download.createReadStream())
    const digest = (of: Buffer) => createHash('sha256').update(of).digest('hex')
    t.equal(digest(bytes), digest(big))
    await page.keyboard.press('Escape')

    await page.getByRole('link', { name: 'album/' }).click()
    await page.getByRole('link', { name: 'inner/' }).click()
    await page.getByRole('button', { name: 'two.txt', exact: true }).waitFor()
    await page.getByRole('link', { name: 'album' }).click()
    await page.getByRole('button', { name: 'one.txt', exact: true }).waitFor()
    await page.getByRole('link', { name: 'All objects' }).click()

    await page.getByLabel('Select album/').check()
    await page.getByRole('row', { name: /note\.txt 33/ }).waitFor()
    await page.getByLabel('Select note.txt').check()
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByText('1 object and 1 folder').waitFor()
    await page.getByRole('dialog').getByText('restored one by one on its tab Versions').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('link', { name: 'album/' }).waitFor({ state: 'detached' })
    const left = await admin.call('GET', '/buckets/photos/objects?delimiter=')
    t.same(
      left.objects.map(({ key }: { key: string }) => key),
      ['big.bin'],
    )
    t.same(flaws, [])
  })

  t.test('a share is a link that works, until it is revoked', async t => {
    const { page, flaws } = await browser.open(t)
    await signIn(page, '/buckets/photos')
    await page.getByRole('button', { name: 'big.bin', exact: true }).click()
    await page.getByRole('button', { name: 'Share' }).click()
    await page.getByLabel('The link works for').selectOption('7 days')
    await page.getByRole('button', { name: 'Make link' }).click()
    const url = await page.getByLabel('Link', { exact: true }).inputValue()
    t.equal((await fetch(url, { method: 'HEAD' })).status, 200)
    await page.goto(`${console}/shares`)
    await page.getByRole('link', { name: 'photos/big.bin' }).click()
    await page.getByRole('dialog', { name: 'big.bin' }).waitFor()
    await page.goto(`${console}/shares`)
    await page.getByText('photos/big.bin').waitFor()
    // The server keeps the hour alone, which may have begun before there was a link.
    const isUsed = async () => {
      // Another thread may have answered the link, and tells a little later.
      await page.reload()
      await page.getByText('photos/big.bin').waitFor()
      return (await page.getByRole('cell', { name: /^(in this hour|between )/ }).count()) === 1
    }
    await eventually('its last use is known', isUsed)
    await page.setViewportSize({ width: 360, height: 740 })
    const revoke = page.getByRole('button', { name: 'Revoke' })
    const { x, width } = (await revoke.boundingBox())!
    t.ok(x + width <= 360, 'on a phone it is in view')
    await revoke.click()
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
    await page.getByText('The link does not work any more').waitFor()
    t.equal((await fetch(url, { method: 'HEAD' })).status, 403)
    t.same(flaws, [])
  })

  t.test('who may do little sees no page that refuses, and a session that ended leads back', async t => {
    await admin.putPolicy('read-photos', {
      Effect: 'Allow',
      Action: ['s3:ListBucket', 's3:GetObject', 's3:GetBucketLocation'],
      Resource: ['arn:aws:s3:::photos', 'arn:aws:s3:::photos/*'],
    })
    const { accessKeyId, secretAccessKey } = await admin.createUser('reader', { policyNames: ['read-photos'] })
    const { page, flaws } = await browser.open(t, {}, /401 GET/)
    await signIn(page, '/', accessKeyId, secretAccessKey)
    // There is nothing on the overview for this one.
    await page.getByRole('heading', { name: 'Buckets' }).waitFor()
    t.equal(await page.getByRole('link', { name: 'Overview' }).count(), 0)
    await page.getByRole('link', { name: 'photos' }).waitFor()
    const columns = await page.getByRole('columnheader').allTextContents()
    t.same(
      columns,
      ['Name', 'Objects', 'Versions', 'Size', 'Created', 'Actions'],
      'none stands empty that one may not know',
    )
    await page.getByRole('link', { name: 'photos' }).click()
    await page.getByRole('button', { name: 'big.bin', exact: true }).waitFor()
    t.equal(await page.getByRole('button', { name: 'Create bucket' }).count(), 0)
    t.equal(await page.getByRole('button', { name: 'Delete bucket photos' }).count(), 0)
    t.same(flaws, [])
    await admin.putPolicy('healer', { Action: ['admin:Heal'], Resource: ['*'] })
    const healer = await admin.createUser('healer', { policyNames: ['healer'] })
    const { page: healing, flaws: healingFlaws } = await browser.open(t)
    await signIn(healing, '/healing', healer.accessKeyId, healer.secretAccessKey)
    await healing.getByText('No job has run').waitFor()
    t.same(healingFlaws, [])
    // Whoever makes the backups needs no right to slow the server down.
    await admin.putPolicy('keeper', { Action: ['admin:ExportCluster'], Resource: ['*'] })
    const keeper = await admin.createUser('keeper', { policyNames: ['keeper'] })
    const { page: tools, flaws: toolsFlaws } = await browser.open(t)
    await signIn(tools, '/buckets', keeper.accessKeyId, keeper.secretAccessKey)
    await tools.getByRole('heading', { name: 'Buckets' }).waitFor()
    await tools.keyboard.press('Control+k')
    await tools.locator('input[aria-label="Search"]:focus').fill('backup')
    await tools.getByRole('option', { name: /Tools/ }).click()
    await tools.getByRole('link', { name: 'Export everything' }).waitFor()
    t.equal(await tools.getByRole('region', { name: /Speed test|Profile/ }).count(), 0)
    t.same(toolsFlaws, [])
    await admin.call('PATCH', '/users/reader', { status: 'disabled' })
    await page.getByRole('link', { name: 'Shares' }).click()
    await page.getByLabel('Access key').waitFor()
    t.same(flaws, [])
  })

  t.test('users, groups, policies and keys: what is made can be used, and is gone when it is deleted', async t => {
    const { page, flaws } = await browser.open(t, {}, /404 GET .*policies|400 PUT .*policies|404 POST .*users/)
    const dialog = page.getByRole('dialog')
    await signIn(page, '/policies')
    // Nobody has it: that is seen, and is nothing to be read aloud.
    const usedBy = page
      .getByRole('row', { name: /^writeonly / })
      .getByRole('cell')
      .nth(1)
    t.equal(await usedBy.ariaSnapshot(), '- cell')
    const shownInIt = `getComputedStyle(document.querySelector('.items td:empty'), '::after').content`
    t.equal(await page.evaluate(shownInIt), '"–" / ""')
    await page.getByRole('button', { name: 'Create policy' }).click()
    await dialog.getByLabel('Name').fill('photos-only')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByRole('alert').getByText('Replace BUCKET by the name of your bucket').waitFor()
    await dialog.locator('.cm-content').click()
    await page.keyboard.press('ControlOrMeta+A')
    await page.keyboard.press('Delete')
    await page.keyboard.insertText(
      '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:Wrong","Resource":"*"}]}',
    )
    await dialog.getByText(/Line 1, column \d+/).waitFor()
    await page.keyboard.press('ControlOrMeta+A')
    await page.keyboard.press('Delete')
    await page.keyboard.insertText(
      '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["s3:ListBucket","s3:GetObject"],"Resource":["arn:aws:s3:::photos","arn:aws:s3:::photos/*"]}]}',
    )
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('cell', { name: 'photos-only', exact: true }).waitFor()

    await page.getByRole('button', { name: 'Create policy' }).click()
    await dialog.getByLabel('Name').fill('no name')
    await dialog.locator('.cm-content').click()
    await page.keyboard.press('ControlOrMeta+A')
    await page.keyboard.press('Delete')
    await page.keyboard.insertText(
      '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:GetObject","Resource":"arn:aws:s3:::photos/*"}]}',
    )
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.locator('.mantine-InputWrapper-error').getByText('has 1 to 128 letters').waitFor()
    await eventually('it is said at the field alone', async () => (await dialog.getByRole('alert').count()) === 0)
    await dialog.getByLabel('Name').fill('photos-only')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByText('There is a policy “photos-only” already').waitFor()
    await page.keyboard.press('Escape')
    await dialog.getByRole('button', { name: 'Close and lose it' }).click()
    await dialog.first().waitFor({ state: 'detached' })

    await page.getByRole('link', { name: 'Users' }).click()
    await page.getByRole('button', { name: 'Create user' }).click()
    await dialog.getByLabel('User').fill('anna')
    const policies = dialog.getByRole('combobox', { name: 'Policies' })
    await policies.fill('no-such')
    await page.keyboard.press('Enter')
    await page.keyboard.press('Tab')
    await dialog.getByRole('button', { name: 'Create' }).click()
    await dialog.locator('.mantine-InputWrapper-error', { hasText: 'There is no policy "no-such".' }).waitFor()
    t.equal(await policies.getAttribute('aria-invalid'), 'true')
    await policies.click()
    await page.keyboard.press('Backspace')
    await dialog.locator('.mantine-InputWrapper-error').waitFor({ state: 'detached' })
    await policies.fill('photos-only')
    await page.keyboard.press('Enter')
    await page.keyboard.press('Tab')
    await dialog.getByRole('button', { name: 'Create' }).click()
    const secret = await page.getByRole('textbox', { name: 'Secret key' }).inputValue()
    // A key press does not lose it, and a program needs no more than what is here.
    await page.keyboard.press('Escape')
    t.equal(await dialog.getByRole('button', { name: 'Close' }).count(), 0)
    t.equal(await dialog.getByLabel('Address of the S3 API', { exact: true }).inputValue(), server.endpoint)
    t.equal(
      await dialog.getByLabel('For the AWS CLI and SDKs').textContent(),
      [
        `export AWS_ACCESS_KEY_ID='anna'`,
        `export AWS_SECRET_ACCESS_KEY='${secret}'`,
        `export AWS_ENDPOINT_URL=${server.endpoint}`,
        'export AWS_DEFAULT_REGION=us-east-1',
      ].join('\n'),
    )
    t.same(await accessibilityFlaws(page), [])
    await page.evaluate('history.back()')
    const question = page.getByRole('dialog', { name: 'Leave without keeping it?' })
    await question.getByRole('button', { name: 'Stay here' }).click()
    await question.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'I have kept it' }).click()
    const anna = await browser.open(t)
    await signIn(anna.page, '/buckets/photos', 'anna', secret)
    await anna.page.getByRole('button', { name: 'big.bin', exact: true }).waitFor()
    t.same(anna.flaws, [])

    await page.getByRole('link', { name: 'Policies' }).click()
    await page.getByRole('row', { name: /^photos-only anna / }).waitFor()
    await page.getByRole('button', { name: 'Delete photos-only' }).click()
    await dialog.getByText('It is attached to anna: take it away').waitFor()
    t.ok(await dialog.getByRole('button', { name: 'Delete' }).isDisabled(), 'the server would refuse')
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('link', { name: 'Users' }).click()

    // A key of hers with fewer rights, which whoever manages users finds again and stops.
    await page.getByRole('link', { name: '0 access keys of anna' }).click()
    await page.getByText('anna has no access key.').waitFor()
    await page.getByRole('button', { name: 'Create access key' }).click()
    await dialog.getByLabel('Name').fill('reports')
    await dialog.getByRole('switch', { name: 'It may do less than its user' }).click()
    await dialog.locator('.cm-content').click()
    await page.keyboard.press('ControlOrMeta+A')
    await page.keyboard.press('Delete')
    await page.keyboard.insertText(
      '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:ListBucket","Resource":"*"}]}',
    )
    await dialog.getByRole('button', { name: 'Create' }).click()
    const key = await page.getByRole('textbox', { name: 'Access key' }).inputValue()
    const keySecret = await page.getByRole('textbox', { name: 'Secret key' }).inputValue()
    await page.getByRole('button', { name: 'I have kept it' }).click()
    const row = page.getByRole('row', { name: new RegExp(`^${key}.*reports.*anna.*less than its user.*active`) })
    await row.waitFor()
    t.same(await accessibilityFlaws(page), [])
    const anonymous = await browser.open(t, {}, /403 POST .*login/)
    await signIn(anonymous.page, '/buckets/photos', key, keySecret)
    await anonymous.page.getByRole('cell', { name: 'big.bin', exact: true }).waitFor()
    t.same(anonymous.flaws, [])
    await chooseFrom(page.getByRole('button', { name: `More for ${key}` }), 'Disable')
    await dialog.getByText('Programs that use it are refused').waitFor()
    await dialog.getByRole('button', { name: 'Disable' }).click()
    await page.getByRole('row', { name: new RegExp(`^${key}.*disabled`) }).waitFor()
    await t.rejects(signIn(anonymous.page, '/', key, keySecret), /^40[13] /)
    await page.getByRole('link', { name: 'Users' }).click()
    await page.getByRole('link', { name: '1 access key of anna' }).waitFor()

    await chooseFrom(page.getByRole('button', { name: 'More for anna' }), 'New secret key')
    await dialog.getByRole('button', { name: 'New secret key' }).click()
    const renewed = await page.getByRole('textbox', { name: 'Secret key' }).inputValue()
    t.not(renewed, secret)
    await page.getByRole('button', { name: 'I have kept it' }).click()
    await chooseFrom(page.getByRole('button', { name: 'More for anna' }), 'Delete')
    await dialog.getByText('Links that the user has shared or signed stop working at once.').waitFor()
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('cell', { name: 'anna', exact: true }).waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'Policies' }).click()
    await page.getByRole('button', { name: 'Delete photos-only' }).click()
    await dialog.getByText('It is attached to nobody.').waitFor()
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('cell', { name: 'photos-only', exact: true }).waitFor({ state: 'detached' })
    await t.rejects(admin.call('GET', '/users/anna'), /404/)
    t.same(flaws, [])
  })

  t.test('settings of a bucket and of the server are changed where they stand', async t => {
    const { page, flaws } = await browser.open(
      t,
      {},
      /404 GET .*(encryption|policy|lifecycle)|400 PUT .*cors|412 (PUT|DELETE) .*(quota|encryption)/,
    )
    await signIn(page, '/buckets/photos?tab=settings')
    for (const [index, name, value] of [
      [1, 'team', 'web'],
      [2, 'a=b', 'c'],
    ] as const) {
      await page.getByRole('button', { name: 'Add tag' }).click()
      await page.getByLabel(`Name of tag ${index}`).fill(name)
      await page.getByLabel(`Value of tag ${index}`).fill(value)
    }
    await page.getByRole('button', { name: 'Add tag' }).click()
    await page.getByLabel('Value of tag 3').fill('of nothing')
    t.ok((await page.getByLabel('Name of tag 3').getAttribute('required')) !== null, 'it would be left out')
    await page.getByRole('button', { name: 'Save' }).click()
    t.equal(await page.getByText('Tags: Saved.').count(), 0)
    await page.getByRole('button', { name: 'Remove tag 3' }).click()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Tags: Saved.').waitFor()
    t.same(await admin.call('GET', '/buckets/photos/tags'), { tags: { team: 'web', 'a=b': 'c' } })

    // Sizes in the largest unit that says them exactly.
    await page.getByRole('textbox', { name: 'Size of all versions and parts of uploads', exact: true }).fill('105')
    await page.getByLabel('Unit of size of all versions and parts of uploads').selectOption('KiB')
    await page.getByText('are stored, more than that').waitFor()
    const size = page.getByRole('textbox', { name: 'Size of all versions and parts of uploads', exact: true })
    await size.press('Enter')
    await page.getByText('Quota: Saved.').waitFor()
    t.match(await admin.call('GET', '/buckets/photos/quota'), { type: 'hard', size: 105 * 1024 })
    await size.and(page.locator(':focus')).waitFor()
    await admin.call('PUT', '/buckets/photos/quota', { type: 'hard', size: 1.5 * 1024 ** 3 })
    await page.reload()
    await eventually('a quota of 1.5 GiB', async () => (await size.inputValue()) === '1.5')
    t.equal(await page.getByLabel('Unit of size of all versions and parts of uploads').inputValue(), 'GiB')
    await page.getByRole('button', { name: 'Add rule' }).click()
    const rule = page.getByRole('group', { name: 'rule 1' })
    await page.getByRole('button', { name: 'Save' }).click()
    await rule.locator('.mantine-InputWrapper-error', { hasText: 'at least one AllowedOrigin' }).waitFor()
    t.equal(await page.locator('.mantine-Alert-root').count(), 0, 'the field has said it all')
    await rule.getByRole('combobox', { name: 'Origins' }).fill('https://app.example.test/')
    await page.keyboard.press('Enter')
    t.same(await accessibilityFlaws(page), [])
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('(CORS): Saved.').waitFor()
    t.match(await admin.call('GET', '/buckets/photos/cors'), {
      rules: [{ allowedOrigins: ['https://app.example.test'], allowedMethods: ['GET'] }],
    })
    await page.getByRole('switch', { name: 'Versions can be protected' }).check({ force: true })
    await page.getByLabel('Default retention').selectOption({ index: 1 })
    await page.getByRole('textbox', { name: 'For so many' }).fill('2')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Object lock: Saved.').waitFor()
    t.same(await admin.call('GET', '/buckets/photos/objectlock'), { enabled: true, mode: 'GOVERNANCE', days: 2 })
    t.ok(await page.getByRole('switch', { name: 'Versions can be protected' }).isDisabled(), 'it cannot be undone')
    await page.getByLabel('Default retention').selectOption('none')
    await page.getByRole('button', { name: 'Save' }).click()
    await eventually('new versions are free again', async () => {
      const { mode } = await admin.call('GET', '/buckets/photos/objectlock')
      return mode === undefined
    })
    await page.getByRole('tab', { name: 'Lifecycle' }).click()
    await page.getByText('No rule: nothing is deleted by itself.').waitFor()
    await page.getByRole('button', { name: 'Add rule' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('textbox', { name: 'Name', exact: true }).fill('tidy')
    await dialog.getByLabel('Keys that begin with').fill('tmp/')
    await dialog.getByLabel('Delete old versions').fill('30')
    await dialog.getByLabel('But keep so many').fill('2')
    await dialog.getByLabel('Remove uploads').fill('7')
    t.same(await accessibilityFlaws(page), [])
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('dialog', { name: 'Save a rule that deletes?' }).getByRole('button', { name: 'Yes' }).click()
    await page.getByText('uploads that were never completed are removed after 7 days').waitFor()
    await page.getByText('old versions are deleted 30 days after they were replaced, but for the last 2').waitFor()
    const tidy = {
      id: 'tidy',
      enabled: true,
      filter: { prefix: 'tmp/' },
      noncurrentExpiration: { noncurrentDays: 30, newerNoncurrentVersions: 2 },
      abortIncompleteUpload: { daysAfterInitiation: 7 },
    }
    t.same(await admin.call('GET', '/buckets/photos/lifecycle'), { rules: [tidy] })
    await page.getByRole('button', { name: 'Edit rule tidy' }).click()
    await dialog.getByLabel('Remove uploads').fill('')
    await dialog.getByRole('textbox', { name: 'Larger than' }).fill('3')
    await dialog.getByLabel('Unit of larger than').selectOption('MiB')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('dialog', { name: 'Save a rule that deletes?' }).getByRole('button', { name: 'Yes' }).click()
    await page.getByText('Objects that begin with “tmp/” and are larger than 3.0').waitFor()
    const { abortIncompleteUpload: _, ...rest } = tidy
    t.same(await admin.call('GET', '/buckets/photos/lifecycle'), {
      rules: [{ ...rest, filter: { prefix: 'tmp/', sizeGreaterThan: 3 * 1024 ** 2 } }],
    })
    await page.getByRole('button', { name: 'Remove rule tidy' }).click()
    await dialog.getByRole('button', { name: 'Remove' }).click()
    await page.getByText('No rule: nothing is deleted by itself.').waitFor()
    await page.getByRole('tab', { name: 'Policy' }).click()
    await page.getByText('The bucket has no policy').waitFor()
    await page.goto(`${console}/settings`)
    await page.getByRole('button', { name: /ratelimit/i }).click()
    await page.getByLabel('s3_ip', { exact: true }).fill('1000')
    // What is typed elsewhere stays when something else of its section is stored meanwhile.
    await page.getByRole('button', { name: /^S3 API/ }).click()
    const deadline = page.getByLabel('requests_deadline', { exact: true })
    await deadline.fill('33s')
    await admin.call('PATCH', '/config/api', { settings: { requests_max: '77' } })
    await page.getByRole('button', { name: /ratelimit/i }).click()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved.').waitFor()
    t.match(await admin.call('GET', '/config/ratelimit'), { settings: { s3_ip: '1000' } })
    await page.getByRole('button', { name: /^S3 API/ }).click()
    const max = page.getByLabel('requests_max', { exact: true })
    await eventually('what is stored is shown', async () => (await max.inputValue()) === '77')
    t.equal(await deadline.inputValue(), '33s')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved.').nth(1).waitFor()
    t.match(await admin.call('GET', '/config/api'), { settings: { requests_max: '77', requests_deadline: '33s' } })
    const save = page.getByRole('button', { name: 'Save' })
    await eventually('what was saved is read again', () => save.isDisabled())
    await admin.call('DELETE', '/config/ratelimit')
    await admin.call('DELETE', '/config/api')
    t.same(flaws, [])
  })

  t.test('a lock that is held is listed with its holder, and is released', async t => {
    const { page, flaws } = await browser.open(t)
    await signIn(page, '/locks')
    await page.getByRole('row', { name: /^svc\/long-work longWork write / }).waitFor()
    await page.getByRole('button', { name: 'Release svc/long-work' }).click()
    await page.getByRole('dialog').getByText('longWork').waitFor()
    t.same(await accessibilityFlaws(page), [])
    await page.getByRole('dialog').getByRole('button', { name: 'Release' }).click()
    await page.getByText('Nothing is locked').waitFor()
    t.same((await admin.call('GET', '/locks')).items, [])
    await eventually('its holder notices', async () => server.log().includes('a lock is lost'))
    t.same(flaws, [])
  })

  t.test('live requests and the log appear as they happen', async t => {
    const { page, flaws } = await browser.open(t)
    await signIn(page, '/trace')
    await page.getByText('Live.').waitFor()
    await fetch(`${server.endpoint}/photos/nobody-may`)
    const refused = page.getByRole('cell', { name: 'GET /photos/nobody-may' })
    const answered = page.getByRole('cell', { name: 'GET /svc/health/live?seen' })
    await refused.waitFor()
    await fetch(`${server.endpoint}/svc/health/live?seen`)
    await answered.waitFor()
    await page.getByLabel('Only errors').check()
    await answered.waitFor({ state: 'detached' })
    t.ok(await refused.isVisible(), 'what has come stays')
    await page.getByLabel('Only errors').uncheck()
    await answered.waitFor()
    t.ok(await refused.isVisible())
    await page.getByRole('link', { name: 'Log', exact: true }).click()
    // The last lines come first, however many audit lines were written after them.
    await page
      .getByRole('cell', { name: /^ready/ })
      .first()
      .waitFor()
    t.equal(await page.getByRole('cell', { name: 'audit', exact: true }).count(), 0)
    await page.getByLabel('Component').fill('storage')
    await page.getByRole('cell', { name: 'made a new drive' }).waitFor()
    await page.getByRole('link', { name: 'Audit' }).click()
    await page.getByRole('cell', { name: 'GetObject', exact: true }).first().waitFor()
    t.equal(await page.getByRole('cell', { name: 'searchAudit' }).count(), 0, 'its own reads are no news')
    await page.getByLabel('Show').selectOption('everything, reads as well')
    await page.getByRole('cell', { name: 'ConsoleFile', exact: true }).first().waitFor()
    await page.getByLabel('From').fill('2999-01-01T00:00')
    await page.getByText('No record matches').waitFor()
    await page.setViewportSize({ width: 360, height: 640 })
    await page.getByLabel('From').waitFor({ state: 'hidden' })
    await page.getByRole('button', { name: 'Filters: 2 set' }).click()
    await page.getByLabel('From').waitFor()
    t.same(await accessibilityFlaws(page), [])
    t.same(flaws, [])
  })

  t.test('keys: one is made, and what older ones wrap is wrapped again, bucket by bucket', async t => {
    await admin.call('POST', '/buckets', { name: 'sealed' })
    await admin.call('PUT', '/buckets/sealed/encryption', { algorithm: 'AES256' })
    await admin.call('POST', '/buckets/sealed/objects/upload?key=letter', 'secret')
    const { page, flaws } = await browser.open(t)
    const dialog = page.getByRole('dialog')
    await signIn(page, '/keys')
    await page.getByRole('button', { name: 'Create key' }).click()
    await dialog.getByLabel('Name').fill('second')
    await dialog.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('cell', { name: 'second', exact: true }).waitFor()
    await page.getByRole('button', { name: 'Reseal' }).click()
    // Stopped within the first bucket: it is not said to be done.
    let goOn = () => {}
    const mayGoOn = new Promise<void>(done => {
      goOn = done
    })
    await page.route(/reseal\?bucket=/, async route => {
      await mayGoOn
      await route.continue()
    })
    await dialog.getByRole('button', { name: 'Reseal' }).click()
    await dialog.getByRole('button', { name: 'Stop after this bucket' }).click()
    goOn()
    await dialog.getByText('Not all was looked at: former keys are still needed').waitFor()
    t.same(await accessibilityFlaws(page), [])
    await dialog.getByRole('button', { name: 'Reseal' }).click()
    await dialog.getByText(/^(\d+) of \1 buckets$/).waitFor()
    await dialog.getByText('1 versions and uploads with keys of this server looked at').waitFor()
    t.same(await accessibilityFlaws(page), [])
    t.same(flaws, [])
  })
}
