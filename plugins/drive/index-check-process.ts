/**
 * Entry point of the process that checks an index before the server uses it: `index-check-process PATH SCOPE USE`. The scope is `all` (every
 * entry) or `probe` (whether it can be opened and read). The use is `free` (no process has the index open), `untouched` (the same, and the
 * check must not change it) or `live` (the server has it open). LMDB maps its file and trusts it, so a damaged file may crash or hang this
 * process, but not the server. Started by `index-folder.ts`.
 *
 * While it works it writes a line about every second, to show that it does not hang; its last line is JSON, `{"problem": text or null}`. Then it
 * kills itself, and the server accepts that as a normal end: `process.exit` of Node.js sometimes hangs (see kernel/program/exit.ts), and a sound
 * index would then count as unreadable.
 */
import { writeSync } from 'node:fs'
import { join } from 'node:path'
import { checkIndexFile, probeIndex } from './index-check.ts'
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
    problem = probeIndex(index) ?? checkIndexFile(join(path!, 'data.mdb'), onProgress)
  } else problem = probeIndex(index)
  // Closing ends the snapshot, so that its pages can be reused. A damaged file is better not closed by LMDB.
  if (problem === undefined) await index.close()
} catch (error) {
  problem = String((error as Error).message)
}
writeSync(1, `${JSON.stringify({ problem: problem ?? null })}\n`)
process.kill(process.pid, 'SIGKILL')
