#!/usr/bin/env node
/** The entry point of `svc`. Nothing is imported before it is certain that this Node.js can run it. */
const NODE_MIN = [24, 15] as const

const [major, minor] = process.versions.node.split('.').map(Number)
if (major < NODE_MIN[0] || (major === NODE_MIN[0] && minor < NODE_MIN[1])) {
  process.stderr.write(`svc needs Node.js ${NODE_MIN.join('.')} or newer; this is ${process.versions.node}.\n`)
  process.exit(1)
}
const { runCli } = await import('./cli.ts')
const { stdout, stderr, env } = process
process.exit(await runCli(process.argv.slice(2), { stdout, stderr, env }))
