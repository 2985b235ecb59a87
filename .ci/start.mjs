/** Runs `svc` from this clone: bundles what changed since the last time, then becomes the program itself, in this process. */
import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import { makeCurrent } from './make-current.mjs'

// As kernel/program/start-flags.ts sets them: V8 takes from the cache only what was compiled with the same flags.
setFlagsFromString('--no-allocation-site-pretenuring')
setFlagsFromString('--semi-space-growth-factor=1')
for (const tier of ['sparkplug', 'maglev', 'turbo']) setFlagsFromString(`--${tier}-filter=~`)
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('../node_modules/.cache/svc', import.meta.url))
enableCompileCache(process.env.NODE_COMPILE_CACHE)
makeCurrent()
await import('../dist/kernel/main.js')
