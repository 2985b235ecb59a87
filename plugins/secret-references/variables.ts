/** Secrets of this node, by the names of references. */
import { readFileSync } from 'node:fs'
import type { Clock, Logger } from 'svc/kernel'
import { referencedName, type SecretReferencesService, variableOf } from './api.ts'

/** A changed file counts after this time, also where the clock is set back. */
const fileMs = 5000
const bytesMax = 65_536

export interface VariablesOptions {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly clock: Clock
  readonly log: Logger
}

export function createSecretReferences({ env, clock, log }: VariablesOptions): SecretReferencesService {
  const files = new Map<string, { readonly text: string | undefined; readonly untilNs: bigint }>()

  function fromFile(variable: string, path: string): string | undefined {
    const known = files.get(variable)
    if (known !== undefined && clock.monotonicNs() < known.untilNs) return known.text
    const text = read(variable, path)
    files.set(variable, { text, untilNs: clock.monotonicNs() + BigInt(fileMs) * 1_000_000n })
    return text
  }

  function read(variable: string, path: string): string | undefined {
    try {
      const text = readFileSync(path, 'utf8').replace(/\r?\n$/, '')
      if (text !== '' && text.length <= bytesMax) return text
      log.error(
        { variable: `${variable}_FILE` },
        `the file of a secret is empty, or has more than ${bytesMax} characters`,
      )
    } catch (error) {
      log.error(
        { variable: `${variable}_FILE`, reason: (error as Error).message },
        'the file of a secret cannot be read',
      )
    }
    return undefined
  }

  return {
    resolve(text) {
      const name = referencedName(text)
      if (name === undefined) return text
      const variable = variableOf(name)
      const path = env[`${variable}_FILE`]
      if (path !== undefined && path !== '') return fromFile(variable, path)
      const value = env[variable]
      return value === '' ? undefined : value
    },
  }
}
