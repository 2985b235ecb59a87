/** The catalogue of all operations, and the plugins of those that are not built yet. */

import type { AdminMethod, AdminOperation, Authorization, RequiredActions } from './api.ts'
import rows from './catalogue.json' with { type: 'json' }
import { adminErrors } from './errors.ts'

export interface CatalogueRow {
  readonly n: number
  readonly group: string
  readonly operationId: string
  readonly method: AdminMethod
  readonly path: string
  /** Query or body, and the answer, as a description. */
  readonly io: string
  /** In the notation of the catalogue: `a + b`, `a or b`, `self`, `service: …`. */
  readonly actions: string
  readonly notes: string
}

export const catalogue = rows as readonly CatalogueRow[]

/** The plugin that implements, or will implement, a group, and exceptions in the group. */
const plugins: Readonly<Record<string, readonly [plugin: string, others?: Readonly<Record<string, string>>]>> = {
  session: ['iam'],
  server: [
    'server',
    { getUsage: 'usage', startHeal: 'heal', listHealJobs: 'heal', getHealJob: 'heal', cancelHealJob: 'heal' },
  ],
  monitoring: [
    'metrics-history',
    { createPrometheusToken: 'prometheus', streamTrace: 'trace', streamLogs: 'logs', searchAudit: 'audit' },
  ],
  diagnostics: ['diagnostics'],
  buckets: ['buckets'],
  objects: ['object-operations'],
  uploads: ['multipart'],
  shares: ['share'],
  users: ['iam'],
  groups: ['iam'],
  'access-keys': ['iam'],
  policies: ['iam'],
  config: ['settings'],
  cluster: ['cluster-archive', { listLocks: 'lock', releaseLocks: 'lock' }],
  notify: ['notify'],
  kms: ['kms', { resealKms: 'encryption' }],
  'access-rules': ['access-rules'],
  distributions: ['distributions'],
  certificates: ['certificates'],
  cache: ['cache'],
}

/** Settings of buckets and objects have plugins of their own. */
const pluginsByPath: readonly (readonly [pattern: RegExp, plugin: string])[] = [
  [/^\/buckets\/\{bucket\}\/(policy|access)$/, 'bucket-policy'],
  [/^\/buckets\/\{bucket\}\/quota$/, 'quota'],
  [/^\/buckets\/\{bucket\}(\/objects)?\/tags$/, 'tagging'],
  [/\/(objectlock|retention|legal-hold)$/, 'object-lock'],
  [/^\/buckets\/\{bucket\}\/encryption$/, 'encryption'],
  [/^\/buckets\/\{bucket\}\/lifecycle/, 'lifecycle'],
  [/^\/buckets\/\{bucket\}\/events$/, 'notify'],
  [/^\/buckets\/\{bucket\}\/cors$/, 'cors'],
  [/^\/keygroups/, 'key-groups'],
  [/^\/dns-providers/, 'dns'],
  [/\/webhooks(\/|$)/, 'purge'],
]

/** The plugin that implements, or will implement, the operation. */
export function pluginOf({ group, operationId, path }: CatalogueRow): string {
  const [plugin, others] = plugins[group]
  return others?.[operationId] ?? pluginsByPath.find(([pattern]) => pattern.test(path))?.[1] ?? plugin
}

const actionPattern = /\b(?:s3|admin):[A-Za-z]+/g

/** Converts the catalogue's notation of actions for the dispatcher and the document. */
export function authorizationOf(text: string): Authorization {
  if (text === 'public' || text === 'session') return text
  if (text.startsWith('self')) return 'self'
  if (text.startsWith('service')) return 'service'
  // Text after a semicolon or in parentheses depends on the request.
  const plain = text.replaceAll(/\([^)]*\)/g, '').split(';')[0]
  const required: RequiredActions = plain.split('+').map(part => {
    const actions = part.match(actionPattern) ?? []
    return actions.length === 1 ? actions[0] : actions
  })
  if (required.length === 0 || required.some(part => part.length === 0)) throw new Error(`no actions in "${text}"`)
  return required
}

/** All actions in the text, to document operations that decide in their handler. */
export function actionsNamed(text: string): readonly string[] {
  return [...new Set(text.match(actionPattern) ?? [])]
}

/** Operations that no plugin of this release provides. Every other one that is missing has a plugin that is not loaded. */
const isBuilt = ({ group, operationId }: CatalogueRow): boolean =>
  group !== 'cache' && operationId !== 'exportDistributions' && operationId !== 'importDistributions'

/** A placeholder for an operation that nobody provides: routed, authenticated and authorized like the operation, then 501. */
export function plannedOperation(row: CatalogueRow): AdminOperation {
  const plugin = pluginOf(row)
  return {
    id: row.operationId,
    method: row.method,
    path: row.path,
    tag: row.group,
    summary: isBuilt(row)
      ? `Not available: the plugin ${plugin}, which provides it, is not loaded.`
      : `Not built yet: the plugin ${plugin} will provide it.`,
    authorize: authorizationOf(row.actions),
    plannedBy: plugin,
    handle() {
      throw adminErrors.not_implemented(
        isBuilt(row)
          ? `${row.operationId} is not available: the plugin "${plugin}", which provides it, is disabled or lacks a plugin that it needs.`
          : `${row.operationId} is not built yet: the plugin "${plugin}" will provide it.`,
      )
    },
  }
}
