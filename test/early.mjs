/**
 * Loaded into the process of a test before anything of tap, whose plugins load its core, and with it `async-hook-domain`. With the module
 * in its place tap learns which test an error belongs to without a hook on every promise.
 */
import { registerHooks } from 'node:module'

const asyncDomain = new URL('./async-domain.mjs', import.meta.url).href

registerHooks({
  resolve(specifier, context, next) {
    return specifier === 'async-hook-domain'
      ? { url: asyncDomain, format: 'module', shortCircuit: true }
      : next(specifier, context)
  },
})
