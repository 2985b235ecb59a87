/** What a draft of a distribution would show to everybody that the stored one does not. */
import { sameKey } from '../../parts/same-key.ts'
import { accessRuleTexts } from '../../texts/access-rules.ts'
import type { OpenEffect } from '../access/open-effect.ts'

const words = accessRuleTexts

interface Shown {
  readonly access?: string
  /** Null, as where it is missing: that of the default behavior. Empty: none. */
  readonly spaFallback?: string | null
  readonly indexDocument?: string | null
}

interface Behavior extends Shown {
  readonly pathPattern?: Pattern
}

/** Both a draft and what is stored. */
export interface Published {
  readonly enabled: boolean
  readonly mode: string
  readonly aliases: readonly string[]
  readonly origin: { readonly bucket: string; readonly pathPrefix?: string; readonly versionPinning?: boolean }
  readonly defaultBehavior: Shown
  readonly behaviors: readonly Behavior[]
  readonly errorPages: readonly { readonly status: number; readonly path: string }[]
  readonly restrictions: {
    readonly sourceIp?: { readonly allow?: readonly string[]; readonly deny?: readonly string[] }
    readonly originSecretHeader?: { readonly name?: string }
  }
}

interface Pattern {
  readonly type: string
  readonly pattern: string
  readonly caseInsensitive?: boolean
}

/** Of everything that no other behavior decides about. */
const everything: Pattern = { type: 'prefix', pattern: '/' }
const shownNever = 0
/** To fewer addresses, or with more restrictions, than the draft. */
const shownToFewer = 1
const shownRestricted = 2
const shownToAll = 3

/** What is shown of a pattern, and how far; the first that matches a path decides. */
interface Element {
  readonly of: Pattern
  readonly level: number
  /** Path of the object that is shown for unknown paths: a fallback, else the error page. Empty: none. */
  readonly unknown: string
  /** Name of the object that is shown for folders. Empty: none. */
  readonly index: string
}

const nothingShown: Element = { of: everything, level: shownNever, unknown: '', index: '' }

/** Names in two forms of Unicode are the same to one server and not to another: asked about is what either opens. */
export function openedBy(draft: Published, stored: Published): OpenEffect[] {
  const effects = [...openedIn(inKeyForm(draft), inKeyForm(stored)), ...openedIn(draft, stored)]
  return [...new Map(effects.map(effect => [sameKey(JSON.stringify(effect)), effect])).values()]
}

function openedIn(draft: Published, stored: Published): OpenEffect[] {
  const isSameOrigin = originOf(draft) === originOf(stored)
  if (
    opensBucket(draft) &&
    !(opensBucket(stored) && isSameOrigin && !isLooser(draft.restrictions, stored.restrictions))
  ) {
    return [{ verbs: words.doWhat, objects: words.whatBucketAllows(draft.origin.bucket), ...limitsOf(draft) }]
  }
  const after = elementsOf(draft)
  const restricted = isLooser(draft.restrictions, stored.restrictions) ? shownToFewer : shownRestricted
  const before = isSameOrigin ? elementsOf(stored, restricted) : [nothingShown]
  const pages = isSameOrigin ? pagesOf(stored) : []
  const opened = [
    ...before.flatMap((closed, index) => openedWithin(closed, before.slice(0, index), after)),
    ...openedElsewhere({ after, before, pages, newPages: pagesOf(draft) }),
  ]
  const indexes = isSameOrigin ? newIndexesOf(after, before) : []
  const { bucket, pathPrefix = '', versionPinning = false } = draft.origin
  const opensVersions =
    versionPinning &&
    after.some(({ level }) => level > shownNever) &&
    (!isSameOrigin || stored.origin.versionPinning !== true || opened.length > 0)
  const effectOf = (objects: string): OpenEffect => ({
    verbs: words.presetVerbs['public-read'],
    objects,
    ...limitsOf(draft),
  })
  if (opened.some(isEverything)) {
    return [
      effectOf(pathPrefix === '' ? words.everyObjectOf(bucket) : words.objectsBelow(pathPrefix)),
      ...(opensVersions ? [effectOf(words.versionsToo)] : []),
    ]
  }
  return [
    ...[...new Set(opened.map(pattern => objectsOf(pathPrefix, pattern)))].map(effectOf),
    ...indexes.map(name => effectOf(words.indexOfFolders(name))),
    ...(opensVersions ? [effectOf(words.versionsToo)] : []),
  ]
}

/** With all that is compared with paths in one form of Unicode, in which the server compares them unless SVC_KEY_NORMALIZATION says `none`. */
function inKeyForm(published: Published): Published {
  const { origin, defaultBehavior, behaviors, errorPages } = published
  const shown = ({ spaFallback, indexDocument }: Shown): Shown => ({
    ...(spaFallback != null && { spaFallback: sameKey(spaFallback) }),
    ...(indexDocument != null && { indexDocument: sameKey(indexDocument) }),
  })
  return {
    ...published,
    origin: { ...origin, ...(origin.pathPrefix !== undefined && { pathPrefix: sameKey(origin.pathPrefix) }) },
    defaultBehavior: { ...defaultBehavior, ...shown(defaultBehavior) },
    behaviors: behaviors.map(({ pathPattern, ...behavior }) => ({
      ...behavior,
      ...shown(behavior),
      ...(pathPattern !== undefined && { pathPattern: { ...pathPattern, pattern: sameKey(pathPattern.pattern) } }),
    })),
    errorPages: errorPages.map(page => ({ ...page, path: sameKey(page.path) })),
  }
}

/** As an S3 endpoint: then the rights of the bucket decide. */
function opensBucket({ enabled, mode, defaultBehavior: { access = '' } }: Published): boolean {
  return enabled && mode === 's3' && (access === '' || access === 'public')
}

/** What of a stored element's paths others decide about now, and show further; `earlier`: those that decided before it did. */
function openedWithin(closed: Element, earlier: readonly Element[], after: readonly Element[]): Pattern[] {
  const opened: Pattern[] = []
  for (const { of, level } of after) {
    if (!overlap(of, closed.of)) continue
    const wasShown = earlier.some(one => covers(one.of, of) && one.level >= level)
    if (level > closed.level && !wasShown) opened.push(covers(of, closed.of) ? closed.of : of)
    if (covers(of, closed.of)) break
  }
  return opened
}

/** How far the path is shown at least, where patterns cannot be compared with it. */
function leastOf(elements: readonly Element[], path: Pattern): number {
  let least = shownToAll
  for (const { of, level } of elements) {
    if (!overlap(of, path)) continue
    least = Math.min(least, level)
    if (covers(of, path)) break
  }
  return least
}

function elementsOf(published: Published, restricted = shownRestricted): readonly Element[] {
  const { defaultBehavior, behaviors } = published
  const levelFor = levelsOf(published, restricted)
  const missing = pagesOf(published).find(({ status }) => status === 404)?.path ?? ''
  const all: readonly Behavior[] = [...behaviors, defaultBehavior]
  return all.map(({ access, spaFallback, indexDocument, pathPattern = everything }) => ({
    of: pathPattern,
    level: levelFor(access),
    unknown: rooted((spaFallback ?? defaultBehavior.spaFallback) || missing),
    index: indexDocument ?? defaultBehavior.indexDocument ?? '',
  }))
}

/** Error pages that may be shown: the first of each status. Whoever is refused sees them, whatever is said about their own paths. */
function pagesOf({ enabled, mode, errorPages }: Published): Published['errorPages'] {
  if (!enabled || mode !== 'website') return []
  const first = errorPages.filter(
    ({ status }, index) => errorPages.findIndex(other => other.status === status) === index,
  )
  return first.map(page => ({ ...page, path: rooted(page.path) })).filter(({ path }) => path !== '')
}

const rooted = (path: string): string => (path === '' || path.startsWith('/') ? path : `/${path}`)

interface Shows {
  readonly after: readonly Element[]
  readonly before: readonly Element[]
  readonly pages: Published['errorPages']
  readonly newPages: Published['errorPages']
}

/** Objects that are now shown for unknown paths or with errors, although their own paths are shown to fewer. */
function openedElsewhere({ after, before, pages, newPages }: Shows): Pattern[] {
  const refused = pages.find(({ status }) => status === 403)?.path
  const isOpened = (path: string, level: number) =>
    level > leastOf(before, objectAt(path)) &&
    path !== refused &&
    !before.some(
      (one, index) => one.unknown === path && one.level >= level && isLeftSome(one.of, before.slice(0, index)),
    )
  const unknown = after.filter(
    ({ unknown: path, level }, index) =>
      path !== '' &&
      isOpened(path, level) &&
      isNew(index, { after, before }, former => former.unknown === path && former.level >= level),
  )
  const paths = newPages.filter(
    ({ status, path }) =>
      !pages.some(former => former.status === status && former.path === path) && isOpened(path, shownToAll),
  )
  return [...unknown.map(one => one.unknown), ...paths.map(({ path }) => path)].map(objectAt)
}

const objectAt = (path: string): Pattern => ({ type: 'glob', pattern: path })

/** Whether an element decides about paths about which those decided before that are not the same in what matters. */
function isNew(
  index: number,
  { after, before }: Pick<Shows, 'after' | 'before'>,
  isSame: (former: Element) => boolean,
): boolean {
  const { of } = after[index]!
  const earlier = after.slice(0, index)
  // It never decides.
  if (earlier.some(one => covers(one.of, of))) return false
  for (const former of before) {
    if (!overlap(former.of, of) || earlier.some(one => covers(one.of, former.of))) continue
    if (!isSame(former)) return true
    if (covers(former.of, of)) return false
  }
  return false
}

/** Whether earlier patterns leave some paths for certain. */
const isLeftSome = (of: Pattern, earlier: readonly Element[]): boolean =>
  earlier.every(one => !overlap(one.of, of) || (of.type === 'prefix' && headOf(one.of).length > headOf(of).length))

/** Names of objects that are now shown for the folder they are in, although their own path may be closed. */
function newIndexesOf(after: readonly Element[], before: readonly Element[]): string[] {
  const closed = before.filter(({ level }) => level === shownNever)
  const found = after.filter(({ of, level, index: name }, index) => {
    // A folder that is decided about as one is shown, or closed, with its index.
    const isApart = closed.some(one => !isFolder(one.of) || !isFolder(of))
    return (
      name !== '' &&
      level > shownNever &&
      isApart &&
      isNew(index, { after, before }, former => former.index === name && former.level >= level)
    )
  })
  return [...new Set(found.map(({ index }) => index))]
}

const isFolder = ({ type, pattern }: Pattern): boolean => type === 'prefix' && pattern.endsWith('/')

function levelsOf(published: Published, restricted: number): (access: string | undefined) => number {
  const shown = shownOf(published, restricted)
  const common = published.defaultBehavior.access || 'public'
  return access => ((access || common) === 'public' ? shown : shownNever)
}

const isEverything = ({ type, pattern }: Pattern): boolean => type === everything.type && pattern === everything.pattern

/** What a path has at least that matches; nothing is known of regular expressions. */
const headOf = ({ type, pattern }: Pattern): string =>
  type === 'prefix' ? pattern : type === 'glob' ? pattern.replace(/[*?{\\[].*$/s, '') : ''

function overlap(one: Pattern, other: Pattern): boolean {
  const [a, b] = [headOf(one).toLowerCase(), headOf(other).toLowerCase()]
  return a.startsWith(b) || b.startsWith(a)
}

/** Whether each path that matches the other matches this one, as far as that can be told. */
function covers(one: Pattern, other: Pattern): boolean {
  if (isEverything(one)) return true
  // It leaves the paths in another case to the next.
  if (ignoresCase(other) && !ignoresCase(one) && hasCase(one)) return false
  if (one.type === other.type && one.pattern === other.pattern) return true
  if (one.type !== 'prefix') return false
  const [prefix, head] = [one.pattern, headOf(other)]
  return ignoresCase(one) ? head.toLowerCase().startsWith(prefix.toLowerCase()) : head.startsWith(prefix)
}

const ignoresCase = ({ caseInsensitive = false }: Pattern): boolean => caseInsensitive

const hasCase = ({ pattern }: Pattern): boolean => pattern.toLowerCase() !== pattern.toUpperCase()

/** How far what is public is shown. */
function shownOf(
  { enabled, mode, restrictions: { sourceIp, originSecretHeader } }: Published,
  restricted = shownRestricted,
): number {
  // In the mode s3 the rights of the bucket decide.
  if (!enabled || mode !== 'website') return shownNever
  const addresses = [...(sourceIp?.allow ?? []), ...(sourceIp?.deny ?? [])]
  return addresses.length > 0 || (originSecretHeader?.name ?? '') !== '' ? restricted : shownToAll
}

/** Whether some get in whom the stored restrictions refuse, as far as lists of addresses can be compared. */
function isLooser(draft: Published['restrictions'], stored: Published['restrictions']): boolean {
  const [allow, deny] = (['allow', 'deny'] as const).map(list => ({
    before: stored.sourceIp?.[list] ?? [],
    after: draft.sourceIp?.[list] ?? [],
  }))
  const isWider = allow!.before.length > 0 && (allow!.after.length === 0 || !isWithin(allow!.after, allow!.before))
  const [header = '', wanted = ''] = [stored.originSecretHeader?.name, draft.originSecretHeader?.name]
  return isWider || !isWithin(deny!.before, deny!.after) || (header !== '' && wanted === '')
}

const isWithin = (some: readonly string[], all: readonly string[]): boolean => some.every(one => all.includes(one))

const originOf = ({ origin: { bucket, pathPrefix } }: Published): string => `${bucket}/${pathPrefix ?? ''}`

function namedBy(pathPrefix: string, { type, pattern }: Pattern): string {
  // Of the path below the prefix, with its slash, and somewhere in it.
  if (type === 'regex') return words.objectsMatching(pathPrefix, pattern)
  return words.objectsNamed(`${pathPrefix}${pattern.replace(/^\//, '')}${type === 'prefix' ? '*' : ''}`)
}

function objectsOf(pathPrefix: string, pattern: Pattern): string {
  const objects = namedBy(pathPrefix, pattern)
  return ignoresCase(pattern) && hasCase(pattern) ? words.inEitherCase(objects) : objects
}

function limitsOf(draft: Published): Pick<OpenEffect, 'limits'> {
  const limits = [
    ...(draft.aliases.length === 0 ? [] : [words.atDomains(new Intl.ListFormat('en').format(draft.aliases))]),
    ...(shownOf(draft) === shownRestricted ? [words.ifDistributionRestrictions] : []),
  ]
  return limits.length === 0 ? {} : { limits: limits.join(' ') }
}
