/** How long a link works: one of the usual times, or until a date. */
import { NativeSelect, TextInput } from '@mantine/core'
import type { ReactNode } from 'react'
import { texts } from '../texts/index.ts'
import { expiries, expiryMaxSeconds } from './expiries.ts'
import { localInput } from './local-time.ts'

const words = texts.shares

/** The value for a date begins so; the date follows, as the browser's field has it. */
const until = 'until:'

export interface ExpiryInputProps {
  readonly label: string
  /** Seconds as text, or a date. */
  readonly value?: string
  readonly onChange: (value: string) => void
  /** The server's words. */
  readonly error?: ReactNode
  /** Of `getInputProps`. */
  readonly 'data-path'?: string
}

/** What the API is asked for. */
export function secondsOf(value: string): number {
  if (!value.startsWith(until)) return Number(value)
  return Math.ceil((new Date(value.slice(until.length)).getTime() - Date.now()) / 1000)
}

export function ExpiryInput({ label, value = '', onChange, error, 'data-path': path }: ExpiryInputProps) {
  const isDate = value.startsWith(until)
  const now = Date.now()
  return (
    <>
      <NativeSelect
        label={label}
        data={[...expiries, { label: words.expiries.until, value: until }]}
        value={isDate ? until : value}
        {...(!isDate && { error })}
        onChange={event => {
          const { value: chosen } = event.currentTarget
          onChange(chosen === until ? `${until}${localInput(now + 86_400_000)}` : chosen)
        }}
      />
      {isDate && (
        <TextInput
          type="datetime-local"
          label={words.expiryDate}
          description={words.expiryBounds(expiryMaxSeconds / 86_400)}
          required
          data-path={path}
          error={error}
          min={localInput(now + 60_000)}
          max={localInput(now + expiryMaxSeconds * 1000)}
          value={value.slice(until.length)}
          onChange={event => onChange(`${until}${event.currentTarget.value}`)}
        />
      )}
    </>
  )
}
