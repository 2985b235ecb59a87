import { defineAdminOperation } from 'svc/plugins/admin/api'
import { type Static, Type } from 'typebox'
import type {} from '../api.ts'

const amounts = {
  records: Type.Integer({ description: 'Versions and parts that are kept in shards.' }),
  bytes: Type.Integer({ description: 'Of their data, without parity.' }),
  belowRecords: Type.Integer({ description: 'Of them, those that lack a shard, or have one on a drive that is away.' }),
  belowBytes: Type.Integer(),
}

export const Redundancy = Type.Object(
  {
    isFull: Type.Boolean({
      description:
        'Every drive is there and has all records, nothing lacks a shard, and no damage that was found is open.',
    }),
    summary: Type.String({ description: 'The same in sentences, with what is missing.' }),
    ...amounts,
    healed: Type.Integer({ description: 'Versions and parts that were given shards since the start of the server.' }),
    failed: Type.Integer({ description: 'Attempts at it that failed since then; they are made again.' }),
    scrub: Type.Optional(
      Type.Object(
        {
          startedAt: Type.String({ format: 'date-time' }),
          endedAt: Type.Optional(Type.String({ format: 'date-time' })),
          damaged: Type.Integer({ description: 'Records of which a shard was missing or wrong.' }),
        },
        { description: 'The pass over all shards that is under way, or the last one; each is read and verified.' },
      ),
    ),
    sets: Type.Array(
      Type.Object({
        pool: Type.Integer(),
        set: Type.Integer(),
        drives: Type.Integer(),
        online: Type.Integer(),
        healing: Type.Integer({ description: 'Drives that are being given records or shards.' }),
        state: Type.String(),
        ...amounts,
      }),
    ),
  },
  { $id: 'Redundancy' },
)
export type Redundancy = Static<typeof Redundancy>

export default defineAdminOperation({
  id: 'getRedundancy',
  method: 'GET',
  path: '/redundancy',
  tag: 'server',
  summary:
    'Says whether everything has all of its shards, and how much has not. A deployment of a single drive has no shards: 501.',
  authorize: ['admin:ServerInfo'],
  response: Redundancy,
  errors: ['not_implemented'],
  uses: ['heal'],
  handle: (_request, { heal }) => heal.redundancy(),
})
