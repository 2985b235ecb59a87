import { Alert, Button, Center, Group, NativeSelect, Stack, TextInput } from '@mantine/core'
import { IconDownload } from '@tabler/icons-react'
import { useQueryClient } from '@tanstack/react-query'
import { QRCodeSVG } from 'qrcode.react'
import { useRef, useState } from 'react'
import { call } from '../../api/client.ts'
import { expiries } from '../../parts/expiries.ts'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { CopyText } from '../../parts/made-text.tsx'
import { saveAs } from '../../parts/save-as.ts'
import { texts } from '../../texts/index.ts'

export interface ShareObjectProps {
  readonly bucket: string
  readonly objectKey: string
  /** Absent: whatever is the current one. */
  readonly versionId?: string | undefined
  readonly onClose: () => void
}

export function ShareObject({ bucket, objectKey, versionId, onClose }: ShareObjectProps) {
  const queryClient = useQueryClient()
  const [expiresIn, setExpiresIn] = useState('86400')
  const [description, setDescription] = useState('')
  const [url, setUrl] = useState<string>()
  const create = async () => {
    const share = await call('createShare', {
      params: { bucket },
      body: {
        key: objectKey,
        expiresInSeconds: Number(expiresIn),
        ...(versionId !== undefined && { versionId }),
        ...(description !== '' && { description }),
      },
    })
    setUrl(share.url)
    await queryClient.invalidateQueries({ queryKey: ['shares'] })
    return 'stay' as const
  }
  return (
    <FormDialog
      title={texts.shares.createTitle(objectKey)}
      {...(url === undefined && { submit: texts.shares.make })}
      isDirty={description !== ''}
      onSubmit={create}
      onClose={onClose}
    >
      {url === undefined ? (
        <>
          <NativeSelect
            label={texts.shares.expiry}
            data={[...expiries, { label: texts.shares.expiries.month, value: '2592000' }]}
            value={expiresIn}
            onChange={event => setExpiresIn(event.currentTarget.value)}
          />
          <TextInput
            label={texts.shares.description}
            value={description}
            onChange={event => setDescription(event.currentTarget.value)}
          />
        </>
      ) : (
        <MadeLink url={url} name={objectKey} />
      )}
    </FormDialog>
  )
}

function MadeLink({ url, name }: { url: string; name: string }) {
  const code = useRef<SVGSVGElement>(null)
  const download = () => saveAs(`${name.split('/').pop()}.svg`, code.current?.outerHTML ?? '', 'image/svg+xml')
  return (
    <Stack>
      <Alert color="teal">{texts.shares.onlyNow}</Alert>
      <TextInput label={texts.shares.link} value={url} readOnly onFocus={event => event.currentTarget.select()} />
      <Center>
        {/* Light in both colour schemes: cameras need dark on light, with a margin. */}
        <QRCodeSVG
          ref={code}
          xmlns="http://www.w3.org/2000/svg"
          value={url}
          size={224}
          marginSize={4}
          title={texts.shares.code}
          role="img"
        />
      </Center>
      <Group justify="center">
        <CopyText value={url} isMade />
        <Button variant="default" leftSection={<IconDownload size={16} aria-hidden />} onClick={download}>
          {texts.shares.downloadCode}
        </Button>
      </Group>
    </Stack>
  )
}
