/**
 * Loaded into the process of a test before anything of tap: modules that cost each test much are replaced by others.
 *
 * With our own in the place of `async-hook-domain` tap learns which test an error belongs to without a hook on every promise. And it notes
 * each file that is loaded, with the source maps of packages, for its reports on coverage, and would do so in each process that a test
 * starts: a server would take that for each of its modules and threads.
 */
import { registerHooks } from 'node:module'

const asyncDomain = new URL('./async-domain.mjs', import.meta.url).href
const noNotes = /@tapjs\/processinfo\/dist\/esm\/import\.mjs$/

registerHooks({
  resolve(specifier, context, next) {
    if (specifier === 'async-hook-domain') return { url: asyncDomain, format: 'module', shortCircuit: true }
    if (noNotes.test(specifier)) return { url: 'data:text/javascript,', format: 'module', shortCircuit: true }
    return next(specifier, context)
  },
})
