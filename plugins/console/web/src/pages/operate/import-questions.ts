/** Which changes of an import are asked about first: those that may let somebody in, and those by which something may be lost. */
import type { Answer } from '../../api/operations.ts'

/** Documents of one kind, by the names that an import gives them. */
interface Kind {
  readonly names: RegExp
  /** Fields of it that decide nothing here; those that are not named do. */
  readonly quietFields?: readonly string[]
  /** The fields of it that decide, where most do not. */
  readonly fields?: readonly string[]
  /** What is gone may have held something back. Another decides nothing once it is gone. */
  readonly holdsBack?: boolean
}

type Result = Pick<Answer<'importCluster'>, 'bucketsCreated' | 'created' | 'changed' | 'fields' | 'removed'>

const notesOfKeys = ['name', 'description', 'createdBy', 'createdMs']
const notesOfUsers = ['description', 'createdMs']

/** What can let in those who have no credentials: a link that was shared is an access key. */
const openings: readonly Kind[] = [
  { names: /^(distribution|key-group)\//, quietFields: ['comment'] },
  { names: /^access-key\/SVCSHARE/, quietFields: notesOfKeys },
  { names: /^bucket\/[^/]+\/bucket-acl$/ },
  {
    names: /^(bucket\/[^/]+\/(bucket-policy|access-rules|ownership-controls|public-access-block)|(config\/)?access)$/,
    holdsBack: true,
  },
]
/** What can let in a user, an access key or root, or give them more rights. A policy, also that of a group, may deny. */
const admissions: readonly Kind[] = [
  { names: /^user\//, quietFields: notesOfUsers },
  { names: /^access-key\/(?!SVCSHARE)/, quietFields: notesOfKeys },
  { names: /^group\//, quietFields: notesOfUsers, holdsBack: true },
  { names: /^policy\//, holdsBack: true },
  { names: /^(config\/)?api$/, fields: ['root_access', 'signature_v2'], holdsBack: true },
]
/** By what objects, or old versions, can be lost that stay now. Lifecycle rules that go delete nothing any more. */
const losses: readonly Kind[] = [
  { names: /^bucket\/[^/]+\/bucket-lifecycle$/ },
  { names: /^bucket\/[^/]+\/(versioning|object-lock)$/, holdsBack: true },
]

export function questionsOf(result: Result) {
  const { bucketsCreated, created = [], changed = [], fields = {}, removed } = result
  const among = (kinds: readonly Kind[]) => {
    const kindOf = (name: string) => kinds.find(({ names }) => names.test(name))
    return [
      ...created.filter(kindOf),
      ...changed.filter(name => decides(kindOf(name), fields[name])),
      ...removed.filter(name => kindOf(name)?.holdsBack === true && decides(kindOf(name), fields[name])),
    ]
  }
  return {
    openings: among(openings),
    admissions: among(admissions),
    // A new bucket has nothing to lose.
    losses: among(losses).filter(name => !bucketsCreated.includes(name.split('/')[1]!)),
  }
}

/** Where it is not known which fields differ, each may. */
function decides(kind: Kind | undefined, differing: readonly string[] = []): boolean {
  if (kind === undefined) return false
  const { quietFields = [], fields } = kind
  return differing.length === 0 || differing.some(field => fields?.includes(field) ?? !quietFields.includes(field))
}
