/** What a draft of a distribution would show to everybody that the stored one does not. */
import { texts } from '../../texts/index.ts'
import type { OpenEffect } from '../access/open-effect.ts'

const words = texts.accessRules

/** Both a draft and what is stored. */
export interface Published {
  readonly enabled: boolean
  readonly mode: string
  readonly aliases: readonly string[]
  readonly origin: { readonly bucket: string; readonly pathPrefix?: string }
  readonly defaultBehavior: { readonly access?: string }
  readonly behaviors: readonly {
    readonly access?: string
    readonly pathPattern?: { readonly type: string; readonly pattern: string }
  }[]
  readonly restrictions: {
    readonly sourceIp?: { readonly allow?: readonly string[]; readonly deny?: readonly string[] }
    readonly originSecretHeader?: { readonly name?: string }
  }
}

/** Of everything that no other behavior decides about. */
const everything = ''
const shownNever = 0
const shownRestricted = 1
const shownToAll = 2

export function openedBy(draft: Published, stored: Published): OpenEffect[] {
  const [after, before] = [reachOf(draft), reachOf(stored)]
  const isSameOrigin = originOf(draft) === originOf(stored)
  const opens = (pattern: string): boolean =>
    levelOf(after, pattern) > (isSameOrigin ? levelOf(before, pattern) : shownNever)
  const { bucket, pathPrefix = '' } = draft.origin
  const effectOf = (objects: string): OpenEffect => ({
    verbs: words.presetVerbs['public-read'],
    objects,
    ...limitsOf(draft),
  })
  if (opens(everything)) {
    return [effectOf(pathPrefix === '' ? words.everyObjectOf(bucket) : words.objectsBelow(pathPrefix))]
  }
  return [...new Set([...after.keys(), ...before.keys()])]
    .filter(opens)
    .map(pattern => effectOf(words.objectsNamed(`${pathPrefix}${pattern}`)))
}

/** How far each pattern is shown; behaviors decide before the default one. */
function reachOf(published: Published): ReadonlyMap<string, number> {
  const { defaultBehavior, behaviors } = published
  const shown = shownOf(published)
  const common = defaultBehavior.access || 'public'
  const levelFor = (access: string) => (access === 'public' ? shown : shownNever)
  return new Map([
    [everything, levelFor(common)],
    ...behaviors.map(({ access, pathPattern }): [string, number] => [
      patternOf(pathPattern),
      levelFor(access || common),
    ]),
  ])
}

const levelOf = (reach: ReadonlyMap<string, number>, pattern: string): number =>
  reach.get(pattern) ?? reach.get(everything)!

/** How far what is public is shown. */
function shownOf({ enabled, mode, restrictions: { sourceIp, originSecretHeader } }: Published): number {
  // In the mode s3 the rights of the bucket decide.
  if (!enabled || mode !== 'website') return shownNever
  const addresses = [...(sourceIp?.allow ?? []), ...(sourceIp?.deny ?? [])]
  return addresses.length > 0 || (originSecretHeader?.name ?? '') !== '' ? shownRestricted : shownToAll
}

const originOf = ({ origin: { bucket, pathPrefix } }: Published): string => `${bucket}/${pathPrefix ?? ''}`

function patternOf({ type, pattern }: { readonly type: string; readonly pattern: string } = { type: '', pattern: '' }) {
  if (type === 'regex') return pattern
  return `${pattern.replace(/^\//, '')}${type === 'prefix' ? '*' : ''}`
}

function limitsOf(draft: Published): Pick<OpenEffect, 'limits'> {
  const limits = [
    ...(draft.aliases.length === 0 ? [] : [words.atDomains(new Intl.ListFormat('en').format(draft.aliases))]),
    ...(shownOf(draft) === shownRestricted ? [words.ifDistributionRestrictions] : []),
  ]
  return limits.length === 0 ? {} : { limits: limits.join(' ') }
}
