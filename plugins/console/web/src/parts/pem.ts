/** Certificates and keys in files, as authorities hand them out: one for each, or all in one. */

/** Longer files are none. */
export const pemBytesMax = 1024 ** 2

export interface Pem {
  /** Empty where there is none. */
  readonly certificate: string
  readonly privateKey: string
}

/** Picks the blocks out of a text, with whatever stands between them left out. */
export function pemOf(text: string): Pem {
  const blocks =
    text.replaceAll('\r\n', '\n').match(/-----BEGIN ([A-Z0-9 ]+)-----\n(?:(?!-----)[\s\S])+-----END \1-----/g) ?? []
  const of = (label: RegExp) => blocks.filter(block => label.test(block.slice(0, block.indexOf('\n')))).join('\n')
  return { certificate: of(/ (TRUSTED )?CERTIFICATE-/), privateKey: of(/PRIVATE KEY-/) }
}
