/** The warm-ups that were begun here since the sign-in, with their progress: the server has no list of them. */
import { Stack, Text } from '@mantine/core'
import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query'
import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { Problem } from '../../api/problem.ts'
import { formatBytes, formatCount, formatDate } from '../../parts/format.ts'
import type { Column } from '../../parts/item-table.tsx'
import { ListPage } from '../../parts/list-page.tsx'
import { State } from '../../parts/names.tsx'
import { ProgressBar } from '../../parts/progress-bar.tsx'
import { cacheTexts } from '../../texts/cache.ts'
import { texts } from '../../texts/index.ts'
import { isAnyRunning, shortened } from './tasks.ts'

const words = cacheTexts.cacheWarmup
const begunKey = ['warmups-begun']
const errorsShown = 5
const keptMax = 100

type Warmup = Answer<'getWarmup'>
type Begun = Pick<Warmup, 'id' | 'distribution'>

/** Kept with the answers of the session, which a sign-out throws away. */
const begunQuery = {
  queryKey: begunKey,
  queryFn: (): readonly Begun[] => [],
  staleTime: Number.POSITIVE_INFINITY,
  gcTime: Number.POSITIVE_INFINITY,
}

export async function rememberWarmup(queryClient: QueryClient, { id, distribution }: Warmup): Promise<void> {
  const before = await queryClient.ensureQueryData(begunQuery)
  queryClient.setQueryData(begunKey, [{ id, distribution }, ...before].slice(0, keptMax))
  await queryClient.invalidateQueries({ queryKey: ['warmups'] })
}

export function WarmUps({ distribution }: { distribution?: string }) {
  // Observed, so that what is remembered is not collected.
  useQuery(begunQuery)
  const queryClient = useQueryClient()
  const queryKey = ['warmups', distribution ?? '']
  return (
    <ListPage
      title={words.warmups}
      isPart
      queryKey={queryKey}
      load={async ({ signal }) => {
        const begun = await queryClient.ensureQueryData(begunQuery)
        const own = begun.filter(one => distribution === undefined || one.distribution === distribution)
        const known = queryClient.getQueryData<{ pages: { items: readonly Warmup[] }[] }>([...queryKey, ''])
        return { items: await present(own, known?.pages.flatMap(({ items }) => items) ?? [], signal) }
      }}
      refetchInterval={items => isAnyRunning(items) && 500}
      columns={columns}
      idOf={({ id }) => id}
      none={words.none}
    />
  )
}

/** The warm-ups to show. Ended ones stay as they were. A restarted server has forgotten those that ran; they are marked as such. */
async function present(begun: readonly Begun[], known: readonly Warmup[], signal: AbortSignal): Promise<Warmup[]> {
  const found = await Promise.all(
    begun.map(async ({ id, distribution }) => {
      const last = known.find(one => one.id === id)
      if (last !== undefined && last.state !== 'in-progress') return last
      try {
        return await call('getWarmup', { params: { id: distribution, warmup: id }, signal })
      } catch (error) {
        if (error instanceof Problem && error.status === 404) return last && ({ ...last, state: 'aborted' } as const)
        throw error
      }
    }),
  )
  return found.filter(one => one !== undefined)
}

const stateColours = { 'in-progress': 'neutral', completed: 'good', failed: 'bad', aborted: 'poor' } as const

const columns: Column<Warmup>[] = [
  { title: texts.common.name, render: ({ id }) => id },
  {
    title: texts.cache.distribution,
    render: ({ distribution, request }) => (
      <>
        {distribution}
        {targetsOf(request).map(text => (
          <Text key={text} size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
            {text}
          </Text>
        ))}
      </>
    ),
  },
  { title: texts.common.state, render: warmup => <Way warmup={warmup} /> },
  { title: words.fetched, isNumber: true, render: ({ fetched }) => formatCount(fetched) },
  { title: words.hits, isNumber: true, render: ({ hits }) => formatCount(hits) },
  { title: words.skipped, isNumber: true, render: ({ skipped }) => formatCount(skipped) },
  { title: words.failed, isNumber: true, render: ({ failed }) => formatCount(failed) },
  { title: words.bytes, isNumber: true, render: ({ bytes }) => formatBytes(bytes) },
  { title: cacheTexts.cachePurge.at, render: ({ createdAt }) => formatDate(createdAt) },
]

function Way({ warmup }: { warmup: Warmup }) {
  const { state, total, fetched, hits, skipped, failed, errors } = warmup
  const done = fetched + hits + skipped + failed
  const text = words.progress(done, total)
  return (
    <Stack gap={2} miw={140}>
      <State text={words.states[state]} is={stateColours[state]} />
      {state === 'in-progress' && <ProgressBar value={total === 0 ? 0 : (done / total) * 100} aria-label={text} />}
      <Text size="xs" c="dimmed">
        {text}
      </Text>
      {errors.slice(0, errorsShown).map(({ url, status, message }) => (
        <Text key={url} size="xs" c="red" style={{ overflowWrap: 'anywhere' }}>
          {words.error(url.replace(/^\/\//, ''), status, message)}
        </Text>
      ))}
      {errors.length > errorsShown && (
        <Text size="xs" c="red">
          {cacheTexts.cachePurge.andMore(errors.length - errorsShown)}
        </Text>
      )}
    </Stack>
  )
}

function targetsOf({ paths = [], patterns = [], sitemap }: Warmup['request']): string[] {
  const found = [
    ...paths.map(cacheTexts.cachePurge.ofPath),
    ...patterns.map(({ type, pattern }) => cacheTexts.cachePurge.ofPattern(type, pattern)),
    ...(sitemap === undefined ? [] : [words.ofSitemap(sitemap)]),
  ]
  return shortened(found)
}
