#!/usr/bin/env node
/** The entry point of `svcctl`. */
import { enableCompileCache } from 'node:module'
import { homedir } from 'node:os'
import { join } from 'node:path'

// Compilation takes longer than most commands. The cache is in a folder of the user, where others cannot write.
enableCompileCache(join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'svcctl'))
const { runSvcctl } = await import('./run.ts')
const { exit } = await import('./exit.ts')

const interruption = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    // The second one means it.
    if (interruption.signal.aborted) exit(130)
    interruption.abort()
  })
}
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // `svcctl ls | head`: the reader has seen enough.
  exit(error.code === 'EPIPE' ? 0 : 1)
})

const { stdin, stdout, stderr, env } = process
const code = await runSvcctl(process.argv.slice(2), {
  stdin,
  stdout,
  stderr,
  env,
  cwd: process.cwd(),
  signal: interruption.signal,
})
process.exitCode = code
// Open standard input and interrupted work must not keep the process running; pending output must be written.
if (stdout.writableLength > 0) stdout.once('drain', () => exit(code))
else exit(code)
