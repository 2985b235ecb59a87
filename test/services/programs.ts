/** The programs as people run them: bundled, of what the sources are now. From the sources each start takes twice the CPU, or more. */
import { resolve } from 'node:path'

/** The server; for `process.execPath`. */
export const svcProgram = resolve(import.meta.dirname, '../../.ci/start.mjs')
export const svcctlProgram = resolve(import.meta.dirname, '../../.ci/svcctl.mjs')
