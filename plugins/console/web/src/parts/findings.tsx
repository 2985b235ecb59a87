/** What is wrong with a text of several lines, below its editor, each with its place. */
import { Alert, Text } from '@mantine/core'
import { texts } from '../texts/index.ts'
import type { Finding } from './json-editor.tsx'
import { Name } from './name.tsx'

export function Findings({ findings }: { readonly findings: readonly Finding[] }) {
  return findings.map(({ line, column, message, isError }) => (
    <Alert key={`${line} ${column} ${message}`} color={isError ? 'red' : 'yellow'} p="xs">
      <Text size="sm">
        {texts.policies.place(line, column)}: <Name>{message}</Name>
      </Text>
    </Alert>
  ))
}
