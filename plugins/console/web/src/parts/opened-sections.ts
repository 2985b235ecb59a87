/** Which sections of a form are unfolded: those that somebody has opened, and those with a field at fault, whose words would not be seen. */
import { type ReactNode, useState } from 'react'
import { errorWithin } from '../api/problem.ts'

export interface OpenedSections {
  readonly value: string[]
  readonly onChange: (value: string[]) => void
}

/** `paths`: by section the paths of its fields in the form. */
export function useOpenedSections(
  paths: Readonly<Record<string, readonly string[]>>,
  errors: Readonly<Record<string, ReactNode>>,
  initial: readonly string[] = [],
): OpenedSections {
  const [opened, setOpened] = useState<readonly string[]>(initial)
  const faulty = Object.keys(paths).filter(name => paths[name]!.some(path => errorWithin(errors, path) !== undefined))
  return { value: [...new Set([...opened, ...faulty])], onChange: setOpened }
}
