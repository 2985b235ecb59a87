import { adminErrors, checkField, defineAdminOperation } from 'svc/plugins/admin/api'
import { ImportResult } from 'svc/plugins/settings/api'
import { Type } from 'typebox'
import type { ArchiveShare } from '../archive-memory.ts'
import type {} from '../cluster-archive.ts'
import { importModes } from '../pending-import.ts'
import { archiveBytesMax } from '../zip-file.ts'

export default defineAdminOperation({
  id: 'importCluster',
  method: 'POST',
  path: '/cluster/import',
  tag: 'cluster',
  summary:
    'Imports an archive of a deployment with the same root credentials, completely or not at all: it is checked first, and an interrupted import is completed. `replace` also removes users, groups, policies, access keys and settings that the archive does not have; buckets are never removed.',
  authorize: ['admin:ImportCluster'],
  query: Type.Object({
    mode: Type.Enum([...importModes], { default: 'merge' }),
    dryRun: Type.Boolean({ default: false, description: 'Only returns the changes, and makes none.' }),
  }),
  bodyStream: true,
  bodyBytesMax: archiveBytesMax,
  response: ImportResult,
  errors: ['conflict', 'invalid_archive', 'entity_too_large'],
  uses: ['clusterArchive'],
  async handle({ query: { mode, dryRun }, payload, identity }, { clusterArchive: archive }) {
    const receive = async (share: ArchiveShare) => {
      const chunks: Buffer[] = []
      let sizeBytes = 0
      await payload.body.consume(chunk => {
        sizeBytes += chunk.length
        if (sizeBytes > archiveBytesMax) throw adminErrors.entity_too_large()
        share.take(chunk.length)
        // A chunk is its sender's again when this returns.
        chunks.push(Buffer.from(chunk))
      })
      return Buffer.concat(chunks)
    }
    const startedBy = identity!.userName ?? identity!.accessKey
    const options = { mode, isDryRun: dryRun, startedBy }
    const outcome = await checkField('', () => archive.import(receive, options), ['invalid_archive'])
    return {
      ...outcome,
      mode,
      dryRun,
      bucketsCreated: [...outcome.bucketsCreated],
      created: [...outcome.created],
      changed: [...outcome.changed],
      fields: Object.fromEntries([...outcome.fields].map(([name, fields]) => [name, [...fields]])),
      removed: [...outcome.removed],
    }
  },
})
