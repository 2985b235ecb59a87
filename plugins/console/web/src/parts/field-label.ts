/** The name of a setting of a plugin as people write it: `auth_token` and `tsigKeyName` as "Auth token" and "TSIG key name". */
import { texts } from '../texts/index.ts'

const words = texts.fieldNames

export function fieldLabel(name: string): string {
  const label =
    words.whole[name] ??
    name
      .replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)
      .split('_')
      .map(word => words.words[word] ?? word)
      .join(' ')
  return label[0]!.toUpperCase() + label.slice(1)
}
