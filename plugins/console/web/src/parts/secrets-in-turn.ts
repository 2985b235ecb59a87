/** Secrets that are shown once, one after the other, wherever somebody is by then: one that comes late takes the place of none. */
import { type ReactNode, useState } from 'react'

export interface ShownSecret {
  readonly id: number
  /** Draws it until somebody says that it is kept. */
  readonly draw: (onKept: () => void) => ReactNode
  readonly onKept: () => void
}

export type ShowSecret = (draw: ShownSecret['draw']) => void

class SecretsInTurn {
  #secrets: readonly ShownSecret[] = []
  #count = 0
  #user = {}
  readonly #listeners = new Set<() => void>()

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** The one that is shown. */
  snapshot = (): ShownSecret | undefined => this.#secrets[0]

  /** For the pages of one user: what they show when another one has signed in is shown to nobody. */
  ofUser(): ShowSecret {
    const user = this.#user
    return draw => {
      if (user === this.#user) this.#show(draw)
    }
  }

  #show(draw: ShownSecret['draw']): void {
    const id = this.#count++
    const onKept = () => this.#set(this.#secrets.filter(secret => secret.id !== id))
    this.#set([...this.#secrets, { id, draw, onKept }])
  }

  /** Those of the user before. */
  discard(): void {
    this.#user = {}
    this.#set([])
  }

  #set(secrets: readonly ShownSecret[]): void {
    this.#secrets = secrets
    for (const listener of this.#listeners) listener()
  }
}

export const secretsInTurn = new SecretsInTurn()

/** Of whoever is signed in when it is first drawn. */
export function useShowSecret(): ShowSecret {
  const [show] = useState(() => secretsInTurn.ofUser())
  return show
}
