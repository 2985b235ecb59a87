import { defineErrors } from 'svc/kernel'

export const lockErrors = defineErrors({
  conflict: { status: 409, title: 'Somebody else does this already. Try again when it is done.' },
})
