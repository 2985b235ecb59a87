import { NativeSelect, TextInput } from '@mantine/core'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import { expiries } from '../../parts/expiries.ts'
import { answerTo, useForm } from '../../parts/form.ts'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { MadeText } from '../../parts/made-text.tsx'
import { texts } from '../../texts/index.ts'
import { type Distribution, usePlaces } from '../publishing/addresses.tsx'

const words = texts.distributions

const isExact = (alias: string): boolean => !alias.startsWith('*.')

/** Where the first signed behavior begins. */
function signedPath({ behaviors }: Distribution): string {
  const signed = behaviors.find(({ access }) => access === 'signed')?.pathPattern
  return signed?.type === 'prefix' ? signed.pattern : '/'
}

export function SignLink({ of, onClose }: { of: Distribution; onClose: () => void }) {
  const places = usePlaces(of)
  const aliases = of.aliases.filter(isExact)
  /** Of now: while the dialog is open the certificate may come that it has waited for. */
  const originOf = (alias: string) => {
    const place = places(alias)
    return place === undefined || place === 'none' ? alias : `${place.scheme}://${alias}${place.port}`
  }
  const [made, setMade] = useState<{ readonly url: string | undefined; readonly origin: string }>()
  const form = useForm({
    initialValues: { path: signedPath(of), alias: '', expiresInSeconds: '86400', ip: '' },
    onValuesChange(now, before) {
      // The link is not one for these values.
      setMade(undefined)
      // What is typed as a path may be sent as a whole address.
      if (now.path !== before.path || now.alias !== before.alias)
        for (const sent of ['url', 'domain']) form.clearFieldError(sent)
    },
  })
  const chosenOrigin = () => {
    const { alias: chosen } = form.getValues()
    const alias = aliases.includes(chosen) ? chosen : aliases[0]
    return alias === undefined ? '' : originOf(alias)
  }
  const sign = async () => {
    const { path, expiresInSeconds, ip } = form.getValues()
    const origin = chosenOrigin()
    const body = {
      ...wantedOf(path, origin),
      expiresInSeconds: Number(expiresInSeconds),
      ...(ip !== '' && { ip }),
    }
    const signed = await answerTo(form, () => call('signDistributionUrl', { params: { id: of.id }, body }))
    setMade(signed && { url: signed.url, origin })
    return 'stay' as const
  }
  const isWhole = isAddress(form.values.path)
  return (
    <FormDialog title={words.sign} submit={words.sign} form={form} isDirty={false} onSubmit={sign} onClose={onClose}>
      <TextInput
        label={words.signPath}
        description={aliases.length === 0 ? words.signWholeOnly : words.signPathHint}
        data-autofocus
        {...form.getInputProps('path')}
        error={form.errors.path ?? form.errors.url}
      />
      {aliases.length > 0 && !isWhole && (
        <NativeSelect
          label={words.signOrigin}
          data={aliases.map(alias => ({ value: alias, label: originOf(alias) }))}
          {...form.getInputProps('alias')}
          error={form.errors.domain}
        />
      )}
      <NativeSelect label={words.signExpiry} data={expiries} {...form.getInputProps('expiresInSeconds')} />
      <TextInput label={words.signIp} {...form.getInputProps('ip')} />
      {made?.url !== undefined && (isWhole || made.origin === chosenOrigin()) && (
        <MadeText label={words.signed} text={made.url} />
      )}
    </FormDialog>
  )
}

const isAddress = (text: string): boolean => /^https?:\/\//i.test(text)

/** A whole address as it is typed. The server knows the scheme and the port of a domain that is shown without. */
function wantedOf(path: string, origin: string): { url: string } | { path: string; domain?: string } {
  if (isAddress(path)) return { url: path }
  const rooted = path.startsWith('/') ? path : `/${path}`
  if (isAddress(origin)) return { url: origin + rooted }
  return origin === '' ? { path: rooted } : { path: rooted, domain: origin }
}
