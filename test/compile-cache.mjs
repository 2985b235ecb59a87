/**
 * For every process of a test: what was compiled is kept, as the server started from its sources keeps it. Children get it, too. V8
 * takes it only where the same flags are set as in kernel/main.ts: with others each process would throw away what another kept.
 */
import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'

setFlagsFromString('--no-allocation-site-pretenuring')
setFlagsFromString('--semi-space-growth-factor=1')
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('../node_modules/.cache/svc', import.meta.url))
enableCompileCache(process.env.NODE_COMPILE_CACHE)
