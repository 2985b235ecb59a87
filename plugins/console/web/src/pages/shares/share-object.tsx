import { Alert, Button, CopyButton, Group, Modal, NativeSelect, Stack, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import { ProblemAlert } from '../../parts/failure.tsx'
import { texts } from '../../texts/index.ts'

const expiries = [
  { label: texts.shares.expiries.hour, value: '3600' },
  { label: texts.shares.expiries.day, value: '86400' },
  { label: texts.shares.expiries.week, value: '604800' },
  { label: texts.shares.expiries.month, value: '2592000' },
]

export function ShareObject({
  bucket,
  objectKey,
  onClose,
}: {
  bucket: string
  objectKey: string
  onClose: () => void
}) {
  const queryClient = useQueryClient()
  const [expiresIn, setExpiresIn] = useState('86400')
  const [description, setDescription] = useState('')
  const creation = useMutation({
    mutationFn: () =>
      call('createShare', {
        params: { bucket },
        body: { key: objectKey, expiresInSeconds: Number(expiresIn), ...(description !== '' && { description }) },
      }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ['shares'] }),
  })
  return (
    <Modal
      opened
      onClose={onClose}
      title={texts.shares.createTitle(objectKey)}
      closeButtonProps={{ 'aria-label': texts.common.close }}
    >
      <Stack>
        {creation.error !== null && <ProblemAlert error={creation.error} />}
        {creation.data?.url === undefined ? (
          <>
            <NativeSelect
              label={texts.shares.expiry}
              data={expiries}
              value={expiresIn}
              onChange={event => setExpiresIn(event.currentTarget.value)}
            />
            <TextInput
              label={texts.shares.description}
              value={description}
              onChange={event => setDescription(event.currentTarget.value)}
            />
            <Group justify="flex-end">
              <Button onClick={() => creation.mutate()} loading={creation.isPending}>
                {texts.shares.make}
              </Button>
            </Group>
          </>
        ) : (
          <MadeLink url={creation.data.url} />
        )}
      </Stack>
    </Modal>
  )
}

function MadeLink({ url }: { url: string }) {
  return (
    <>
      <Alert color="teal">{texts.shares.onlyNow}</Alert>
      <TextInput label={texts.shares.link} value={url} readOnly onFocus={event => event.currentTarget.select()} />
      <CopyButton value={url}>
        {({ copied, copy }) => <Button onClick={copy}>{copied ? texts.common.copied : texts.common.copy}</Button>}
      </CopyButton>
    </>
  )
}
