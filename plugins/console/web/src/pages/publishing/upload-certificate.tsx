import { Text, Textarea, TextInput } from '@mantine/core'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import { useForm } from '../../parts/form.ts'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { PemFiles } from '../../parts/pem-files.tsx'
import { Warnings } from '../../parts/warnings.tsx'
import { texts } from '../../texts/index.ts'
import { useAskServed } from './ask-served.tsx'

const words = texts.publishing

export interface UploadCertificateProps {
  /** The one whose place it takes; absent for a new one. */
  readonly replaced?: { readonly id: string; readonly comment: string; readonly etag: string }
  readonly onClose: () => void
  readonly onDone: () => Promise<void>
}

export function UploadCertificate({ replaced, onClose, onDone }: UploadCertificateProps) {
  const form = useForm({
    initialValues: { id: '', certificate: '', privateKey: '', comment: replaced?.comment ?? '' },
    // That the two do not belong together is said at the key.
    onValuesChange: (now, before) => {
      if (now.certificate !== before.certificate) form.clearFieldError('privateKey')
    },
  })
  const { change, question } = useAskServed()
  /** What the server thinks of the one that is stored now. */
  const [warnings, setWarnings] = useState<readonly string[]>([])
  const replace = ({ id, etag }: NonNullable<typeof replaced>) =>
    change({ title: words.replaceAllTheSame, action: words.replaceCertificate }, query =>
      call('putCertificate', { params: { id }, query, body: { ...form.getValues(), id }, ifMatch: etag }),
    )
  const upload = async () => {
    const saved = await (replaced === undefined
      ? call('createCertificate', { body: form.getValues() })
      : replace(replaced))
    if (saved === 'declined') return saved
    await onDone()
    if (saved.warnings === undefined) return undefined
    setWarnings(saved.warnings)
    return 'stay'
  }
  const title = replaced === undefined ? words.uploadCertificate : words.replaceTitle(replaced.id)
  if (warnings.length > 0) {
    return (
      <FormDialog title={title} size="lg" onSubmit={async () => undefined} onClose={onClose}>
        <Text size="sm">{texts.common.saved}</Text>
        <Warnings warnings={warnings} />
      </FormDialog>
    )
  }
  return (
    <FormDialog title={title} submit={texts.common.save} size="lg" form={form} onSubmit={upload} onClose={onClose}>
      {replaced === undefined && (
        <TextInput label={texts.common.name} required autoComplete="off" data-autofocus {...form.getInputProps('id')} />
      )}
      <PemFiles
        onRead={({ certificate, privateKey }) => {
          if (certificate !== '') form.setFieldValue('certificate', certificate)
          if (privateKey !== '') form.setFieldValue('privateKey', privateKey)
        }}
      />
      <Textarea
        label={words.chain}
        required
        autosize
        minRows={5}
        maxRows={12}
        placeholder="-----BEGIN CERTIFICATE-----"
        {...form.getInputProps('certificate')}
      />
      <Textarea
        label={words.privateKey}
        required
        autosize
        minRows={5}
        maxRows={12}
        placeholder="-----BEGIN PRIVATE KEY-----"
        {...form.getInputProps('privateKey')}
      />
      <TextInput label={texts.common.description} {...form.getInputProps('comment')} />
      {question}
    </FormDialog>
  )
}
