import { defineAdminOperation } from 'svc/plugins/admin/api'
import { type Static, Type } from 'typebox'
import type {} from '../api.ts'

const amounts = {
  records: Type.Integer({ description: 'Versions and parts that are stored as shards.' }),
  bytes: Type.Integer({ description: 'Bytes of their data, without parity.' }),
  belowRecords: Type.Integer({ description: 'How many of them lack a shard, or have one on an offline drive.' }),
  belowBytes: Type.Integer(),
  failingRecords: Type.Integer({
    description: 'How many of those could not be healed in the last attempt: they may be lost. A heal job lists them.',
  }),
}

export const Redundancy = Type.Object(
  {
    isFull: Type.Boolean({
      description: 'Every drive is online and has all records, no version lacks a shard, and no known damage remains.',
    }),
    hasFoundDamage: Type.Boolean({
      description:
        'Missing or corrupt shards are known, or suspected, that the counts do not have yet: they were found just now or by a dry run, or a heal job could not check or heal their records.',
    }),
    summary: Type.String({ description: 'A description in sentences, with the problems.' }),
    ...amounts,
    lostRecords: Type.Integer({
      description:
        'How many records a dry run has found lost: at most, where a job has checked some of what it has found since. Of those that a job has tried to heal `failingRecords` tells.',
    }),
    healed: Type.Integer({ description: 'Versions and parts that got missing shards since the start of the server.' }),
    failed: Type.Integer({ description: 'Attempts to heal that failed since then; they are repeated.' }),
    scrub: Type.Optional(
      Type.Object(
        {
          startedAt: Type.String({ format: 'date-time' }),
          endedAt: Type.Optional(Type.String({ format: 'date-time' })),
          damaged: Type.Integer({ description: 'Records that had a missing or corrupt shard.' }),
        },
        { description: 'The running scrub, or the last one: it reads and verifies every shard.' },
      ),
    ),
    sets: Type.Array(
      Type.Object({
        pool: Type.Integer(),
        set: Type.Integer(),
        drives: Type.Integer(),
        online: Type.Integer(),
        healing: Type.Integer({ description: 'Drives whose records or shards are being rebuilt.' }),
        state: Type.String(),
        isFull: Type.Boolean({
          description: 'As above, of this set: nothing that is known says that something is missing in it.',
        }),
        hasFoundDamage: Type.Boolean({
          description: 'As above, of this set: where what was found does not say in which set it is, of all.',
        }),
        summary: Type.String({ description: 'As above, of this set: what is missing in it. Empty where it is full.' }),
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
