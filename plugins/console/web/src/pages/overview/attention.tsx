/** The state of what is stored in one line, always, then what needs attention, the worst first. */
import { Alert, Skeleton, Stack, Text } from '@mantine/core'
import { IconAlertTriangle, IconCheck } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import type { Answer } from '../../api/operations.ts'
import { useMay } from '../../app/signed-in.ts'
import { ProblemAlert } from '../../parts/failure.tsx'
import { formatDate } from '../../parts/format.ts'
import { texts } from '../../texts/index.ts'
import { problemOf } from '../keys/problem.ts'
import { certificatesQuery } from '../publishing/queries.ts'
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

/** A certificate with fewer days left is told: it is renewed by hand, or what renews it has failed. */
const certificateDays = 14
/** Of its lifetime: an ordered certificate may live for days, and is renewed when a third is left. */
const orderedShare = 0.1

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
    ...(targets.data ?? []).map(target => ({ ...target, words: texts.events })),
    ...(auditTargets.data ?? []).map(target => ({ ...target, words: texts.auditTargets })),
  ].filter(({ enabled, online }) => enabled && !online)
  const found: Finding[] = [
    ...(keysProblem === undefined ? [] : [{ text: keysProblem, link: { to: '/keys' } }]),
    ...certificateFindings(info.data.tls).map(text => ({ text, link: { to: '/server' } })),
    ...(certificates.data ?? []).filter(needsAttention).map(orderedFinding),
    ...offline.map(({ id, lastError, words }) => ({ text: words.isOffline(id, lastError), link: { to: '/events' } })),
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

type Certificate = Answer<'listCertificates'>['items'][number]

/** Of those that visitors get, or are to get. Those of the listeners are told by the server. */
function needsAttention({ source, state, notBefore, notAfter, usedBy, servedFor, acme }: Certificate): boolean {
  if (source === 'files' || usedBy.length + servedFor.length === 0) return false
  if (state === 'expired' || state === 'failed' || (acme?.lastError ?? '') !== '') return true
  const leftMs = Date.parse(notAfter) - Date.now()
  if (source === 'acme') return leftMs < (Date.parse(notAfter) - Date.parse(notBefore)) * orderedShare
  return leftMs < certificateDays * 86_400_000
}

function orderedFinding({ id, domains, servedFor, notAfter, state, acme }: Certificate): Finding {
  const words = texts.overview
  const without = acme?.failedDomains.map(({ domain }) => domain).filter(domain => !domains.includes(domain)) ?? []
  const text =
    notAfter !== '' && without.length > 0
      ? words.certificateWithout(id, without.join(', '))
      : words.certificate(id, servedFor.join(', '), state === 'expired', notAfter && formatDate(notAfter))
  return { text, details: acme?.lastError, link: { to: '/certificates' } }
}

/** Of the listeners. */
function certificateFindings({ certificates, refusal }: ServerInfo['tls']): string[] {
  const ending = certificates.filter(({ daysLeft }) => daysLeft < certificateDays)
  return [
    ...(refusal === '' ? [] : [texts.server.refused(refusal)]),
    ...ending.map(({ name, daysLeft, notAfter }) =>
      texts.server.ends(name, daysLeft, notAfter && formatDate(notAfter)),
    ),
  ]
}
