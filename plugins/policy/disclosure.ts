/**
 * What a simulation tells to whom. The decision is told to whoever may ask for it. A statement, its place in the evaluation and every word
 * that follows from it are told only to callers who may read the document that it is from; for the rest the source is `hidden`.
 */
import type { EvaluatedStatement, Simulation, SimulationSource } from './simulation.ts'

export interface Disclosure {
  /** The bucket of the simulated request; empty for actions on the server. */
  readonly bucket: string
  /** The simulated identity is the caller, with restricted credentials: then only its embedded policy is its own. */
  readonly isRestricted: boolean
  /** The caller has all rights of the simulated user, and may read its policies without an action. */
  readonly isOwnUser: boolean
  /** The caller asks about its own credentials, and knows the policy that is embedded in them. */
  readonly isOwnCredentials: boolean
  /** Whether the caller may do this; the policies of the bucket are prepared. */
  isAllowed(action: string, bucket?: string): boolean
}

export type DisclosedSource = SimulationSource | 'hidden'

/** A simulation without the statements that its reader may not read. */
export interface DisclosedSimulation extends Omit<Simulation, 'source'> {
  readonly source: DisclosedSource
}

/** Any one of these actions lets a caller read what is of this source. */
const readers: Readonly<Partial<Record<SimulationSource, readonly string[]>>> = {
  policy: ['admin:GetPolicy'],
  'group-policy': ['admin:GetPolicy'],
  'embedded-policy': ['admin:ListServiceAccounts'],
  'bucket-policy': ['s3:GetBucketPolicy'],
  acl: ['s3:GetBucketAcl'],
  'access-rule': ['s3:GetBucketPolicy', 'admin:ManageAccessRules'],
  'block-public': ['s3:GetBucketPublicAccessBlock', 'admin:ManageAccessRules'],
}

/** Reduces a simulation to what the caller may read. */
export function disclose(simulation: Simulation, asked: Disclosure): DisclosedSimulation {
  const known = new Map<SimulationSource, boolean>()
  if (!simulation.evaluated.some(({ source }) => source === 'embedded-policy')) known.set('embedded-policy', true)
  const mayRead = (source: SimulationSource): boolean => {
    const before = known.get(source)
    if (before !== undefined) return before
    const may = isReadable(source, asked)
    known.set(source, may)
    return may
  }
  if (simulation.source === 'root' || sources.every(mayRead)) return simulation
  const evaluated = simulation.evaluated.filter(({ source }) => mayRead(source))
  const isToldWhole =
    simulation.decision !== 'implicit-deny' && mayRead(simulation.source) && isShown(simulation.statement, mayRead)
  if (isToldWhole) return { ...simulation, evaluated }
  const { allowed, decision } = simulation
  const nothing = { policyName: '', group: '', statement: undefined, rule: undefined }
  const told = { allowed, decision, ...nothing, evaluated }
  // Whether other policies would have allowed it is not to be told, so the embedded policy is looked at alone.
  if (decision === 'implicit-deny' && asked.isRestricted && !evaluated.some(isEmbeddedAllow)) {
    return {
      ...told,
      source: 'embedded-policy',
      reason: 'The policy embedded in the access key does not allow it.',
    }
  }
  return { ...told, source: 'hidden', reason: reasons[decision] }
}

const sources = Object.keys(readers) as readonly SimulationSource[]

const reasons: Readonly<Record<Simulation['decision'], string>> = {
  allow: 'A policy or rule that you may not read allows it.',
  'explicit-deny': 'A policy or rule that you may not read denies it.',
  'implicit-deny': 'Nothing allows it. Not all policies and rules that were evaluated may be read by you.',
}

function isReadable(source: SimulationSource, asked: Disclosure): boolean {
  const actions = readers[source]
  if (actions === undefined) return true
  if ((source === 'policy' || source === 'group-policy') && asked.isOwnUser) return true
  if (source === 'embedded-policy' && asked.isOwnCredentials) return true
  const isOfBucket = source !== 'embedded-policy' && source !== 'policy' && source !== 'group-policy'
  if (isOfBucket && asked.bucket === '') return true
  return actions.some(action => asked.isAllowed(action, isOfBucket ? asked.bucket : undefined))
}

const isShown = (statement: EvaluatedStatement | undefined, mayRead: (source: SimulationSource) => boolean): boolean =>
  statement === undefined || mayRead(statement.source)

const isEmbeddedAllow = ({ source, effect, matched }: EvaluatedStatement): boolean =>
  source === 'embedded-policy' && effect === 'Allow' && matched
