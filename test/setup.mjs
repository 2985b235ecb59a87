/**
 * Loaded first into every process of a test: what makes hundreds of such processes cheap.
 *
 * Compiled code is kept between processes, those that a test starts included. Sources import each other by path, so a look at the disk
 * for each of a thousand files says nothing new; packages of many files are bundled. tap learns which test an error belongs to without a hook on every promise.
 */
import { enableCompileCache, registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import { typeBoxUrls } from './typebox.mjs'

// As kernel/main.ts sets them. V8 takes only what was compiled with the same flags: tests share their cache, and so do servers theirs.
setFlagsFromString('--no-allocation-site-pretenuring')
setFlagsFromString('--semi-space-growth-factor=1')
process.env.NODE_COMPILE_CACHE = fileURLToPath(new URL('../node_modules/.cache/svc', import.meta.url))
enableCompileCache(process.env.NODE_COMPILE_CACHE)

const typeBox = typeBoxUrls()
const asyncDomain = new URL('./async-domain.mjs', import.meta.url).href
registerHooks({
  resolve(specifier, context, next) {
    if (specifier.startsWith('.') && specifier.endsWith('.ts')) {
      return { url: new URL(specifier, context.parentURL).href, format: 'module-typescript', shortCircuit: true }
    }
    const bundled = typeBox.get(specifier)
    if (bundled !== undefined) return { url: bundled, format: 'module', shortCircuit: true }
    if (specifier === 'async-hook-domain') return { url: asyncDomain, format: 'module', shortCircuit: true }
    return next(specifier, context)
  },
})
