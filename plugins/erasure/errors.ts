import { defineErrors } from 'svc/kernel'

/** Why a set cannot be opened. Each message names the drives. */
export const erasureErrors = defineErrors({
  drive_missing: { status: 503, title: 'A drive is missing.' },
  drive_foreign: { status: 409, title: 'A drive belongs to something else.' },
  drive_count: { status: 409, title: 'The number of drives is not that of the set.' },
  pool_missing: { status: 409, title: 'A pool is missing.' },
  set_incomplete: { status: 503, title: 'Too few drives can be opened.' },
})
