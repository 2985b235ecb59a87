/** A framed part of a page with a title of its own. */
import { Paper, Stack, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'

export interface SectionProps {
  readonly title: string
  readonly hint?: string | undefined
  readonly children: ReactNode
}

export function Section({ title, hint, children }: SectionProps) {
  return (
    <Paper withBorder p="md" component="section" aria-label={title} miw={0}>
      <Stack gap="sm">
        <div>
          <Title order={2} size="h5">
            {title}
          </Title>
          {hint !== undefined && (
            <Text size="sm" c="dimmed">
              {hint}
            </Text>
          )}
        </div>
        {children}
      </Stack>
    </Paper>
  )
}
