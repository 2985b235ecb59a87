/** What the server thinks of a document that it has stored. */
import { Alert } from '@mantine/core'
import { IconAlertTriangle } from '@tabler/icons-react'

export function Warnings({ warnings }: { warnings: readonly string[] }) {
  return warnings.map(warning => (
    <Alert key={warning} color="orange" icon={<IconAlertTriangle aria-hidden />} p="sm">
      {warning}
    </Alert>
  ))
}
