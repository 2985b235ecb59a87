/** References to secrets in documents, which each node resolves for itself. */
import { definePlugin } from 'svc/kernel'
import 'svc/plugins/health/api'
import { Type } from 'typebox'
import type {} from './api.ts'
import { createMissing } from './missing.ts'
import { createSecretReferences } from './variables.ts'

const pauseMs = 10_000

export default definePlugin({
  name: 'secret-references',
  description:
    'Secrets of documents by reference, which each node reads from variables whose names begin with `SVC_SECRET_`.',
  provides: ['secretReferences'],
  points: {
    'secretReferences.user': {
      cardinality: 'many',
      schema: Type.Object(
        { references: Type.Function([], Type.Unknown()) },
        { description: 'A plugin whose documents may have references to secrets.' },
      ),
    },
  },
  setup({ ports, threads, log, point, contribute, background }) {
    const secretReferences = createSecretReferences({ env: process.env, clock: ports.clock, log })
    const users = point('secretReferences.user')
    const missing = createMissing({
      users: () => users.list().map(({ value }) => value),
      resolve: secretReferences.resolve,
      log: threads.isMain ? log : undefined,
    })
    background({
      name: 'look',
      pauseMs,
      // Probes are answered by any thread.
      runsIn: 'every-thread',
      async work() {
        await missing.look()
        return 'idle'
      },
    })
    contribute('health.check', 'secrets', () => ({ ok: true, detail: missing.detail() }), { optional: true })
    return { services: { secretReferences } }
  },
})
