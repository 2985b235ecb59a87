/** The bucket's own policy, checked by the server while one types. */
import { Button, Group, Skeleton, Stack, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import { Problem } from '../../api/problem.ts'
import { CheckedPolicy } from '../../parts/checked-policy.tsx'
import { ConfirmDeletion } from '../../parts/confirm-deletion.tsx'
import { ProblemAlert } from '../../parts/failure.tsx'
import { texts } from '../../texts/index.ts'

const templateOf = (bucket: string) => ({
  Version: '2012-10-17',
  Statement: [
    {
      Effect: 'Allow',
      Principal: { AWS: ['USER'] },
      Action: ['s3:GetObject'],
      Resource: [`arn:aws:s3:::${bucket}/*`],
    },
  ],
})

export function Policy({ bucket }: { bucket: string }) {
  const params = { bucket }
  const stored = useQuery({
    queryKey: ['bucket-policy', bucket],
    queryFn: async ({ signal }) => {
      try {
        return { document: await call('getBucketPolicy', { params, signal }) }
      } catch (error) {
        if (error instanceof Problem && error.status === 404) return { document: undefined }
        throw error
      }
    },
  })
  if (stored.error !== null) return <ProblemAlert error={stored.error} onRetry={() => stored.refetch()} />
  if (stored.data === undefined) return <Skeleton h={240} />
  const { document } = stored.data
  const refresh = async () => void (await stored.refetch())
  return <Editor key={JSON.stringify(document)} bucket={bucket} document={document} onChanged={refresh} />
}

interface EditorProps {
  readonly bucket: string
  /** Undefined where the bucket has no policy. */
  readonly document: object | undefined
  readonly onChanged: () => Promise<void>
}

function Editor({ bucket, document, onChanged }: EditorProps) {
  const params = { bucket }
  const [text, setText] = useState(() => JSON.stringify(document ?? templateOf(bucket), undefined, 2))
  const [isRemoving, setRemoving] = useState(false)
  const saving = useMutation({
    mutationFn: () => call('putBucketPolicy', { params, body: JSON.parse(text) }),
    async onSuccess() {
      notifications.show({ color: 'teal', message: texts.common.saved })
      await onChanged()
    },
  })
  return (
    <Stack>
      {document === undefined && <Text c="dimmed">{texts.bucket.noPolicy}</Text>}
      {saving.error !== null && <ProblemAlert error={saving.error} />}
      <CheckedPolicy text={text} onChange={setText} bucket={bucket} />
      <Group>
        <Button onClick={() => saving.mutate()} loading={saving.isPending}>
          {texts.common.save}
        </Button>
        {document !== undefined && (
          <Button variant="light" color="red" onClick={() => setRemoving(true)}>
            {texts.bucket.removePolicy}
          </Button>
        )}
      </Group>
      {isRemoving && (
        <ConfirmDeletion
          title={texts.bucket.removePolicy}
          onConfirm={async () => {
            await call('deleteBucketPolicy', { params })
            await onChanged()
          }}
          onClose={() => setRemoving(false)}
        >
          <Text size="sm">{texts.bucket.noPolicy}</Text>
        </ConfirmDeletion>
      )}
    </Stack>
  )
}
