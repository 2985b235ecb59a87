/**
 * Every field of the answers of the groups monitoring, diagnostics and cluster is seen, and moves: over the answers of this test it has
 * different values. A field that a schema declares and no answer shows fails the test, and so does one that never changes, unless the
 * table says why.
 */
import { get } from 'node:http'
import { CreateBucketCommand, GetObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import { rootPassword, rootUser, startAdmin, type TestAdmin } from 'svc/plugins/admin/testing'
import { signRequest } from 'svc/plugins/auth-sigv4/api'
import { createFakeClock } from 'svc/testing'
import t from 'tap'
import { download, upload } from '../../plugins/cluster-archive/test/archives.ts'

t.setTimeout(180_000)

const ownNode = 'there is one node'
const unhurt = 'nothing fails here: plugins/speedtest/test/speedtest.slow.test.ts'
const noTarget = 'there is no target: plugins/webhook/test/audit.slow.test.ts'

/** Fields that have one value here, and why. */
const constant: Readonly<Record<string, string>> = {
  'queryMetrics series[].node': ownNode,
  'streamTrace trace.node': ownNode,
  'streamLogs log.node': ownNode,
  'searchAudit items[].node': ownNode,
  'searchAudit items[].version': 'the only version of records',
  'listLocks items[].type': 'nothing takes shared locks',
  'releaseLocks items[].type': 'nothing takes shared locks',
  'listLocks items[].owner': ownNode,
  'listLocks items[].quorum': ownNode,
  'listLocks items[].servers[]': ownNode,
  'listLocks items[].total': ownNode,
  'releaseLocks items[].owner': ownNode,
  'releaseLocks items[].quorum': ownNode,
  'releaseLocks items[].servers[]': ownNode,
  'releaseLocks items[].total': ownNode,
  'runSpeedtest drive.drives[].endpoint': 'there is one drive',
  'runSpeedtest drive.drives[].path': 'there is one drive',
  'runSpeedtest drive.drives[].error': unhurt,
  'runSpeedtest object.nodes[].endpoint': ownNode,
  'runSpeedtest object.nodes[].error': unhurt,
  'runSpeedtest object.put.errors': unhurt,
  'runSpeedtest object.get.errors': unhurt,
  'runSpeedtest object.nodes[].put.errors': unhurt,
  'runSpeedtest object.nodes[].get.errors': unhurt,
}
/** Declared, and not answered here. */
const absent: Readonly<Record<string, string>> = {
  'runSpeedtest object.put.ttfbMs.p50': 'of reads alone',
  'runSpeedtest object.put.ttfbMs.p90': 'of reads alone',
  'runSpeedtest object.put.ttfbMs.p99': 'of reads alone',
  'runSpeedtest object.put.ttfbMs.max': 'of reads alone',
  'runSpeedtest object.nodes[].put.ttfbMs.p50': 'of reads alone',
  'runSpeedtest object.nodes[].put.ttfbMs.p90': 'of reads alone',
  'runSpeedtest object.nodes[].put.ttfbMs.p99': 'of reads alone',
  'runSpeedtest object.nodes[].put.ttfbMs.max': 'of reads alone',
  'streamTrace dropped.count': 'a slow reader: plugins/admin/test/streams.test.ts',
  'streamLogs dropped.count': 'a slow reader: plugins/admin/test/streams.test.ts',
  'listAuditTargets items[].id': noTarget,
  'listAuditTargets items[].type': noTarget,
  'listAuditTargets items[].enabled': noTarget,
  'listAuditTargets items[].endpoint': noTarget,
  'listAuditTargets items[].online': noTarget,
  'listAuditTargets items[].pendingRecords': noTarget,
  'listAuditTargets items[].deadLetters': noTarget,
  'listAuditTargets items[].droppedTotal': noTarget,
  'listAuditTargets items[].failedTotal': noTarget,
  'listAuditTargets items[].lastError': noTarget,
  'listAuditTargets items[].lastErrorAt': noTarget,
  'listAuditTargets items[].lastSuccessAt': noTarget,
  'listAuditTargets items[].queueLimit': noTarget,
}

interface Schema {
  readonly type?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema | readonly Schema[]
  readonly anyOf?: readonly Schema[]
  readonly patternProperties?: object
}

/** The leaves that a schema declares: `series[].points[]`. Maps are leaves. */
function leavesOf(schema: Schema, place = ''): string[] {
  const inner = schema.anyOf?.find(({ properties }) => properties !== undefined) ?? schema
  if (inner.properties !== undefined)
    return Object.entries(inner.properties).flatMap(([name, each]) =>
      leavesOf(each, place === '' ? name : `${place}.${name}`),
    )
  if (inner.items !== undefined && !Array.isArray(inner.items)) return leavesOf(inner.items as Schema, `${place}[]`)
  return [place]
}

/** Values by operation and leaf, as JSON. */
const seen = new Map<string, Map<string, Set<string>>>()

function look(leaves: Map<string, Set<string>>, path: string, value: unknown): void {
  const note = (leaf: string, found: unknown) => leaves.get(leaf)?.add(JSON.stringify(found))
  if (leaves.has(path)) return void note(path, value)
  if (Array.isArray(value)) for (const each of value) look(leaves, `${path}[]`, each)
  else if (typeof value === 'object' && value !== null)
    for (const [name, inner] of Object.entries(value)) look(leaves, path === '' ? name : `${path}.${name}`, inner)
}

function declare(server: TestAdmin): void {
  for (const { id, tag, response, events } of server.operations as unknown as {
    readonly id: string
    readonly tag: string
    readonly response?: Schema
    readonly events?: Readonly<Record<string, Schema>>
  }[]) {
    if (!['monitoring', 'diagnostics', 'cluster'].includes(tag) || seen.has(id)) continue
    const schema: Schema | undefined = events === undefined ? response : { properties: events }
    seen.set(id, new Map((schema === undefined ? [] : leavesOf(schema)).map(leaf => [leaf, new Set()])))
  }
}

const answered = (id: string, json: unknown): void => look(seen.get(id)!, '', json)

function stream(server: TestAdmin, id: string, path: string): () => void {
  const { headers } = signRequest(
    { accessKey: rootUser, secret: rootPassword, region: 'us-east-1' },
    { method: 'GET', host: `127.0.0.1:${server.port}`, path, query: '', headers: {}, nowMs: Date.now() },
  )
  let text = ''
  const sent = get({ host: '127.0.0.1', port: server.port, path, headers, agent: false }, answer => {
    answer.on('data', bytes => {
      text += bytes
      const events = text.split('\n\n')
      text = events.pop()!
      for (const event of events) {
        const [, name, data] = /event: (\w+)[\s\S]*?data: (.*)/.exec(event) ?? []
        if (name !== undefined) answered(id, { [name]: JSON.parse(data!) })
      }
    })
    answer.on('error', () => {})
  })
  sent.on('error', () => {})
  return () => sent.destroy()
}

const settle = () => new Promise(resolve => setTimeout(resolve, 500))

/** Metrics, of a clock that the test moves. */
async function history(): Promise<void> {
  // A minute ago: the server of `requests` must begin another tick of the history, however fast this one is.
  const clock = createFakeClock(Math.floor(Date.now() / 10_000) * 10_000 - 60_000)
  const server = await startAdmin({ ports: { clock } })
  declare(server)
  const ask = async (id: string, path: string, method = 'GET', body?: object) => {
    const { status, json, text } = await server.signed({ method, path: `/api/v1${path}`, ...(body && { body }) })
    if (status >= 300) throw new Error(`${path}: ${text}`)
    answered(id, json)
  }
  await server.s3.send(new CreateBucketCommand({ Bucket: 'photos' }))
  for (let round = 0; round < 3; round++) {
    await server.s3.send(new PutObjectCommand({ Bucket: 'photos', Key: `${round}`, Body: 'text' }))
    await clock.advance(10_000)
    await settle()
    await ask('queryMetrics', '/metrics/query?name=svc_s3_requests_total&label=api=PutObject&step=10&start=20s')
    await ask('createPrometheusToken', '/metrics/prometheus-token', 'POST', { targets: ['node', 'bucket'] })
  }
  await ask('queryMetrics', '/metrics/query?name=svc_node_uptime_seconds&agg=max&fn=raw&step=20')
  await ask('queryMetrics', '/metrics/query?name=svc_s3_requests_total&agg=sum&by=api&fn=rate&start=24h')
  await ask('queryMetrics', '/metrics/query?name=svc_s3_request_duration_seconds&fn=quantile&end=10s')
  await ask('createPrometheusToken', '/metrics/prometheus-token', 'POST', { expiresInSeconds: 60 })
  await ask('searchAudit', '/audit')
  await ask('listMetrics', '/metrics')
  await ask('listMetrics', '/metrics?prefix=svc_&limit=2')
  await server.stop()
}

/** `bufferStart` moves with a restart alone. */
async function requests(): Promise<void> {
  const server = await startAdmin({
    config: { http: { address: '127.0.0.1:0', consoleAddress: '127.0.0.1:0', trustedProxies: ['127.0.0.1'] } },
  })
  declare(server)
  const ask = async (id: string, path: string, method = 'GET', body?: object) => {
    const { status, json, text } = await server.signed({ method, path: `/api/v1${path}`, ...(body && { body }) })
    if (id !== '' && status >= 300) throw new Error(`${path}: ${text}`)
    if (id !== '') answered(id, json)
  }
  await ask('queryMetrics', '/metrics/query?name=svc_node_info')
  const closeTrace = stream(server, 'streamTrace', '/api/v1/trace')
  const closeLogs = stream(server, 'streamLogs', '/api/v1/logs')
  await settle()
  await ask('', '/buckets', 'POST', { name: 'photos', versioning: true })
  await ask('', '/buckets/missing')
  await ask('', '/users', 'POST', { accessKey: 'ada', secretKey: 'secret-of-ada' })
  await server.signedBy('ada', 'secret-of-ada')({ path: '/api/v1/info', headers: { 'user-agent': 'test/1.0' } })
  await server.anonymous({ path: '/api/v1/info?token=abc', headers: { 'x-forwarded-for': '192.0.2.7' } })
  const { VersionId } = await server.s3.send(new PutObjectCommand({ Bucket: 'photos', Key: 'a', Body: 'some text' }))
  await (
    await server.s3.send(new GetObjectCommand({ Bucket: 'photos', Key: 'a', VersionId }))
  ).Body!.transformToString()
  await server.s3.send(new GetObjectCommand({ Bucket: 'photos', Key: 'b', VersionId: 'null' })).catch(() => undefined)
  await ask('', '/config/ratelimit', 'PATCH', { settings: { s3_ip: '1', admin_user: '1', admin_user_burst: '3' } })
  for (let count = 0; count < 6; count++) {
    await (await fetch(`http://127.0.0.1:${server.s3Port}/photos`)).text()
    await server.signedBy('ada', 'secret-of-ada')({ path: '/api/v1/info' })
  }
  await ask('', '/config/ratelimit', 'DELETE')
  server.kernel.log.error({ requestId: 'A1', err: new Error('one') }, 'a failure of the test')
  server.kernel.log.error({ requestId: 'A2', err: new Error('two') }, 'another one')
  await settle()
  closeTrace()
  closeLogs()
  await ask('searchAudit', '/audit')
  await ask('searchAudit', '/audit?limit=2')

  const { locks } = server.kernel.services
  await locks.hold('photos/delete', { source: 'deleteBucket' }, async () => {
    await settle()
    await locks.hold('svc/other', { source: 'importCluster' }, async () => {
      await ask('listLocks', '/locks')
      await ask('listLocks', '/locks?limit=1')
      await ask('releaseLocks', '/locks?resource=photos/delete&resource=svc/other', 'DELETE')
    })
  })
  for (const body of [
    { durationSeconds: 1, size: 4 * 1024 * 1024 },
    { durationSeconds: 1, size: 5 * 1024 * 1024 },
  ])
    await ask('runSpeedtest', '/speedtest/drive', 'POST', body)
  for (const body of [
    { durationSeconds: 1, size: 1024, concurrency: 1 },
    // So much larger that no latency is the same by chance: those of the first are some microseconds.
    { durationSeconds: 1, size: 1 << 20, concurrency: 2 },
  ])
    await ask('runSpeedtest', '/speedtest/object', 'POST', body)
  await archives(server)
  await server.stop()
}

async function archives(server: TestAdmin): Promise<void> {
  const empty = await startAdmin()
  const [full, bare] = [await download(server), await download(empty)]
  const send = async (to: TestAdmin, bytes: Buffer, query: string) =>
    answered('importCluster', (await upload(to, bytes, query)).json)
  await send(empty, bare, 'dryRun=true')
  await server.signed({ method: 'PATCH', path: '/api/v1/config/api', body: { settings: { requests_max: '5' } } })
  await server.signed({ method: 'POST', path: '/api/v1/buckets', body: { name: 'other' } })
  await server.signed({ method: 'POST', path: '/api/v1/keygroups', body: { id: 'viewers' } })
  await server.kernel.services.users.createGroup({ name: 'staff' })
  const allow = (action: string) =>
    server.kernel.services.users.putPolicy('readers', {
      Version: '2012-10-17',
      Statement: [{ Effect: 'Allow', Action: action, Resource: '*' }],
    })
  await allow('s3:GetObject')
  await send(empty, await download(server), '')
  await allow('s3:ListBucket')
  await send(empty, await download(server), '')
  await send(empty, full, 'mode=replace')
  await empty.stop()
}

t.test('each field of the answers is seen, and moves', async t => {
  await history()
  await requests()
  for (const [id, leaves] of seen) {
    for (const [leaf, values] of leaves) {
      const name = `${id} ${leaf}`
      if (Object.hasOwn(absent, name)) t.equal(values.size, 0, `${name}: ${absent[name]}`)
      else if (Object.hasOwn(constant, name)) t.equal(values.size, 1, `${name}: ${constant[name]}`)
      else t.ok(values.size > 1, `${name} moves: ${[...values].slice(0, 3).join(' ').slice(0, 100)}`)
    }
  }
  const known = [...seen].flatMap(([id, leaves]) => [...leaves.keys()].map(leaf => `${id} ${leaf}`))
  const stale = [...Object.keys(constant), ...Object.keys(absent)].filter(name => !known.includes(name))
  t.same(stale, [], 'the tables name fields that there are')
})
