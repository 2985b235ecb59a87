import { Anchor, Button, Stack, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconPlus, IconTrash } from '@tabler/icons-react'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { call } from '../../api/client.ts'
import type { Bucket } from '../../api/operations.ts'
import { useMay } from '../../app/signed-in.ts'
import { formatBytes, formatCount, formatDate } from '../../parts/format.ts'
import type { Column } from '../../parts/item-table.tsx'
import { ListPage } from '../../parts/list-page.tsx'
import { State } from '../../parts/names.tsx'
import { QuotaUse, ToUploads } from '../../parts/quota-use.tsx'
import { Tool } from '../../parts/tool.tsx'
import { bucketContent } from '../../texts/bucket-content.ts'
import { texts } from '../../texts/index.ts'
import { CreateBucket } from './create-bucket.tsx'
import { DeleteBucket } from './delete-bucket.tsx'

export function Buckets() {
  // The overview of an empty server leads to the dialog. Loaded again, the page is the list.
  const { create } = useSearch({ strict: false }) as { readonly create?: unknown }
  const navigate = useNavigate()
  useEffect(() => {
    if (create === true) void navigate({ to: '/buckets', search: {}, replace: true })
  }, [create, navigate])
  const mayCreate = useMay('s3:CreateBucket')
  const [isCreating, { open, close }] = useDisclosure(create === true && mayCreate)
  const [deleted, setDeleted] = useState<Bucket>()
  return (
    <>
      <ListPage
        title={texts.buckets.title}
        actions={
          mayCreate && (
            <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={open}>
              {texts.buckets.create}
            </Button>
          )
        }
        queryKey={['buckets']}
        hasFilter
        load={({ prefix, cursor, signal }) => call('listBuckets', { query: { prefix, cursor, limit: 200 }, signal })}
        columns={columnsOf(setDeleted)}
        idOf={({ name }) => name}
        none={mayCreate ? texts.buckets.none : texts.buckets.noneForReaders}
      />
      {isCreating && <CreateBucket onClose={close} />}
      {deleted !== undefined && <DeleteBucket name={deleted.name} onClose={() => setDeleted(undefined)} />}
    </>
  )
}

function columnsOf(onDelete: (bucket: Bucket) => void): Column<Bucket>[] {
  return [
    {
      title: texts.common.name,
      render: ({ name }) => (
        <Anchor
          className="long-name"
          component={Link}
          to="/buckets/$bucket"
          {...({ params: { bucket: name } } as object)}
        >
          {name}
        </Anchor>
      ),
    },
    {
      title: texts.buckets.objects,
      isNumber: true,
      isKnown: ({ objects }) => objects !== undefined,
      render: ({ objects }) => (objects === undefined ? '' : formatCount(objects)),
    },
    {
      title: texts.buckets.versions,
      isNumber: true,
      isKnown: ({ versions }) => versions !== undefined,
      render: ({ versions }) => (versions === undefined ? '' : formatCount(versions)),
    },
    {
      title: texts.common.size,
      isNumber: true,
      isKnown: ({ size }) => size !== undefined,
      render: bucket => <Size bucket={bucket} />,
    },
    {
      title: texts.buckets.encryption,
      isKnown: ({ encryption }) => encryption !== undefined,
      render: ({ encryption }) => encryption !== undefined && texts.buckets.encryptions[encryption],
    },
    {
      title: texts.buckets.access,
      isKnown: bucket => bucket.public !== undefined,
      render: bucket => <Openness bucket={bucket} />,
    },
    {
      title: texts.buckets.protection,
      isKnown: ({ versioning, objectLockEnabled }) => versioning !== undefined || objectLockEnabled !== undefined,
      render: bucket => <Protection bucket={bucket} />,
    },
    { title: texts.common.created, render: ({ created }) => formatDate(created) },
    {
      title: texts.common.actions,
      isActions: true,
      render: bucket => (
        // Whoever may delete some of them alone does so on the page of the bucket.
        <Tool
          label={`${texts.buckets.delete} ${bucket.name}`}
          icon={IconTrash}
          needs={['s3:DeleteBucket']}
          onClick={() => onDelete(bucket)}
        />
      ),
    },
  ]
}

function Size({ bucket: { name, size, uploadsSize = 0, quotaBytes } }: { bucket: Bucket }) {
  if (size === undefined) return null
  if (quotaBytes === undefined || quotaBytes === 0) return formatBytes(size)
  return (
    <Stack gap={2}>
      <QuotaUse usedBytes={size + uploadsSize} quotaBytes={quotaBytes} />
      {uploadsSize > 0 && (
        <Text size="xs">
          <ToUploads bucket={name} text={bucketContent.quota.partsOfIt(formatBytes(uploadsSize))} />
        </Text>
      )}
    </Stack>
  )
}

function Openness({ bucket }: { bucket: Bucket }) {
  if (bucket.public === undefined) return null
  if (bucket.public) return <State text={texts.buckets.public} is="poor" />
  return bucket.published === true ? texts.buckets.published : texts.buckets.private
}

function Protection({ bucket }: { bucket: Bucket }) {
  // It keeps versions in any case.
  if (bucket.objectLockEnabled === true) return <State text={texts.buckets.locked} is="neutral" />
  return bucket.versioning === 'enabled' ? texts.buckets.versioned : null
}
