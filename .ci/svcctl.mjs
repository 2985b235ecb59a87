/** Runs `svcctl` from this clone: bundles what changed since the last time, then becomes the program itself, in this process. */
import { makeCurrent } from './make-current.mjs'

makeCurrent()
await import('../dist/contrib/svcctl/main.js')
