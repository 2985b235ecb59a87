/** Processes that make the same thing at the same time: one makes it, the others wait for it. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/** Resolves with what `work` does. A process that has ended holds no lock any more. */
export async function withLock(name, work) {
  const lock = resolve(import.meta.dirname, `../node_modules/.cache/svc-${name}.lock`)
  mkdirSync(dirname(lock), { recursive: true })
  for (;;) {
    try {
      writeFileSync(lock, String(process.pid), { flag: 'wx' })
      break
    } catch (error) {
      if (error.code !== 'EEXIST') throw error
      if (!isRunning(lock)) rmSync(lock, { force: true })
      else await new Promise(done => setTimeout(done, 50))
    }
  }
  try {
    return await work()
  } finally {
    rmSync(lock, { force: true })
  }
}

function isRunning(lock) {
  try {
    process.kill(Number(readFileSync(lock, 'utf8')) || process.pid, 0)
    return true
  } catch (error) {
    // Freed in this moment: whoever comes first takes it.
    return error.code === 'EPERM' || error.code === 'ENOENT'
  }
}
