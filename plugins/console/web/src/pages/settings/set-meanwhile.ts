/** Settings that somebody else has set since they were read. */
import { call } from '../../api/client.ts'
import { type Problem, problemAtAll } from '../../api/problem.ts'
import { texts } from '../../texts/index.ts'
import type { Subsystem, Values } from './settings.tsx'

/** Undefined where nothing is stored of it, and it is one of several of its kind. */
export async function storedNow(subsystem: string): Promise<Values | undefined> {
  return ((await call('getConfig', {})) as Readonly<Record<string, Values>>)[subsystem]
}

/** Each of the changed keys that is neither what it was nor what it is to be. */
export function setMeanwhile(
  keys: readonly Subsystem['keys'][number][],
  changed: Readonly<Record<string, string>>,
  before: Values,
  now: Values,
): Problem | undefined {
  const [first, ...others] = keys.flatMap(({ name, default: otherwise }) => {
    const value = now[name] ?? otherwise
    if (changed[name] === undefined || value === (before[name] ?? otherwise) || value === changed[name]) return []
    return [{ field: `/${name}`, message: texts.settings.setMeanwhile(value) }]
  })
  return first && problemAtAll([first, ...others])
}
