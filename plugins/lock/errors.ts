import { defineErrors } from 'svc/kernel'

export const lockErrors = defineErrors({
  conflict: { status: 409, title: 'The same operation is already running. Try again when it has ended.' },
})
