/**
 * The families that dashboards and alerts of other people rely on: their names, types and labels, and a proof for each that it moves. A
 * family that is not in the table fails this test, and so does one without a proof: a day of a server here, or a test that names it.
 */
import { readFileSync } from 'node:fs'
import { get } from 'node:http'
import { join } from 'node:path'
import {
  CreateBucketCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  PutBucketVersioningCommand,
  PutObjectCommand,
} from '@aws-sdk/client-s3'
import { startAdmin, type TestAdmin } from 'svc/plugins/admin/testing'
import type { FamilySamples } from 'svc/plugins/metrics/api'
import t, { type Test } from 'tap'
import { startServer } from '../../plugins/http/test/server.ts'
import { root } from '../docs/blocks.ts'
import { certificateFolder } from './certificate-folder.ts'

t.setTimeout(120_000)

/** `grows`: in the day below. `isPositive`: it says what the machine is. Else a test that shows how it moves, and texts there that name it. */
type Proof = 'grows' | 'isPositive' | readonly [file: string, ...texts: string[]]
type Row = readonly [type: FamilySamples['type'], labels: string, proof: Proof]

const drives = 'plugins/storage/test/drive-families.test.ts'
const sets = 'test/wire/several-drives.test.ts'
const delivery = 'plugins/notify/test/delivery.slow.test.ts'
const rebuild: Proof = ['plugins/heal/test/rebuild-families.test.ts', 'svc_heal_drive_']
const healing: Proof = ['plugins/heal/test/families.test.ts']
const queue = 'plugins/queue/test/families.test.ts'
const node: Proof = ['plugins/prometheus/test/endpoints.test.ts']

const cache: Proof = ['plugins/website/test/purges.test.ts', 'svc_cache_']

const table: Readonly<Record<string, Row>> = {
  svc_s3_requests_total: ['counter', 'api status', 'grows'],
  svc_s3_requests_4xx_errors_total: ['counter', 'api', 'grows'],
  svc_s3_requests_5xx_errors_total: ['counter', 'api', ['plugins/s3/test/families.test.ts']],
  svc_s3_request_duration_seconds: ['histogram', 'api', 'grows'],
  svc_s3_requests_inflight: ['gauge', '', ['plugins/settings/test/effects.slow.test.ts']],
  svc_s3_traffic_received_bytes_total: ['counter', '', 'grows'],
  svc_s3_traffic_sent_bytes_total: ['counter', '', 'grows'],
  svc_ratelimit_throttled_total: ['counter', 'api kind', 'grows'],
  svc_bucket_requests_total: ['counter', 'bucket api status_class', 'grows'],
  svc_bucket_traffic_received_bytes_total: ['counter', 'bucket', 'grows'],
  svc_bucket_traffic_sent_bytes_total: ['counter', 'bucket', 'grows'],
  svc_bucket_usage_total_bytes: ['gauge', 'bucket', 'grows'],
  svc_bucket_objects: ['gauge', 'bucket', 'grows'],
  svc_bucket_versions: ['gauge', 'bucket', 'grows'],
  svc_bucket_delete_markers: ['gauge', 'bucket', 'grows'],
  svc_drive_online: ['gauge', 'drive', [drives, 'svc_drive_', "'online'"]],
  svc_drive_healing: ['gauge', 'drive', [drives, 'svc_drive_', "'healing'"]],
  svc_drive_total_bytes: ['gauge', 'drive', 'isPositive'],
  svc_drive_used_bytes: ['gauge', 'drive', 'isPositive'],
  svc_drive_free_bytes: ['gauge', 'drive', 'isPositive'],
  svc_drive_free_inodes: ['gauge', 'drive', 'isPositive'],
  svc_drive_operations_total: ['counter', 'drive op', 'grows'],
  svc_drive_operation_seconds_total: ['counter', 'drive op', 'grows'],
  svc_drive_errors_total: ['counter', 'drive type', ['plugins/drive/test/metered-disk.test.ts']],
  svc_cluster_nodes_online: ['gauge', '', node],
  svc_cluster_nodes_offline: ['gauge', '', node],
  svc_cluster_drives_online: ['gauge', '', [drives, 'svc_cluster_drives_', "'online'"]],
  svc_cluster_drives_offline: ['gauge', '', [drives, 'svc_cluster_drives_', "'offline'"]],
  svc_cluster_drives_healing: ['gauge', '', [drives, 'svc_cluster_drives_', "'healing'"]],
  svc_cluster_drives_total: ['gauge', '', [drives, 'svc_cluster_drives_', "'total'"]],
  svc_cluster_sets_healthy: ['gauge', 'pool', [drives, 'svc_cluster_sets_', "'healthy'"]],
  svc_cluster_sets_degraded: ['gauge', 'pool', [drives, 'svc_cluster_sets_', "'degraded'"]],
  svc_cluster_sets_read_only: ['gauge', 'pool', [drives, 'svc_cluster_sets_', "'read_only'"]],
  svc_cluster_sets_unavailable: ['gauge', 'pool', [drives, 'svc_cluster_sets_', "'unavailable'"]],
  svc_cluster_read_quorum: ['gauge', 'pool', [drives, "'read'", '_quorum{pool=']],
  svc_cluster_write_quorum: ['gauge', 'pool', [drives, "'write'", '_quorum{pool=']],
  svc_cluster_buckets: ['gauge', '', 'grows'],
  svc_cluster_objects: ['gauge', '', 'grows'],
  svc_cluster_usage_bytes: ['gauge', '', 'grows'],
  svc_mrf_queue_pending: ['gauge', '', [sets]],
  svc_mrf_queue_healed_total: ['counter', '', [sets]],
  svc_heal_jobs: ['gauge', 'state', [sets]],
  svc_heal_drive_started_timestamp_seconds: ['gauge', 'drive', rebuild],
  svc_heal_drive_healed_records: ['gauge', 'drive', rebuild],
  svc_heal_drive_healed_bytes: ['gauge', 'drive', rebuild],
  svc_heal_drive_failed_records: ['gauge', 'drive', rebuild],
  svc_heal_drive_failed_bytes: ['gauge', 'drive', rebuild],
  svc_heal_drive_retried_records: ['gauge', 'drive', rebuild],
  svc_scanner_cycles_total: ['counter', '', ['plugins/lifecycle/test/rehearsal.test.ts']],
  svc_ilm_actions_total: ['counter', 'action', ['plugins/lifecycle/test/rehearsal.test.ts']],
  svc_events_pending: ['gauge', 'target', [delivery]],
  svc_events_target_online: ['gauge', 'target', [delivery]],
  svc_events_sent_total: ['counter', 'target', [delivery]],
  svc_events_failed_total: ['counter', 'target', [delivery]],
  svc_lock_acquire_timeouts_total: ['counter', 'type', 'grows'],
  svc_kms_online: ['gauge', '', ['plugins/kms/test/kms.slow.test.ts']],
  svc_kms_errors_total: ['counter', 'op reason', ['plugins/kms/test/kms.slow.test.ts']],
  svc_tls_server_certificate_reloads_total: ['counter', 'result', ['test/generated/metric-families.test.ts']],
  svc_tls_certificate_expiry_seconds: ['gauge', 'certificate', ['plugins/certificates/test/certificates.test.ts']],
  svc_node_uptime_seconds: ['gauge', '', 'grows'],
  svc_node_info: ['gauge', 'version commit', 'isPositive'],
  svc_distribution_requests_total: ['counter', 'distribution host status', 'grows'],
  svc_distribution_bytes_served_total: ['counter', 'distribution host', 'grows'],
  svc_distribution_request_duration_seconds: ['histogram', 'distribution', 'grows'],
  // Ours, beside those that every deployment of this kind has.
  svc_acme_orders_total: ['counter', 'result', ['plugins/acme/test/acme.slow.test.ts']],
  svc_dns_changes_total: ['counter', 'type result', ['plugins/dns/test/providers.test.ts']],
  svc_cache_webhook_calls_total: ['counter', 'type result', ['plugins/purge/test/purge.slow.test.ts']],
  svc_outbound_requests_total: ['counter', 'purpose result', ['plugins/http-client/test/http-client.test.ts']],
  svc_store_quarantined_documents: ['gauge', 'collection', ['plugins/store/test/status.test.ts']],
  svc_events_not_queued_total: ['counter', 'target', [delivery]],
  svc_queue_refused_total: ['counter', 'family kind', ['plugins/queue/test/queue.test.ts']],
  svc_queue_pending: ['gauge', 'family kind', ['plugins/queue/test/queue.test.ts']],
  svc_redundancy_records: ['gauge', 'pool set', [sets]],
  svc_redundancy_below_target_records: ['gauge', 'pool set', [sets]],
  svc_redundancy_bucket_below_target_bytes: ['gauge', 'bucket', [sets]],
  svc_redundancy_failing_records: ['gauge', '', [sets]],
  svc_drive_damaged_segments: ['gauge', 'drive', [drives, 'svc_drive_', "'damaged_segments'"]],
  svc_drive_damaged_bodies: ['gauge', 'drive', [drives, 'svc_drive_', "'damaged_bodies'"]],
  svc_drive_journal_bytes: ['gauge', 'drive', [drives, 'svc_drive_', "'journal_bytes'"]],
  svc_drive_journal_live_bytes: ['gauge', 'drive', [drives, 'svc_drive_', "'journal_live_bytes'"]],
  svc_drive_compacted_segments_total: ['counter', 'drive', [drives, 'svc_drive_', "'compacted_segments_total'"]],
  svc_drive_compaction_moved_bytes_total: [
    'counter',
    'drive',
    [drives, 'svc_drive_', "'compaction_moved_bytes_total'"],
  ],
  svc_drive_reserved_bytes: ['gauge', 'drive', [drives, 'svc_drive_', "'reserved_bytes'"]],
  svc_audit_dropped_total: ['counter', 'target', ['plugins/webhook/test/audit.slow.test.ts', 'audit_dropped_total']],
  svc_bucket_logging_dropped_total: ['counter', 'target', ['plugins/bucket-logging/test/bucket-logging.test.ts']],
  svc_distribution_log_dropped_total: ['counter', 'target', ['plugins/distributions/test/access-log.test.ts']],
  svc_heal_failed_total: ['counter', '', healing],
  svc_heal_scrub_damaged_total: ['counter', '', healing],
  svc_heal_scrub_passes_total: ['counter', '', healing],
  svc_heal_scrubbed_total: ['counter', '', healing],
  svc_redundancy_bytes: ['gauge', 'pool set', healing],
  svc_redundancy_below_target_bytes: ['gauge', 'pool set', healing],
  svc_redundancy_bucket_below_target_records: ['gauge', 'bucket', [sets]],
  svc_ilm_errors_total: ['counter', '', ['plugins/lifecycle/test/families.test.ts']],
  svc_ilm_lag_seconds: ['gauge', '', ['plugins/lifecycle/test/families.test.ts']],
  svc_queue_sent_total: ['counter', 'family kind', [queue, "'sent_total'"]],
  svc_queue_failed_attempts_total: ['counter', 'family kind', [queue, "'failed_attempts_total'"]],
  svc_queue_pending_bytes: ['gauge', 'family kind', [queue, "'pending_bytes'"]],
  svc_queue_dead_letters: ['gauge', 'family kind', [queue, "'dead_letters'"]],
  svc_queue_dead_letters_dropped_total: ['counter', 'family kind', [queue]],
  svc_cache_requests_total: ['counter', 'distribution host result', cache],
  svc_cache_bytes_served_total: ['counter', 'source', cache],
  svc_cache_size_bytes: ['gauge', 'tier', cache],
  svc_cache_entries: ['gauge', 'tier', cache],
  svc_cache_hit_ratio: ['gauge', '', cache],
  svc_cache_invalidations_total: ['counter', '', cache],
  svc_cache_fills_total: ['counter', 'result', ['plugins/website/test/cached.test.ts']],
  svc_cache_confirms_total: ['counter', 'result', ['plugins/website/test/cached.test.ts']],
  svc_cache_warmed_total: ['counter', 'result', ['plugins/website/test/warmups.test.ts']],
  svc_cache_tier_failures_total: ['counter', 'tier', ['test/wire/cache-keyv.test.ts']],
}

const Bucket = 'photos'

/** Something of everything that grows. */
async function day({ kernel, s3, signed, s3Port }: TestAdmin) {
  await s3.send(new CreateBucketCommand({ Bucket }))
  await s3.send(new PutBucketVersioningCommand({ Bucket, VersioningConfiguration: { Status: 'Enabled' } }))
  for (const Key of ['index.html', 'gone']) await s3.send(new PutObjectCommand({ Bucket, Key, Body: 'text' }))
  await s3.send(new PutObjectCommand({ Bucket, Key: 'large', Body: Buffer.alloc(2_000_000) }))
  await s3.send(new DeleteObjectCommand({ Bucket, Key: 'gone' }))
  await (await s3.send(new GetObjectCommand({ Bucket, Key: 'index.html' }))).Body!.transformToString()
  await s3.send(new GetObjectCommand({ Bucket, Key: 'never' })).catch(() => undefined)

  const site = { id: 'site', aliases: ['www.example.test'], origin: { bucket: Bucket } }
  const saved = await signed({ path: '/api/v1/distributions/site', method: 'PUT', body: site })
  if (saved.status >= 300) throw new Error(saved.text)
  const { port } = kernel.services.http.listeners().find(({ name }) => name === 'web')!
  await visit('127.0.0.1', port, 'www.example.test')

  const { locks } = kernel.services
  await locks.hold('svc/test', { source: 'test' }, () =>
    locks.hold('svc/test', { source: 'test', waitMs: 20 }, async () => undefined).catch(() => undefined),
  )
  const limit = { settings: { s3_ip: '1', s3_ip_burst: '1' } }
  await signed({ path: '/api/v1/config/ratelimit', method: 'PATCH', body: limit })
  for (let count = 0; count < 5; count++) await (await fetch(`http://127.0.0.1:${s3Port}/${Bucket}`)).text()
}

async function visit(address: string, port: number, host: string) {
  await new Promise<void>((done, fail) => {
    get({ host: address, port, path: '/index.html', headers: { host } }, answer => {
      answer.resume().on('end', done)
    }).on('error', fail)
  })
}

/** The sum of a family's values; of a histogram, of its observations. */
function sumOf(family: FamilySamples | undefined): number {
  const samples = family?.samples ?? []
  const counted =
    family?.type === 'histogram' ? samples.filter(({ metricName }) => /_count$/.test(metricName!)) : samples
  return counted.reduce((sum, { value }) => sum + value, 0)
}

t.test('every family has its type and labels, and moves', async t => {
  const kms = { secretKey: `test:${Buffer.alloc(32, 7).toString('base64')}` }
  const server = await startAdmin({
    config: { kms, http: { address: '127.0.0.1:0', consoleAddress: '127.0.0.1:0', webAddress: '127.0.0.1:0' } },
  })
  t.teardown(() => server.stop())
  const sample = async () =>
    new Map((await server.kernel.services.metrics.sample()).map(family => [family.name, family]))
  const before = await sample()
  await day(server)
  const growing = Object.entries(table).flatMap(([name, [, , proof]]) => (proof === 'grows' ? [name] : []))
  const isAbove = (after: Map<string, FamilySamples>, name: string) => sumOf(after.get(name)) > sumOf(before.get(name))
  let after = await sample()
  // Usage is read again after a pause, and a request is counted a little after its answer.
  for (let tries = 0; tries < 400 && !growing.every(name => isAbove(after, name)); tries++) {
    await new Promise(resolve => setTimeout(resolve, 25))
    after = await sample()
  }
  for (const [name, [type, labels, proof]] of Object.entries(table)) {
    const family = after.get(name)
    t.equal(family?.type, type, `${name} is a ${type}`)
    t.equal(family?.labels.join(' '), labels, `labels of ${name}`)
    if (proof === 'grows') t.ok(isAbove(after, name), `${name} grows`)
    else if (proof === 'isPositive') t.ok(sumOf(family) > 0, `${name} is known`)
    else t.ok(isNamedIn(name, proof), `${name} is in ${proof[0]}`)
  }
  const own = [...after.keys()].filter(name => name.startsWith('svc_'))
  const unknown = own.filter(name => !Object.hasOwn(table, name))
  t.same(unknown, [], 'a new family is in the table, with a proof')
})

function isNamedIn(name: string, [file, ...texts]: readonly [string, ...string[]]): boolean {
  const found = readFileSync(join(root, file), 'utf8')
  return (texts.length === 0 ? [name] : texts).every(text => found.includes(text))
}

t.test('families of the certificate of the listeners', async t => {
  const { folder, spoil } = certificateFolder(t)
  const server = await startServer({ tls: { certsDir: folder, reloadInterval: 60_000 } })
  t.teardown(() => server.stop())
  const { metrics } = server.kernel.services
  // Of the plugin's own face, as SIGHUP calls it.
  const tls = server.kernel.services.tls as unknown as { reload(): void }
  const read = async () => {
    const families = new Map((await metrics.sample()).map(family => [family.name, family]))
    const reloads = families.get('svc_tls_server_certificate_reloads_total')!
    const expiry = families.get('svc_tls_server_certificate_expiry_seconds')!
    const count = (result: string) => reloads.samples.find(({ labels }) => labels.result === result)!.value
    return { reloads, expiry, success: count('success'), failure: count('failure') }
  }
  const until = async (t: Test, isSo: (now: Awaited<ReturnType<typeof read>>) => boolean, what: string) => {
    for (let tries = 0; tries < 400 && !isSo(await read()); tries++) await new Promise(done => setTimeout(done, 25))
    t.ok(isSo(await read()), what)
  }
  const first = await read()
  t.same([first.reloads.type, first.reloads.labels], ['counter', ['result']])
  t.same([first.expiry.type, first.expiry.labels], ['gauge', ['certificate']])
  const leftSeconds = first.expiry.samples[0]!.value
  t.ok(leftSeconds > 86_400 && leftSeconds <= 2 * 86_400, 'of two days')
  tls.reload()
  await until(t, ({ success }) => success > first.success, 'a reload is counted')
  spoil()
  tls.reload()
  await until(t, ({ failure }) => failure > first.failure, 'and one that fails')
})
