/**
 * The purges that a thread compares stored answers with. Purges are numbered. An answer has the number of the last purge when its reading began, and
 * is dead if a later purge selects it.
 *
 * - Exact selectors (everything, a distribution, a host, a tag, a path) are a table: one look-up each, whatever their number.
 * - Patterns are tried one after the other, only those newer than the answer. If there are more than 256, the oldest becomes a purge of its whole
 *   distribution.
 * - Above 100 000 places in the table its older half becomes one purge of everything.
 *
 * Invariant: a mark never selects less than the purge that it comes from.
 */
import { covers } from 'svc/plugins/distributions/api'

export interface MarkedPlace {
  readonly distribution: string
  readonly host: string
  /** Decoded, with its leading slash. */
  readonly path: string
  readonly tags: readonly string[]
}

/** A purge in the form that answers are compared with. */
export interface PurgeRule {
  readonly number: number
  readonly atMs: number
  /** Undefined: every distribution. */
  readonly distribution: string | undefined
  /** A host name or a wildcard. Undefined: every host. */
  readonly domain: string | undefined
  /** True: selects everything of the distribution and the domain. */
  readonly isAll: boolean
  readonly paths: readonly { readonly path: string; readonly host?: string }[]
  readonly patterns: readonly ((path: string) => boolean)[]
  readonly tags: readonly string[]
  readonly isSoft: boolean
}

export interface Mark {
  readonly number: number
  readonly atMs: number
  readonly isSoft: boolean
}

interface Ban extends Mark {
  readonly distribution: string | undefined
  readonly domain: string | undefined
  readonly matches: (path: string) => boolean
}

const bansMax = 256
const placesMax = 100_000
const any = '*'

const isWildcard = (domain: string | undefined): domain is string => domain?.startsWith('*.') === true

export class PurgeMarks {
  /** By selector: the newest hard mark and the newest soft mark. */
  readonly #places = new Map<string, { hard: Mark | undefined; soft: Mark | undefined }>()
  #bans: Ban[] = []
  /** Number of the last known purge. */
  sequence = 0
  /** Purges up to this number are not known one by one: answers with a smaller number are dead. */
  base = 0

  add(rule: PurgeRule): void {
    const { number, atMs, isSoft, distribution, domain } = rule
    const mark: Mark = { number, atMs, isSoft }
    const space = distribution ?? any
    const onEveryPath = (matches: (path: string) => boolean) => this.#ban({ ...mark, distribution, domain, matches })
    if (rule.isAll && isWildcard(domain)) onEveryPath(() => true)
    else if (rule.isAll) this.#mark(domain === undefined ? `d ${space}` : `h ${domain}`, mark)
    for (const { path, host = domain } of rule.paths) {
      if (isWildcard(host)) this.#ban({ ...mark, distribution, domain: host, matches: one => one === path })
      else this.#mark(host === undefined ? `p ${space} ${path}` : `u ${host} ${path}`, mark)
    }
    for (const matches of rule.patterns) onEveryPath(matches)
    // A tag together with a domain is rare: the tag is purged on every host.
    for (const tag of rule.tags) this.#mark(`t ${space} ${tag}`, mark)
    this.sequence = Math.max(this.sequence, number)
    if (this.#places.size > placesMax) this.#fold()
  }

  get placeCount(): number {
    return this.#places.size
  }

  /** The newest mark after `sequence` that selects the place. Hard marks take precedence over soft ones. */
  find(place: MarkedPlace, sequence: number): Mark | undefined {
    if (sequence < this.base) return { number: this.base, atMs: 0, isSoft: false }
    const { distribution, host, path, tags } = place
    let found: Mark | undefined
    const take = (mark: Mark | undefined) => {
      if (mark === undefined || mark.number <= sequence) return
      if (found === undefined || (found.isSoft && !mark.isSoft)) found = mark
      else if (found.isSoft === mark.isSoft && mark.number > found.number) found = mark
    }
    const look = (name: string) => {
      const marks = this.#places.get(name)
      take(marks?.hard)
      take(marks?.soft)
    }
    for (const space of [any, distribution]) {
      look(`d ${space}`)
      look(`p ${space} ${path}`)
      for (const tag of tags) look(`t ${space} ${tag}`)
    }
    look(`h ${host}`)
    look(`u ${host} ${path}`)
    for (let i = this.#bans.length - 1; i >= 0; i--) {
      const ban = this.#bans[i] as Ban
      if (ban.number <= sequence) break
      if (isBanned(ban, place)) take(ban)
    }
    return found
  }

  #mark(name: string, mark: Mark): void {
    const marks = this.#places.get(name) ?? { hard: undefined, soft: undefined }
    // The newest selector comes last, so that the oldest are folded first.
    this.#places.delete(name)
    marks[mark.isSoft ? 'soft' : 'hard'] = mark
    this.#places.set(name, marks)
  }

  #ban(ban: Ban): void {
    this.#bans.push(ban)
    while (this.#bans.length > bansMax) {
      const { distribution = any, number, atMs, isSoft } = this.#bans.shift() as Ban
      this.#mark(`d ${distribution}`, { number, atMs, isSoft })
    }
  }

  #fold(): void {
    let number = 0
    let left = this.#places.size >> 1
    for (const [name, { hard, soft }] of this.#places) {
      if (left-- === 0) break
      number = Math.max(number, hard?.number ?? 0, soft?.number ?? 0)
      this.#places.delete(name)
    }
    this.base = Math.max(this.base, number)
  }
}

function isBanned({ distribution, domain, matches }: Ban, place: MarkedPlace): boolean {
  if (distribution !== undefined && distribution !== place.distribution) return false
  if (domain !== undefined && domain !== place.host && !covers(domain, place.host)) return false
  return matches(place.path)
}
