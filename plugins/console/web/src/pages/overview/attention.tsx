/** The state of everything in one line, or what needs attention, the worst first. */
import { Alert, Anchor, List, Skeleton } from '@mantine/core'
import { IconAlertTriangle, IconCheck } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Answer } from '../../api/operations.ts'
import { useMay } from '../../app/signed-in.ts'
import { ProblemAlert } from '../../parts/failure.tsx'
import { formatBytes, formatDate } from '../../parts/format.ts'
import { texts } from '../../texts/index.ts'
import { problemOf } from '../keys/problem.ts'
import { certificatesQuery } from '../publishing/queries.ts'
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
  const found = findingsOf(info.data, redundancy.data)
  const keysProblem = keys.data && problemOf(keys.data)
  const offline = [
    ...(targets.data ?? []).map(target => ({ ...target, words: texts.events })),
    ...(auditTargets.data ?? []).map(target => ({ ...target, words: texts.auditTargets })),
  ].filter(({ enabled, online }) => enabled && !online)
  const failing = redundancy.data?.failingRecords ?? 0
  const ending = (certificates.data ?? []).filter(needsAttention)
  if ([found, offline, ending].every(list => list.length === 0) && failing === 0 && keysProblem === undefined) {
    // Nor that nothing is found before it was looked for.
    if ([redundancy, certificates].some(query => query.isLoading && query.errorUpdateCount === 0))
      return <Skeleton h={56} />
    return (
      <Alert color="teal" icon={<IconCheck aria-hidden />}>
        {info.data.mode === 'snsd' ? texts.overview.oneDrive : (redundancy.data?.summary ?? texts.overview.notTold)}
      </Alert>
    )
  }
  return (
    <Alert color="orange" icon={<IconAlertTriangle aria-hidden />} title={texts.overview.attention} role="alert">
      {/* Paths of drives are long, and have no space where a line could end. */}
      <List size="sm" styles={{ itemLabel: { overflowWrap: 'anywhere' } }}>
        {keysProblem !== undefined && (
          <List.Item>
            <Anchor component={Link} to="/keys" inherit>
              {keysProblem}
            </Anchor>
          </List.Item>
        )}
        {failing > 0 && (
          <List.Item>
            {mayHeal ? (
              <Anchor component={Link} to="/healing" inherit>
                {texts.overview.mayBeLost(failing)}
              </Anchor>
            ) : (
              texts.overview.mayBeLost(failing)
            )}
          </List.Item>
        )}
        {found.map(text => (
          <List.Item key={text}>{text}</List.Item>
        ))}
        {ending.map(({ id, servedFor, notAfter, state, acme }) => (
          <List.Item key={id}>
            <Anchor component={Link} to="/certificates" inherit>
              {texts.overview.certificate(
                id,
                servedFor.join(', '),
                state === 'expired',
                notAfter && formatDate(notAfter),
              )}
            </Anchor>{' '}
            {acme?.lastError}
          </List.Item>
        ))}
        {offline.map(({ id, lastError, words }) => (
          <List.Item key={id}>
            <Anchor component={Link} to="/events" inherit>
              {words.isOffline(id, lastError)}
            </Anchor>
          </List.Item>
        ))}
      </List>
    </Alert>
  )
}

/** Sets that are not whole first: there data may be out of reach. Then drives, then what is being repaired. */
function findingsOf(info: ServerInfo, redundancy: Answer<'getRedundancy'> | undefined): string[] {
  const sets = info.pools.flatMap(pool =>
    pool.erasureSets
      .filter(({ state }) => state !== 'ok')
      .map(set => texts.overview.setState(pool.index, set.index, set.state)),
  )
  const drives = info.nodes.flatMap(node => node.disks)
  const lost = drives.filter(({ state }) => state !== 'online')
  const rebuilt = drives.filter(({ healing }) => healing)
  const shared = drives.filter(({ sharesFileSystem }) => sharesFileSystem).map(({ path }) => path)
  return [
    ...sets,
    ...lost.map(({ path, state, error }) => texts.overview.driveLost(path, state, error)),
    ...certificateFindings(info.tls),
    ...redundancyFindings(redundancy, lost.length + rebuilt.length > 0),
    ...(shared.length > 0 ? [texts.drives.sharedFileSystem(shared.join(', '))] : []),
    ...rebuilt.map(({ path }) => texts.overview.healing(path)),
  ]
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

/** What drives that are lost or rebuilt make incomplete is said of them; `isTold`: there are such. */
function redundancyFindings(redundancy: Answer<'getRedundancy'> | undefined, isTold: boolean): string[] {
  if (redundancy === undefined || redundancy.isFull) return []
  if (redundancy.belowRecords > 0) return [belowOf(redundancy)]
  return isTold ? [] : [redundancy.summary]
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

/** Of what may be lost nothing says that it is being repaired. */
function belowOf({ belowRecords, belowBytes, failingRecords }: Answer<'getRedundancy'>): string {
  const below = texts.overview.below(belowRecords, formatBytes(belowBytes))
  return failingRecords > 0 ? below : `${below} ${texts.overview.beingRepaired}`
}
