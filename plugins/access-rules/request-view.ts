/** One request, with the values that several rules need, each computed once. */
import { type Address, parseAddress, type RequestFacts, type RuleRequest } from 'svc/plugins/policy/api'
import { foldCase } from './fold-case.ts'
import { type RegexSet, textCharsMax } from './regexes.ts'

export class RequestView {
  readonly request: RuleRequest
  /** The key; of a listing the prefix that it asks for. */
  readonly text: string
  readonly isListing: boolean
  /** Longer than any key: no allow matches it, and the pattern of every deny does. */
  readonly isTooLong: boolean
  readonly #regexes: RegexSet | undefined
  #folded: string | undefined
  #matched: readonly number[] | undefined
  #address: Address | 'unknown' | undefined

  constructor(request: RuleRequest, regexes: RegexSet | undefined) {
    this.request = request
    this.#regexes = regexes
    this.isListing = request.key === undefined
    this.text = request.key ?? request.values('s3:prefix')?.[0] ?? ''
    this.isTooLong = this.text.length > textCharsMax
  }

  get folded(): string {
    this.#folded ??= foldCase(this.text)
    return this.#folded
  }

  /** Places in the set of the bucket. */
  get matchedRegexes(): readonly number[] {
    this.#matched ??= this.#regexes?.match(this.text) ?? []
    return this.#matched
  }

  get facts(): RequestFacts | undefined {
    return this.request.facts
  }

  /** Undefined where it is not known. */
  get address(): Address | undefined {
    this.#address ??= parseAddress(this.facts?.sourceAddress ?? '') ?? 'unknown'
    return this.#address === 'unknown' ? undefined : this.#address
  }
}
