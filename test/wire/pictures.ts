/** How pages of the web console are looked at: by their measures always, and by people on pictures, which are taken with TEST_PICTURES=1. */
import { join, resolve } from 'node:path'
import type { Page } from 'playwright-core'
import type { Test } from 'tap'
import { comesToRest } from './browser.ts'
import { hasData } from './console.ts'

const folder = resolve(import.meta.dirname, '../../.tap/pictures')
/** Pictures are of all but the widest. The phone is the last: axe looks at that. */
const widths = [3840, 1440, 360] as const
/** Of what is read, in pixels: some 150 letters. */
const lineWidthMax = 1320
/** Two rows are higher. */
const tabHeightMax = 60
/** A list of a thousand rows is higher: of such a page what is in view shows as much. */
const pictureHeightMax = 20_000
const schemes = ['light', 'dark'] as const
export const takesPictures = process.env.TEST_PICTURES !== undefined
/** Where it is twelve now, which takes the most room: pages must not fit by the hour. */
const offset = 12 - new Date().getUTCHours()
const timezoneId = offset > 0 ? `Etc/GMT-${offset}` : `Etc/GMT+${-offset}`
/** A page that nobody looks at need not be drawn in full. */
export const visitor = { colorScheme: 'light', timezoneId, deviceScaleFactor: takesPictures ? 1 : 0.25 } as const

/** Pixels by which the page is wider than its window, and the width of its widest line of text. */
const measure = `({
  overflow: document.documentElement.scrollWidth - innerWidth,
  tabs: Math.max(0, ...Array.from(document.querySelectorAll('[role=tablist]'), one => one.offsetHeight)),
  outside: Array.from(document.querySelectorAll('main button:not([role=tab]), [role=dialog] button:not([role=tab])'))
    .filter(one => one.getBoundingClientRect().right > innerWidth)
    .map(one => one.ariaLabel ?? one.textContent),
  line: Math.max(0, ...Array.from(document.querySelectorAll('main p, main td, main [role=tabpanel]'), one => one.clientWidth)),
})`

interface Measured {
  readonly overflow: number
  readonly tabs: number
  readonly outside: readonly string[]
  readonly line: number
}

/** Whether a page fits its window, and what it looks like. */
export async function look(t: Test, page: Page, name: string): Promise<void> {
  await hasData(page)
  if (takesPictures) await page.waitForLoadState('networkidle', { timeout: 3000 }).catch(() => {})
  for (const width of widths) {
    await page.setViewportSize({ width, height: width === 360 ? 740 : 900 })
    await comesToRest(page)
    const { overflow, tabs, outside, line } = (await page.evaluate(measure)) as Measured
    t.ok(overflow <= 0, `${name} is as wide as a window of ${width} px`)
    t.same(outside, [], `every button of ${name} is in view`)
    t.ok(tabs < tabHeightMax, `the tabs of ${name} are one row`)
    t.ok(line <= lineWidthMax, `a line of ${name} is ${line} px wide`)
    if (takesPictures && width < 3840) await photograph(page, `${name}-${width}`)
  }
}

async function photograph(page: Page, name: string): Promise<void> {
  for (const colorScheme of schemes) {
    await page.emulateMedia({ colorScheme })
    await page.locator(`html[data-mantine-color-scheme=${colorScheme}]`).waitFor()
    const path = join(folder, `${name}-${colorScheme}.png`)
    const fullPage = Number(await page.evaluate('document.documentElement.scrollHeight')) <= pictureHeightMax
    await page.screenshot({ path, animations: 'disabled', fullPage })
  }
}

/** Of a picture, after the address of its page. */
export const nameOf = (path: string) => path.slice(1).replaceAll(/[/?=.]+/g, '-') || 'overview'
