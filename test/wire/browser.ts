/** Real Chromium, and what every page has to keep: no error in its console, no refusal of its security policy, nothing that axe finds serious. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import type { Test } from 'tap'
import { findPrograms, requireProgram } from './clients.ts'

/** As people have it. */
export const { path: wholeBrowser, skip: withoutBrowser } = requireProgram('chromium')
/** The same engine without windows, where it is installed: two thirds of the CPU. It shows no PDF. */
const headlessBrowser = findPrograms('chromium-headless-shell')[0] ?? wholeBrowser

/** What nobody looks at need not be drawn in full. */
const usualWindow = { viewport: { width: 1280, height: 720 }, deviceScaleFactor: 0.25 }

/** For one step of a page, on a machine that is busy. */
const deadlineMs = 120_000

export interface BrowserOptions {
  /** Arguments of Chromium. */
  readonly more?: readonly string[]
  readonly program?: string
  /** Times are measured: with the compilers that people have. */
  readonly isTimed?: boolean
}

/** Closed when the test ends. */
export async function startBrowser(
  t: Test,
  { more = [], program = headlessBrowser, isTimed = false }: BrowserOptions = {},
) {
  // Root has no sandbox to offer. One process for the pages of a visitor, and none kept ready for the next; what runs for seconds is not
  // worth the optimising compilers: a tenth less of CPU.
  const browser = await chromium.launch({
    executablePath: program,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-dev-shm-usage',
      '--renderer-process-limit=1',
      ...(isTimed ? [] : ['--js-flags=--no-opt --no-maglev']),
      ...more,
    ],
  })
  t.teardown(() => browser.close())
  const spare: Page[] = []
  return {
    /**
     * A page of a visitor of its own, closed when this test ends: pages ask their servers again and again. `flaws` grows with whatever
     * went wrong on it, but for answers that are expected. `another` opens one more of the same visitor. Without further options the page
     * of a test that has passed is taken again, with nothing of that visitor but compiled scripts: a third of the CPU of a first load.
     * What cannot be taken back, as scripts that run before those of the page, another clock or a slow line, needs `aNewVisitor`.
     */
    async open(
      t: Test,
      { viewport = usualWindow.viewport, ...options }: BrowserContextOptions = {},
      expected: RegExp = /(?!)/,
    ) {
      const isUsual = Object.keys(options).length === 0
      const known = isUsual ? spare.pop() : undefined
      // What moves costs CPU for each picture of it.
      const context =
        known?.context() ??
        (await browser.newContext({ ...usualWindow, viewport, reducedMotion: 'reduce', ...options }))
      t.teardown(async () => {
        const pages = context.pages()
        if (!t.passing()) for (const page of pages) await describe(page, t.name)
        if (isUsual && t.passing() && pages.length === 1 && (await forgetVisitor(pages[0]!))) spare.push(pages[0]!)
        else await context.close()
      })
      const flaws: string[] = []
      const note = (flaw: string) => {
        if (!expected.test(flaw)) flaws.push(flaw)
      }
      const another = async () => {
        const page = await context.newPage()
        page.setDefaultTimeout(deadlineMs)
        watch(page, note)
        return page
      }
      if (known === undefined) return { page: await another(), another, flaws }
      if (viewport !== null) await known.setViewportSize(viewport)
      watch(known, note)
      return { page: known, another, flaws }
    },
  }
}

/** Options of a page that no other test has had, or gets afterwards. */
export const aNewVisitor: BrowserContextOptions = { acceptDownloads: true }

/** Leaves the page as another visitor would find it. False where it cannot be left so. */
async function forgetVisitor(page: Page): Promise<boolean> {
  const context = page.context()
  page.removeAllListeners()
  // Whoever has typed something is asked before it is lost.
  page.on('dialog', dialog => void dialog.accept().catch(() => undefined))
  try {
    // A picture of the same origin keeps the process with what it has compiled. Pages without one are not taken again.
    const icon = await page.evaluate(`document.querySelector('link[rel=icon]')?.href`)
    if (typeof icon !== 'string') return false
    await page.unrouteAll()
    await context.unrouteAll()
    await page.goto(icon, { timeout: 5_000 })
    await page.evaluate('sessionStorage.clear()')
    const devtools = await context.newCDPSession(page)
    await devtools.send('Storage.clearDataForOrigin', { origin: '*', storageTypes: 'all' })
    await devtools.detach()
    await context.clearCookies()
  } catch {
    return false
  }
  page.removeAllListeners()
  return true
}

/** What somebody would see and hear of a page on which a test has failed, into the log of the run: it may not come again. */
async function describe(page: Page, name: string): Promise<void> {
  const parts = `Array.from(document.querySelectorAll('main, [role=dialog], [role=alert]'), one => one.innerText)`
  const values = `Array.from(document.querySelectorAll('main input, [role=dialog] input'), one => [one.labels?.[0]?.innerText ?? one.ariaLabel, one.type === 'password' ? '' : one.value, one.ariaInvalid])`
  const seen = await page
    .evaluate(`({ parts: ${parts}, values: ${values}, focus: document.activeElement?.outerHTML.slice(0, 200) })`)
    .catch(String)
  process.stderr.write(`A page of the failed test “${name}”, ${page.url()}: ${JSON.stringify(seen, undefined, 1)}\n`)
}

function watch(page: Page, note: (flaw: string) => void): void {
  page.on('pageerror', error => note(`error: ${error.message}`))
  page.on('console', message => {
    // Of a request that failed the answer is noted.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) note(message.text())
  })
  page.on('requestfailed', request => {
    if (request.failure()?.errorText !== 'net::ERR_ABORTED') note(`no answer: ${request.url()}`)
  })
  page.on('response', answer => {
    if (answer.status() >= 400)
      note(`${answer.status()} ${answer.request().method()} ${new URL(answer.url()).pathname}`)
  })
}

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

interface Violation {
  readonly id: string
  readonly impact: string
  readonly help: string
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[]
}

/** Those whose outcome the colours decide. */
export const colourRules = ['color-contrast', 'link-in-text-block']

/** Colours on their way to others are neither: transitions end first. What turns for ever is not waited for. */
const atRest = `Promise.all(document.getAnimations()
  .filter(({ effect }) => effect.getComputedTiming().endTime !== Infinity)
  .map(({ finished }) => finished.catch(() => undefined))).then(() => undefined)`

/** Resolves when nothing of the page moves any more. */
export const comesToRest = (page: Page) => page.evaluate(atRest)

export interface Look {
  /** By these alone. */
  readonly rules?: readonly string[]
  /** Selectors of what has been looked at already. */
  readonly without?: readonly string[]
  /** Also at what is around every page: once is enough. */
  readonly withFrame?: boolean
}

const frame = ['.mantine-AppShell-header', '.mantine-AppShell-navbar']

/** What axe finds, a line each. */
export async function accessibilityFlaws(
  page: Page,
  { rules, without = [], withFrame = false }: Look = {},
): Promise<string[]> {
  if (!(await page.evaluate('"axe" in globalThis'))) await page.evaluate(axeSource)
  await comesToRest(page)
  // No rule that is asked for reads style sheets, and what passes need not be described.
  const options = { resultTypes: ['violations'], preload: false, ...(rules && { runOnly: rules }) }
  const context = { include: ['html'], exclude: [...(withFrame ? [] : frame), ...without].map(selector => [selector]) }
  const { violations } = (await page.evaluate(`axe.run(${JSON.stringify(context)}, ${JSON.stringify(options)})`)) as {
    violations: Violation[]
  }
  return violations.map(
    ({ id, impact, help, nodes }) =>
      `${new URL(page.url()).pathname} ${id} (${impact}): ${help}: ${nodes[0]?.html.slice(0, 200)}: ${nodes[0]?.failureSummary}`,
  )
}
