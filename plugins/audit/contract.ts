/**
 * The contract suite of the extension point `audit.sink`, for every kind of target of audit records. It runs against the real service.
 *
 *     t.test('the target keeps the contract', t => auditTargetContract(t, async t => {
 *       const receiver = await startReceiver(t)
 *       return {
 *         kind: myKind,
 *         settings: { endpoint: receiver.url, auth_token: 's3cret-of-the-test', timeout: 1000 },
 *         secrets: ['s3cret-of-the-test'],
 *         timeoutMs: 1000,
 *         received: async () => receiver.bodies,
 *         stop: () => receiver.stop(),
 *         start: () => receiver.start(),
 *       }
 *     }))
 */
import { type ContractSubject, connectTarget, deliveryMsMax, targetCases } from 'svc/plugins/delivery/contract'
import { type ContractSuite, contractSuite, eventually } from 'svc/testing'
import type { Test } from 'tap'
import type { AuditMessage, AuditRecord, AuditSinkKind, AuditTarget } from './api.ts'

export interface AuditTargetSubject extends ContractSubject<AuditTarget> {
  // biome-ignore lint/suspicious/noExplicitAny: each kind has its own settings
  readonly kind: AuditSinkKind<any>
  /** Bodies that the real service has now. Not called while the service is stopped. */
  received(): Promise<readonly string[]>
}

const node = 'node-1'
let recordCount = 0

/** A record as the server makes them. */
export function testRecord(more: Partial<AuditRecord> = {}): AuditMessage {
  const requestId = `${Date.now().toString(16).toUpperCase()}${String(recordCount++).padStart(5, '0')}`
  const time = new Date().toISOString()
  const record: AuditRecord = {
    version: '1',
    time,
    event_time: time,
    node,
    requestId,
    type: 's3',
    api: 'PutObject',
    bucket: 'photos',
    object: '2026/ä b "c" 🎉\n.jpg',
    identity: { accessKey: 'AKIA', user: 'kim', type: 'user' },
    clientIp: '192.0.2.7',
    userAgent: 'contract/1',
    method: 'PUT',
    path: '/photos/2026/%C3%A4',
    query: { partNumber: '1' },
    status: 200,
    latencyMs: 1.5,
    bytesReceived: 1024,
    bytesSent: 0,
    tags: {},
    ...more,
  }
  return { key: `${node}/${requestId}`, body: Buffer.from(JSON.stringify(record)) }
}

/** Waits until the service has all records, byte for byte. */
async function requireReceived(t: Test, subject: AuditTargetSubject, sent: readonly AuditMessage[]): Promise<void> {
  const wanted = sent.map(({ body }) => body.toString())
  const missing = await eventually(
    async () => {
      const found = new Set(await subject.received())
      return wanted.filter(body => !found.has(body))
    },
    bodies => bodies.length === 0,
    deliveryMsMax,
  )
  t.same(missing, [], 'every record arrives as it is')
}

export const auditTargetContract: ContractSuite<AuditTargetSubject> = contractSuite('audit target', {
  'records arrive as they are, one and as many as the target takes at once': async (t, subject) => {
    const { target, send } = connectTarget<AuditMessage, AuditTarget>(t, subject)
    const first = testRecord()
    await send(first)
    const size = Math.min(target.batchMax ?? 1, 200)
    const records = Array.from({ length: 3 * size }, (_, i) => testRecord({ object: `batch/${i}` }))
    for (let at = 0; at < records.length; at += size) await send(...records.slice(at, at + size))
    const large = testRecord({ userAgent: 'ä'.repeat(64 * 1024) })
    await send(large)
    await requireReceived(t, subject, [first, ...records, large])
  },

  ...targetCases<AuditMessage, AuditTarget, AuditTargetSubject>({
    make: object => testRecord({ object }),
    requireReceived,
    isReceived: async (subject, { body }) => (await subject.received()).includes(body.toString()),
  }),
})
