/** The operations of the Admin API, on a server whose clock stands still. */
import { CreateBucketCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import { responseProblems, startAdmin, testUsers, userSecret } from 'svc/plugins/admin/testing'
import { createFakeClock } from 'svc/testing'
import t, { type Test } from 'tap'

async function start(t: Test) {
  const clock = createFakeClock(Math.floor(Date.now() / 10_000) * 10_000)
  const users = testUsers({
    watcher: [{ Effect: 'Allow', Action: 'admin:Prometheus' }],
    nobody: [],
  })
  const server = await startAdmin({ ports: { clock }, plugins: [users], without: ['users', 'share', 'sts'] })
  t.teardown(() => server.stop())
  const query = async (text: string, by = server.signed) => {
    const answer = await by({ path: `/api/v1/metrics/query?${text}` })
    if (answer.status === 200) {
      const operation = server.operations.find(({ id }) => id === 'queryMetrics')!
      t.same(responseProblems(operation, answer.json), [])
    }
    return answer
  }
  /** Until the sample of this time is there. */
  const pass = async (seconds: number) => {
    await clock.advance(seconds * 1000)
    for (let tries = 0; tries < 9000; tries++) {
      const { json } = await query('name=svc_node_info&step=10')
      if (json.series[0]?.points.at(-1)[1] === 1) return
      await new Promise(resolve => setTimeout(resolve, 10))
    }
    t.fail('no sample')
  }
  return { ...server, clock, query, pass }
}

t.test('callers with the right to read metrics get the families and their last hours', async t => {
  const { s3, query, pass, signed, signedBy, anonymous, clock } = await start(t)
  await pass(10)
  await s3.send(new CreateBucketCommand({ Bucket: 'photos' }))
  for (const Key of ['a', 'b', 'c']) await s3.send(new PutObjectCommand({ Bucket: 'photos', Key, Body: 'text' }))
  await pass(10)
  const rate = await query('name=svc_s3_requests_total&fn=increase&agg=sum&by=api&label=api=PutObject&step=10')
  t.equal(rate.status, 200, rate.text)
  const [{ labels, node, points }] = rate.json.series
  t.same(labels, { api: 'PutObject' })
  t.ok(node)
  t.same(points.at(-1), [clock.now() / 1000, 3])
  t.same(points.at(-2)[1], null, 'the series came up with its first request')
  t.match(rate.json, { type: 'counter', fn: 'increase', agg: 'sum', step: 10, truncated: true })
  t.equal(rate.json.end, new Date(clock.now()).toISOString())
  const bucket = await query('name=svc_bucket_requests_total&label=bucket=photos&label=api=PutObject&start=10s')
  t.equal(bucket.json.series[0].points.at(-1)[1], 3)
  const median = await query('name=svc_s3_request_duration_seconds&fn=quantile&q=0.5&label=api=PutObject&start=20s')
  t.equal(median.status, 200, median.text)
  t.equal(typeof median.json.series[0].points.at(-1)[1], 'number')

  const list = (await signed({ path: '/api/v1/metrics?prefix=svc_s3_' })).json
  t.match(
    list.items.find(({ name }: { name: string }) => name === 'svc_s3_request_duration_seconds'),
    { type: 'histogram', unit: 'seconds', labels: ['api'] },
  )
  const pages: string[] = []
  for (let cursor = ''; ; ) {
    const { items, nextCursor } = (await signed({ path: `/api/v1/metrics?prefix=svc_s3_&limit=3&cursor=${cursor}` }))
      .json
    pages.push(...items.map(({ name }: { name: string }) => name))
    cursor = nextCursor
    if (cursor === '') break
  }
  t.same(
    pages,
    list.items.map(({ name }: { name: string }) => name),
  )

  t.equal((await query('name=svc_node_info', signedBy('watcher', userSecret))).status, 200)
  t.equal((await query('name=svc_node_info', signedBy('nobody', userSecret))).status, 403)
  t.equal((await query('name=svc_node_info', anonymous)).status, 401)
  for (const [text, pattern] of [
    ['name=svc_nothing', /no family/],
    ['name=svc_node_info&step=15', /multiple of 10/],
    ['name=svc_node_info&start=25h&step=10', /9001 points/],
    ['name=svc_node_info&start=yesterday', /query\/start/],
    ['name=svc_node_info&label=bucket', /label/],
    ['name=svc_node_info&q=half', /q/],
    ['name=svc_node_info&q=1.5', /q/],
    ['name=svc_node_info&node=elsewhere', /query\/node/],
  ] as const) {
    const refused = await query(text)
    t.match([refused.status, refused.json.code], [400, 'invalid_argument'], text)
    t.match(refused.json.detail, pattern)
  }
})
