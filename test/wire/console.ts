/** The web console of a server of its own, in a browser of its own: what the tests of its pages begin with. */
import { type IncomingMessage, type OutgoingHttpHeaders, request } from 'node:http'
import type { Locator, Page } from 'playwright-core'
import { until } from 'svc/testing'
import type { Test } from 'tap'
import { type AdminClient, createAdminClient } from './admin.ts'
import { type BrowserOptions, startBrowser } from './browser.ts'
import { accessKey, type ServerOptions, secretKey, startServer } from './server.ts'

/** Ended when the test ends. */
export async function startConsole(t: Test, options: ServerOptions = {}, browserOptions: BrowserOptions = {}) {
  const server = await startServer(options)
  t.teardown(server.remove)
  const url = `http://${server.startup.console}`
  return {
    server,
    url,
    admin: createAdminClient(server),
    browser: await startBrowser(t, browserOptions),
    /** As root, unless a key is given; `path` is where one wants to go. Without the form, which costs a load of the application more. */
    async signIn(page: Page, path = '/', key = accessKey, secret = secretKey): Promise<void> {
      const data = { accessKey: key, secretKey: secret }
      const answer = await page.request.post(`${url}/api/v1/auth/login`, { data })
      if (!answer.ok()) throw new Error(`${answer.status()} ${await answer.text()}`)
      await page.goto(url + path)
    },
    /** The same by the form. */
    async signInByForm(page: Page, path = '/', key = accessKey, secret = secretKey): Promise<void> {
      await page.goto(url + path)
      await page.getByLabel('Access key').fill(key)
      await page.locator('input[type=password]').fill(secret)
      await page.getByRole('button', { name: 'Sign in' }).click()
    },
  }
}

/** Resolves when it holds; after `withinMs` it rejects. The page's own policy forbids to wait inside it. */
export async function eventually(what: string, holds: () => Promise<boolean>, withinMs?: number): Promise<void> {
  await until(holds, { what, withinMs })
}

/** Adds to the flaws if any script of what was stored runs. */
export function noticeScripts(page: Page, flaws: string[]): void {
  page.on('dialog', dialog => {
    flaws.push('a script ran')
    void dialog.dismiss()
  })
}

/**
 * Another text in an editor. The old one is deleted first: what is put in the place of coloured text keeps its colour by an inline style of the
 * browser's, sometimes, which the policy of the page refuses.
 */
export async function retype(editor: Locator, text: string): Promise<void> {
  const { keyboard } = editor.page()
  await editor.click()
  await keyboard.press('ControlOrMeta+A')
  await keyboard.press('Delete')
  await keyboard.insertText(text)
}

/** What stands in the menu behind a button “More”. */
export async function chooseFrom(more: Locator, action: string): Promise<void> {
  await more.click()
  await more.page().getByRole('menuitem', { name: action, exact: true }).click()
}

/** Where files are chosen to go up. */
export const filesIn = (page: Page) => page.locator('input[type=file]').first()

/** Of all objects of a bucket that begin so, at most a thousand. */
export async function keysOf(admin: AdminClient, bucket: string, prefix = ''): Promise<string[]> {
  const { objects } = await admin.call('GET', `/buckets/${bucket}/objects?delimiter=&prefix=${prefix}`)
  return objects.map(({ key }: { key: string }) => key)
}

/** The answer that visitors of a domain get, whose resolver knows it. */
export const visitDomain = (port: string, { host, pathname, search }: URL, headers: OutgoingHttpHeaders = {}) =>
  new Promise<IncomingMessage>((done, fail) => {
    const asked = request({ port, path: pathname + search, headers: { host, ...headers }, agent: false }, answer => {
      answer.resume().on('end', () => done(answer))
    })
    asked.on('error', fail).end()
  })

/** The address and heading of each page and tab that root sees; of buckets, this one's. */
export const consolePages = (bucket: string): readonly (readonly [path: string, heading: string])[] => [
  ['/', 'Overview'],
  ['/buckets', 'Buckets'],
  [`/buckets/${bucket}`, bucket],
  [`/buckets/${bucket}?tab=versions`, bucket],
  [`/buckets/${bucket}?tab=uploads`, bucket],
  [`/buckets/${bucket}?tab=settings`, bucket],
  [`/buckets/${bucket}?tab=access`, bucket],
  [`/buckets/${bucket}?tab=policy`, bucket],
  [`/buckets/${bucket}?tab=lifecycle`, bucket],
  [`/buckets/${bucket}?tab=events`, bucket],
  [`/buckets/${bucket}?tab=distributions`, bucket],
  ['/shares', 'Shares'],
  ['/users', 'Users'],
  ['/groups', 'Groups'],
  ['/policies', 'Policies'],
  ['/access-keys', 'Access keys'],
  ['/distributions', 'Distributions'],
  ['/cache', 'Cache'],
  ['/cache?tab=purge', 'Cache'],
  ['/cache?tab=warmup', 'Cache'],
  ['/cache?tab=inspect', 'Cache'],
  ['/cache?tab=policies', 'Cache'],
  ['/cache?tab=settings', 'Cache'],
  ['/key-groups', 'Key groups'],
  ['/certificates', 'Certificates'],
  ['/dns-providers', 'DNS providers'],
  ['/server', 'Server'],
  ['/drives', 'Drives'],
  ['/metrics', 'Metrics'],
  ['/healing', 'Healing'],
  ['/events', 'Event targets'],
  ['/keys', 'Encryption keys'],
  ['/locks', 'Locks'],
  ['/settings', 'Settings'],
  ['/trace', 'Live requests'],
  ['/logs', 'Log'],
  ['/audit', 'Audit'],
  ['/tools', 'Tools'],
  ['/plugins', 'Plugins'],
  ['/account', 'Your account'],
]

/**
 * Opens another page as a link of the console does, which costs a fraction of a load; where its heading is the present one's it is loaded, for
 * nothing else would say that it is there. Resolves when it has its data.
 */
export async function openPage(page: Page, path: string, heading: string): Promise<void> {
  const title = page.locator('h1')
  if ((await title.textContent()) === heading) await page.goto(new URL(path, page.url()).href)
  else await page.evaluate(`history.pushState(null, '', ${JSON.stringify(path)})`)
  await title.getByText(heading, { exact: true }).waitFor()
  await hasData(page)
}

/** Resolves when the page has its data: what stands for it meanwhile is gone. */
export const hasData = (page: Page) =>
  page.locator('.mantine-Skeleton-root[data-visible]').first().waitFor({ state: 'detached' })
