import { defineErrors } from 'svc/kernel'

export const serverErrors = defineErrors({
  start_would_fail: { status: 409, title: 'The server would not start again.' },
})
