/** The rules of each bucket, and the headers that follow from them for every answer to a page of another origin. */

import { chain, type MaybePromise } from 'svc/kernel'
import type { ArchiveSection } from 'svc/plugins/cluster-archive/api'
import type { ApiSettings, OriginAnswer, OriginRequest } from 'svc/plugins/s3/api'
import type { Settings } from 'svc/plugins/settings/api'
import { bucketRules, type StoreService } from 'svc/plugins/store/api'
import type { CorsService } from './api.ts'
import { createCommonRules } from './common-rules.ts'
import { namesOf, type ReadyRules, readyRules, vary } from './matching.ts'
import { CorsRule } from './rules.ts'

export interface Cors extends CorsService {
  /** The bucket's rules made ready, those of the settings where it has none; undefined where there are none at all. */
  ready(bucket: string): MaybePromise<ReadyRules | undefined>
  readonly answerOrigin: OriginAnswer
  readonly section: ArchiveSection
}

export function createCors(store: StoreService, api: Settings<ApiSettings>): Cors {
  const documents = bucketRules(store, { name: 'bucket-cors', rule: CorsRule })
  const compiled = documents.compiled(document => readyRules(document.value.rules))
  const headersFor = (rules: ReadyRules | undefined, { origin, method, asked }: OriginRequest) => {
    if (rules === undefined) return undefined
    const found =
      asked === undefined
        ? rules.forRequest(origin, method)
        : rules.forPreflight(origin, asked.method, namesOf(asked.headers))
    return [...(found ?? []), ...vary]
  }
  const common = createCommonRules(api)
  const ready = (bucket: string): MaybePromise<ReadyRules | undefined> => {
    if (bucket === '') return common()
    const own = compiled.get(bucket)
    return own instanceof Promise ? own.then(rules => rules ?? common()) : (own ?? common())
  }
  return {
    ready,
    answerOrigin(request) {
      // A preflight has its own answer.
      if (request.method === 'OPTIONS') return undefined
      return chain(ready(request.bucket), rules => headersFor(rules, request))
    },
    rules: documents.rules,
    replace: documents.replace,
    section: { documents },
  }
}

declare module 'svc/kernel' {
  interface Services {
    /** For the operations of this plugin alone. */
    corsMatcher: Cors
  }
}
