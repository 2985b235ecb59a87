import { Button, Group, Stack, Text, TextInput, Title } from '@mantine/core'
import { useDebouncedValue, useDisclosure } from '@mantine/hooks'
import { IconPlus, IconSearch } from '@tabler/icons-react'
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useMay } from '../../app/signed-in.ts'
import { ProblemAlert } from '../../parts/failure.tsx'
import { texts } from '../../texts/index.ts'
import { BucketTable } from './bucket-table.tsx'
import { CreateBucket } from './create-bucket.tsx'
import { bucketsQuery } from './queries.ts'

export function Buckets() {
  const [prefix, setPrefix] = useState('')
  const [asked] = useDebouncedValue(prefix.trim(), 200)
  const [isCreating, { open, close }] = useDisclosure()
  const mayCreate = useMay('s3:CreateBucket')
  const list = useInfiniteQuery({ ...bucketsQuery(asked), placeholderData: keepPreviousData })
  const items = list.data?.pages.flatMap(page => page.items) ?? []
  return (
    <Stack>
      <Group justify="space-between">
        <Title order={1} size="h2">
          {texts.buckets.title}
        </Title>
        {mayCreate && (
          <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={open}>
            {texts.buckets.create}
          </Button>
        )}
      </Group>
      <TextInput
        type="search"
        aria-label={texts.common.search}
        placeholder={texts.common.search}
        leftSection={<IconSearch size={16} aria-hidden />}
        value={prefix}
        onChange={event => setPrefix(event.currentTarget.value)}
        maw={360}
      />
      {list.error !== null && <ProblemAlert error={list.error} onRetry={() => list.refetch()} />}
      {list.isSuccess && items.length === 0 && (
        <Text c="dimmed">{asked === '' ? texts.buckets.none : texts.buckets.noneMatch(asked)}</Text>
      )}
      {(list.isPending || items.length > 0) && list.error === null && (
        <BucketTable items={items} isLoading={list.isPending} />
      )}
      {list.hasNextPage && (
        <Button variant="default" onClick={() => list.fetchNextPage()} loading={list.isFetchingNextPage}>
          {texts.common.more}
        </Button>
      )}
      <CreateBucket isOpen={isCreating} onClose={close} />
    </Stack>
  )
}
