/** The kernel's own configuration, declared as a plugin declares its own. */
import { availableParallelism } from 'node:os'
import { type Static, Type } from 'typebox'
import { schemaProblems } from '../config/index.ts'
import type { LogFormat, LogLevel } from '../log.ts'
import { defaultPlugins, type PluginEntry } from './discover.ts'
import { logFormatKey, logLevelKey } from './log-keys.ts'

const Name = Type.String({ minLength: 1 })
const closed = { additionalProperties: false }

const entrySchema = Type.Union([
  Name,
  Type.Object({ disable: Type.Array(Name) }, closed),
  Type.Object({ replace: Name, with: Name }, closed),
])

/** Checked as a whole: TypeBox would only list the kinds of entries. */
function checkEntries(entries: readonly unknown[]): string | undefined {
  const index = entries.findIndex(entry => schemaProblems(entrySchema, entry).length > 0)
  if (index === -1) return undefined
  return `entry ${index} must be a package name, a path, {"disable": ["name", …]} or {"replace": "name", "with": "path"}`
}

/**
 * The default number of worker threads on so many processors. One worker beside the thread that commits is one thread that serves
 * requests, as with none, and every request costs more for it: so there is none, or there are at least two.
 */
export function workerCountFor(processors: number): number {
  return processors <= 2 ? 0 : processors - 1
}

export const KernelSettings = Type.Object({
  configFile: Type.Optional(
    Type.String({
      variable: 'SVC_CONFIG_FILE',
      flag: 'config',
      inFile: false,
      format: 'path',
      description: 'JSON file with further configuration; its place is where plugin names are resolved from.',
    }),
  ),
  plugins: Type.Array(Type.Unsafe<PluginEntry>({}), {
    variable: 'SVC_PLUGINS',
    default: defaultPlugins,
    check: checkEntries,
    description:
      'Plugins to load: package names and paths to modules, {"disable": ["name"]}, {"replace": "name", "with": "path"}. A text that begins with `[` is JSON, as in the file.',
  }),
  workers: Type.Integer({
    variable: 'SVC_WORKERS',
    minimum: 0,
    maximum: 1024,
    default: workerCountFor(availableParallelism()),
    defaultText: 'processors - 1; 0 with one or two',
    description: 'Worker threads beside the main thread; 0 = one thread does everything.',
  }),
  logLevel: logLevelKey,
  logFormat: logFormatKey,
  startTimeout: Type.Integer({
    variable: 'SVC_START_TIMEOUT',
    format: 'duration',
    minimum: 1,
    maximum: 86_400_000,
    default: 60_000,
    description: 'How long each plugin may take to start.',
  }),
  stopTimeout: Type.Integer({
    variable: 'SVC_STOP_TIMEOUT',
    format: 'duration',
    minimum: 1,
    maximum: 86_400_000,
    default: 30_000,
    description: 'Time in which each plugin must finish running work, and again in which it must stop.',
  }),
})

export interface KernelConfiguration extends Omit<Static<typeof KernelSettings>, 'logLevel' | 'logFormat'> {
  readonly logLevel: LogLevel
  readonly logFormat: LogFormat
}

/** The kernel's keys in the form of a plugin's keys. */
export const kernelSection = { name: 'kernel', config: KernelSettings } as const
