/** `Resource` and `NotResource`: buckets and objects by ARN, with wildcards and policy variables. */
import type { ActionEntry } from './catalogue.ts'
import type { NormalizeKey } from './config.ts'
import { type PlacedText, readTexts } from './elements.ts'
import type { JsonNode } from './json-reader.ts'
import { type Problems, quote } from './problems.ts'
import { isWorthRemembering, remembered } from './recent-matches.ts'
import { type ConditionValues, readTemplate, type Template } from './template.ts'
import { anyRun, type PatternPart, WildcardPattern } from './wildcards.ts'

/** The resource of a request: `bucket`, `bucket/key`, or `*` for the server. */
export interface ResourceRequest extends ConditionValues {
  /** `*` if the action has no bucket. */
  readonly bucket: string
  /** Undefined if the action has no object. */
  readonly key: string | undefined
  /** Bucket and key joined; computed on demand. */
  readonly subject: string
}

export const arnPrefix = 'arn:aws:s3:::'

/** One ARN. Most ARNs name one bucket and an object or prefix in it: then nothing has to be joined for the comparison. */
export class Resource {
  /** The bucket, if it has no wildcard or variable and is followed by nothing or by a key. */
  readonly #bucket: string | undefined
  readonly #key: WildcardPattern | undefined
  readonly #whole: WildcardPattern | undefined
  readonly #isEverything: boolean
  readonly #template: Template
  readonly at: number
  readonly text: string

  constructor(text: string, at: number, template: Template) {
    this.text = text
    this.at = at
    this.#template = template
    const { parts } = template
    this.#isEverything = parts.length === 1 && parts[0] === anyRun
    if (template.hasVariables || this.#isEverything) return
    const { literal } = template
    if (literal !== undefined && !literal.includes('/')) {
      this.#bucket = literal
      return
    }
    const [head, ...rest] = parts
    const slash = typeof head === 'string' ? head.indexOf('/') : -1
    if (slash < 0) {
      this.#whole = template.pattern()
      return
    }
    this.#bucket = (head as string).slice(0, slash)
    this.#key = new WildcardPattern([(head as string).slice(slash + 1), ...(rest as PatternPart[])])
  }

  matches(request: ResourceRequest): boolean {
    if (this.#isEverything) return true
    if (this.#bucket !== undefined) {
      if (request.bucket !== this.#bucket) return false
      return this.#key === undefined
        ? request.key === undefined
        : request.key !== undefined && this.#key.matches(request.key)
    }
    if (this.#whole !== undefined) return this.#whole.matches(request.subject)
    // The value of a variable is not a wildcard, so the pattern is built for each request.
    const parts = this.#template.resolve(request)
    return parts !== undefined && new WildcardPattern(parts).matches(request.subject)
  }

  get hasVariables(): boolean {
    return this.#template.hasVariables
  }

  /** See `patternCost`. */
  get cost(): number {
    return this.#template.cost
  }

  /** Whether it can match any resource of this action. */
  couldCover({ action }: ActionEntry): boolean {
    const { parts } = this.#template
    const isOpen = parts.some(part => part === anyRun || typeof part === 'object')
    const hasSlash = parts.some(part => typeof part === 'string' && part.includes('/'))
    switch (action.level) {
      case 'object':
        return hasSlash || isOpen
      case 'bucket':
        return !hasSlash
    }
    if (action.isBucketScoped && !hasSlash) return true
    return this.#isEverything || (this.#whole?.matches('*') ?? false)
  }
}

export class ResourceSet {
  readonly isNegated: boolean
  readonly list: readonly Resource[]
  /** See `patternCost`. */
  readonly cost: number
  readonly #hasVariables: boolean

  constructor(list: readonly Resource[], isNegated: boolean) {
    this.list = list
    this.isNegated = isNegated
    this.cost = list.reduce((sum, { cost }) => sum + cost, 0)
    this.#hasVariables = list.some(({ hasVariables }) => hasVariables)
  }

  matches(request: ResourceRequest): boolean {
    if (this.cost === 0 || this.#hasVariables || !isWorthRemembering(this.cost, request.subject))
      return this.#compare(request)
    return remembered(this, request.subject, () => this.#compare(request))
  }

  #compare(request: ResourceRequest): boolean {
    for (const resource of this.list) if (resource.matches(request)) return !this.isNegated
    return this.isNegated
  }
}

export interface ResourceOptions {
  readonly variables: boolean
  /** The bucket that every resource must name. */
  readonly bucket: string | undefined
  /** The statement has only names without an effect here: then resources of other services are accepted. */
  readonly isInert: boolean
  readonly normalizeKey: NormalizeKey
}

/** No resource is longer, so a longer pattern could match only by its wildcards. */
const arnLengthMax = 2048

export function readResources(
  node: JsonNode,
  element: 'Resource' | 'NotResource',
  options: ResourceOptions,
  problems: Problems,
): ResourceSet {
  const list: Resource[] = []
  for (const placed of readTexts(node, element, problems)) {
    const resource = readResource(placed, options)
    if (typeof resource === 'string') problems.error(placed.at, element, resource)
    else if (resource === undefined)
      problems.warn(placed.at, element, `${quote(placed.text)} is no resource of this server.`)
    else {
      list.push(resource)
      const impossible = impossibleBucket(placed.text)
      if (impossible !== undefined) {
        const message = `names the bucket ${quote(impossible)}: no bucket is called so, for names have no capital letters.`
        problems.warn(placed.at, element, `${quote(placed.text)} ${message}`)
      }
    }
  }
  return new ResourceSet(list, element === 'NotResource')
}

/** The name of a bucket that there cannot be, such as that of an example that nobody has replaced. */
const impossibleBucket = (resource: string): string | undefined =>
  /^arn:aws:s3:::([\w.-]*[A-Z][\w.-]*)(?:\/|$)/.exec(resource)?.[1]

function readResource({ text, at }: PlacedText, options: ResourceOptions): Resource | string | undefined {
  const { variables, bucket, isInert } = options
  if (text.length > arnLengthMax) return `The resource is longer than ${arnLengthMax} characters.`
  if (text !== '*' && !text.startsWith(arnPrefix)) {
    if (isInert && /^arn:[^:]*:[^:]+:/.test(text)) return undefined
    if (/^arn:aws[^:]*:s3:/.test(text))
      return `${quote(text)} names a partition, region or account; there are none here.`
    return `${quote(text)} is no resource: write ${arnPrefix}BUCKET or ${arnPrefix}BUCKET/KEY.`
  }
  const name = text === '*' ? '*' : text.slice(arnPrefix.length)
  if (name === '') return `${quote(text)} names no bucket.`
  // A bucket's policy is evaluated only for this bucket, so `*` means the bucket and all of its objects.
  if (bucket !== undefined && name !== bucket && text !== `${arnPrefix}*` && !name.startsWith(`${bucket}/`)) {
    return `${quote(text)} does not name this bucket: write ${arnPrefix}${bucket} or ${arnPrefix}${bucket}/….`
  }
  const template = readTemplate(options.normalizeKey(name), { wildcards: true, variables })
  return typeof template === 'string' ? template : new Resource(text, at, template)
}
