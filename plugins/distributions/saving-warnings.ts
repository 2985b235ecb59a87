/** Warnings about a distribution that is stored and right, and yet does not answer as it seems to. Each says what to do. */
import { percentDecoded } from 'svc/plugins/access-rules/api'
import type { HttpService } from 'svc/plugins/http/api'
import type { KeyGroupsService } from 'svc/plugins/key-groups/api'
import type { ObjectOwnershipService } from 'svc/plugins/object-ownership/api'
import type { ObjectsService } from 'svc/plugins/objects/api'
import type { PolicyService } from 'svc/plugins/policy/api'
import type { DistributionCertificates } from './certificates.ts'
import type { Distribution } from './document.ts'
import { isPublicWebsite, logBucketOf, logPrefixOf } from './log-target.ts'
import { encodingProblem } from './patterns.ts'
import type { RoutingRules } from './routing.ts'
import { openingKeyGroups } from './signed-access.ts'

const namesMax = 5

export interface WarningsOptions {
  readonly objects: Pick<ObjectsService, 'listObjects'>
  readonly http: Pick<HttpService, 'listeners'>
  readonly certificates: Pick<DistributionCertificates, 'uncovered'>
  readonly rules: Pick<RoutingRules, 'isOff' | 'onS3'>
  /** Undefined: there is no signed access. */
  readonly keyGroups: Pick<KeyGroupsService, 'exists' | 'get'> | undefined
  /** Undefined: nothing blocks public access. */
  readonly objectOwnership: Pick<ObjectOwnershipService, 'blocks' | 'clusterPublicAccess'> | undefined
  /** Undefined: nobody gets in without credentials. */
  readonly policy: Pick<PolicyService, 'prepare' | 'isAllowed'> | undefined
}

export function createSavingWarnings({
  objects,
  http,
  certificates,
  rules,
  keyGroups,
  objectOwnership,
  policy,
}: WarningsOptions) {
  function listenerWarnings(): readonly string[] {
    if (rules.isOff)
      return ['SVC_NO_DISTRIBUTIONS is set: no host is routed to a distribution. Start the server without it.']
    const hasWeb = http.listeners().some(({ name }) => name === 'web' || name === 'web-tls')
    if (hasWeb || rules.onS3) return []
    return [
      'No listener answers for distributions: start the server with SVC_WEB_ADDRESS (plain HTTP) or SVC_WEB_TLS_ADDRESS, or with SVC_S3_DISTRIBUTIONS=on to answer on the S3 listener.',
    ]
  }

  async function blockWarnings(distribution: Distribution): Promise<readonly string[]> {
    const { bucket } = distribution.origin
    const isShown = isPublicWebsite(distribution)
    if (objectOwnership === undefined || (!isShown && distribution.errorPages.length === 0)) return []
    if (!(await objectOwnership.blocks(bucket)).restrictPublicBuckets) return []
    const { isBlocked } = await objectOwnership.clusterPublicAccess()
    const [where, place] = isBlocked ? ['in the whole server', 'ALIAS'] : [`of the bucket ${bucket}`, `ALIAS/${bucket}`]
    if (!isShown)
      return [`Public access ${where} is blocked: built-in pages are shown instead of the error pages of the bucket.`]
    return [
      `Public access ${where} is blocked: public pages answer 403. Give them signed or authenticated access, or remove the block (svcctl access block-public ${place} off).`,
    ]
  }

  /** Paths below /svc/ on the S3 listener belong to the server, for any host. */
  async function pathWarnings({ origin: { bucket, pathPrefix } }: Distribution): Promise<readonly string[]> {
    const prefix = `${pathPrefix}svc/`
    const { objects: found } = await objects.listObjects({ bucket, prefix, delimiter: '', startAfter: '', maxKeys: 1 })
    if (found.length === 0) return []
    return [
      `The bucket has objects below ${prefix}: on the S3 listener the server keeps the paths below /svc/ for itself.`,
    ]
  }

  /** A certificate that is being ordered needs no warning: it will arrive. */
  async function tlsWarnings({ aliases, redirects, tls }: Distribution): Promise<readonly string[]> {
    const isToTls = redirects.some(({ httpsOnly }) => httpsOnly === true)
    if (!isToTls || tls.certificate === 'auto') return []
    const missing = await certificates.uncovered(aliases)
    if (missing.length === 0) return []
    const names = missing.slice(0, namesMax).join(', ') + (missing.length > namesMax ? ' and others' : '')
    return [
      `Plain HTTP is redirected to https, and the server has no certificate for ${names}: browsers get there only where a proxy in front ends TLS. Otherwise set tls.certificate to auto or to a stored certificate, or take the redirect out.`,
    ]
  }

  async function keyWarnings(distribution: Distribution): Promise<readonly string[]> {
    const warnings: string[] = []
    for (const id of keyGroups === undefined ? [] : openingKeyGroups(distribution)) {
      if (!(await keyGroups!.exists(id)) || (await keyGroups!.get(id)).keys.some(({ enabled }) => enabled)) continue
      warnings.push(
        `The key group ${id} has no enabled key, so no signed link opens anything: add one (svcctl dist keygroup add-key ALIAS/${id} --generate).`,
      )
    }
    return warnings
  }

  /** What a website shows is refused; what policies and rules open may be meant for something else. */
  async function logWarnings(distribution: Distribution): Promise<readonly string[]> {
    const target = logBucketOf(distribution)
    if (target === undefined || policy === undefined) return []
    const { bucket } = target
    const folder = logPrefixOf(distribution.id, target)
    await policy.prepare(bucket)
    if (!policy.isAllowed({ identity: undefined, action: 's3:GetObject', bucket, key: `${folder}log` })) return []
    return [
      `Everybody can read the access log below ${folder} of the bucket ${bucket}, with addresses and paths of visitors: its policy or its access rules let everybody in there (svcctl access get ALIAS/${bucket}). Choose another place.`,
    ]
  }

  async function errorPageWarnings(distribution: Distribution): Promise<readonly string[]> {
    const { bucket, pathPrefix } = distribution.origin
    const warnings: string[] = []
    for (const { status, path } of distribution.errorPages) {
      const key = pathPrefix + path.replace(/^\//, '')
      // The first key that begins with it is the key itself, where it is there.
      const first = { bucket, prefix: key, delimiter: '', startAfter: '', maxKeys: 1 }
      const { objects: found } = await objects.listObjects(first)
      if (found[0]?.key === key) continue
      warnings.push(
        `The error page for ${status}, ${key}, is not in the bucket ${bucket}: a built-in page is shown until it is.`,
      )
    }
    return warnings
  }

  return async (distribution: Distribution): Promise<readonly string[]> => [
    ...listenerWarnings(),
    ...encodedWarnings(distribution),
    ...(await blockWarnings(distribution)),
    ...(await pathWarnings(distribution)),
    ...(await errorPageWarnings(distribution)),
    ...(await logWarnings(distribution)),
    ...(await keyWarnings(distribution)),
    ...(await tlsWarnings(distribution)),
  ]
}

/**
 * Names may have a % of their own, and double-encoded addresses may be redirected: only patterns, which close something, are refused, and
 * these where they are new.
 */
function encodedWarnings(distribution: Distribution): readonly string[] {
  const { origin, defaultBehavior, behaviors, errorPages, redirects } = distribution
  const named: readonly (readonly [what: string, text: string | undefined])[] = [
    ['The prefix of the bucket', origin.pathPrefix],
    ...[defaultBehavior, ...behaviors].flatMap(({ indexDocument, spaFallback }) => [
      ['The index document', indexDocument] as const,
      ['The fallback', spaFallback] as const,
    ]),
    ...errorPages.map(({ status, path }) => [`The error page for ${status}`, path] as const),
    ...redirects.map(({ from }, index) => [`The path of redirect ${index + 1}`, from] as const),
  ]
  const warnings = named.flatMap(([what, text = '']) => {
    const decoded = percentDecoded(text)
    if (decoded === undefined) return []
    return [
      `${what}, ${JSON.stringify(text)}, is percent-encoded, but compared with decoded paths: write ${JSON.stringify(decoded)}, unless the % is part of the name.`,
    ]
  })
  const ofPatterns = behaviors.flatMap(({ pathPattern }) => {
    const problem = encodingProblem(pathPattern)
    return problem === undefined
      ? []
      : [`The pattern of a behavior, ${JSON.stringify(pathPattern.pattern)}, ${problem}. It may close nothing.`]
  })
  return [...new Set([...ofPatterns, ...warnings])]
}
