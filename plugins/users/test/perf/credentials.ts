/**
 * Cost of credentials on the path of a request: `node --conditions=svc-src plugins/users/test/perf/credentials.ts`. One thread; a warm-up
 * before each figure.
 */

import { setTimeout } from 'node:timers/promises'
import type { Test } from 'tap'
import { startDirectory } from '../start-users.ts'

const stops: (() => unknown)[] = []
const { users, iam, kernel } = await startDirectory({
  teardown: (stop: () => unknown) => stops.push(stop),
} as never as Test)
await users.createGroup({ name: 'dev' })
await users.attachPolicies({ group: 'dev' }, ['readonly', 'writeonly'])
await users.createUser({ accessKey: 'ada', groups: ['dev'], policyNames: ['diagnostics'] })
// The store publishes changes in a turn of the event loop; a loop without turns would measure the path after a change.
await setTimeout(100)
const ada = iam.credentials('ada')
if (ada === undefined || ada instanceof Promise) throw new Error('in the main thread nothing has to be waited for')

function measure(what: string, run: () => unknown, count = 1_000_000): void {
  for (let i = 0; i < count / 5; i++) run()
  const heapBefore = process.memoryUsage().heapUsed
  const start = process.hrtime.bigint()
  for (let i = 0; i < count; i++) run()
  const ns = Number(process.hrtime.bigint() - start) / count
  const bytes = (process.memoryUsage().heapUsed - heapBefore) / count
  console.log(`${what.padEnd(44)} ${ns.toFixed(0).padStart(6)} ns  ${bytes.toFixed(1).padStart(8)} B heap growth`)
}

measure('credentials of root', () => iam.credentials('admin'))
measure('credentials of a user', () => iam.credentials('ada'))
measure('credentials of nobody', () => iam.credentials('eve'))
measure('isAllowed of a user', () =>
  kernel.services.policy.isAllowed({ identity: ada.identity, action: 's3:GetObject', bucket: 'bucket', key: 'key' }),
)
measure('mentions of a user', () =>
  kernel.services.policy.mentions(
    { identity: ada.identity, action: 's3:GetObject', bucket: 'bucket', key: 'key' },
    's3:existingobjecttag/',
  ),
)
for (const stop of stops) await stop()
