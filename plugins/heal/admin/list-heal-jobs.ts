import {
  adminErrors,
  decodeCursor,
  defineAdminOperation,
  encodeCursor,
  pageOf,
  pageParameters,
} from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import type {} from '../api.ts'
import { HealJob } from './heal-schema.ts'

export default defineAdminOperation({
  id: 'listHealJobs',
  method: 'GET',
  path: '/heal',
  tag: 'server',
  summary:
    'Lists heal jobs, newest first; ended ones for an hour, or until another has checked what they have found or left.',
  authorize: ['admin:Heal'],
  query: Type.Object(pageParameters),
  response: pageOf(HealJob),
  uses: ['heal'],
  async handle({ query: { cursor, limit } }, { heal }) {
    const position = decodeCursor(cursor)
    const jobs = await heal.list()
    // Where the last page ended is a job: newer ones may have come before it, and it may be gone.
    const last = jobs.findIndex(({ id }) => id === position)
    if (position !== undefined && last === -1) throw adminErrors.invalid_argument('The list has changed: begin again.')
    const items = jobs.slice(last + 1, last + 1 + limit)
    const isMore = last + 1 + items.length < jobs.length
    return { items, nextCursor: encodeCursor(isMore ? items.at(-1)?.id : undefined) }
  },
})
