#!/usr/bin/env node
/** The entry point of `svc`. Nothing is imported before it is certain that this Node.js can run it. */
const NODE_MIN = [24, 15] as const

const [major, minor] = process.versions.node.split('.').map(Number)
if (major < NODE_MIN[0] || (major === NODE_MIN[0] && minor < NODE_MIN[1])) {
  process.stderr.write(`svc needs Node.js ${NODE_MIN.join('.')} or newer; this is ${process.versions.node}.\n`)
  process.exit(1)
}
const { setFlagsOfStart } = await import('./program/start-flags.ts')
setFlagsOfStart()
const { setIoThreads } = await import('./program/io-threads.ts')
setIoThreads()
// Compilation is most of a start. Sources keep the result beside their packages; an installation where NODE_COMPILE_CACHE says. V8
// takes it only where the same flags are set, so they come first. Worker threads and children find the folder in the environment.
const { enableCompileCache } = await import('node:module')
const { fileURLToPath } = await import('node:url')
if (process.env.NODE_COMPILE_CACHE === undefined && import.meta.url.endsWith('.ts')) {
  process.env.NODE_COMPILE_CACHE = fileURLToPath(new URL('../node_modules/.cache/svc', import.meta.url))
  enableCompileCache(process.env.NODE_COMPILE_CACHE)
}
const { runCli } = await import('./program/cli.ts')
const { exit } = await import('./program/exit.ts')
const { stdout, stderr, env } = process
exit(await runCli(process.argv.slice(2), { stdout, stderr, env }))
