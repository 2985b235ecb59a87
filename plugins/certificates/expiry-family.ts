/** How long each stored certificate is still valid. Of those in SVC_CERTS_DIR `tls` tells. */
import type { Clock } from 'svc/kernel'
import type { MetricFamilies } from 'svc/plugins/metrics/api'
import type { CertificateTable } from './table.ts'

/** Called in the main thread only, because every thread would report the same. */
export function registerExpiryFamily(metrics: MetricFamilies, table: CertificateTable, clock: Clock): void {
  metrics.gauge({
    name: 'svc_tls_certificate_expiry_seconds',
    help: 'Seconds until a stored certificate expires; negative when it has.',
    labels: ['certificate'],
    async collect(gauge) {
      gauge.reset()
      for (const { id, notAfterMs } of await table.entries()) {
        gauge.set({ certificate: id }, Math.round((notAfterMs - clock.now()) / 1000))
      }
    },
  })
}
