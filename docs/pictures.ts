/** The pictures of docs/operate/console.md, of a real server that is filled for them: `npm run docs:pictures`. Needs Chromium. */
import { mkdirSync } from 'node:fs'
import { get } from 'node:http'
import { join } from 'node:path'
import { type Browser, chromium, type Page } from 'playwright-core'
import t from 'tap'
import { type AdminClient, createAdminClient } from '../test/wire/admin.ts'
import { requireProgram } from '../test/wire/clients.ts'
import { accessKey, secretKey, startServer } from '../test/wire/server.ts'

// The server is one of tests, which end after half a minute by default.
t.setTimeout(600_000)

const folder = join(import.meta.dirname, 'operate/pictures')
const viewport = { width: 1280, height: 800 }

interface Picture {
  readonly name: string
  readonly path: string
  /** Leads from the page to what the picture shows; resolves when it is there. */
  readonly show: (page: Page) => Promise<unknown>
}

const heading = (name: string) => (page: Page) => page.getByRole('heading', { name, level: 1 }).waitFor()

const pictures: readonly Picture[] = [
  // Two measurements after the start the charts have something.
  {
    name: 'overview',
    path: '',
    show: page =>
      page
        .getByText(/^Highest: .*\d\/s at/)
        .first()
        .waitFor(),
  },
  {
    name: 'object',
    path: 'buckets/photos?prefix=2026/',
    async show(page) {
      await page.getByRole('button', { name: 'letter.txt', exact: true }).click()
      await page.getByRole('dialog').getByRole('tab', { name: 'Versions' }).click()
      await page.getByText('current', { exact: true }).waitFor()
    },
  },
  {
    name: 'access',
    path: 'buckets/site?tab=access',
    show: page => page.getByRole('button', { name: 'Edit rule office-only' }).waitFor(),
  },
  {
    name: 'distribution',
    path: 'distributions/www.example.test',
    async show(page) {
      await page.getByRole('tab', { name: 'Test a request' }).click()
      await page.getByRole('button', { name: 'Test', exact: true }).click()
      await page.getByText('Answer: 200').waitFor()
    },
  },
  {
    name: 'cache',
    path: 'cache',
    show: page =>
      page
        .getByRole('row', { name: /about\.html/ })
        .first()
        .waitFor(),
  },
]

/** Visitors of the site, so that there is something to count. */
async function visit(address: string): Promise<void> {
  const paths = ['/', '/', '/', '/about.html', '/about.html', '/', '/missing.html', '/about.html', '/', '/']
  for (const path of paths) {
    await new Promise<void>((done, fail) => {
      get(`http://${address}${path}`, { headers: { host: 'www.example.test' } }, answer => {
        answer.resume().on('end', () => done())
      }).on('error', fail)
    })
  }
}

async function fill(admin: AdminClient): Promise<void> {
  await admin.call('POST', '/buckets', { name: 'photos', versioning: true })
  await admin.call('POST', '/buckets', { name: 'site' })
  const put = (bucket: string, key: string, body: unknown) =>
    admin.call('POST', `/buckets/${bucket}/objects/upload?key=${encodeURIComponent(key)}`, body)
  for (const text of ['Dear Ada,', 'Dear Ada, thank you', 'Dear Ada, thank you for the engine.']) {
    await put('photos', '2026/letter.txt', text)
  }
  for (let index = 1; index <= 12; index++) await put('photos', `2026/picture-${index}.jpg`, 'x'.repeat(index * 40_000))
  await put('site', 'index.html', 'home '.repeat(2000))
  await put('site', 'about.html', 'about '.repeat(5000))
  const rules = [
    { id: 'everybody', effect: 'allow', principals: ['*'], actions: ['read'] },
    {
      id: 'office-only',
      effect: 'deny',
      principals: ['*'],
      actions: ['read'],
      match: { type: 'prefix', pattern: 'internal/' },
      conditions: { notSourceIp: ['192.0.2.0/24'] },
    },
  ]
  await admin.call('PUT', '/buckets/site/access-rules', { rules })
  await admin.call('POST', '/distributions', {
    id: 'www.example.test',
    aliases: ['www.example.test'],
    origin: { bucket: 'site' },
    defaultBehavior: { access: 'public', indexDocument: 'index.html' },
  })
  await admin.createUser('ada', { policyNames: ['readwrite'] })
  await admin.createUser('backup', { policyNames: ['writeonly'] })
}

async function take(browser: Browser, url: string, colorScheme: 'light' | 'dark'): Promise<void> {
  const page = await (await browser.newContext({ viewport, colorScheme })).newPage()
  await page.goto(`${url}/sign-in`)
  await page.getByLabel('Access key').fill(accessKey)
  await page.locator('input[type=password]').fill(secretKey)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await heading('Overview')(page)
  for (const { name, path, show } of pictures) {
    await page.goto(`${url}/${path}`)
    await show(page)
    await page.waitForLoadState('networkidle')
    await page.screenshot({ path: join(folder, `${name}-${colorScheme}.png`), animations: 'disabled' })
  }
}

const { path: executablePath, skip } = requireProgram('chromium')
if (skip !== false) throw new Error(String(skip))
mkdirSync(folder, { recursive: true })
const server = await startServer({ environment: { SVC_WEB_ADDRESS: '127.0.0.1:0' } })
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'] })
try {
  await fill(createAdminClient(server))
  await visit(String(server.startup.web))
  for (const scheme of ['light', 'dark'] as const) await take(browser, `http://${server.startup.console}`, scheme)
  console.log(`Made ${pictures.length * 2} pictures in docs/operate/pictures.`)
} finally {
  await browser.close()
  await server.remove()
}
