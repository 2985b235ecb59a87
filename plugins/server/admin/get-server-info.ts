import { hostname } from 'node:os'
import { isCatalogError } from 'svc/kernel'
import { defineAdminOperation } from 'svc/plugins/admin/api'
import type { HealService } from 'svc/plugins/heal/api'
import type { KmsService } from 'svc/plugins/kms/api'
import { type ObjectsService, placeOfRecord } from 'svc/plugins/objects/api'
import {
  type DriveStatus,
  type RebuildProgress,
  type SetSummary,
  summarizeSets,
  usedBytes,
} from 'svc/plugins/storage/api'
import type { CertificateInfo } from 'svc/plugins/tls/api'
import { ServerInfo } from './server-schema.ts'

const dayMs = 86_400_000

export default defineAdminOperation({
  id: 'getServerInfo',
  method: 'GET',
  path: '/info',
  tag: 'server',
  summary: 'Returns the version, the state of drives and services, and the usage of the server.',
  authorize: ['admin:ServerInfo'],
  response: ServerInfo,
  uses: ['kernel', 'http', 'storage', 'objects', 'heal', 'kms', 'tls', 'authSigv4', 'tracing', 'ports'],
  async handle(_request, { kernel, http, storage, objects, heal, kms, tls, authSigv4, tracing, ports: { clock } }) {
    const drives = await storage.drives()
    const { version, commit, buildDate, startedAtMs } = kernel
    const uptimeSeconds = Math.max(0, Math.floor((clock.now() - startedAtMs) / 1000))
    const state = kernel.state()
    return {
      version,
      commit,
      buildDate,
      deploymentId: drives.find(({ deploymentId }) => deploymentId !== undefined)?.deploymentId ?? '',
      mode: drives.length > 1 ? ('snmd' as const) : ('snsd' as const),
      region: authSigv4.region,
      startedAt: new Date(startedAtMs).toISOString(),
      uptimeSeconds,
      ...(await countUsage(objects)),
      pools: describePools(drives),
      nodes: [
        {
          endpoint: hostname(),
          state:
            state === 'starting'
              ? ('starting' as const)
              : state === 'ready'
                ? ('online' as const)
                : ('draining' as const),
          version,
          commit,
          uptimeSeconds,
          listeners: http.listeners().map(({ name, address, port, secure }) => ({ name, address, port, secure })),
          disks: drives.map((drive, index) => describeDrive(drive, index, drives)),
          local: true,
          clockSkew: { offsetMs: 0, rttMs: 0, exceeded: false },
          healQueue: await describeHealQueue(heal, drives),
        },
      ],
      kms: await describeKms(kms),
      tls: {
        enabled: tls.enabled,
        minVersion: tls.minVersion,
        internodeVerify: false,
        certificates: tls.certificates().map(certificate => describeCertificate(certificate, clock.now())),
        refusal: tls.refusal() ?? '',
      },
      telemetry: tracing.status(),
    }
  },
})

async function countUsage(objects: ObjectsService) {
  const total = { buckets: 0, objects: 0, usage: 0 }
  let startAfter: string | undefined = ''
  while (startAfter !== undefined) {
    const page: Awaited<ReturnType<ObjectsService['listBuckets']>> = await objects.listBuckets({
      prefix: '',
      startAfter,
      limit: 1000,
    })
    for (const { name } of page.buckets) {
      const usage = await objects.usage(name)
      total.buckets++
      total.objects += usage.objects
      total.usage += usage.sizeBytes
    }
    startAfter = page.next
  }
  return total
}

function describePools(drives: readonly DriveStatus[]) {
  const pools = new Map<number, SetSummary[]>()
  for (const set of summarizeSets(drives)) pools.set(set.pool, [...(pools.get(set.pool) ?? []), set])
  return [...pools].map(([index, sets]) => {
    const { drives, parityCount, reducedParityCount, readQuorum, writeQuorum } = sets[0]!
    return {
      index,
      sets: sets.length,
      drivesPerSet: drives,
      parity: parityCount,
      reducedParity: reducedParityCount,
      readQuorum,
      writeQuorum,
      erasureSets: sets.map(({ set, drives, online, healing, leastParityCount, state }) => ({
        index: set,
        drives,
        online,
        offline: drives - online,
        healing,
        leastParity: leastParityCount,
        state,
      })),
    }
  })
}

/** `all`: every drive of the node. */
export function describeDrive(drive: DriveStatus, index: number, all: readonly DriveStatus[] = [drive]) {
  const { path, id, state, error, totalBytes, freeBytes, place } = drive
  return {
    endpoint: path,
    path,
    id,
    poolIdx: place?.pool ?? 0,
    setIdx: place?.set ?? 0,
    diskIdx: place?.slot ?? index,
    // A full drive is read like any other; `error` says that it is full.
    state: state === 'full' ? ('online' as const) : state,
    total: totalBytes,
    free: freeBytes,
    used: usedBytes(drive),
    sharesFileSystem: drive.device !== undefined && all.some(other => other !== drive && other.device === drive.device),
    ...(drive.device !== undefined && { fileSystem: all.findIndex(({ device }) => device === drive.device) }),
    healing: place?.isHealing === true,
    ...(place?.rebuild && { healingProgress: describeProgress(place.rebuild) }),
    error: error ?? (state === 'full' ? 'the drive is full' : ''),
  }
}

function describeProgress({ startedMs, updatedMs, record, ...counts }: RebuildProgress) {
  const { bucket, key } = record === undefined ? { bucket: '', key: '' } : placeOfRecord(Buffer.from(record))
  return {
    started: new Date(startedMs).toISOString(),
    lastUpdate: new Date(updatedMs).toISOString(),
    bucket,
    object: key,
    healedBuckets: [],
    objectsHealed: counts.healed,
    objectsFailed: counts.failed,
    bytesDone: counts.healedBytes,
    bytesFailed: counts.failedBytes,
    retryAttempts: counts.retried,
  }
}

async function describeHealQueue(heal: HealService, drives: readonly DriveStatus[]) {
  const none = { pending: 0, healed: 0, retried: 0, dropped: 0 }
  if (drives.length < 2) return none
  try {
    const { belowRecords, healed, failed } = await heal.redundancy()
    return { ...none, pending: belowRecords, healed, retried: failed }
  } catch (error) {
    // Several single drives, or no drive that leads: the rest of the answer is needed all the more.
    if (isCatalogError(error)) return none
    throw error
  }
}

async function describeKms(kms: KmsService) {
  const { isConfigured, endpoints, ...status } = await kms.status()
  const shown = { configured: isConfigured, ...status, endpoints: endpoints.map(endpoint => ({ ...endpoint })) }
  return { ...shown, keys: isConfigured && status.online ? await keyIds(kms) : [] }
}

async function keyIds(kms: KmsService): Promise<string[]> {
  try {
    return (await kms.listKeys({ startAfter: '', limit: 1000 })).keys.map(({ id }) => id)
  } catch (error) {
    // The status already explains the problem with the key server.
    if (isCatalogError(error)) return []
    throw error
  }
}

function describeCertificate({ domains, ips, ...rest }: CertificateInfo, nowMs: number) {
  const daysLeft = Math.floor((Date.parse(rest.notAfter) - nowMs) / dayMs)
  // Clients refuse one whose end is no date.
  return { ...rest, domains: [...domains], ips: [...ips], daysLeft: Number.isNaN(daysLeft) ? -1 : daysLeft }
}
