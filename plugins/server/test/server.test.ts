/** What the server says of itself, and how it is stopped. */
import { startAdmin } from 'svc/plugins/admin/testing'
import { type DriveStatus, recordTable } from 'svc/plugins/storage/api'
import t from 'tap'
import { describeDrive } from '../admin/get-server-info.ts'

t.test('the server info has version, node and drives', async t => {
  const masterKey = `my-key:${Buffer.alloc(32, 7).toString('base64')}`
  const server = await startAdmin({ config: { kms: { secretKey: masterKey } } })
  t.teardown(server.stop)
  const { json, text } = await server.signed({ path: '/api/v1/info' })
  t.match(json, {
    mode: 'snsd',
    region: 'us-east-1',
    kms: { configured: true, defaultKeyId: 'my-key', keys: ['my-key'], version: '' },
    tls: { enabled: false },
  })
  t.notMatch(text, masterKey.split(':')[1])
  t.notMatch(text, 'change-me-please')
  t.match(json.deploymentId, /^[0-9a-f-]{36}$/)
  const [{ disks, state }] = json.nodes
  t.equal(state, 'online')
  t.match(json.nodes, [{ clockSkew: { offsetMs: 0, exceeded: false }, healQueue: { pending: 0, dropped: 0 } }])
  t.match(disks, [{ state: 'online', diskIdx: 0, healing: false, error: '' }])
  t.ok(disks[0].total >= disks[0].free + disks[0].used)
  t.same(json.pools[0].erasureSets, [
    { index: 0, drives: 1, online: 1, offline: 0, healing: 0, leastParity: 0, state: 'ok' },
  ])
  t.ok(Date.parse(json.startedAt) <= Date.now() && json.uptimeSeconds >= 0)
})

t.test('blocks that a file system keeps for root are not used', t => {
  const space = { totalBytes: 1000, freeBytes: 300, reservedBytes: 600, freeInodes: 1 }
  const status: DriveStatus = { path: '/data', id: '', state: 'online', error: undefined, ...space }
  const shown = describeDrive(status, 0)
  t.match(shown, { total: 1000, free: 300, used: 100 })
  t.notOk('healingProgress' in shown)
  const other = { ...status, path: '/data2' }
  t.match(describeDrive({ ...status, device: 1 }, 0, [{ ...other, device: 1 }]), { sharesFileSystem: true })
  const devices = [7, 8, undefined, 8].map(device => ({ ...status, ...(device !== undefined && { device }) }))
  t.same(
    devices.map((drive, index) => describeDrive(drive, index, devices).fileSystem),
    [0, 1, undefined, 1],
  )
  t.match(describeDrive({ ...status, device: 1 }, 0, [{ ...other, device: 2 }]), { sharesFileSystem: false })
  t.match(describeDrive(status, 0, [other]), { sharesFileSystem: false }, 'nobody knows')
  const counts = { healed: 3, healedBytes: 300, failed: 1, failedBytes: 100, retried: 1 }
  const record = Buffer.from(`${String.fromCharCode(recordTable.object)}photos\0a/b\0`, 'latin1')
  const rebuild = { startedMs: 0, updatedMs: 1000, record, ...counts }
  const quorums = { parityCount: 2, reducedParityCount: 1, leastParityCount: 1, readQuorum: 2, writeQuorum: 3 }
  const place = { pool: 0, set: 0, slot: 1, ...quorums, isCurrent: true, isHealing: true, rebuild }
  t.same(describeDrive({ ...status, place }, 0).healingProgress, {
    started: '1970-01-01T00:00:00.000Z',
    lastUpdate: '1970-01-01T00:00:01.000Z',
    bucket: 'photos',
    object: 'a/b',
    healedBuckets: [],
    objectsHealed: 3,
    objectsFailed: 1,
    bytesDone: 300,
    bytesFailed: 100,
    retryAttempts: 1,
  })
  t.end()
})

t.test('its plugins, in order, a page at a time', async t => {
  const server = await startAdmin()
  t.teardown(server.stop)
  const items: {
    name: string
    order: number
    startMs: number
    description: string
    dependsOn: string[]
    provides: { extensionPoint: string }[]
  }[] = []
  let cursor = ''
  do {
    const { json } = await server.signed({ path: `/api/v1/plugins?limit=7&cursor=${cursor}` })
    items.push(...json.items)
    cursor = json.nextCursor
  } while (cursor !== '')
  t.same(
    items.map(({ name }) => name),
    server.kernel.kernel.plugins().map(({ name }) => name),
  )
  t.same(
    items.map(({ order }) => order),
    items.map((_, index) => index),
  )
  const orderOf = (name: string) => items.find(item => item.name === name)!.order
  for (const { dependsOn, order } of items) for (const name of dependsOn) t.ok(orderOf(name) < order)
  for (const { name, description } of items) t.match(description, /^[A-Z].{10,120}[.?]$/, name)
  t.ok(items.every(({ startMs }) => Number.isInteger(startMs)))
  t.match(items[orderOf('drive')].provides, [{ extensionPoint: 'storage-backend' }])
})

t.test('stopService answers, then asks the process to stop', async t => {
  const reasons: string[] = []
  const server = await startAdmin({ onStopRequest: reason => reasons.push(reason) })
  t.teardown(server.stop)
  const wrong = await server.signed({ method: 'POST', path: '/api/v1/service/stop', body: { nodes: ['elsewhere'] } })
  t.match(wrong.json, { status: 400, code: 'invalid_argument' })
  t.same(reasons, [])
  const answer = await server.signed({ method: 'POST', path: '/api/v1/service/stop' })
  t.equal(answer.status, 202)
  t.equal(answer.json.nodes.length, 1)
  t.match(reasons, [/stopService.*admin/])
})
