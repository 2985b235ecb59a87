import { defineErrors } from 'svc/kernel'

export const rateLimitErrors = defineErrors({
  SlowDown: { status: 503, title: 'Please reduce your request rate.', verbatim: true },
})
