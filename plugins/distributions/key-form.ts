/** Documents in the form of SVC_KEY_NORMALIZATION, in which requests have their paths and buckets their keys. */
import type { NormalizeKey } from 'svc/plugins/policy/api'
import type { Behavior, StoredDistribution } from './document.ts'

/** The same document, with all that is compared with paths and keys in their form. */
export function inKeyForm<Document extends Omit<StoredDistribution, 'createdMs' | 'restrictions'>>(
  document: Document,
  normalizeKey: NormalizeKey,
): Document {
  const { origin, defaultBehavior, behaviors, errorPages, redirects, logging } = document
  const behavior = <Given extends Behavior>(given: Given): Given => ({
    ...given,
    ...(given.indexDocument !== undefined && { indexDocument: normalizeKey(given.indexDocument) }),
    ...(given.spaFallback !== undefined && { spaFallback: normalizeKey(given.spaFallback) }),
  })
  return {
    ...document,
    origin: { ...origin, pathPrefix: normalizeKey(origin.pathPrefix) },
    defaultBehavior: behavior(defaultBehavior),
    behaviors: behaviors.map(one => ({
      ...behavior(one),
      pathPattern: { ...one.pathPattern, pattern: normalizeKey(one.pathPattern.pattern) },
    })),
    errorPages: errorPages.map(page => ({ ...page, path: normalizeKey(page.path) })),
    redirects: redirects.map(redirect => ({
      ...redirect,
      ...(redirect.from !== undefined && { from: normalizeKey(redirect.from) }),
    })),
    logging: { ...logging, ...(logging.target !== undefined && { target: normalizeKey(logging.target) }) },
  }
}
