import { NativeSelect, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { problemAt } from '../../api/problem.ts'
import { choicesOf } from '../../parts/choices.ts'
import { Copyable } from '../../parts/copyable.tsx'
import { expiries } from '../../parts/expiries.ts'
import { answerTo, useForm } from '../../parts/form.ts'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { inShell } from '../../parts/in-shell.ts'
import { MadeText } from '../../parts/made-text.tsx'
import { texts } from '../../texts/index.ts'
import { type Distribution, usePlaces } from '../publishing/addresses.tsx'

const words = texts.distributions

const isExact = (alias: string): boolean => !alias.startsWith('*.')

/** Where the first signed behavior begins. Nothing where a whole address is asked for: a path alone would be refused. */
function signedPath({ aliases, behaviors }: Distribution): string {
  if (!aliases.some(isExact)) return ''
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
  const [made, setMade] = useState<Made>()
  const form = useForm({
    initialValues: {
      path: signedPath(of),
      opens: 'path' as keyof typeof words.signOpens,
      alias: '',
      expiresInSeconds: '86400',
      ip: '',
    },
    onValuesChange(now, before) {
      // The link is not one for these values.
      setMade(undefined)
      // What is typed as a path may be sent as a whole address.
      if (now.path !== before.path || now.alias !== before.alias || now.opens !== before.opens)
        for (const sent of ['url', 'domain', 'resource']) form.clearFieldError(sent)
    },
  })
  const chosenOrigin = () => {
    const { alias: chosen } = form.getValues()
    const alias = aliases.includes(chosen) ? chosen : aliases[0]
    return alias === undefined ? '' : originOf(alias)
  }
  const sign = async () => {
    const { path, opens, expiresInSeconds, ip } = form.getValues()
    const origin = chosenOrigin()
    const wanted = wantedOf(path, origin)
    const body = {
      ...wanted,
      ...(opens === 'below' && below(wanted)),
      expiresInSeconds: Number(expiresInSeconds),
      ...(ip !== '' && { ip }),
    }
    const signAs = (kind: 'url' | 'cookies') =>
      call('signDistributionUrl', { params: { id: of.id }, body: { ...body, kind } })
    const signed = await answerTo(form, async () => ({
      link: await signAs('url'),
      cookies: opens === 'below' ? (await signAs('cookies')).cookies : undefined,
    }))
    setMade(signed && { url: signed.link.url, cookies: signed.cookies, origin })
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
        error={form.errors.path ?? form.errors.url ?? form.errors.resource}
      />
      <NativeSelect label={words.signScope} data={choicesOf(words.signOpens)} {...form.getInputProps('opens')} />
      {aliases.length > 0 && !isWhole && (
        <NativeSelect
          label={words.signOrigin}
          data={aliases.map(alias => ({ value: alias, label: originOf(alias) }))}
          {...form.getInputProps('alias')}
          error={form.errors.domain}
        />
      )}
      <NativeSelect label={words.signExpiry} data={expiries} {...form.getInputProps('expiresInSeconds')} />
      <TextInput {...words.signIp} {...form.getInputProps('ip')} />
      {made?.url !== undefined && (isWhole || made.origin === chosenOrigin()) && (
        <>
          <MadeText label={words.signed} text={made.url} />
          {made.cookies !== undefined && <SignedCookies url={made.url} cookies={made.cookies} />}
        </>
      )}
    </FormDialog>
  )
}

type Cookies = NonNullable<Answer<'signDistributionUrl'>['cookies']>

interface Made {
  readonly url: string | undefined
  readonly cookies: Cookies | undefined
  readonly origin: string
}

/** The links of a page have no signature behind them: whoever is to follow them has cookies. */
function SignedCookies({ url, cookies }: { url: string; cookies: Cookies }) {
  const pairs = cookies.map(({ name, value }) => `${name}=${value}`).join('; ')
  return (
    <>
      <Text size="sm">{words.signBelowHint}</Text>
      <Copyable label={words.signCookies} text={cookies.map(headerOf).join('\n')} />
      <Copyable label={words.signCurl} text={`curl -b ${inShell(pairs)} ${inShell(url.replace(/\?.*/, ''))}`} />
    </>
  )
}

const headerOf = ({ name, value, domain, path, secure, httpOnly, expires }: Cookies[number]): string =>
  [
    `Set-Cookie: ${name}=${value}`,
    `Domain=${domain}`,
    `Path=${path}`,
    `Expires=${new Date(expires).toUTCString()}`,
    ...(secure ? ['Secure'] : []),
    ...(httpOnly ? ['HttpOnly'] : []),
  ].join('; ')

const isAddress = (text: string): boolean => /^https?:\/\//i.test(text)

type Wanted = { readonly url: string } | { readonly path: string; readonly domain?: string }

/** The folder, whose page the link is for, and everything in it. */
function below(wanted: Wanted): Wanted & { readonly resource: string } {
  const typed = 'url' in wanted ? wanted.url : wanted.path
  if (typed.includes('?')) throw problemAt('/path', words.signNoQuery)
  const folder = typed.endsWith('/') ? typed : `${typed}/`
  // As browsers send it, which is what the signature is compared with.
  const address = 'url' in wanted ? folder : `http://localhost${folder}`
  if (!URL.canParse(address)) throw problemAt('/path', words.signNoAddress)
  const resource = `${new URL(address).pathname}*`
  return 'url' in wanted ? { url: folder, resource } : { ...wanted, path: folder, resource }
}

/** A whole address as it is typed. The server knows the scheme and the port of a domain that is shown without. */
function wantedOf(path: string, origin: string): Wanted {
  // Signed as it stands it would be one name with a star in it.
  if (path.replace(/\?.*/s, '').includes('*')) throw problemAt('/path', words.signStar)
  if (isAddress(path)) return { url: path }
  const rooted = path.startsWith('/') ? path : `/${path}`
  if (isAddress(origin)) return { url: origin + rooted }
  return origin === '' ? { path: rooted } : { path: rooted, domain: origin }
}
