/** What the endpoints show of the whole product, and that each family follows what it measures. */
import {
  CreateBucketCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  PutBucketVersioningCommand,
  PutObjectCommand,
} from '@aws-sdk/client-s3'
import { startAdmin } from 'svc/plugins/admin/testing'
import t, { type Test } from 'tap'

const Bucket = 'photos'

async function start(t: Test) {
  const server = await startAdmin({ config: { prometheus: { authType: 'public' } } })
  t.teardown(() => server.stop())
  const scrape = async (scope: string) => {
    const answer = await fetch(`http://127.0.0.1:${server.s3Port}/svc/metrics/v1/${scope}`)
    t.equal(answer.status, 200)
    const text = await answer.text()
    return {
      text,
      value(series: string): number {
        const [name, labels = ''] = series.split('{')
        const line = text.split('\n').find(
          one =>
            (one.startsWith(`${name}{`) || one.startsWith(`${name} `)) &&
            labels
              .replace('}', '')
              .split(',')
              .every(label => one.includes(label)),
        )
        return Number(line?.split(' ').at(-1))
      },
    }
  }
  return { ...server, scrape }
}

t.test('usage and requests of buckets, and the sums of the cluster', async t => {
  const { s3, scrape } = await start(t)
  t.equal((await scrape('cluster')).value('svc_cluster_buckets'), 0)
  await s3.send(new CreateBucketCommand({ Bucket }))
  await s3.send(new CreateBucketCommand({ Bucket: 'empty' }))
  await s3.send(new PutBucketVersioningCommand({ Bucket, VersioningConfiguration: { Status: 'Enabled' } }))
  for (const Body of ['four', 'seven77']) await s3.send(new PutObjectCommand({ Bucket, Key: 'secret-key', Body }))
  await s3.send(new PutObjectCommand({ Bucket, Key: 'gone', Body: 'x' }))
  await s3.send(new DeleteObjectCommand({ Bucket, Key: 'gone' }))
  await (await s3.send(new GetObjectCommand({ Bucket, Key: 'secret-key' }))).Body!.transformToString()
  await t.rejects(s3.send(new GetObjectCommand({ Bucket, Key: 'never' })), { name: 'NoSuchKey' })

  // A walk rests for longer than it took.
  let bucket = await scrape('bucket')
  for (let tries = 0; tries < 4500 && bucket.value('svc_bucket_versions{bucket="photos"}') !== 3; tries++) {
    await new Promise(resolve => setTimeout(resolve, 20))
    bucket = await scrape('bucket')
  }
  const expected: [string, number][] = [
    ['svc_bucket_usage_total_bytes{bucket="photos"}', 12],
    ['svc_bucket_objects{bucket="photos"}', 1],
    ['svc_bucket_versions{bucket="photos"}', 3],
    ['svc_bucket_delete_markers{bucket="photos"}', 1],
    ['svc_bucket_objects{bucket="empty"}', 0],
    ['svc_bucket_requests_total{bucket="photos",api="PutObject",status_class="2xx"}', 3],
    ['svc_bucket_requests_total{bucket="photos",api="GetObject",status_class="2xx"}', 1],
    ['svc_bucket_requests_total{bucket="photos",api="GetObject",status_class="4xx"}', 1],
  ]
  for (const [series, value] of expected) t.equal(bucket.value(series), value, series)
  t.ok(bucket.value('svc_bucket_traffic_received_bytes_total{bucket="photos"}') >= 12)
  t.ok(bucket.value('svc_bucket_traffic_sent_bytes_total{bucket="photos"}') >= 7)
  t.notMatch(bucket.text, /secret-key|server=|svc_node_/)

  const cluster = await scrape('cluster')
  t.equal(cluster.value('svc_cluster_buckets'), 2)
  t.equal(cluster.value('svc_cluster_objects'), 1)
  t.equal(cluster.value('svc_cluster_usage_bytes'), 12)
  t.equal(cluster.value('svc_cluster_nodes_online'), 1)
  t.equal(cluster.value('svc_cluster_nodes_offline'), 0)
  t.match(cluster.text, /^svc_node_info\{/m, 'with the families of the nodes')
  t.match(cluster.text, /^svc_cluster_buckets 2$/m)
  t.notMatch(cluster.text, /^svc_bucket_/m)
  const node = await scrape('node')
  t.notMatch(node.text, /^svc_(cluster_buckets|bucket_)/m)
  for (const { text } of [node, cluster, bucket]) {
    const families = text.split('\n').filter(line => line.startsWith('# TYPE '))
    t.equal(new Set(families).size, families.length, 'each family once')
  }
})

t.test('operations of the drive', async t => {
  const { s3, scrape } = await start(t)
  await s3.send(new CreateBucketCommand({ Bucket }))
  const counted = async () => {
    const { value } = await scrape('node')
    return {
      writes: value('svc_drive_operations_total{op="write"}'),
      seconds: value('svc_drive_operation_seconds_total{op="write"}'),
      errors: value('svc_drive_errors_total{type="io"}'),
    }
  }
  const before = await counted()
  await s3.send(new PutObjectCommand({ Bucket, Key: 'large', Body: Buffer.alloc(2_000_000) }))
  const after = await counted()
  t.ok(after.writes > before.writes)
  t.ok(after.seconds > before.seconds)
  t.equal(after.errors, 0)
})

t.test('a node that stops is no longer counted as online', async t => {
  const { kernel, scrape } = await start(t)
  t.equal((await scrape('cluster')).value('svc_cluster_nodes_online'), 1)
  await kernel.drain()
  const text = await kernel.services.metrics.scrape('cluster')
  t.match(text, /^svc_cluster_nodes_online 0$/m)
  t.match(text, /^svc_cluster_nodes_offline 1$/m)
})
