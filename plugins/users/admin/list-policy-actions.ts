import {
  adminErrors,
  decodeCursor,
  defineAdminOperation,
  encodeCursor,
  pageOf,
  pageParameters,
} from 'svc/plugins/admin/api'
import { Type } from 'typebox'

const PolicyActionInfo = Type.Object(
  {
    action: Type.String(),
    level: Type.Union([Type.Literal('account'), Type.Literal('bucket'), Type.Literal('object'), Type.Literal('none')]),
    description: Type.String(),
    conditionKeys: Type.Array(Type.String()),
    status: Type.Union([Type.Literal('active'), Type.Literal('fixed'), Type.Literal('inert')]),
    plugin: Type.String(),
  },
  { $id: 'PolicyActionInfo' },
)

export default defineAdminOperation({
  id: 'listPolicyActions',
  method: 'GET',
  path: '/policies/actions',
  tag: 'policies',
  summary: 'Lists all actions that policies can name, including those of plugins, with their condition keys.',
  authorize: 'self',
  query: Type.Object(pageParameters),
  response: pageOf(PolicyActionInfo),
  uses: ['policy'],
  handle({ query: { cursor, limit } }, { policy }) {
    const actions = policy.actions()
    const last = decodeCursor(cursor)
    const start = last === undefined ? 0 : actions.findIndex(({ action }) => action === last) + 1
    if (last !== undefined && start === 0) throw adminErrors.invalid_argument('The cursor was not returned by a list.')
    const page = actions.slice(start, start + limit)
    const items = page.map(({ action, level, description, conditionKeys, status, plugin }) => {
      return { action, level, description, conditionKeys: [...conditionKeys], status, plugin }
    })
    return { items, nextCursor: encodeCursor(start + limit < actions.length ? page.at(-1)?.action : undefined) }
  },
})
