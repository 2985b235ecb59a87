/** Metrics of a real server, whichever of its threads counts them and whichever is asked. */
import { CreateBucketCommand, GetObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import t from 'tap'
import { createAdminClient } from './admin.ts'
import { createClient } from './sdk.ts'
import { startServer } from './server.ts'

t.setTimeout(120_000)

t.test('requests of buckets are summed over threads, and every thread answers from the same history', async t => {
  const server = await startServer({ environment: { SVC_PROMETHEUS_AUTH_TYPE: 'public' } })
  // A connection for each client: they are spread over the threads.
  const clients = Array.from({ length: 8 }, () => createClient(server))
  t.teardown(async () => {
    for (const client of clients) client.destroy()
    await server.remove()
  })
  const Bucket = 'photos'
  await clients[0]!.send(new CreateBucketCommand({ Bucket }))
  await Promise.all(
    clients.map(async (client, index) => {
      await client.send(new PutObjectCommand({ Bucket, Key: `${index}`, Body: 'text' }))
      const { Body } = await client.send(new GetObjectCommand({ Bucket, Key: `${index}` }))
      await Body!.transformToString()
    }),
  )
  const scrape = async (scope: string) => (await fetch(`${server.endpoint}/svc/metrics/v1/${scope}`)).text()
  /** A request is counted when its answer is finished, which the client may know before the thread does; usage is read again after a pause. */
  const scraped = async (scope: string, line: RegExp) => {
    for (let tries = 0; tries < 1800 && !line.test(await scrape(scope)); tries++) {
      await new Promise(resolve => setTimeout(resolve, 50))
    }
    t.match(await scrape(scope), line)
  }
  for (const api of ['PutObject', 'GetObject']) {
    await scraped(
      'bucket',
      new RegExp(`^svc_bucket_requests_total\\{bucket="photos",api="${api}",status_class="2xx"\\} 8$`, 'm'),
    )
  }
  await scraped('bucket', /^svc_bucket_traffic_sent_bytes_total\{bucket="photos"\} \d{2,}$/m)
  await scraped('cluster', /^svc_cluster_objects 8$/m)

  const admin = createAdminClient(server)
  const answers = []
  for (let round = 0; round < 8; round++) {
    const { series, bufferStart } = await admin.call('GET', '/metrics/query?name=svc_node_info&step=10')
    t.equal(series.length, 1)
    answers.push(bufferStart)
  }
  t.ok(answers[0])
  t.equal(new Set(answers).size, 1, 'one history')
})
