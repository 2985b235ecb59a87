import { Alert, Button, Center, Group, Stack, TextInput } from '@mantine/core'
import { IconDownload } from '@tabler/icons-react'
import { useQueryClient } from '@tanstack/react-query'
import { QRCodeSVG } from 'qrcode.react'
import { useRef, useState } from 'react'
import { call } from '../../api/client.ts'
import { atField } from '../../api/problem.ts'
import { ExpiryInput, secondsOf } from '../../parts/expiry-input.tsx'
import { useForm } from '../../parts/form.ts'
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
  const form = useForm({ initialValues: { expiresInSeconds: '86400', filename: '', description: '' } })
  const [url, setUrl] = useState<string>()
  const create = async () => {
    const { expiresInSeconds, filename, description } = form.getValues()
    const share = await call('createShare', {
      params: { bucket },
      body: {
        key: objectKey,
        expiresInSeconds: secondsOf(expiresInSeconds),
        ...(versionId !== undefined && { versionId }),
        ...(filename !== '' && { filename }),
        ...(description !== '' && { description }),
      },
    }).catch(error => {
      throw atField(error, 'invalid_argument', '/filename')
    })
    setUrl(share.url)
    await queryClient.invalidateQueries({ queryKey: ['shares'] })
    return 'stay' as const
  }
  return (
    <FormDialog
      title={texts.shares.createTitle(objectKey)}
      {...(url === undefined && { submit: texts.shares.make })}
      form={form}
      onSubmit={create}
      onClose={onClose}
    >
      {url === undefined ? (
        <>
          <ExpiryInput label={texts.shares.expiry} {...form.getInputProps('expiresInSeconds')} />
          <TextInput {...texts.shares.fileName} {...form.getInputProps('filename')} />
          <TextInput label={texts.shares.description} {...form.getInputProps('description')} />
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
