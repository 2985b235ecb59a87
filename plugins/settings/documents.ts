/**
 * Stored settings: one document for each subsystem that was set, `logger` or `notify_webhook:backup`, with the texts of the keys that were
 * set. Texts of secret keys are sealed.
 */
import type { Collection, StoredDocument, StoreService } from 'svc/plugins/store/api'
import { type Static, Type } from 'typebox'
import { defaultSubsystemId } from './api.ts'

export const StoredSettings = Type.Object(
  {
    texts: Type.Record(Type.String(), Type.String()),
    secrets: Type.Record(Type.String(), Type.String({ secret: true })),
  },
  { additionalProperties: false },
)
export type StoredSettings = Static<typeof StoredSettings>
export type SettingsDocuments = Collection<StoredSettings>
export type SettingsDocument = StoredDocument<StoredSettings>

/** The maximum number of changes in one transaction. */
export const subsystemsMax = 1000

export function declareDocuments(store: StoreService): SettingsDocuments {
  return store.collection({ name: 'settings', version: 1, archiveNote: 'in config.json', schema: StoredSettings })
}

/** All keys that were set, including secret ones. */
export function textsOf({ texts, secrets }: StoredSettings): Readonly<Record<string, string>> {
  return { ...texts, ...secrets }
}

/** By name. At most `subsystemsMax` are stored. */
export async function allDocuments(documents: SettingsDocuments, prefix = ''): Promise<readonly SettingsDocument[]> {
  return (await documents.list({ prefix, limit: subsystemsMax })).documents
}

export interface SubsystemName {
  readonly name: string
  /** Undefined if the name has none. */
  readonly id: string | undefined
}

const pattern = /^([a-z][a-z0-9_]{0,63})(?::([A-Za-z0-9_-]{1,64}))?$/

/** Undefined for an invalid name. */
export function parseSubsystemName(text: string): SubsystemName | undefined {
  const match = pattern.exec(text)
  return match === null ? undefined : { name: match[1]!, id: match[2] }
}

/** The name in answers: without the default id. */
export function shownName(documentId: string): string {
  const end = `:${defaultSubsystemId}`
  return documentId.endsWith(end) ? documentId.slice(0, -end.length) : documentId
}
