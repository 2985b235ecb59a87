import { defineErrors } from 'svc/kernel'

/** Why pools cannot be opened. Each message names drives, or says what is missing. */
export const poolsErrors = defineErrors({
  pool_missing: { status: 409, title: 'A pool is missing.' },
  pool_changed: { status: 409, title: 'A pool is not what it was.' },
  pool_foreign: { status: 409, title: 'A pool belongs to something else.' },
})
