/** The state of what is stored in one line, always, then what needs attention, the worst first. */
import { Alert, Skeleton, Stack, Text } from '@mantine/core'
import { IconAlertTriangle, IconCheck } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useMay } from '../../app/signed-in.ts'
import { ProblemAlert } from '../../parts/failure.tsx'
import { texts } from '../../texts/index.ts'
import { problemOf } from '../keys/problem.ts'
import { certificatesQuery } from '../publishing/queries.ts'
import { certificateFindings, needsAttention, orderedFinding } from './certificates.ts'
import { Findings } from './finding.tsx'
import { type Finding, healthOf } from './health.ts'
import {
  auditTargetsQuery,
  kmsStatusQuery,
  notifyTargetsQuery,
  redundancyQuery,
  type ServerInfo,
  serverInfoQuery,
} from './queries.ts'

export function Attention() {
  const info = useQuery(serverInfoQuery)
  const mayHeal = useMay('admin:Heal')
  // One drive alone has no redundancy to tell of.
  const redundancy = useQuery({
    ...redundancyQuery,
    enabled: info.data !== undefined && info.data.mode !== 'snsd',
  })
  const targets = useQuery(notifyTargetsQuery)
  const auditTargets = useQuery({
    ...auditTargetsQuery,
    enabled: [useMay('admin:GetConfig'), useMay('admin:ServerInfo')].some(may => may),
  })
  const keys = useQuery({ ...kmsStatusQuery, enabled: useMay('admin:KMSKeyStatus') })
  const certificates = useQuery({
    ...certificatesQuery,
    refetchInterval: 60_000,
    enabled: useMay('admin:ManageCertificates'),
  })
  // That all was well is no news of a server that is not reached any more.
  if (info.error !== null) {
    return <ProblemAlert error={info.error} onRetry={() => info.refetch()} isStale={info.data !== undefined} />
  }
  if (info.data === undefined) return <Skeleton h={56} />
  const ledger = redundancy.isError ? undefined : redundancy.data
  const { color, text, findings } = healthOf(info.data, ledger, mayHeal)
  // Nor that nothing is found before it was looked for. What has failed is told at once.
  const isWaiting = color === 'blue' && redundancy.isLoading && redundancy.errorUpdateCount === 0
  const keysProblem = keys.data && problemOf(keys.data)
  const offline = [
    ...(targets.data ?? []).map(target => ({ ...target, waiting: target.pendingEvents, words: texts.events })),
    ...(auditTargets.data ?? []).map(target => ({
      ...target,
      waiting: target.pendingRecords,
      words: texts.auditTargets,
    })),
  ].filter(({ enabled, online }) => enabled && !online)
  const found: Finding[] = [
    ...(keysProblem === undefined ? [] : [{ text: keysProblem, link: { to: '/keys' } }]),
    ...certificateFindings(info.data.tls).map(text => ({ text, link: { to: '/server' } })),
    ...(certificates.data ?? []).filter(needsAttention).map(orderedFinding),
    ...offline.map(({ id, lastError, lastErrorAt, waiting, words }) => ({
      text: words.isOffline(id, lastError, waiting > 0 || lastErrorAt === undefined),
      link: { to: '/events' },
    })),
    ...sharedFindings(info.data),
  ]
  const Icon = color === 'teal' ? IconCheck : IconAlertTriangle
  return (
    <>
      {isWaiting ? (
        <Skeleton h={56} />
      ) : (
        <Alert color={color} icon={<Icon aria-hidden />}>
          <Stack gap={4}>
            <Text size="sm" fw={600}>
              {text}
            </Text>
            <Findings findings={findings} />
          </Stack>
        </Alert>
      )}
      {found.length > 0 && (
        <Alert color="orange" icon={<IconAlertTriangle aria-hidden />} title={texts.overview.attention} role="alert">
          <Findings findings={found} />
        </Alert>
      )}
    </>
  )
}

/** Comes last: nothing has failed. */
function sharedFindings({ nodes }: ServerInfo): Finding[] {
  const shared = nodes.flatMap(node => node.disks).filter(({ sharesFileSystem }) => sharesFileSystem)
  return shared.length === 0 ? [] : [{ text: texts.drives.sharedFileSystem(shared.map(({ path }) => path).join(', ')) }]
}
