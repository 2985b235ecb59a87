/** Lists of objects are read again where uploads have arrived, whichever page is shown by then. */
import type { QueryClient } from '@tanstack/react-query'
import { uploadQueue } from './queue.ts'

const refreshMs = 2000

/** At once, and then at most every other second for each bucket: a folder of many files arrives one by one. */
export function refreshListsAfterUploads(queryClient: QueryClient): void {
  const waiting = new Set<string>()
  const nextMs = new Map<string, number>()
  uploadQueue.onDone(bucket => {
    if (waiting.has(bucket)) return
    waiting.add(bucket)
    setTimeout(
      () => {
        waiting.delete(bucket)
        nextMs.set(bucket, performance.now() + refreshMs)
        void queryClient.invalidateQueries({ queryKey: ['objects', bucket] })
      },
      (nextMs.get(bucket) ?? 0) - performance.now(),
    )
  })
}
