import { Type } from 'typebox'

/** The result of an import of the configuration, or of an archive of the cluster. */
export const ImportResult = Type.Object(
  {
    mode: Type.Union([Type.Literal('merge'), Type.Literal('replace')]),
    dryRun: Type.Boolean(),
    users: Type.Integer({ description: 'Number in the file, like the other counts.' }),
    groups: Type.Integer(),
    policies: Type.Integer(),
    configSubsystems: Type.Integer(),
    buckets: Type.Integer(),
    bucketsCreated: Type.Array(Type.String()),
    documents: Type.Optional(
      Type.Record(Type.String(), Type.Integer(), {
        description: 'Numbers of the other documents in an archive, by their kind: `distribution`, `key-group`.',
      }),
    ),
    created: Type.Optional(
      Type.Array(Type.String(), {
        description:
          'New documents of an archive, beside buckets: `user/ann`, `bucket/photos/tags`, also of a new bucket, `distribution/site`.',
      }),
    ),
    changed: Type.Optional(
      Type.Array(Type.String(), {
        description:
          'Documents that are there and become others; named in the same way, and `config/api`. Of a configuration: subsystems with other values.',
      }),
    ),
    fields: Type.Optional(
      Type.Record(Type.String(), Type.Array(Type.String()), {
        description:
          'By names of `changed`, and subsystems of `removed` as `config/api`: the fields that differ, such as `status`. Without values.',
      }),
    ),
    removed: Type.Array(Type.String(), { description: 'With `replace`: names that are not in the file.' }),
  },
  { $id: 'ImportResult' },
)
