import { adminErrors, defineAdminOperation, withProblems } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import { importModes } from '../archive.ts'
import { kindNames } from '../kinds.ts'
import { textBytesMax } from '../yaml-text.ts'
import { rightsOf } from './rights.ts'

const named = { kind: Type.Enum([...kindNames]), name: Type.String() }
const Names = Type.Array(Type.Object(named))

export const DistributionImportResult = Type.Object(
  {
    mode: Type.Enum([...importModes]),
    dryRun: Type.Boolean(),
    created: Names,
    replaced: Names,
    unchanged: Names,
    removed: Names,
    changes: Type.Array(
      Type.Object({
        ...named,
        element: Type.String({ description: 'JSON Pointer to the field that differs.' }),
        before: Type.Optional(Type.Unknown()),
        after: Type.Optional(Type.Unknown()),
      }),
      { description: 'The fields of replaced documents that differ, at most 1000; secrets are references.' },
    ),
    opened: Type.Array(
      Type.Object({
        name: Type.String(),
        bucket: Type.String(),
        pathPrefix: Type.String(),
        aliases: Type.Array(Type.String()),
        mode: Type.Enum(['website', 's3'], { description: '`s3`: what the policies and rules of the bucket allow.' }),
      }),
      { description: 'Distributions that are made or changed, and show something to everybody then.' },
    ),
    warnings: Type.Array(Type.String(), {
      description:
        'At most 1000: private keys that go for ever, keys that come without one, references of the file for which this node has neither a variable nor a stored secret.',
    }),
  },
  { $id: 'DistributionImportResult' },
)

export default defineAdminOperation({
  id: 'importDistributions',
  method: 'POST',
  path: '/distributions/import',
  tag: 'distributions',
  summary:
    'Imports YAML (or JSON) documents of `exportDistributions`, all or none: all are checked, and the answer lists every problem with its line. `replace` also removes what the file lacks, within the kinds that it has, of what the caller may manage.',
  authorize: 'service',
  query: Type.Object({
    mode: Type.Enum([...importModes], { default: 'merge' }),
    dryRun: Type.Boolean({ default: false, description: 'Only returns the changes, and makes none.' }),
  }),
  body: Type.Unknown({ description: 'YAML documents, or JSON: one document, or a list of them.' }),
  bodyBytesMax: textBytesMax,
  contentTypes: ['application/yaml', 'application/x-yaml', 'text/yaml', 'text/plain', 'application/json'],
  response: DistributionImportResult,
  errors: ['access_denied', 'archive_too_large', 'conflict', 'invalid_archive'],
  uses: ['distributionArchive'],
  async handle(request, { distributionArchive }) {
    const { body, query } = request
    const rights = rightsOf(request)
    // Before the text is read, which costs more than a refusal.
    if (!rights.managesDistributions && !rights.managesCache) throw adminErrors.access_denied()
    const hasLines = typeof body === 'string'
    const text = hasLines ? body : JSON.stringify(body)
    try {
      const outcome = await distributionArchive.import(
        { text, hasLines, mode: query.mode, isDryRun: query.dryRun },
        rights,
      )
      return { mode: query.mode, dryRun: query.dryRun, ...outcome } as never
    } catch (error) {
      const { cause } = error as Error
      throw Array.isArray(cause) ? withProblems(error as Error, 'errors', cause as object[]) : error
    }
  },
})
