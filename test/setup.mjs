/**
 * Loaded into every process of a test, after the plugins of tap: what makes hundreds of such processes cheap.
 *
 * Compiled code is kept between processes, those that a test starts included. Sources import each other by path, so a look at the disk
 * for each of a thousand files says nothing new; packages of many files are bundled. What has to come before tap is in early.mjs.
 */
import { readFileSync } from 'node:fs'
import { enableCompileCache, registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import { typeBoxUrls } from './typebox.mjs'

// As kernel/program/start-flags.ts sets them. V8 takes only what was compiled with the same flags: tests share their cache, and so do servers theirs.
setFlagsFromString('--no-allocation-site-pretenuring')
setFlagsFromString('--semi-space-growth-factor=1')
process.env.NODE_COMPILE_CACHE = fileURLToPath(new URL('../node_modules/.cache/svc', import.meta.url))
enableCompileCache(process.env.NODE_COMPILE_CACHE)

// Processes that a test starts are no tests.
process.env.NODE_OPTIONS = (process.env.NODE_OPTIONS ?? '')
  .replace(/"?--import=[^\s"]*(@tapjs\/processinfo\/|test\/early\.mjs)[^\s"]*"?/g, '')
  .trim()

const typeBox = typeBoxUrls()
const nodeHttp = new URL('./node-http.mjs', import.meta.url).href
const root = new URL('../', import.meta.url).href
/** As `exports` of package.json says it. */
const faces = new Map([
  ['svc/kernel', 'kernel/index'],
  ['svc/testing', 'kernel/testing/index'],
])

/** The URL of a source by the name that other sources give it, undefined for what is none. */
function sourceOf(specifier, parent) {
  if (specifier.startsWith('.')) return specifier.endsWith('.ts') ? new URL(specifier, parent).href : undefined
  const face =
    faces.get(specifier) ?? (specifier.startsWith('svc/plugins/') ? specifier.slice('svc/'.length) : undefined)
  return face === undefined ? undefined : `${root}${face}.ts`
}

registerHooks({
  resolve(specifier, context, next) {
    const source = sourceOf(specifier, context.parentURL)
    if (source !== undefined) return { url: source, format: 'module-typescript', shortCircuit: true }
    const bundled = typeBox.get(specifier)
    if (bundled !== undefined) return { url: bundled, format: 'module', shortCircuit: true }
    if (specifier === 'node:http' && context.conditions.includes('import') && context.parentURL !== nodeHttp)
      return { url: nodeHttp, format: 'module', shortCircuit: true }
    return next(specifier, context)
  },
  load(url, context, next) {
    const { format } = context
    const isFile = (format === 'module' || format === 'module-typescript') && url.startsWith('file:')
    return isFile ? { format, source: readFileSync(fileURLToPath(url)), shortCircuit: true } : next(url, context)
  },
})
