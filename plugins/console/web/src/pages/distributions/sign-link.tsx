import { Button, CopyButton, NativeSelect, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import { expiries } from '../../parts/expiries.ts'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { texts } from '../../texts/index.ts'

const words = texts.distributions

export interface SignLinkProps {
  readonly id: string
  readonly domains: readonly string[]
  readonly onClose: () => void
}

export function SignLink({ id, domains, onClose }: SignLinkProps) {
  const form = useForm({ initialValues: { path: '/', domain: domains[0] ?? '', expiresInSeconds: '86400', ip: '' } })
  const [url, setUrl] = useState<string>()
  const sign = async () => {
    const { path, domain, expiresInSeconds, ip } = form.getValues()
    const body = { path, domain, expiresInSeconds: Number(expiresInSeconds), ...(ip !== '' && { ip }) }
    setUrl((await call('signDistributionUrl', { params: { id }, body })).url)
    return 'stay' as const
  }
  return (
    <FormDialog title={words.sign} submit={words.sign} form={form} onSubmit={sign} onClose={onClose}>
      <TextInput label={words.signPath} data-autofocus {...form.getInputProps('path')} />
      <NativeSelect label={words.signDomain} data={[...domains]} {...form.getInputProps('domain')} />
      <NativeSelect label={words.signExpiry} data={expiries} {...form.getInputProps('expiresInSeconds')} />
      <TextInput label={words.signIp} {...form.getInputProps('ip')} />
      {url !== undefined && (
        <>
          <TextInput label={words.signed} value={url} readOnly onFocus={event => event.currentTarget.select()} />
          <CopyButton value={url}>
            {({ copied, copy }) => (
              <Button variant="default" onClick={copy}>
                {copied ? texts.common.copied : texts.common.copy}
              </Button>
            )}
          </CopyButton>
        </>
      )}
    </FormDialog>
  )
}
