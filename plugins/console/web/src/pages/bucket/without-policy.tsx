/** What decides about a bucket that has no policy: its access rules may, too. */
import { Anchor, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { call } from '../../api/client.ts'
import { texts } from '../../texts/index.ts'

const words = texts.bucket

export function WithoutPolicy({ bucket }: { bucket: string }) {
  // Undefined also for whoever may not read the rules: then it is not known who decides.
  const { data: count } = useQuery({
    queryKey: ['access-rules', bucket, 'count'],
    queryFn: async ({ signal }) => (await call('getAccessRules', { params: { bucket }, signal })).rules.length,
    retry: false,
  })
  return (
    <Text size="sm" c="dimmed">
      {words.noPolicy} {count === 0 ? words.decideAlone : words.decide}{' '}
      {count !== undefined && count > 0 && (
        <Anchor
          component={Link}
          to="/buckets/$bucket"
          underline="always"
          {...({ params: { bucket }, search: { tab: 'access' } } as object)}
        >
          {words.rulesDecide(count)}
        </Anchor>
      )}
    </Text>
  )
}
