/** Errors of a distribution in the words of its page: the server names a place by its path in the document. */
import { Problem } from '../../api/problem.ts'
import type { DistributionTab } from '../../app/distribution-tabs.ts'
import { texts } from '../../texts/index.ts'

const words = texts.distributions

const lists: Readonly<Record<string, (number: number) => string>> = {
  behaviors: words.behavior,
  errorPages: words.errorPage,
  redirects: words.redirect,
  aliases: words.domain,
}

/** The last part of a path, where the page has a label for it. */
const labels: Readonly<Record<string, string>> = {
  pattern: words.pattern,
  pathPattern: words.pattern,
  path: words.path,
  bucket: words.bucket,
  pathPrefix: words.prefix,
  comment: words.comment,
  certificate: words.certificate,
  challenge: words.challenge,
  dnsProvider: words.dnsProvider,
  aliases: words.domains,
  access: words.access,
  keyGroup: words.keyGroup,
  status: words.status,
  from: words.from,
  to: words.to,
  hostFrom: words.hostFrom,
  toHost: words.toHost,
}

export function inWords(error: unknown): unknown {
  if (!(error instanceof Problem) || error.fields.length === 0) return error
  const { status, code, isOfServer, requestId, fields } = error
  const detail = fields.map(({ field, message }) => sentence(placeOf(field), message)).join(' ')
  return new Problem({ status, code, isOfServer, requestId, detail })
}

/** The parts of the path of the first field at fault. */
function placeIn(error: unknown): readonly string[] {
  const field = error instanceof Problem ? error.fields[0]?.field : undefined
  return (field ?? '').replace(/^\//, '').split('/')
}

/** The tab that shows the first field at fault; undefined for what is on none. */
export const tabOf = (error: unknown): DistributionTab | undefined => tabs[placeIn(error)[0]!]

/** The behaviour that has it: its index, or `default`. */
export function faultyBehavior(error: unknown): string | undefined {
  const [list, index] = placeIn(error)
  return list === 'defaultBehavior' ? 'default' : list === 'behaviors' ? index : undefined
}

const tabs: Readonly<Record<string, DistributionTab>> = {
  enabled: 'general',
  aliases: 'general',
  origin: 'general',
  mode: 'general',
  comment: 'general',
  tls: 'general',
  logging: 'general',
  defaultBehavior: 'behaviors',
  behaviors: 'behaviors',
  errorPages: 'pages',
  redirects: 'pages',
  headers: 'headers',
  restrictions: 'restrictions',
}

function placeOf(field: string): string {
  const [first = '', second = '', ...rest] = field.replace(/^\//, '').split('/')
  const inList = lists[first]
  const isInList = inList !== undefined && /^\d+$/.test(second)
  const more = isInList || second === '' ? rest : [second, ...rest]
  const last = more.at(-1)
  const label = last === undefined ? undefined : labels[last]
  const isOfBehavior = first === 'defaultBehavior'
  // A label of the page says enough where there is only one.
  if (label !== undefined && !isInList && !isOfBehavior) return label
  const beginning = isInList
    ? inList(Number(second) + 1)
    : isOfBehavior
      ? words.defaultBehavior
      : (labels[first] ?? first)
  return last === undefined ? beginning : `${beginning}, ${label ?? more.join(', ')}`
}

function sentence(place: string, message: string): string {
  const text = `${place === '' ? '' : `${place}: `}${message}`
  return `${text[0]?.toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`
}
