/**
 * Entry point of the process that checks an index before the server uses it: `index-check-process PATH all|probe
 * free|live|untouched`. It writes a line per second of work, and finally one line of JSON: `{"problem": text or null}`. LMDB maps
 * its file and trusts it, so a damaged file may crash or hang this process, but not the server. Started by `index-folder.ts`.
 *
 * It ends by a signal, which the server expects after the answer. `process.exit` of Node.js sometimes hangs (see kernel/program/exit.ts),
 * and a sound index would then count as unreadable.
 */
import { writeSync } from 'node:fs'
import { join } from 'node:path'
import { checkIndex, probeIndex } from './index-check.ts'
import { checkStructure } from './index-structure.ts'
import { openLmdbIndex } from './lmdb-index.ts'

const progressEveryMs = 1000
const [path, scope, use] = process.argv.slice(2)
let saidMs = performance.now()
const onProgress = () => {
  if (performance.now() - saidMs < progressEveryMs) return
  saidMs = performance.now()
  writeSync(1, '.\n')
}
let problem: string | undefined
try {
  // Opened for writing, LMDB permanently falls back to the last synced state after a power loss.
  const index = openLmdbIndex(path!, { readOnly: use !== 'free' })
  if (scope === 'all') {
    // Opening begins a snapshot, which keeps its pages and later ones from being overwritten during the walk.
    problem = probeIndex(index) ?? checkStructure(join(path!, 'data.mdb'), onProgress) ?? checkIndex(index, onProgress)
  } else problem = probeIndex(index)
  // Closing ends the snapshot, so that its pages can be reused. A damaged file is better not closed by LMDB.
  if (problem === undefined) await index.close()
} catch (error) {
  problem = String((error as Error).message)
}
writeSync(1, `${JSON.stringify({ problem: problem ?? null })}\n`)
process.kill(process.pid, 'SIGKILL')
