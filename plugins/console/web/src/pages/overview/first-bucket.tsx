/** The first step on a server that has nothing yet. */
import { Button, Group, Paper, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useMay } from '../../app/signed-in.ts'
import { texts } from '../../texts/index.ts'
import { usageQuery } from './queries.ts'

export function FirstBucket() {
  const mayCreate = useMay('s3:CreateBucket')
  const { data } = useQuery({ ...usageQuery, enabled: useMay('admin:DataUsageInfo') })
  if (!mayCreate || data?.bucketsCount !== 0) return null
  return (
    <Paper withBorder p="md">
      <Group justify="space-between">
        <Text>{texts.overview.noBucket}</Text>
        <Button component={Link} to="/buckets" {...({ search: { create: true } } as object)}>
          {texts.overview.firstBucket}
        </Button>
      </Group>
    </Paper>
  )
}
