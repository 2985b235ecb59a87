/** A table of facts, one per line. */
import { Code, Table } from '@mantine/core'
import { named } from './name.tsx'

/** Empty values are left out. */
export function Facts({ facts }: { facts: readonly (readonly [name: string, value: string | undefined])[] }) {
  return (
    <Table>
      <Table.Tbody>
        {facts
          .filter(([, value]) => value !== undefined && value !== '')
          .map(([name, value]) => (
            <Table.Tr key={name}>
              <Table.Th w={{ base: 112, xs: 150 }}>{named(name)}</Table.Th>
              <Table.Td>
                {/* Times have spaces that do not break: in this narrow column they would break within a word. */}
                <Code style={{ overflowWrap: 'anywhere' }}>{named(value?.replaceAll('\u00a0', ' '))}</Code>
              </Table.Td>
            </Table.Tr>
          ))}
      </Table.Tbody>
    </Table>
  )
}
