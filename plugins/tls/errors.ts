import { defineErrors } from 'svc/kernel'

export const tlsErrors = defineErrors({
  certificate_unusable: { status: 500, title: 'The TLS certificate or its key cannot be used.' },
})
