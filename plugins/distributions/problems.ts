/** Rules of distributions that hold where one is saved and where many are imported. */
import type { DistributionMode, DistributionProblem } from './api.ts'
import type { DistributionCertificates } from './certificates.ts'
import type { Distribution } from './document.ts'
import { documentProblems } from './document-problems.ts'
import { normalizeAlias } from './hosts.ts'
import { logExposure } from './log-target.ts'
import { reservedBy, type ServerNames } from './names.ts'

/** Problems of the document itself, then of its mode (`server`). Later checks rely on earlier ones. */
export function ownProblems(
  distribution: Distribution,
  server: DistributionMode | undefined,
  certificates: Pick<DistributionCertificates, 'problems'>,
): readonly DistributionProblem[] {
  const found = [...documentProblems(distribution), ...(server?.problems(distribution) ?? [])]
  const hasDomains = !found.some(({ element }) => element.startsWith('/aliases'))
  return hasDomains ? [...found, ...certificates.problems(withNormalAliases(distribution))] : found
}

export const withNormalAliases = (distribution: Distribution): Distribution => ({
  ...distribution,
  aliases: [...new Set(distribution.aliases.map(normalizeAlias))],
})

/** Why a distribution cannot have this alias: a clause after it. `owners`: the ids of distributions by their aliases. */
export function aliasProblem(
  alias: string,
  { id, origin }: Pick<Distribution, 'id' | 'origin'>,
  owners: Owners,
  names: ServerNames,
): string | undefined {
  const reserved = reservedBy(alias, origin.bucket, names)
  if (reserved !== undefined) return reserved
  const owner = otherOwner(alias, id, owners)
  return owner && `is an alias of the distribution ${owner.id}`
}

type Owners = ReadonlyMap<string, readonly Distribution[]>

/** Another distribution that has the alias. */
export const otherOwner = (alias: string, id: string, owners: Owners): Distribution | undefined =>
  owners.get(alias)?.find(other => other.id !== id)

/** The problem if the distribution publishes its own log or that of another one. */
export function logProblem(
  distribution: Distribution,
  others: readonly Distribution[],
): DistributionProblem | undefined {
  const exposed = logExposure(distribution, others)
  if (exposed === undefined) return undefined
  const through = exposed.reader === distribution.id ? 'its own pages' : `the pages of ${exposed.reader}`
  return exposed.writer === distribution.id
    ? {
        element: '/logging/target',
        message: `lies where everybody could read it, through ${through}: choose another bucket or prefix`,
      }
    : {
        element: '/origin',
        message: `has the access log of the distribution ${exposed.writer}, which everybody could read then`,
      }
}
