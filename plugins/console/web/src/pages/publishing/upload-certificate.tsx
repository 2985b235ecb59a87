import { Text, Textarea, TextInput } from '@mantine/core'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import { Problem } from '../../api/problem.ts'
import { useAskFirst } from '../../parts/ask-first.tsx'
import { useForm } from '../../parts/form.ts'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { PemFiles } from '../../parts/pem-files.tsx'
import { Warnings } from '../../parts/warnings.tsx'
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
  const { ask, question } = useAskFirst()
  /** What the server thinks of the one that is stored now. */
  const [warnings, setWarnings] = useState<readonly string[]>([])
  /** Undefined where somebody has thought better of it. */
  const replace = async ({ id, etag }: NonNullable<typeof replaced>) => {
    const request = { params: { id }, body: { ...form.getValues(), id }, ifMatch: etag }
    try {
      return await call('putCertificate', request)
    } catch (error) {
      // Domains would be without one.
      if (!(error instanceof Problem && error.code === 'certificate_in_use')) throw error
      const text = <Text size="sm">{error.message}</Text>
      if (!(await ask({ title: words.replaceAllTheSame, action: words.replaceCertificate, text }))) return undefined
      return call('putCertificate', { ...request, query: { force: true } })
    }
  }
  const upload = async () => {
    const saved = await (replaced === undefined
      ? call('createCertificate', { body: form.getValues() })
      : replace(replaced))
    if (saved === undefined) return 'declined'
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
