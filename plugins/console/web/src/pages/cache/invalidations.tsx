/** The purges of the last day, with what each node has done of those that are under way. */
import { Stack, Text } from '@mantine/core'
import { useQueries } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { Problem } from '../../api/problem.ts'
import { useMay } from '../../app/signed-in.ts'
import { formatCount, formatDate } from '../../parts/format.ts'
import type { Column } from '../../parts/item-table.tsx'
import { ListPage } from '../../parts/list-page.tsx'
import { State } from '../../parts/names.tsx'
import { cacheTexts } from '../../texts/cache.ts'
import { texts } from '../../texts/index.ts'
import { isAnyRunning, shortened } from './tasks.ts'
import { behindOf, type InFront, toldOf } from './told.ts'

const words = cacheTexts.cachePurge
const shownMax = 50

type Invalidation = Answer<'listInvalidations'>['items'][number]

export function Invalidations({ distribution }: { distribution?: string }) {
  const queryKey = ['invalidations', distribution ?? '']
  const [isPartial, setPartial] = useState(false)
  return (
    <ListPage
      title={words.invalidations}
      isPart
      head={items => (
        <>
          {isPartial && (
            <Text size="sm" c="dimmed">
              {words.isPartial}
            </Text>
          )}
          <NotTaken
            distributions={distribution === undefined ? distributionsOf(items) : [distribution]}
            isOfOne={distribution !== undefined}
          />
        </>
      )}
      queryKey={queryKey}
      load={async ({ cursor, signal }) => {
        const page = await call('listInvalidations', {
          query: { cursor, limit: shownMax, ...(distribution !== undefined && { distribution }) },
          signal,
        })
        setPartial(page.isPartial)
        return page
      }}
      refetchInterval={items => (isAnyRunning(items) ? 500 : 5000)}
      columns={columns}
      idOf={({ id }) => id}
      none={isPartial ? words.noneSeen : words.none}
    />
  )
}

const distributionsOf = (items: readonly Invalidation[]): string[] => [
  ...new Set(items.flatMap(({ request }) => request.distribution ?? [])),
]

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

function PurgeState({ purge }: { purge: Invalidation }) {
  const { distribution } = purge.request
  const [inFront] = useInFront(distribution === undefined ? [] : [distribution])
  const { text, is } = toldOf(purge, inFront)
  return (
    <Stack gap={2} align="flex-start">
      <State text={text} is={is} />
      {purge.nodes.map(({ node, state: nodeState, removed, error }) => (
        <Text key={node} size="xs" c={error === undefined ? 'dimmed' : 'red'}>
          {error ?? words.nodeState(node, words.nodeStates[nodeState], removed)}
        </Text>
      ))}
    </Stack>
  )
}

/** Once for all purges: which of them wait for a cache is not known. */
function NotTaken({ distributions, isOfOne }: { distributions: readonly string[]; isOfOne: boolean }) {
  const found = useInFront(distributions)
  const notes = distributions.flatMap((distribution, index) =>
    behindOf(found[index] ?? []).map(({ id, lastError }) =>
      words.notTaken(isOfOne ? id : words.cacheOf(id, distribution), lastError),
    ),
  )
  return notes.map(note => (
    <Text key={note} size="sm" c="red" style={{ overflowWrap: 'anywhere' }}>
      {note}
    </Text>
  ))
}

/** The caches in front of each distribution; undefined where they are not known. */
function useInFront(distributions: readonly string[]): readonly (readonly InFront[] | undefined)[] {
  const isAllowed = [useMay('admin:ManageCache'), useMay('admin:InvalidateCache')].every(Boolean)
  return useQueries({
    queries: distributions.map(id => ({
      queryKey: ['cache-webhooks', id],
      queryFn: async ({ signal }: { signal: AbortSignal }) =>
        (await call('listDistributionWebhooks', { params: { id }, signal })).items,
      enabled: isAllowed,
      retry: false,
      refetchInterval: ({ state: { error } }: { state: { error: Error | null } }) => !isOutOfReach(error) && 5000,
    })),
  }).map(({ data, error }) => (isOutOfReach(error) ? undefined : data))
}

/** The distribution is gone, or of a bucket of others: so it is at the next try. */
const isOutOfReach = (error: Error | null): boolean =>
  error instanceof Problem && (error.status === 403 || error.status === 404)

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
