import { Type } from 'typebox'

/** What a client may choose as a secret. Problems with it never repeat it. */
export const SecretKey = Type.String({
  minLength: 8,
  maxLength: 128,
  pattern: '^[!-~]*$',
  format: 'password',
  description: 'Printable ASCII characters without spaces.',
})

export const SecretKeyChange = Type.Object(
  { secretKey: Type.Optional(SecretKey) },
  { $id: 'SecretKeyChange', description: 'Without a secret, one is made.' },
)
