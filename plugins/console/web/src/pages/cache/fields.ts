/** The fields of cache policies, once: what forms and tables are made of. By their paths in the document. */
/** `textOrNone`: an empty text is a value, as an empty list of names is. */
export type FieldKind = 'duration' | 'size' | 'text' | 'textOrNone' | 'switch' | 'names'

export const policyFields = {
  freshness: {
    'ttl.default': 'duration',
    'ttl.min': 'duration',
    'ttl.max': 'duration',
    respectObjectCacheControl: 'switch',
    browserCacheControl: 'textOrNone',
    staleWhileRevalidate: 'duration',
    staleIfError: 'duration',
    negativeCaching: 'duration',
  },
  key: {
    'cacheKey.queryString': 'text',
    'cacheKey.headers': 'names',
    'cacheKey.cookies': 'names',
    'cacheKey.normalize': 'switch',
    'cacheKey.includeHost': 'switch',
  },
  bypass: {
    'bypass.always': 'switch',
    'bypass.authorization': 'switch',
    'bypass.cookies': 'names',
    'bypass.queryParams': 'names',
    'bypass.headers': 'names',
  },
  stored: {
    minSize: 'size',
    maxObjectSize: 'size',
    'contentTypes.allow': 'names',
    'contentTypes.deny': 'names',
    'rangeCaching.enabled': 'switch',
    'rangeCaching.blockSize': 'size',
  },
  compression: {
    'compression.enabled': 'switch',
    'compression.algorithms': 'names',
    'compression.contentTypes': 'names',
    'compression.minSize': 'size',
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, FieldKind>>>>

export const relatedFields = [
  ['ttl.default', 'ttl.min', 'ttl.max'],
  ['minSize', 'maxObjectSize'],
]

export type Section = keyof typeof policyFields
export type FieldPath = { [Name in Section]: keyof (typeof policyFields)[Name] }[Section]

export const sections = Object.keys(policyFields) as Section[]
export const fieldsOf = (section: Section) => Object.entries(policyFields[section]) as [FieldPath, FieldKind][]
export const allFields = sections.flatMap(fieldsOf)

/** Names and texts that are null are inherited; an empty list is one, and of some fields an empty text. */
export type FieldValue = string | readonly string[] | null
type Tree = { [name: string]: FieldValue | Tree }

/** A policy or a level while it is edited: every field is there, empty where it is inherited. */
export interface LevelDraft {
  readonly [name: string]: unknown
}

const units = {
  duration: [
    ['d', 86_400],
    ['h', 3600],
    ['m', 60],
    ['s', 1],
  ],
  size: [
    ['GiB', 1024 ** 3],
    ['MiB', 1024 ** 2],
    ['KiB', 1024],
  ],
} as const

/** The value as one would type it: `3600` seconds are `1h`. */
export function textOf(kind: FieldKind, value: unknown): string {
  if (Array.isArray(value)) return value.join(', ')
  if (typeof value !== 'number' || (kind !== 'duration' && kind !== 'size')) return String(value ?? '')
  const [unit, size] = units[kind].find(([, size]) => value > 0 && value % size === 0) ?? ['', 1]
  return `${value / size}${unit}`
}

export function valueAt(document: object, path: string): unknown {
  return path.split('.').reduce<unknown>((at, name) => (at as Record<string, unknown> | undefined)?.[name], document)
}

function put(tree: Tree, path: string, value: unknown): void {
  const names = path.split('.')
  const last = names.pop() as string
  let at = tree
  for (const name of names) {
    at[name] ??= {}
    at = at[name] as Tree
  }
  at[last] = value as FieldValue
}

export function draftOf(document: object): LevelDraft {
  const draft: Tree = {}
  for (const [path, kind] of allFields) {
    const value = valueAt(document, path)
    put(draft, path, kind === 'names' || kind === 'textOrNone' ? (value ?? null) : textOf(kind, value))
  }
  return draft
}

/** Only what is not inherited. */
export function documentOf(draft: LevelDraft): object {
  const document: Tree = {}
  for (const [path, kind] of allFields) {
    const value = valueAt(draft, path) as FieldValue
    if (isInherited(kind, value)) continue
    put(document, path, kind === 'switch' ? value === 'true' : value)
  }
  return document
}

export const changedIn = (draft: LevelDraft, section: Section): number =>
  fieldsOf(section).filter(([path, kind]) => !isInherited(kind, valueAt(draft, path))).length

const isInherited = (kind: FieldKind, value: unknown): boolean =>
  value === null || value === undefined || (value === '' && kind !== 'textOrNone')
