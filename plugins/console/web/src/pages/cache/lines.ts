/** Fields with one entry a line. */
import type { ReactNode } from 'react'

export const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '')

/** The server's words on any of the entries of a field that is one here. */
export const errorOf = (errors: Readonly<Record<string, ReactNode>>, field: string): ReactNode =>
  errors[field] ?? Object.entries(errors).find(([path]) => path.startsWith(`${field}.`))?.[1]
