/** The settings that a kind of DNS provider declares; its secrets are masked. */
import { NativeSelect, Stack, Switch, TextInput } from '@mantine/core'
import type { ReactNode } from 'react'
import type { Answer } from '../../api/operations.ts'
import { fieldLabel } from '../../parts/field-label.ts'
import { PasswordInput } from '../../parts/password-input.tsx'
import { Prose } from '../../parts/prose.tsx'
import { texts } from '../../texts/index.ts'

export type ProviderKind = Answer<'listDnsProviders'>['kinds'][number]
type Field = ProviderKind['fields'][number]

const words = texts.publishing

export interface ProviderFieldsProps {
  readonly kind: ProviderKind
  readonly values: Readonly<Record<string, string>>
  readonly errors: Readonly<Record<string, ReactNode>>
  /** Secrets are stored, and stay where nothing is typed. */
  readonly hasCredentials: boolean
  readonly onChange: (name: string, value: string) => void
}

export function ProviderFields({ kind, values, errors, hasCredentials, onChange }: ProviderFieldsProps) {
  return (
    <Stack>
      {kind.fields.map(field => (
        <Input
          key={`${kind.type} ${field.name}`}
          field={field}
          isStored={field.secret && hasCredentials}
          value={values[field.name] ?? field.default}
          error={errors[`settings.${field.name}`]}
          onChange={value => onChange(field.name, value)}
        />
      ))}
    </Stack>
  )
}

interface InputProps {
  readonly field: Field
  readonly isStored: boolean
  readonly value: string
  readonly error: ReactNode
  readonly onChange: (value: string) => void
}

function Input({ field, isStored, value, error, onChange }: InputProps) {
  const { name, description, type, values, secret, required } = field
  const given = { label: fieldLabel(name), description: <Prose text={description} />, error }
  if (type === 'boolean') {
    return (
      <Switch {...given} checked={value === 'true'} onChange={event => onChange(String(event.currentTarget.checked))} />
    )
  }
  const typed = {
    ...given,
    value,
    required: required && !isStored,
    'data-path': `settings.${name}`,
    onChange: (event: { currentTarget: { value: string } }) => onChange(event.currentTarget.value),
  }
  if (values.length > 0) return <NativeSelect {...typed} data={[...values]} />
  if (!secret) return <TextInput {...typed} autoComplete="off" />
  return (
    <PasswordInput
      {...typed}
      description={<Prose text={`${description} ${isStored ? words.credentialsKept : words.neverShown}`} />}
      autoComplete="off"
    />
  )
}
