import { Type } from 'typebox'

/** A secret that a client chooses. Its problems are reported without repeating it. */
export const SecretKey = Type.String({
  minLength: 8,
  maxLength: 128,
  pattern: '^[!-~]*$',
  errorMessage: 'must be letters, digits and signs of ASCII, without spaces',
  format: 'password',
  description: 'Printable ASCII characters without spaces.',
})

export const SecretKeyChange = Type.Object(
  { secretKey: Type.Optional(SecretKey) },
  { $id: 'SecretKeyChange', description: 'Without a secret, one is generated.' },
)
