/** The web console with TLS of its own, and behind nginx with TLS and HTTP/2, below a path, as docs/operate/console.md says. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Page } from 'playwright-core'
import { createTestAuthority, type TestCertificate } from 'svc/plugins/certificates/testing'
import { temporaryFolder } from 'svc/testing'
import t, { type Test } from 'tap'
import { prepareNginx } from '../services/nginx.ts'
import { startBrowser, wholeBrowser, withoutBrowser } from './browser.ts'
import { requireProgram } from './clients.ts'
import { filesIn } from './console.ts'
import { accessKey, secretKey, startServer } from './server.ts'

// Only a page that hangs takes so long.
t.setTimeout(900_000)

const nginx = requireProgram('nginx')
const openssl = requireProgram('openssl')
const skip = withoutBrowser || nginx.skip || openssl.skip
const host = 'console.example.test'
const certs = temporaryFolder(t)

if (skip === false) {
  const { chain, key } = createTestAuthority(temporaryFolder(t)).issue([host])
  writeFileSync(join(certs, 'public.crt'), chain)
  writeFileSync(join(certs, 'private.key'), key)
}

/** The name is of the certificate; nobody trusts its authority. */
const browser =
  skip === false
    ? await startBrowser(t, { more: [`--host-resolver-rules=MAP ${host} 127.0.0.1`], program: wholeBrowser })
    : undefined
const options = { ignoreHTTPSErrors: true, acceptDownloads: true }

/** Signs in, makes a bucket, sends a file of several parts up and another down, sees a request live, and signs out. */
async function use(t: Test, page: Page, url: string): Promise<void> {
  await page.goto(`${url}buckets`)
  await page.getByLabel('Access key').fill(accessKey)
  await page.locator('input[type=password]').fill(secretKey)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('button', { name: 'Create bucket' }).click()
  await page.getByRole('dialog').getByLabel('Name').fill('photos')
  await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click()
  await page.getByRole('link', { name: 'photos' }).click()
  await page.getByText('Nothing is here yet').waitFor()
  t.equal(page.url(), `${url}buckets/photos`)
  const folder = temporaryFolder(t)
  const files = ['large.bin', 'note.txt'].map(name => join(folder, name))
  writeFileSync(files[0]!, Buffer.alloc(40 * 1024 ** 2, 'large '))
  writeFileSync(files[1]!, 'a note')
  await filesIn(page).setInputFiles(files)
  await page.getByText('2 of 2 done').waitFor()
  await page.getByRole('button', { name: 'note.txt', exact: true }).click()
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('dialog').getByRole('link', { name: 'Download', exact: true }).click(),
  ])
  t.equal(readFileSync(await download.path(), 'utf8'), 'a note')
  await page.goto(`${url}trace`)
  await page.getByLabel('Type').selectOption('admin')
  await page.getByText('Live.').waitFor()
  await page.evaluate(`fetch('${url}api/v1/me/permissions')`)
  await page
    .getByRole('cell', { name: /permissions/ })
    .first()
    .waitFor()
  await page.reload()
  await page.getByText('Live.').waitFor()
  const cookies = await page.context().cookies()
  t.same(
    cookies.map(({ name, path, secure, httpOnly }) => ({ name, path, secure, httpOnly })).sort(byName),
    ['__Host-svc_session', 'svc_session'].map(name => ({ name, path: '/', secure: true, httpOnly: true })),
    'the session is for TLS alone, and no other page of the host can set it',
  )
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByLabel('Access key').waitFor()
}

const byName = (one: { name: string }, other: { name: string }) => (one.name < other.name ? -1 : 1)
const protocolOf = (page: Page) =>
  page.evaluate('performance.getEntriesByType("navigation")[0].nextHopProtocol') as Promise<string>

t.test('TLS of SVC_CERTS_DIR', { skip }, async t => {
  const folder = temporaryFolder(t)
  const install = ({ chain, key }: TestCertificate) => {
    writeFileSync(join(folder, 'public.crt'), chain)
    writeFileSync(join(folder, 'private.key'), key)
  }
  const authority = createTestAuthority(temporaryFolder(t))
  const ending = authority.issue([host], { days: 5 })
  install(ending)
  const server = await startServer({ environment: { SVC_CERTS_DIR: folder } })
  t.teardown(server.remove)
  const { page, flaws } = await browser!.open(t, options, /409 POST .*restart/)
  const { port } = new URL(`http://${server.startup.console}`)
  const url = `https://${host}:${port}/`
  await use(t, page, url)
  t.comment(`it speaks ${await protocolOf(page)}`)

  install({ ...ending, chain: authority.issue([host]).chain })
  await page.goto(`${url}server`)
  await page.getByLabel('Access key').fill(accessKey)
  await page.locator('input[type=password]').fill(secretKey)
  await page.getByRole('button', { name: 'Sign in' }).click()
  const attention = page.getByRole('alert').filter({ hasText: 'Needs attention' })
  await attention.getByText(/public.crt of this server expires soon, on .*, in 4 days\./).waitFor()
  await attention.getByText(/is refused, and the old one stays in use: private.key is not the key/).waitFor()
  await page.getByRole('button', { name: 'Restart', exact: true }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Restart' }).click()
  const question = page.getByRole('dialog', { name: 'It would not start again' })
  await question.getByText(/The server would end, and not start again: tls: SVC_CERTS_DIR: private.key/).waitFor()
  t.ok(await question.getByRole('button', { name: 'Restart all the same' }).isEnabled())
  await question.getByRole('button', { name: 'Cancel' }).click()
  await page.keyboard.press('Escape')
  const info = /\/api\/v1\/info$/
  const { tls, ...rest } = (await page.evaluate(`fetch('/api/v1/info').then(answer => answer.json())`)) as {
    tls: { certificates: object[] }
  }
  const certificates = tls.certificates.map(one => ({ ...one, notAfter: '', daysLeft: -1 }))
  await page.route(info, route => route.fulfill({ json: { ...rest, tls: { ...tls, certificates } } }))
  await page.goto(url)
  await attention.getByText(/The end of the certificate .*public.crt of this server is not a date/).waitFor()
  await page.unroute(info)
  await page.goto(`${url}certificates`)
  await page.getByRole('cell', { name: /The new certificate in SVC_CERTS_DIR is refused/ }).waitFor()
  t.equal(server.log().match(/"msg":"ready"/g)?.length, 1, 'it has not been restarted')
  t.same(flaws, [])
})

t.test('behind nginx with TLS and HTTP/2, below a path', { skip }, async t => {
  const proxy = await prepareNginx(t, nginx.path)
  const url = `https://${host}:${proxy.port}/console/`
  const server = await startServer({
    environment: { SVC_BROWSER_REDIRECT_URL: url, SVC_TRUSTED_PROXIES: '127.0.0.1' },
  })
  t.teardown(server.remove)
  const guide = readFileSync(resolve(import.meta.dirname, '../../docs/operate/console.md'), 'utf8')
  const location = /```nginx\n([\s\S]*?)```/.exec(guide)![1]!.replace('127.0.0.1:9001', String(server.startup.console))
  await proxy.start(`server {
    listen 127.0.0.1:${proxy.port} ssl http2;
    ssl_certificate ${join(certs, 'public.crt')};
    ssl_certificate_key ${join(certs, 'private.key')};
    ${location}
  }`)
  const { page, flaws } = await browser!.open(t, options)
  await use(t, page, url)
  t.equal(await protocolOf(page), 'h2')
  t.same(flaws, [])
})
