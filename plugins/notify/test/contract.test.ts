import t from 'tap'
import { type NotifyTargetSubject, notifyTargetContract, receivedFrom } from '../contract.ts'
import { httpKind, startReceiver } from './http-target.ts'

const token = 'a-token-of-the-test'

t.test('a target over HTTP keeps the contract', t =>
  notifyTargetContract(t, async t => {
    const receiver = await startReceiver(token)
    t.teardown(() => receiver.stop())
    const subject: NotifyTargetSubject = {
      kind: httpKind,
      settings: { endpoint: receiver.endpoint, token, timeout: 1000 },
      secrets: [token, 'a-wrong-token'],
      timeoutMs: 1000,
      received: async () => receiver.bodies.map(receivedFrom),
      stop: () => receiver.stop(),
      start: () => receiver.start(),
      async hang() {
        receiver.mode = 'hang'
      },
      async resume() {
        receiver.resume()
      },
      refusedSettings: { token: 'a-wrong-token' },
    }
    return subject
  }),
)
