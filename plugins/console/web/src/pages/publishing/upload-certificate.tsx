import { Textarea, TextInput } from '@mantine/core'
import { call } from '../../api/client.ts'
import { useForm } from '../../parts/form.ts'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { PemFiles } from '../../parts/pem-files.tsx'
import { texts } from '../../texts/index.ts'

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
  const upload = async () => {
    const body = form.getValues()
    if (replaced === undefined) await call('createCertificate', { body })
    else {
      const { id, etag } = replaced
      await call('putCertificate', { params: { id }, body: { ...body, id }, ifMatch: etag })
    }
    await onDone()
  }
  return (
    <FormDialog
      title={replaced === undefined ? words.uploadCertificate : words.replaceTitle(replaced.id)}
      submit={texts.common.save}
      size="lg"
      form={form}
      onSubmit={upload}
      onClose={onClose}
    >
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
    </FormDialog>
  )
}
