/** The nodes of the deployment, as `/svc/health/cluster` counts them. */
import type { KernelService } from 'svc/kernel'
import type { MetricsService } from 'svc/plugins/metrics/api'

export function registerFamilies(metrics: MetricsService, kernel: Pick<KernelService, 'state'>): void {
  const isOnline = () => kernel.state() === 'ready'
  metrics.gauge({
    name: 'svc_cluster_nodes_online',
    help: 'Nodes that serve requests.',
    scope: 'cluster',
    collect: gauge => gauge.set(isOnline() ? 1 : 0),
  })
  metrics.gauge({
    name: 'svc_cluster_nodes_offline',
    help: 'Nodes that do not: they start, stop, or are away.',
    scope: 'cluster',
    collect: gauge => gauge.set(isOnline() ? 0 : 1),
  })
}
