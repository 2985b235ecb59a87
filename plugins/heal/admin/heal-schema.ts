import { type Static, Type } from 'typebox'

const drive = { endpoint: Type.String(), pool: Type.Integer(), set: Type.Integer(), disk: Type.Integer() }

export const HealRequest = Type.Object(
  {
    bucket: Type.Optional(Type.String({ maxLength: 255 })),
    prefix: Type.Optional(Type.String({ maxLength: 1024, description: 'Needs a bucket.' })),
    recursive: Type.Optional(
      Type.Boolean({
        description:
          'With a bucket: also keys with a slash behind the prefix. Without one: every object of every bucket.',
      }),
    ),
    dryRun: Type.Optional(Type.Boolean({ description: 'Only report missing and corrupt shards.' })),
    deep: Type.Optional(Type.Boolean({ description: 'Verify the checksum of every block.' })),
    remove: Type.Optional(
      Type.Boolean({
        description:
          'Delete dangling objects: those that have lost more shards than there is parity, determined with every drive online. Never implied.',
      }),
    ),
  },
  { $id: 'HealRequest' },
)
export type HealRequest = Static<typeof HealRequest>

export const HealItem = Type.Object(
  {
    kind: Type.Union([Type.Literal('format'), Type.Literal('system'), Type.Literal('bucket'), Type.Literal('object')]),
    bucket: Type.String(),
    object: Type.String(),
    versionId: Type.Optional(Type.String({ description: 'Of an object; `null`: written without versioning.' })),
    healed: Type.Boolean(),
    dangling: Type.Boolean(),
    removed: Type.Boolean(),
    error: Type.String(),
    drives: Type.Array(Type.Object({ ...drive, before: Type.String(), after: Type.String() })),
  },
  { $id: 'HealItem' },
)
export type HealItem = Static<typeof HealItem>

export const HealJob = Type.Object(
  {
    id: Type.String(),
    state: Type.Union([
      Type.Literal('running'),
      Type.Literal('completed'),
      Type.Literal('failed'),
      Type.Literal('canceled'),
    ]),
    request: HealRequest,
    finished: Type.Boolean(),
    node: Type.String(),
    startedAt: Type.String({ format: 'date-time' }),
    updatedAt: Type.String({ format: 'date-time' }),
    finishedAt: Type.Optional(Type.String({ format: 'date-time' })),
    current: Type.String(),
    scanned: Type.Integer(),
    damaged: Type.Integer({ description: 'Records with a missing or corrupt shard on a drive that is online.' }),
    healed: Type.Integer(),
    failed: Type.Integer(),
    dangling: Type.Integer(),
    removed: Type.Integer(),
    bytes: Type.Integer(),
    drives: Type.Array(
      Type.Object({
        ...drive,
        state: Type.String(),
        missing: Type.Integer(),
        corrupt: Type.Integer(),
        offline: Type.Integer(),
        healed: Type.Integer(),
      }),
    ),
    items: Type.Array(HealItem),
    itemsTruncated: Type.Boolean(),
    error: Type.String(),
  },
  { $id: 'HealJob' },
)
export type HealJob = Static<typeof HealJob>

/** A job as it is stored. */
export const StoredHealJob = Type.Object({
  ...HealJob.properties,
  /**
   * Records that it has not healed and that neither they nor a dry run's `damaged` count as lacking a shard: it could not check them, or the set
   * does not have their blob any more. `keys` (base64) of the first, and the number of further ones. Absent in jobs of earlier builds.
   * `digests`: of what was stored at these keys, in their order; empty if that could not be read.
   */
  left: Type.Optional(
    Type.Object({
      keys: Type.Array(Type.String()),
      digests: Type.Optional(Type.Array(Type.String())),
      more: Type.Integer(),
    }),
  ),
  /**
   * Of a dry run: which of the records that it has found damaged (`damaged`) no other job has checked since: the keys (base64) of the first.
   * `checked`: how many others have. Absent in jobs of earlier builds.
   */
  found: Type.Optional(Type.Object({ keys: Type.Array(Type.String()), checked: Type.Integer() })),
})
export type StoredHealJob = Static<typeof StoredHealJob>

export const HealJobParameters = Type.Object({ id: Type.String() })
