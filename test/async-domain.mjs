/**
 * What tap uses of `async-hook-domain`: it says to which test an error belongs that nobody caught. The package has Node call it for each
 * promise, which costs a test of the server up to a quarter of its time; the context that Node keeps anyway costs next to nothing.
 */
import { AsyncLocalStorage, AsyncResource, executionAsyncResource } from 'node:async_hooks'

const current = new AsyncLocalStorage()
/** The domain that was made in the scope of an AsyncResource: tap makes one for each test, and later runs the test in that scope. */
const domains = new WeakMap()

const { runInAsyncScope } = AsyncResource.prototype
AsyncResource.prototype.runInAsyncScope = function (callback, receiver, ...args) {
  const domain = domains.get(this)
  if (domain === undefined) return runInAsyncScope.call(this, callback, receiver, ...args)
  return runInAsyncScope.call(this, () => current.run(domain, () => callback.apply(receiver, args)))
}

/** The domain, or the nearest around it that still exists. */
function living(domain) {
  return domain?.isDestroyed ? living(domain.parent) : domain
}

export class Domain {
  isDestroyed = false

  constructor(onerror) {
    this.onerror = onerror
    this.parent = current.getStore()
    domains.set(executionAsyncResource(), this)
  }

  destroy() {
    this.isDestroyed = true
  }
}

process.on('uncaughtExceptionMonitor', (error, origin) => {
  // A test that listens itself wants the error for itself.
  if (process.hasUncaughtExceptionCaptureCallback() || process.listenerCount('uncaughtException') > 0) return
  const domain = living(current.getStore())
  // Nobody's error ends the process, and so fails the file.
  if (domain === undefined) return
  domain.onerror(error, origin)
  process.setUncaughtExceptionCaptureCallback(() => process.setUncaughtExceptionCaptureCallback(null))
})
