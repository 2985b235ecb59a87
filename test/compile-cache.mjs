/** For every process of a test: what was compiled is kept, as the server started from its sources keeps it. Children get it, too. */
import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'

process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('../node_modules/.cache/svc', import.meta.url))
enableCompileCache(process.env.NODE_COMPILE_CACHE)
