/**
 * From an operation to the words of its command: the subject of its path, then the verb of its name. `setBucketQuota`, a PUT of
 * `/buckets/{bucket}/quota`, is `bucket quota set`.
 */
import { singular } from './fields.ts'
import type { Operation } from './operations.ts'
import { overrides } from './overrides.ts'

type Named = Pick<Operation, 'id' | 'path'>

/** The name of the command without `admin`. */
export function commandName({ id, path }: Named): string {
  const given = overrides[id]?.name
  if (given !== undefined) return given
  const verb = /^[a-z]+/.exec(id)![0]
  const segments = path.split('/').filter(segment => segment !== '')
  const words: string[] = []
  segments.forEach((segment, index) => {
    if (segment.startsWith('{')) return
    const isLast = index === segments.length - 1
    // The last word of `/access-keys/{accessKey}/rotate` is the verb.
    if (isLast && segment === verb) return
    const isOne = segments[index + 1]?.startsWith('{') || (isLast && (verb === 'list' || verb === 'create'))
    words.push(renamed[segment] ?? (isOne || collections.has(segment) ? singular(segment) : segment))
  })
  // An object is in a bucket, which goes without saying.
  if (words[0] === 'bucket' && within.has(words[1] ?? '')) words.shift()
  return [...words, verb].join(' ')
}

/** Groups of commands beside `admin`. The names of their commands begin with them. */
const ownGroups = new Set(['cache', 'dist'])

/** The full command as typed: with its group, which is `admin` unless the name begins with another group. */
export const wholeName = (name: string): string => (ownGroups.has(name.split(' ', 1)[0]!) ? name : `admin ${name}`)

/** Path segments that are collections even though no parameter follows them in the path of an operation on the whole collection. */
const collections = new Set(['buckets', 'objects', 'users', 'groups', 'policies', 'members', 'uploads'])
const renamed: Readonly<Record<string, string>> = { 'access-keys': 'key', objectlock: 'lock' }
const within = new Set(['object', 'upload'])

/** The reason why an operation is not a command of `svcctl admin`; undefined if it is one. */
export function servedElsewhere({ id, isOfSessions, bodyTypes }: Operation): string | undefined {
  if (isOfSessions) return 'sessions of the console'
  const command = overrides[id]?.elsewhere
  if (command !== undefined) return command
  const isJson = (type: string) => type === 'application/json'
  const isStreamed = bodyTypes.length > 0 && !bodyTypes.some(isJson)
  return isStreamed ? 'cp' : undefined
}
