import { definePlugin } from 'svc/kernel'
import './api.ts'
import { createCatalogue } from './catalogue.ts'
import { keyNormalizerOf, PolicyConfig } from './config.ts'
import { policyPoints } from './points.ts'
import { createPolicy } from './policy.ts'

export default definePlugin({
  name: 'policy',
  description: 'The policy engine: decides whether an identity may do an action on a resource.',
  provides: ['policy'],
  points: policyPoints,
  config: PolicyConfig,
  setup({ config, point }) {
    const sources = point('policy.source')
    const actions = point('policy.action')
    const { open, ...policy } = createPolicy(keyNormalizerOf(config))
    return {
      services: { policy },
      start() {
        open(
          sources.list().map(({ value }) => value),
          createCatalogue(actions.list()),
        )
      },
    }
  },
})
