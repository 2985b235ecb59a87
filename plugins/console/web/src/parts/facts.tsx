/** A table of facts, one per line; on a phone each name stands above its value. */
import { Code, Table } from '@mantine/core'
import { named } from './name.tsx'

/** `id`: a value that is read and compared letter by letter. */
export type Fact = readonly [name: string, value: string | undefined, kind?: 'id']

/** Empty values are left out. Lines that a phone lays out as blocks are no table to a screen reader unless they say so. */
export function Facts({ facts }: { facts: readonly Fact[] }) {
  return (
    <Table role="table" className="facts">
      <Table.Tbody role="rowgroup">
        {facts
          .filter(([, value]) => value !== undefined && value !== '')
          .map(([name, value, kind]) => {
            // Times have spaces that do not break: in a narrow column they would break within a word.
            const shown = named(value?.replaceAll('\u00a0', ' '))
            return (
              <Table.Tr role="row" key={name}>
                <Table.Th role="rowheader">{named(name)}</Table.Th>
                <Table.Td role="cell">{kind === 'id' ? <Code>{shown}</Code> : shown}</Table.Td>
              </Table.Tr>
            )
          })}
      </Table.Tbody>
    </Table>
  )
}
