import { definePlugin } from 'svc/kernel'
import { bindAdminOperation } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import listPolicyActions from './admin/list-policy-actions.ts'
import { createSimulatePolicy } from './admin/simulate-policy.ts'
import validatePolicy from './admin/validate-policy.ts'

export default definePlugin({
  name: 'policy-operations',
  requires: ['policy', 'users'],
  config: Type.Object({}),
  setup({ services, ports, contribute }) {
    for (const operation of [listPolicyActions, createSimulatePolicy(ports.clock), validatePolicy]) {
      contribute('admin.operation', operation.id, bindAdminOperation(operation, services), { optional: true })
    }
  },
})
