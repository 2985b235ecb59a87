/**
 * The contract suite of the extension point `notify.target`, for every kind of target. It runs against the real service.
 *
 *     t.test('the target keeps the contract', t => notifyTargetContract(t, async t => {
 *       const broker = await startBroker(t)
 *       return {
 *         kind: myKind,
 *         settings: { address: broker.address, password: 's3cret-of-the-test', timeout: 1000 },
 *         secrets: ['s3cret-of-the-test'],
 *         timeoutMs: 1000,
 *         received: async () => (await broker.bodies()).map(receivedFrom),
 *         stop: () => broker.stop(),
 *         start: () => broker.start(),
 *       }
 *     }))
 */
import { type ContractSubject, connectTarget, deliveryMsMax, targetCases } from 'svc/plugins/delivery/contract'
import { type ContractSuite, contractSuite, eventually } from 'svc/testing'
import type { Test } from 'tap'
import type { NotifyMessage, NotifyTarget, NotifyTargetKind } from './api.ts'
import { createMessage, type KeptEvent, sequencerOf } from './message.ts'

export interface NotifyTargetSubject extends ContractSubject<NotifyTarget> {
  // biome-ignore lint/suspicious/noExplicitAny: each kind has its own settings
  readonly kind: NotifyTargetKind<any>
  /**
   * The messages that the real service has now, oldest first if it knows their order: see `receivedFrom`. Not called while the service is
   * stopped.
   */
  received(): Promise<readonly Received[]>
  /** The destination is a table of objects: one row for each object, none for removed ones, and none for test messages. */
  readonly isTable?: boolean
}

/** The AWS record of an event, or a test message as it is. */
export type Received = Readonly<Record<string, unknown>>

/** From the bytes of a whole message. */
export function receivedFrom(body: Buffer | string): Received {
  const message = JSON.parse(body.toString())
  return message.Records?.[0] ?? message
}

const place = { region: 'us-east-1', ownerId: 'admin', node: 'node-1', deploymentId: 'deployment-1' }
let sequence = Date.now() * 2048

/** A message as `notify` makes it; later ones have larger sequencers. */
export function testMessage(event: Partial<KeptEvent> = {}): NotifyMessage {
  const object = {
    sizeBytes: 1024,
    etag: 'd41d8cd98f00b204e9800998ecf8427e',
    contentType: 'image/jpeg',
    userMetadata: {},
  }
  const origin = { principalId: 'alice', sourceAddress: '192.0.2.7', requestId: '1A2B3C', userAgent: 'contract' }
  const { name = 'ObjectCreated:Put' } = event
  const kept: KeptEvent = {
    name,
    timeMs: Date.now(),
    bucket: 'photos',
    key: '2026/a b.jpg',
    sequencer: sequencerOf(sequence++, 0),
    versionId: undefined,
    object: name.startsWith('ObjectRemoved:') ? undefined : object,
    origin,
    ...event,
  }
  return createMessage(kept, 'rule-1', place)
}

/** A test message as `notify` makes it. */
export function testBody(requestId: string): Buffer {
  const Time = new Date().toISOString()
  return Buffer.from(
    JSON.stringify({ Service: 'svc', Event: 's3:TestEvent', Time, Bucket: '', RequestId: requestId, HostId: 'node-1' }),
  )
}

const connect = (t: Test, subject: NotifyTargetSubject, change?: Readonly<Record<string, unknown>>) =>
  connectTarget<NotifyMessage, NotifyTarget>(t, subject, change)

/** Waits until the service has all messages unchanged; in their order, if it keeps one, even if some arrived twice. */
async function requireReceived(t: Test, subject: NotifyTargetSubject, sent: readonly NotifyMessage[]): Promise<void> {
  const wanted = new Set(sent.map(({ sequencer }) => sequencer))
  const ours = async () => {
    const unique = new Map<string, Received>()
    for (const record of await subject.received()) {
      const sequencer = sequencerIn(record)
      if (sequencer !== undefined && wanted.has(sequencer) && !unique.has(sequencer)) unique.set(sequencer, record)
    }
    return unique
  }
  const found = new Map(
    await eventually(
      async () => [...(await ours())],
      records => records.length === wanted.size,
      deliveryMsMax,
    ),
  )
  const inOrder = subject.isTable
    ? sent.map(({ sequencer }) => found.get(sequencer)).filter(record => record !== undefined)
    : [...found.values()]
  t.same(inOrder.map(sequencerIn), [...wanted], 'every message arrives, in order')
  t.same(inOrder, JSON.parse(JSON.stringify(sent.map(({ record }) => record))), 'as it was sent')
}

function sequencerIn(record: Received): string | undefined {
  return (record.s3 as { object?: { sequencer?: string } } | undefined)?.object?.sequencer
}

const sharedCases = targetCases<NotifyMessage, NotifyTarget, NotifyTargetSubject>({
  make: key => testMessage({ key }),
  requireReceived,
  isReceived: async (subject, { sequencer }) =>
    (await subject.received()).some(record => sequencerIn(record) === sequencer),
})

export const notifyTargetContract: ContractSuite<NotifyTargetSubject> = contractSuite('notify target', {
  'a message arrives unchanged, and so does the next one over the same target': async (t, subject) => {
    const { send } = connect(t, subject)
    const first = testMessage()
    await send(first)
    await requireReceived(t, subject, [first])
    const second = testMessage({ key: 'second', name: 'ObjectCreated:Copy' })
    await send(second)
    await requireReceived(t, subject, [first, second])
  },

  'batches of the largest size arrive complete and in order': async (t, subject) => {
    const { target, send } = connect(t, subject)
    const size = Math.min(target.batchMax ?? 1, 200)
    const messages = Array.from({ length: Math.max(3 * size, 20) }, (_, i) => testMessage({ key: `batch/${i}` }))
    for (let at = 0; at < messages.length; at += size) await send(...messages.slice(at, at + size))
    await requireReceived(t, subject, messages)
  },

  'the target takes as many concurrent sends as it allows': async (t, subject) => {
    const { target, send } = connect(t, subject)
    const senders = Math.min(target.concurrency ?? 1, 16)
    const messages = Array.from({ length: senders * 4 }, (_, i) => testMessage({ key: `sender-${i % senders}/${i}` }))
    await Promise.all(
      Array.from({ length: senders }, async (_, sender) => {
        for (let i = sender; i < messages.length; i += senders) await send(messages[i]!)
      }),
    )
    for (const message of messages) await requireReceived(t, subject, [message])
  },

  'keys in any script, with quotes, spaces and percent signs, arrive unchanged': async (t, subject) => {
    const { send } = connect(t, subject)
    const keys = [
      'ж/日本語/🎉 emoji.txt',
      `it's "quoted" \\ back`,
      'a%20b+c&d=e?f#g',
      '  spaces  ',
      'line\nbreak\ttab',
      '{}[]$1%s;--',
    ]
    const messages = keys.map(key => testMessage({ key }))
    for (const message of messages) await send(message)
    await requireReceived(t, subject, messages)
  },

  'a message of 256 KiB arrives unchanged': async (t, subject) => {
    const { send } = connect(t, subject)
    const userMetadata = { large: 'ä'.repeat(64 * 1024), plain: 'x'.repeat(128 * 1024) }
    const object = { sizeBytes: 1, etag: 'e', contentType: undefined, userMetadata }
    const message = testMessage({ key: 'large', object })
    await send(message)
    await requireReceived(t, subject, [message])
  },

  'a removal arrives, or removes the row': async (t, subject) => {
    const { send } = connect(t, subject)
    const put = testMessage({ key: 'removed', versionId: 'v1' })
    await send(put)
    await requireReceived(t, subject, [put])
    const removal = testMessage({ key: 'removed', name: 'ObjectRemoved:Delete', versionId: 'v1' })
    await send(removal)
    if (!subject.isTable) return requireReceived(t, subject, [put, removal])
    t.notOk(
      (await subject.received()).some(record => sequencerIn(record) === put.sequencer),
      'no row is left',
    )
    await send(removal)
    t.pass('removing a missing row is no error')
  },

  'a test message arrives, or leaves nothing in a table': async (t, subject) => {
    const { target } = connect(t, subject)
    const requestId = `test-${Date.now()}`
    await target.test(testBody(requestId), AbortSignal.timeout(deliveryMsMax))
    const found = async () => (await subject.received()).filter(({ RequestId }) => RequestId === requestId)
    if (subject.isTable) return void t.same(await found(), [])
    const arrived = await eventually(found, records => records.length > 0, deliveryMsMax)
    t.match(arrived, [{ Service: 'svc', Event: 's3:TestEvent', RequestId: requestId, HostId: 'node-1' }])
  },

  'a test message fails where a message would fail': async (t, subject) => {
    await subject.stop()
    const down = connect(t, subject)
    await down.failure(down.target.test(testBody('down'), AbortSignal.timeout(deliveryMsMax)))
    await subject.start()
    if (subject.refusedSettings === undefined) return
    const refused = connect(t, subject, subject.refusedSettings)
    await refused.failure(refused.target.test(testBody('refused'), AbortSignal.timeout(deliveryMsMax)))
  },

  ...sharedCases,
})
