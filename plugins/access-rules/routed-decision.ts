/**
 * The decision about a key that is asked for through a distribution. An S3 endpoint decides as S3 does. A website decides by the access
 * of its behavior: `public` and `signed` ask no policy, but rules that deny an object to everybody count.
 */
import type { DisclosedSimulation } from 'svc/plugins/policy/api'
import type { AccessRoute } from './points.ts'

export interface RoutedDecision {
  readonly allowed: boolean
  readonly determinant: string
  readonly source: string
  readonly reason: string
}

export interface RoutedQuestion {
  readonly key: string
  readonly action: string
  readonly isAnonymous: boolean
  readonly isPublicBlocked: boolean
  /** The rule that denies this to everybody. */
  readonly denial: () => string | undefined
  /** Simulates policies, rules and access control lists together. */
  readonly simulated: () => DisclosedSimulation
  readonly ofSimulation: (simulation: DisclosedSimulation) => RoutedDecision
}

const readActions: ReadonlySet<string> = new Set(['s3:GetObject', 's3:GetObjectVersion'])

export function decideRouted(
  { isEnabled, isWebsite, accessOf }: AccessRoute,
  question: RoutedQuestion,
): RoutedDecision {
  const { key, action, isAnonymous, isPublicBlocked, denial, simulated, ofSimulation } = question
  const byDistribution = (allowed: boolean, reason: string): RoutedDecision => ({
    allowed,
    determinant: '',
    source: 'distribution',
    reason,
  })
  if (!isEnabled) return byDistribution(false, 'The distribution is disabled.')
  const access = accessOf(key)
  if (access === undefined) return byDistribution(false, 'No path of the distribution leads to this key.')
  if (access === 'deny') return byDistribution(false, 'The behavior of this path denies everybody.')
  if (access === 'authenticated' && isAnonymous) {
    return byDistribution(false, 'The behavior of this path needs credentials.')
  }
  if (!isWebsite) return ofSimulation(simulated())
  if (!readActions.has(action)) return byDistribution(false, `A website only reads objects: it never does ${action}.`)
  if (access === 'authenticated') return ofSimulation(simulated())
  if (access === 'public' && isPublicBlocked) {
    return {
      allowed: false,
      determinant: '',
      source: 'block-public',
      reason: 'The behavior of this path is public, and public access is blocked.',
    }
  }
  const rule = denial()
  if (rule !== undefined) {
    return {
      allowed: false,
      determinant: rule,
      source: 'access-rule',
      reason: `The access rule "${rule}" denies it to everybody, also through a website.`,
    }
  }
  return access === 'public'
    ? byDistribution(true, 'The behavior of this path is public: policies are not asked.')
    : byDistribution(true, 'The behavior of this path admits every valid signature: policies are not asked.')
}
