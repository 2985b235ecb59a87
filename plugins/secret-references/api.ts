/**
 * References to secrets: where a document needs a secret it may have `${secret:<name>}` instead of its text. Each node reads the variable
 * `SVC_SECRET_<NAME>`, or the file that `SVC_SECRET_<NAME>_FILE` names, when the secret is used. So documents can be kept in git.
 */
import type { MaybePromise } from 'svc/kernel'

const pattern = /^\$\{secret:([a-z0-9][a-z0-9_-]{0,199})\}$/

/** The name in a text that is a reference and nothing else. */
export const referencedName = (text: string): string | undefined => pattern.exec(text)?.[1]

export const referenceTo = (name: string): string => `\${secret:${name}}`

/** `-` and `_` are the same in names of variables. */
export const variableOf = (name: string): string => `SVC_SECRET_${name.toUpperCase().replaceAll('-', '_')}`

export const isReference = (text: string): boolean => pattern.test(text)

/** Minimum length of a secret that requests show in a header: shorter ones can be guessed. */
export const headerSecretCharactersMin = 16

export interface SecretReferencesService {
  /** The text itself, or what its reference stands for on this node; undefined: that is not set. */
  resolve(text: string): string | undefined
}

/** For plugins that work without references: a reference is then never resolved. */
export const noSecretReferences: SecretReferencesService = {
  resolve: text => (isReference(text) ? undefined : text),
}

/** Names and what needs them: `site-edge-token`, `the webhook edge of the distribution site`. */
export interface SecretUse {
  readonly name: string
  readonly user: string
}

/** A contribution of a plugin whose documents may have references. */
export interface SecretReferencesUser {
  references(): MaybePromise<readonly SecretUse[]>
}

declare module 'svc/kernel' {
  interface Services {
    secretReferences: SecretReferencesService
  }
  interface ExtensionPoints {
    'secretReferences.user': SecretReferencesUser
  }
}
