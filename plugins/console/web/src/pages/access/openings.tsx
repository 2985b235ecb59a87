/** What lets everybody into a bucket, each with a link to where it is changed. */
import { Anchor, List } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { Answer } from '../../api/operations.ts'
import { useMay } from '../../app/signed-in.ts'
import { formatDate } from '../../parts/format.ts'
import { accessRuleTexts } from '../../texts/access-rules.ts'

const words = accessRuleTexts
/** More actions of one opening are counted, not named. */
const actionsShown = 6

export type Opening = Answer<'getAccessRules'>['openings'][number]

export function Openings({ bucket, openings }: { bucket: string; openings: readonly Opening[] }) {
  return (
    <List size="sm" mt="xs">
      {openings.map(opening => (
        <List.Item
          key={`${opening.source} ${opening.name} ${opening.keys.join()}`}
          style={{ overflowWrap: 'anywhere' }}
        >
          <Source bucket={bucket} of={opening} /> {effectOf(opening)}.
        </List.Item>
      ))}
    </List>
  )
}

function Source({ bucket, of: { source, name } }: { bucket: string; of: Opening }): ReactNode {
  const mayManage = useMay('admin:ManageDistributions')
  const text = words.openings[source](name)
  if (source === 'bucket-policy') {
    return (
      <Anchor
        component={Link}
        to="/buckets/$bucket"
        underline="always"
        inherit
        {...({ params: { bucket }, search: { tab: 'policy' } } as object)}
      >
        {text}
      </Anchor>
    )
  }
  if (source === 'distribution' && mayManage) {
    return (
      <Anchor
        component={Link}
        to="/distributions/$id"
        underline="always"
        inherit
        {...({ params: { id: name } } as object)}
      >
        {text}
      </Anchor>
    )
  }
  return text
}

function effectOf({ source, actions, keys, except, deniedBy = [], domains, limited, from, versions }: Opening): string {
  const what = keys.length === 0 ? words.everyObject : namesOf(keys)
  if (source === 'distribution') {
    return (
      words.shows(domains.join(', '), what) +
      (except.length === 0 ? '' : words.except(namesOf(except))) +
      (versions === true ? words.withVersions : '') +
      (limited ? words.ifRestrictions : '')
    )
  }
  const changes = actions.some(action => changing.has(action)) ? words.mayDestroy : ''
  const begins = from === undefined ? '' : words.begins(formatDate(from))
  const kept = deniedBy.length === 0 ? '' : words.unlessDenied(deniedBy)
  return words.opens(verbsOf(actions), what) + begins + (limited ? words.ifLimits : '') + kept + changes
}

const namesOf = (keys: readonly string[]): string =>
  keys.map(key => (key.includes('(?i)') ? words.inEitherCase(key.replace('(?i)', '')) : key)).join(', ')

const changing: ReadonlySet<string> = new Set(['write', 'delete'])

/** As a sentence lists them. */
export function verbsOf(actions: readonly string[]): string {
  const shown =
    actions.length <= actionsShown
      ? actions
      : [...actions.slice(0, actionsShown), words.more(actions.length - actionsShown)]
  return new Intl.ListFormat('en').format(shown)
}
