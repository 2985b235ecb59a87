import { hostname } from 'node:os'
import { defineAdminOperation } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import { NodeList, requireKnownNodes } from './node-list.ts'

export default defineAdminOperation({
  id: 'stopService',
  method: 'POST',
  path: '/service/stop',
  tag: 'server',
  summary: 'Stops the server: requests under way are answered, then the process ends with exit code 0.',
  authorize: ['admin:ServiceStop'],
  body: Type.Object(
    {
      nodes: Type.Optional(
        Type.Array(Type.String({ maxLength: 255 }), { minItems: 1, maxItems: 1000, description: 'Default: all.' }),
      ),
    },
    { $id: 'StopRequest' },
  ),
  bodyOptional: true,
  response: NodeList,
  isJob: true,
  uses: ['kernel'],
  handle({ body: { nodes }, identity }, { kernel }) {
    requireKnownNodes(nodes)
    // Stopping waits for answers under way, and this one is.
    kernel.requestStop(`stopService, asked for by ${identity?.accessKey}`)
    return { nodes: [hostname()] }
  },
})
