/**
 * Every page of the web console on servers in four states: no page is wider than its window, on a phone, a desk and a screen of 3840 px,
 * lines stay short enough to be read, axe finds nothing serious, nobody else is asked for anything, and nothing fails. With TEST_PICTURES=1
 * pictures of all of them are left in .tap/pictures, in both themes, to be looked at:
 * `TEST_PICTURES=1 npx tap test/wire/console-pictures.slow.test.ts`; of a million objects
 * `TEST_PICTURES=1 TEST_LONG=1 npx tap test/wire/console-large-bucket.slow.test.ts`.
 */
import { renameSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { temporaryFolder } from 'svc/testing'
import t from 'tap'
import type { AdminClient } from './admin.ts'
import { accessibilityFlaws, colourRules, withoutBrowser } from './browser.ts'
import { consolePages, eventually, openPage, startConsole } from './console.ts'
import { look, nameOf, visitor } from './pictures.ts'

// Only a page that hangs takes so long.
t.setTimeout(1_800_000)

const expected = /404 GET .*(encryption|policy|lifecycle)/

/** What axe finds, light and dark. */
async function flawsOf(page: Page, withFrame = false): Promise<string[]> {
  const found = await accessibilityFlaws(page, { withFrame })
  await page.emulateMedia({ colorScheme: 'dark' })
  await page.locator('html[data-mantine-color-scheme=dark]').waitFor()
  found.push(...(await accessibilityFlaws(page, { withFrame, rules: colourRules })))
  await page.emulateMedia({ colorScheme: 'light' })
  return found
}

/** Something on every page; bodies of some kilobytes. `sink` takes events until it is told to fail. */
async function fill({ call, createUser, putPolicy }: AdminClient, sink: string, fail: () => void): Promise<void> {
  await call('POST', '/buckets', { name: 'photos', versioning: true, quotaBytes: 8_000_000 })
  await call('POST', '/buckets', { name: 'vault', objectLock: true })
  await call('POST', '/buckets', { name: 'site' })
  await call('POST', '/buckets', {
    name: 'a-bucket-with-a-long-name-'.padEnd(63, 'x'),
  })
  const put = (bucket: string, key: string, body: unknown) =>
    call('POST', `/buckets/${bucket}/objects/upload?key=${encodeURIComponent(key)}`, body)
  for (let index = 1; index <= 14; index++) await put('photos', `picture-${index}.jpg`, 'x'.repeat(index * 40_000))
  for (const key of ['2025/a', '2026/b', `long-${'name-'.repeat(30)}.txt`]) await put('photos', key, key)
  for (const text of ['one', 'two', 'three']) await put('photos', 'letter.txt', text)
  await put('site', 'index.html', 'home '.repeat(2000))
  await put('vault', 'deed.txt', 'deed')
  await call('POST', '/buckets/photos/objects/share', { key: 'letter.txt' })
  await call('POST', '/buckets/photos/objects/share', { key: `long-${'name-'.repeat(30)}.txt` })
  await call('PUT', '/buckets/photos/lifecycle', {
    rules: [
      { id: 'old', enabled: true, filter: { prefix: '2025/' }, expiration: { days: 30 } },
      { id: 'uploads', enabled: true, abortIncompleteUpload: { daysAfterInitiation: 7 } },
    ],
  })
  await call('PUT', '/buckets/photos/access-rules', {
    rules: [
      { id: 'everybody', effect: 'allow', principals: ['*'], actions: ['read'] },
      {
        id: 'office-only',
        description: 'Only the office may read drafts.',
        effect: 'deny',
        principals: ['*'],
        actions: ['read'],
        match: { type: 'prefix', pattern: 'drafts/' },
        conditions: { notSourceIp: ['192.0.2.0/24'] },
      },
    ],
  })
  await putPolicy('photos-only', { Action: ['s3:GetObject'], Resource: ['arn:aws:s3:::photos/*'] })
  await createUser('ada', { policyNames: ['readwrite'] })
  await createUser('backup', { policyNames: ['writeonly', 'photos-only'] })
  await call('POST', '/groups', { name: 'staff', description: 'Everybody who works here', members: ['ada'] })
  await call('POST', '/access-keys', { name: 'deploy', description: 'Of the build' })
  await call('POST', '/keygroups', { id: 'links', comment: 'Signed links of the shop' })
  await call('POST', '/distributions', {
    id: 'www.example.test',
    aliases: ['www.example.test', '*.cdn.example.test'],
    origin: { bucket: 'photos' },
    comment: 'The shop',
    defaultBehavior: { access: 'public', indexDocument: 'index.html' },
    behaviors: [{ pathPattern: { type: 'prefix', pattern: '/private/' }, access: 'deny' }],
    errorPages: [{ status: 404, path: '/404.html' }],
  })
  await call('PATCH', '/config/notify_webhook:hook', { settings: { enable: 'on', endpoint: sink } })
  const [{ arn }] = (await call('GET', '/notify/targets')).items
  await call('PUT', '/buckets/photos/events', {
    subscriptions: [{ id: 'pictures', arn, events: ['s3:ObjectCreated:*'], suffix: '.jpg' }],
  })
  fail()
  await put('photos', 'told.jpg', 'told')
  await call('POST', '/cache/invalidations', { all: true })
  await call('POST', '/dns-providers', {
    name: 'office',
    type: 'rfc2136',
    comment: 'The name server of the office',
    rfc2136: { nameserver: '127.0.0.1:53', tsigKeyName: 'key' },
    credentials: { tsigSecret: 'c2VjcmV0' },
  })
}

/** The pages beside those that every server has. */
const more = [
  ['/distributions/www.example.test', 'www.example.test'],
  ['/buckets/vault', 'vault'],
  ['/buckets/photos?prefix=2025/', 'photos'],
] as const

if (withoutBrowser !== false) {
  t.comment(withoutBrowser)
  t.end()
} else {
  t.test('an empty server', async t => {
    const { url, admin, browser, signIn } = await startConsole(t)
    const { page, flaws } = await browser.open(t, visitor, expected)
    await page.goto(`${url}/sign-in`)
    await page.getByLabel('Access key').waitFor()
    await look(t, page, 'empty/sign-in')
    await signIn(page)
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    const found: string[] = []
    const lookAt = async (path: string, heading: string, name = nameOf(path)) => {
      await openPage(page, path, heading)
      await look(t, page, `empty/${name}`)
      // The colours of both themes are those of the pages of a server in use.
      found.push(...(await accessibilityFlaws(page)))
    }
    for (const [path, heading] of [
      ['/', 'Overview'],
      ['/buckets', 'Buckets'],
    ] as const) {
      await lookAt(path, heading, `no-buckets-${nameOf(path)}`)
    }
    await admin.call('POST', '/buckets', { name: 'empty' })
    for (const [path, heading] of consolePages('empty')) await lookAt(path, heading)
    t.same(found, [])
    t.same(flaws, [])
  })

  t.test('a server in use, and a caller of it who may do little', async t => {
    let status = 200
    const sink = createServer((_, answer) => void answer.writeHead(status).end())
    await new Promise<void>(done => sink.listen(0, '127.0.0.1', done))
    t.teardown(() => sink.close())
    const { url, server, admin, browser, signIn } = await startConsole(t, {
      environment: { SVC_WEB_ADDRESS: '127.0.0.1:0' },
    })
    await fill(admin, `http://127.0.0.1:${(sink.address() as AddressInfo).port}/`, () => {
      status = 500
    })
    for (let index = 0; index < 8; index++) await fetch(`${server.endpoint}/photos/picture-${index}.jpg`)
    await t.test('root', async t => {
      const { page, flaws } = await browser.open(t, visitor, expected)
      const origins = new Set<string>()
      page.on('request', request => origins.add(new URL(request.url()).origin))
      await page.goto(`${url}/sign-in`)
      await page.getByLabel('Access key').waitFor()
      await look(t, page, 'full/sign-in')
      const found = await flawsOf(page)
      await signIn(page)
      await page.getByRole('heading', { name: 'Overview' }).waitFor()
      for (const [path, heading] of [...consolePages('photos'), ...more]) {
        await openPage(page, path, heading)
        await look(t, page, `full/${nameOf(path)}`)
        found.push(...(await flawsOf(page, path === '/')))
      }
      t.same(found, [])
      t.same([...origins], [url], 'nobody else is asked for anything')
      await openPage(page, '/distributions/www.example.test', 'www.example.test')
      for (const tab of [
        'Behaviours',
        'Errors and redirects',
        'Restrictions',
        'Test a request',
        'Cache',
        'Purge',
        'Warm up',
      ]) {
        await page.getByRole('tab', { name: tab, exact: true }).click()
        await look(t, page, `full/distribution-${tab.toLowerCase().replaceAll(' ', '-')}`)
      }
      await openPage(page, '/buckets/photos', 'photos')
      await page.getByRole('button', { name: 'letter.txt', exact: true }).click()
      for (const tab of ['Details', 'Preview', 'Versions']) {
        await page.getByRole('dialog').getByRole('tab', { name: tab }).click()
        await look(t, page, `full/object-${tab.toLowerCase()}`)
      }
      t.same(flaws, [])
    })
    await t.test('who may read one bucket', async t => {
      await admin.putPolicy('read-photos', {
        Action: ['s3:ListBucket', 's3:GetObject', 's3:GetBucketLocation'],
        Resource: ['arn:aws:s3:::photos', 'arn:aws:s3:::photos/*'],
      })
      const { accessKeyId, secretAccessKey } = await admin.createUser('reader', { policyNames: ['read-photos'] })
      const { page, flaws } = await browser.open(t, visitor)
      await signIn(page, '/', accessKeyId, secretAccessKey)
      await page.getByRole('heading', { name: 'Buckets' }).waitFor()
      const links: string[] = []
      for (const link of await page.locator('nav a').all()) links.push(String(await link.getAttribute('href')))
      for (const path of [...links, '/buckets/photos']) {
        await page.goto(url + path)
        await page.getByRole('heading', { level: 1 }).waitFor()
        await look(t, page, `little/${nameOf(path)}`)
      }
      t.same(flaws, [])
    })
  })

  t.test('a server whose drive has failed', async t => {
    const root = temporaryFolder(t)
    const { server, admin, browser, signIn } = await startConsole(t, { drive: join(root, 'd{1...4}') })
    await admin.call('POST', '/buckets', { name: 'photos' })
    const put = (key: string) => admin.call('POST', `/buckets/photos/objects/upload?key=${key}`, 'x'.repeat(300_000))
    for (const key of ['a', 'b', 'c']) await put(key)
    renameSync(join(root, 'd3'), join(root, 'd3.away'))
    await eventually('the drive is seen to be away', async () => {
      await put('d')
      const { nodes } = await admin.call('GET', '/info')
      return nodes[0].disks.some(({ state }: { state: string }) => state !== 'online')
    })
    const { page, flaws } = await browser.open(t, visitor, expected)
    await signIn(page)
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    for (const [path, heading] of consolePages('photos').filter(([path]) =>
      /^\/$|healing|photos$|tools|logs/.test(path),
    )) {
      await openPage(page, path, heading)
      await look(t, page, `failed-drive/${nameOf(path)}`)
    }
    t.same(flaws, [])
    await server.stop()
    rmSync(join(root, 'd3.away'), { recursive: true })
  })
}
