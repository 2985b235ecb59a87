import { Text } from '@mantine/core'
import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import type { Column } from '../../parts/item-table.tsx'
import { ListPage } from '../../parts/list-page.tsx'
import { State } from '../../parts/names.tsx'
import { Prose } from '../../parts/prose.tsx'
import { texts } from '../../texts/index.ts'

type Plugin = Answer<'listPlugins'>['items'][number]

export function Plugins() {
  return (
    <ListPage
      title={texts.operate.plugins}
      head={
        <Text size="sm" c="dimmed">
          {texts.operate.pluginsHint}
        </Text>
      }
      queryKey={['plugins']}
      hasFilter
      load={async ({ prefix, cursor, signal }) => {
        // All at once: which has failed is not known before.
        const { items, nextCursor } = await call('listPlugins', { query: { cursor, limit: 1000 }, signal })
        const wanted = items.filter(({ name }) => name.startsWith(prefix))
        return { items: wanted.sort((one, other) => Number(isWell(one)) - Number(isWell(other))), nextCursor }
      }}
      columns={columns}
      idOf={({ name }) => name}
      isDense
      none=""
    />
  )
}

const isWell = ({ state }: Plugin): boolean => state === 'active'

/** What is the same of nearly all of them is said above the list, and not in each row. */
const columns: Column<Plugin>[] = [
  {
    title: texts.common.name,
    place: 'name',
    render: ({ name }) => name,
    note: ({ origin }) => (origin === 'builtin' ? '' : texts.operate.copiedFrom(origin)),
  },
  {
    title: texts.common.state,
    place: 'beside',
    isKnown: plugin => !isWell(plugin),
    render: plugin => !isWell(plugin) && <State text={plugin.state} is="bad" />,
  },
  {
    title: texts.operate.does,
    place: 'across',
    render: ({ description, error }) =>
      error === undefined ? (
        <Prose text={description} />
      ) : (
        <Text fz="inherit" c="red">
          {error}
        </Text>
      ),
  },
  {
    title: texts.operate.extends,
    isKnown: plugin => extendedBy(plugin).length > 0,
    render: plugin => listed(texts.operate.extends, extendedBy(plugin)),
  },
  { title: texts.operate.dependsOn, render: ({ dependsOn }) => listed(texts.operate.dependsOn, dependsOn) },
]

/** A phone shows no title of a column. */
const listed = (title: string, names: readonly string[]) =>
  names.length > 0 && (
    <>
      <Text span inherit hiddenFrom="sm">{`${title}: `}</Text>
      {names.join(', ')}
    </>
  )

/** Features are what the server is made of: they extend nothing that others know. */
function extendedBy({ provides }: Plugin): string[] {
  const points = new Set(provides.map(({ extensionPoint }) => extensionPoint))
  points.delete('feature')
  return [...points]
}
