import { hostname } from 'node:os'
import { adminErrors } from 'svc/plugins/admin/api'
import { Type } from 'typebox'

export const NodeList = Type.Object({ nodes: Type.Array(Type.String()) }, { $id: 'NodeList' })

/** There is one node. Throws `invalid_argument`. */
export function requireKnownNodes(nodes: readonly string[] | undefined): void {
  const unknown = nodes?.find(name => name !== hostname())
  if (unknown !== undefined) throw adminErrors.invalid_argument(`/nodes: there is no node "${unknown}".`)
}
