/**
 * The process that looks at an index before the server does: `index-check-process PATH all|probe free|live|untouched`. Writes a line for each second
 * of work and at the end one of JSON: `{"problem": text or null}`. LMDB reads its file as memory and trusts it; what a damaged one
 * does to this process it does not do to the server.
 *
 * It ends by a signal, which the server expects after the answer: in `process.exit` Node.js sometimes waits for ever (see kernel/exit.ts),
 * and then a sound index would count as one that cannot be read.
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
  // An index that nobody has open is opened for writing: after a power loss LMDB goes back to what was synchronized, for good.
  const index = openLmdbIndex(path!, { readOnly: use !== 'free' })
  if (scope === 'all') {
    // The snapshot that this begins keeps the pages that it and later ones use from being written over during the walk.
    problem = probeIndex(index) ?? checkStructure(join(path!, 'data.mdb'), onProgress) ?? checkIndex(index, onProgress)
  } else problem = probeIndex(index)
  // Gives its snapshot back: the pages of it could not be used again. A damaged file is better left alone.
  if (problem === undefined) await index.close()
} catch (error) {
  problem = String((error as Error).message)
}
writeSync(1, `${JSON.stringify({ problem: problem ?? null })}\n`)
process.kill(process.pid, 'SIGKILL')
