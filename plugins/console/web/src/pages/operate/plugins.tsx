import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import type { Column } from '../../parts/item-table.tsx'
import { ListPage } from '../../parts/list-page.tsx'
import { Names, State, Titled } from '../../parts/names.tsx'
import { texts } from '../../texts/index.ts'

type Plugin = Answer<'listPlugins'>['items'][number]

export function Plugins() {
  return (
    <ListPage
      title={texts.operate.plugins}
      queryKey={['plugins']}
      load={({ cursor, signal }) => call('listPlugins', { query: { cursor, limit: 200 }, signal })}
      columns={columns}
      idOf={({ name }) => name}
      none=""
    />
  )
}

const columns: Column<Plugin>[] = [
  {
    title: texts.common.name,
    render: ({ name, description, error }) => (
      <Titled name={name} note={error ?? description} isBad={error !== undefined} />
    ),
  },
  {
    title: texts.common.state,
    render: ({ state }) => <State text={state} is={state === 'active' ? 'good' : 'bad'} />,
  },
  { title: texts.operate.origin, render: ({ origin }) => (origin === 'builtin' ? texts.policies.builtIn : origin) },
  {
    title: texts.operate.extends,
    render: ({ provides }) => <Names names={[...new Set(provides.map(({ extensionPoint }) => extensionPoint))]} />,
  },
  { title: texts.operate.dependsOn, render: ({ dependsOn }) => <Names names={dependsOn} /> },
]
