import { Anchor, Stack, Text, Title } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { texts } from '../texts/index.ts'

export function NotFound() {
  return (
    <Stack gap="xs" align="flex-start">
      <Title order={1} size="h2">
        {texts.problems.notFound}
      </Title>
      <Text>{texts.problems.notFoundHint}</Text>
      <Anchor component={Link} to="/" underline="always">
        {texts.problems.toStart}
      </Anchor>
    </Stack>
  )
}
