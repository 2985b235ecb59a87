/** The fields in which two documents differ. */
import { isDeepStrictEqual } from 'node:util'

export interface Difference {
  /** JSON Pointer into `spec`. */
  readonly element: string
  /** JSON; missing where there is none. */
  readonly before?: unknown
  readonly after?: unknown
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export function differences(before: unknown, after: unknown, element = '/spec'): Difference[] {
  if (isDeepStrictEqual(before, after)) return []
  if (isObject(before) && isObject(after)) {
    const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
    return names.flatMap(name =>
      differences(before[name], after[name], `${element}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`),
    )
  }
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length) {
    return before.flatMap((item, index) => differences(item, after[index], `${element}/${index}`))
  }
  return [{ element, ...(before !== undefined && { before }), ...(after !== undefined && { after }) }]
}
