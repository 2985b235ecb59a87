/** A page that somebody opens by its address, from a bookmark or a link, and may see nothing of: the navigation does not show it. */
import { Anchor, Stack, Text, Title } from '@mantine/core'
import { Link, useMatchRoute } from '@tanstack/react-router'
import { texts } from '../texts/index.ts'
import { mayOpen, type Page, pageGroups } from './pages.ts'
import { useSignedIn } from './signed-in.ts'

/** The page of the address, where the caller has none of the rights that it needs, anywhere. */
export function useClosedPage(): Page | undefined {
  const { allowed } = useSignedIn()
  const matches = useMatchRoute()
  // Of the first page the router leads elsewhere.
  const page = pageGroups.flatMap(({ pages }) => pages).find(({ to }) => to !== '/' && matches({ to, fuzzy: true }))
  return page === undefined || mayOpen(page, allowed) ? undefined : page
}

export function ClosedPage({ page: { label, action = [] } }: { page: Page }) {
  return (
    <Stack gap="xs" align="flex-start">
      <Title order={1} size="h2">
        {label}
      </Title>
      <Text>{texts.common.deniedPage([action].flat())}</Text>
      <Anchor component={Link} to="/buckets" underline="always">
        {texts.buckets.title}
      </Anchor>
    </Stack>
  )
}
