import { definePlugin } from 'svc/kernel'
import { Type } from 'typebox'
import { createPolicy } from './policy.ts'

export default definePlugin({
  name: 'policy',
  provides: ['policy'],
  config: Type.Object({}),
  setup: () => ({ services: { policy: createPolicy() } }),
})
