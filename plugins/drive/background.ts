/**
 * Background work of the drives: blob clean-up, compaction, checks of index and journal. Each kind of work visits the open drives
 * one after the other, so that several drives load the machine no more than one.
 */
import type { BackgroundWorker } from 'svc/kernel'
import type { OpenDrive } from './owned-drive.ts'

export function createBackgroundWork(open: ReadonlySet<OpenDrive>): BackgroundWorker[] {
  const collected = new WeakSet<OpenDrive>()
  return [
    {
      name: 'compaction',
      pauseMs: 1000,
      work: signal => inTurn(open, signal, one => one.run(signal, ended => one.drive.compaction.work(ended))),
      status: () => compactionStatus(open),
    },
    {
      name: 'unreferenced-blobs',
      pauseMs: 3000,
      work: signal =>
        inTurn(open, signal, async one => {
          if (collected.has(one)) return 'idle'
          let isDone = false
          await one.run(signal, async ended => {
            isDone = await one.drive.collectGarbage(ended)
          })
          if (isDone) collected.add(one)
          return 'idle'
        }),
    },
    {
      name: 'files',
      pauseMs: 3000,
      work: signal =>
        inTurn(open, signal, async one => {
          await one.drive.requireFiles()
          return 'idle'
        }),
    },
    {
      name: 'index-check',
      pauseMs: 10_000,
      work: signal =>
        inTurn(open, signal, async one => {
          await one.drive.checkIndex()
          return 'idle'
        }),
    },
    {
      name: 'journal-check',
      pauseMs: 10_000,
      work: signal =>
        inTurn(open, signal, async one => {
          await one.run(signal, ended => one.drive.journalCheck.work(ended))
          return 'idle'
        }),
    },
    {
      name: 'journal-space',
      pauseMs: 1000,
      work: signal =>
        inTurn(open, signal, async one => {
          one.drive.prepareJournal()
          return 'idle'
        }),
    },
  ]
}

/** Runs one unit per drive. A failure on one drive does not keep the others from their turn. */
async function inTurn(
  open: ReadonlySet<OpenDrive>,
  signal: AbortSignal,
  unit: (drive: OpenDrive) => Promise<'more' | 'idle'>,
): Promise<'more' | 'idle'> {
  const failures: unknown[] = []
  let isMore = false
  for (const drive of [...open]) {
    if (signal.aborted) break
    // Closed during another drive's turn.
    if (!open.has(drive)) continue
    try {
      if ((await unit(drive)) === 'more') isMore = true
    } catch (error) {
      if (open.has(drive)) failures.push(error)
    }
  }
  if (failures.length > 1) throw new AggregateError(failures, `the work failed on ${failures.length} drives`)
  if (failures.length === 1) throw failures[0]
  return isMore ? 'more' : 'idle'
}

function compactionStatus(open: ReadonlySet<OpenDrive>): string {
  for (const { drive } of open) {
    const { current } = drive.compaction
    if (current !== undefined) return open.size > 1 ? `segment ${current} of ${drive.path}` : `segment ${current}`
  }
  return 'idle'
}
