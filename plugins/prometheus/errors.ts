import { defineErrors } from 'svc/kernel'

export const prometheusErrors = defineErrors({
  access_denied: { status: 403, title: 'Metrics need a bearer token: see `svc prometheus generate`.' },
  not_implemented: { status: 501, title: 'This family of metrics is not built yet; scrape /svc/metrics/v1/node.' },
})
