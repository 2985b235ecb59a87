/** Makes dist/ where it is not what the sources make: in a process of its own, because this takes hundreds of megabytes that a server would keep. */
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { bundleIsCurrent } from './bundle.mjs'

export function makeCurrent() {
  if (bundleIsCurrent()) return
  const bundler = fileURLToPath(new URL('bundle.mjs', import.meta.url))
  execFileSync(process.execPath, [bundler], { stdio: 'inherit' })
}
