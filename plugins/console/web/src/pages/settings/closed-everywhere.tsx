/** What the block of public access everywhere closes, before it is saved. */
import { Alert, List, Text } from '@mantine/core'
import { IconAlertTriangle } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { call } from '../../api/client.ts'
import { useMay } from '../../app/signed-in.ts'
import { ProblemAlert } from '../../parts/failure.tsx'
import { texts } from '../../texts/index.ts'

const words = texts.server
const namesShown = 10
const pageSize = 1000
/** Of buckets and of distributions: more are not read. */
const pagesMax = 10

interface Found {
  readonly names: readonly string[]
  /** There are more than were read. */
  readonly hasMore: boolean
  /** The caller may not see of all of them whether they are open. */
  readonly isPartial: boolean
}

export function ClosedEverywhere() {
  const mayManage = useMay('admin:ManageDistributions')
  // Others get only the buckets that they may list.
  const mayListAll = useMay('s3:ListAllMyBuckets')
  const buckets = useQuery({
    queryKey: ['buckets', 'closed-everywhere'],
    queryFn: ({ signal }) =>
      collect(async cursor => {
        const { items, nextCursor } = await call('listBuckets', { query: { cursor, limit: pageSize }, signal })
        return {
          names: items.filter(({ public: isPublic }) => isPublic).map(({ name }) => name),
          isPartial: items.some(({ public: isPublic }) => isPublic === undefined),
          nextCursor,
        }
      }),
    staleTime: 0,
  })
  const sites = useQuery({
    queryKey: ['distributions', 'closed-everywhere'],
    queryFn: ({ signal }) =>
      collect(async cursor => {
        const { items, nextCursor } = await call('listDistributions', { query: { cursor, limit: pageSize }, signal })
        const open = items.filter(
          ({ enabled, blocked, mode, defaultBehavior, behaviors }) =>
            enabled &&
            !blocked &&
            mode === 'website' &&
            [defaultBehavior, ...behaviors].some(({ access = 'public' }) => access === 'public'),
        )
        const names = open.map(({ id, aliases }) => texts.buckets.deleteStopped(id, aliases.join(', ')))
        return { names, isPartial: false, nextCursor }
      }),
    enabled: mayManage,
    staleTime: 0,
  })
  const error = buckets.error ?? sites.error
  if (error !== null) return <ProblemAlert error={error} />
  if (buckets.data === undefined || (mayManage && sites.data === undefined)) return null
  const hasUnseenBuckets = !mayListAll || buckets.data.isPartial
  const isNothing = isEmpty(buckets.data) && (sites.data === undefined || isEmpty(sites.data))
  const isAllSeen = mayManage && !hasUnseenBuckets
  return (
    <Alert
      color={isNothing && isAllSeen ? 'gray' : 'orange'}
      icon={<IconAlertTriangle aria-hidden />}
      title={isNothing ? (isAllSeen ? words.closesNothing : words.closesUnseen) : words.closesTitle}
    >
      <Names title={words.closedBuckets} found={buckets.data} />
      {hasUnseenBuckets && <Text size="sm">{words.closedBucketsUnknown}</Text>}
      {sites.data !== undefined && <Names title={words.closedSites} found={sites.data} />}
      {!mayManage && <Text size="sm">{words.closedSitesUnknown}</Text>}
      <Text size="sm">{words.closesObjectLists}</Text>
    </Alert>
  )
}

const isEmpty = ({ names, hasMore }: Found) => names.length === 0 && !hasMore

async function collect(
  read: (cursor: string) => Promise<Omit<Found, 'hasMore'> & { readonly nextCursor: string }>,
): Promise<Found> {
  const names: string[] = []
  let isPartial = false
  let cursor = ''
  for (let pages = 0; pages < pagesMax; pages++) {
    const page = await read(cursor)
    names.push(...page.names)
    isPartial ||= page.isPartial
    cursor = page.nextCursor
    if (cursor === '') return { names, isPartial, hasMore: false }
  }
  return { names, isPartial, hasMore: true }
}

function Names({ title, found }: { title: string; found: Found }) {
  const { names, hasMore } = found
  if (isEmpty(found)) return null
  const more = names.length - namesShown
  return (
    <>
      <Text size="sm">{title}</Text>
      <List size="sm" style={{ overflowWrap: 'anywhere' }}>
        {names.slice(0, namesShown).map(name => (
          <List.Item key={name}>{name}</List.Item>
        ))}
        {(more > 0 || hasMore) && <List.Item>{words.closedMore(Math.max(more, 0), hasMore)}</List.Item>}
      </List>
    </>
  )
}
