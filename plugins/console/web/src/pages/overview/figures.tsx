/** How much there is. */
import { SimpleGrid } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useMay } from '../../app/signed-in.ts'
import { ProblemAlert } from '../../parts/failure.tsx'
import { Figure } from '../../parts/figure.tsx'
import { formatBytes, formatCount, formatDuration } from '../../parts/format.ts'
import { texts } from '../../texts/index.ts'
import { serverInfoQuery, usageQuery } from './queries.ts'

export function Figures() {
  const maySeeUsage = useMay('admin:DataUsageInfo')
  const maySeeServer = useMay('admin:ServerInfo')
  const usage = useQuery({ ...usageQuery, enabled: maySeeUsage })
  const info = useQuery({ ...serverInfoQuery, enabled: maySeeServer })
  if (!maySeeUsage && !maySeeServer) return null
  if (usage.error !== null && usage.data === undefined) {
    return <ProblemAlert error={usage.error} onRetry={() => usage.refetch()} />
  }
  const { data } = usage
  return (
    <SimpleGrid cols={{ base: 2, sm: 4 }}>
      {maySeeUsage && (
        <>
          <Figure label={texts.overview.objects} value={data && formatCount(data.objectsCount)} />
          <Figure label={texts.overview.stored} value={data && formatBytes(data.totalSize)} />
          <Figure label={texts.overview.buckets} value={data && formatCount(data.bucketsCount)} />
        </>
      )}
      {maySeeServer && (
        <Figure label={texts.overview.uptime} value={info.data && formatDuration(info.data.uptimeSeconds)} />
      )}
    </SimpleGrid>
  )
}
