/** The purges of the last day, with what each node has done of those that are under way. */
import { Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { useMay } from '../../app/signed-in.ts'
import { formatCount, formatDate } from '../../parts/format.ts'
import type { Column } from '../../parts/item-table.tsx'
import { ListPage } from '../../parts/list-page.tsx'
import { State } from '../../parts/names.tsx'
import { cacheTexts } from '../../texts/cache.ts'
import { texts } from '../../texts/index.ts'
import { isAnyRunning, shortened } from './tasks.ts'
import { toldOf } from './told.ts'

const words = cacheTexts.cachePurge
const shownMax = 50

type Invalidation = Answer<'listInvalidations'>['items'][number]

export function Invalidations({ distribution }: { distribution?: string }) {
  const queryKey = ['invalidations', distribution ?? '']
  return (
    <ListPage
      title={words.invalidations}
      isPart
      queryKey={queryKey}
      load={({ cursor, signal }) =>
        call('listInvalidations', {
          query: { cursor, limit: shownMax, ...(distribution !== undefined && { distribution }) },
          signal,
        })
      }
      refetchInterval={items => (isAnyRunning(items) ? 500 : 5000)}
      columns={columns}
      idOf={({ id }) => id}
      none={words.none}
    />
  )
}

const columns: Column<Invalidation>[] = [
  { title: texts.common.name, render: ({ id }) => id },
  {
    title: words.selected,
    render: ({ request }) => (
      <Stack gap={0}>
        {selectorsOf(request).map(text => (
          <Text key={text} size="sm" style={{ overflowWrap: 'anywhere' }}>
            {text}
          </Text>
        ))}
        <Text size="xs" c="dimmed">
          {[request.distribution ?? texts.cache.everyDistribution, ...(request.soft ? [words.softly] : [])].join(', ')}
        </Text>
      </Stack>
    ),
  },
  {
    title: texts.common.state,
    render: purge => <PurgeState purge={purge} />,
  },
  { title: words.removed, isNumber: true, render: ({ removed }) => formatCount(removed) },
  { title: words.by, render: ({ request }) => request.actor },
  { title: words.at, render: ({ createdAt }) => formatDate(createdAt) },
]

function PurgeState({ purge: { state, nodes, request } }: { purge: Invalidation }) {
  const { distribution } = request
  const { text, is, notes } = toldOf(state, useInFront(distribution))
  return (
    <Stack gap={2} align="flex-start">
      <State text={text} is={is} />
      {nodes.map(({ node, state: nodeState, removed, error }) => (
        <Text key={node} size="xs" c={error === undefined ? 'dimmed' : 'red'}>
          {error ?? words.nodeState(node, words.nodeStates[nodeState], removed)}
        </Text>
      ))}
      {notes.map(note => (
        <Text key={note} size="xs" c="red" style={{ overflowWrap: 'anywhere' }}>
          {note}
        </Text>
      ))}
    </Stack>
  )
}

/** The caches in front of a distribution; undefined where they are not known. */
function useInFront(distribution: string | undefined) {
  const isAllowed = [useMay('admin:ManageCache'), useMay('admin:InvalidateCache')].every(Boolean)
  const { data } = useQuery({
    queryKey: ['cache-webhooks', distribution],
    queryFn: async ({ signal }) =>
      (await call('listDistributionWebhooks', { params: { id: distribution! }, signal })).items,
    enabled: distribution !== undefined && isAllowed,
    // Its distribution may be gone, or of a bucket of others.
    retry: false,
    refetchInterval: ({ state: { error } }) => error === null && 5000,
  })
  return data
}

function selectorsOf({ domain, paths, patterns, tags, all }: Invalidation['request']): string[] {
  const found = [
    ...(all && domain === undefined ? [words.everything] : []),
    ...(domain === undefined ? [] : [words.ofDomain(domain)]),
    ...paths.map(words.ofPath),
    ...patterns.map(({ type, pattern }) => words.ofPattern(type, pattern)),
    ...tags.map(words.ofTag),
  ]
  return shortened(found)
}
