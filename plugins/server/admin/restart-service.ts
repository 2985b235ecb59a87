import { hostname } from 'node:os'
import { adminErrors, defineAdminOperation } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import { serverErrors } from '../errors.ts'
import type {} from '../restarts.ts'
import { NodeList, requireKnownNodes } from './node-list.ts'

const delaySecondsMax = 300

export default defineAdminOperation({
  id: 'restartService',
  method: 'POST',
  path: '/service/restart',
  tag: 'server',
  summary:
    'Restarts the server in its place: requests under way are answered, then the same program begins anew in the same process, with its arguments and its environment.',
  authorize: ['admin:ServiceRestart'],
  body: Type.Object(
    {
      nodes: Type.Optional(
        Type.Array(Type.String({ maxLength: 255 }), { minItems: 1, maxItems: 1000, description: 'Default: all.' }),
      ),
      delaySeconds: Type.Integer({ minimum: 0, maximum: delaySecondsMax, default: 0 }),
      force: Type.Boolean({
        default: false,
        description:
          'Also where the start would be refused by what can be seen of it now, such as a mistake in SVC_CONFIG_FILE or a certificate in SVC_CERTS_DIR whose key is another: the server stays away until that is mended and somebody starts it.',
      }),
    },
    { $id: 'RestartRequest' },
  ),
  bodyOptional: true,
  response: NodeList,
  isJob: true,
  errors: ['not_implemented', 'start_would_fail'],
  uses: ['kernel', 'restarts'],
  async handle({ body: { nodes, delaySeconds = 0, force = false }, identity, exchange }, { kernel, restarts }) {
    requireKnownNodes(nodes)
    if (!kernel.canRestart) {
      throw adminErrors.not_implemented('On this system a process cannot restart itself: stop it, and start it again.')
    }
    const refusal = force ? undefined : await restarts.refusal()
    if (refusal !== undefined) throw serverErrors.start_would_fail(refusal)
    const request = () =>
      restarts.request(`restartService, asked for by ${identity?.accessKey}`, { delayMs: delaySeconds * 1000, force })
    // A start that fails ends the process at once: this answer has to be on its way by then.
    if (exchange.response.closed) request()
    else exchange.response.once('close', request)
    return { nodes: [hostname()] }
  },
})
