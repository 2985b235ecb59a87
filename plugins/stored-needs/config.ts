import { type Static, Type } from 'typebox'

export const StoredNeedsConfig = Type.Object({
  ignoreMissingPlugins: Type.Array(
    Type.String({
      pattern: '^[a-z][a-z0-9]*(-[a-z0-9]+)*$',
      errorMessage: 'must be the name of a plugin: lower-case words with hyphens between them',
    }),
    {
      variable: 'SVC_IGNORE_MISSING_PLUGINS',
      default: [],
      description:
        'Plugins without which the server starts although stored data needs them, separated by commas. The protection that they provide is missing then.',
    },
  ),
})

export type StoredNeedsConfig = Static<typeof StoredNeedsConfig>
