import { defineErrors } from 'svc/kernel'

export const traceErrors = defineErrors({
  too_many_requests: { status: 429, title: 'Too many live traces on this node.' },
})
