/** How long the tasks of a page's main thread take, in time of that thread: what else the machine does is not in it. */
import type { Page } from 'playwright-core'

interface TraceEvent {
  readonly name: string
  readonly pid: number
  readonly tid: number
  /** Microseconds of the thread. */
  readonly tdur?: number
  readonly args: { readonly name?: string }
}

/** Milliseconds of the longest task that a page has while `work` goes on; of a minute or so, for every task is kept until then. */
export async function longestTaskMs(page: Page, work: () => Promise<unknown>): Promise<number> {
  const browser = page.context().browser()!
  await browser.startTracing(page, { categories: ['toplevel', 'disabled-by-default-devtools.timeline'] })
  await work()
  const { traceEvents } = JSON.parse(String(await browser.stopTracing())) as { traceEvents: readonly TraceEvent[] }
  const idOf = ({ pid, tid }: TraceEvent) => `${pid} ${tid}`
  const main = new Set(
    traceEvents.filter(({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain').map(idOf),
  )
  const tasks = traceEvents.filter(event => event.name === 'RunTask' && main.has(idOf(event)))
  if (tasks.length === 0) throw new Error('The trace has no task of the main thread')
  return tasks.reduce((max, { tdur = 0 }) => Math.max(max, tdur), 0) / 1000
}
