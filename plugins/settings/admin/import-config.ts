import { defineAdminOperation, invalidFields } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import { ImportResult, type SettingsMap } from '../api.ts'
import { parseSettings } from '../text-format.ts'
import { ConfigMap } from './config-schema.ts'

export default defineAdminOperation({
  id: 'importConfig',
  method: 'POST',
  path: '/config/import',
  tag: 'config',
  summary:
    'Imports settings from a file in the format of the export, all in one change, or none. With `replace` keys that are not in the file are reset. A masked secret keeps the stored one.',
  authorize: ['admin:ConfigUpdate'],
  query: Type.Object({
    mode: Type.Union([Type.Literal('merge'), Type.Literal('replace')], { default: 'merge' }),
    dryRun: Type.Boolean({ default: false, description: 'Only returns the result, without a change.' }),
  }),
  body: Type.Union([
    ConfigMap,
    Type.String({ description: 'Lines of the form `subsystem key=value`; values with spaces in quotes.' }),
  ]),
  contentTypes: ['application/json', 'text/plain'],
  response: ImportResult,
  errors: ['conflict'],
  uses: ['settings'],
  async handle({ query: { mode, dryRun }, body }, { settings }) {
    const map = typeof body === 'string' ? readText(body) : body
    const { subsystems, changed, removed } = await settings.administration.apply(map, mode, { isDryRun: dryRun })
    return {
      mode,
      dryRun,
      users: 0,
      groups: 0,
      policies: 0,
      configSubsystems: subsystems,
      buckets: 0,
      bucketsCreated: [],
      created: [],
      changed: changed.map(([name]) => `config/${name}`),
      fields: Object.fromEntries([...changed, ...removed].map(([name, keys]) => [`config/${name}`, [...keys]])),
      removed: removed.map(([name]) => name),
    }
  },
})

function readText(text: string): SettingsMap {
  const { map, problems } = parseSettings(text)
  if (problems.length > 0) throw invalidFields(problems)
  return map
}
