/** Finds the behaviors that need a signature, and the key groups that verify it. */
import type { Behavior, StoredDistribution } from './document.ts'

type Behaviors = Pick<StoredDistribution, 'defaultBehavior' | 'behaviors'>

/** A behavior with the fields of the default one in the place of those that it leaves out. */
function withDefaults({ access, signing }: Behavior, { defaultBehavior }: Pick<Behaviors, 'defaultBehavior'>) {
  return {
    isSigned: (access ?? defaultBehavior.access) === 'signed',
    keyGroup: (signing ?? defaultBehavior.signing)?.keyGroup,
  }
}

/** All key groups that a distribution names, also for behaviors that need none now. */
export const keyGroupsOf = (behaviors: Behaviors): ReadonlySet<string> => new Set(keyGroupPlaces(behaviors).values())

/** Ids of key groups by the JSON Pointer of the field that names them. */
export function keyGroupPlaces({ defaultBehavior, behaviors }: Behaviors): ReadonlyMap<string, string> {
  const places = [
    ['/defaultBehavior', defaultBehavior] as const,
    ...behaviors.map((behavior, index) => [`/behaviors/${index}`, behavior] as const),
  ]
  return new Map(
    places.flatMap(([element, { signing }]) =>
      signing?.keyGroup === undefined ? [] : [[`${element}/signing/keyGroup`, signing.keyGroup] as const],
    ),
  )
}

/** Whether some behavior has signed access. */
export function hasSignedAccess({ defaultBehavior, behaviors }: Behaviors): boolean {
  return [defaultBehavior, ...behaviors].some(({ access }) => access === 'signed')
}

/** Key groups whose signatures open some behavior. */
export function openingKeyGroups(distribution: Behaviors): readonly string[] {
  const all = [distribution.defaultBehavior, ...distribution.behaviors].map(each => withDefaults(each, distribution))
  return [...new Set(all.flatMap(({ isSigned, keyGroup = '' }) => (isSigned && keyGroup !== '' ? [keyGroup] : [])))]
}

/** JSON Pointers of behaviors that have signed access and nothing to verify it with. */
export function unverifiable(distribution: Behaviors): readonly string[] {
  const { defaultBehavior, behaviors } = distribution
  const all = [
    ['/defaultBehavior', defaultBehavior] as const,
    ...behaviors.map((behavior, index) => [`/behaviors/${index}`, behavior] as const),
  ]
  return all
    .filter(([, behavior]) => {
      const { isSigned, keyGroup } = withDefaults(behavior, distribution)
      return isSigned && (keyGroup ?? '') === ''
    })
    .map(([element]) => element)
}
