import { defineErrors } from 'svc/kernel'

export const prometheusErrors = defineErrors({
  access_denied: { status: 403, title: 'Metrics need a bearer token of an identity with admin:Prometheus.' },
})
