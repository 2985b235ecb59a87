/** The purges of the last day, with what each node has done of those that are under way. */
import { Stack, Text } from '@mantine/core'
import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { formatCount, formatDate } from '../../parts/format.ts'
import type { Column } from '../../parts/item-table.tsx'
import { ListPage } from '../../parts/list-page.tsx'
import { State } from '../../parts/names.tsx'
import { cacheTexts } from '../../texts/cache.ts'
import { texts } from '../../texts/index.ts'
import { isAnyRunning, shortened } from './tasks.ts'

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

const stateColours = { 'in-progress': 'poor', completed: 'good', failed: 'bad' } as const

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
    render: ({ state, nodes }) => (
      <Stack gap={2} align="flex-start">
        <State text={words.states[state]} is={stateColours[state]} />
        {nodes.map(({ node, state: nodeState, removed, error }) => (
          <Text key={node} size="xs" c={error === undefined ? 'dimmed' : 'red'}>
            {error ?? words.nodeState(node, words.nodeStates[nodeState], removed)}
          </Text>
        ))}
      </Stack>
    ),
  },
  { title: words.removed, isNumber: true, render: ({ removed }) => formatCount(removed) },
  { title: words.by, render: ({ request }) => request.actor },
  { title: words.at, render: ({ createdAt }) => formatDate(createdAt) },
]

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
