/** The one page of the application, with what the server knows: where the console is, and the nonce of this answer. */
import { readFileSync } from 'node:fs'

export interface Page {
  /** `hasSession`: the browser has sent a session cookie, so that the application need not ask whether there is a session. */
  render(styleNonce: string, hasSession: boolean): string
}

/**
 * `file` is the built index.html; undefined where it is not there. `publicUrl` may have a path: a proxy has put the console below it.
 * `version` is the server's. Its elements `base` and `meta` have marks to fill.
 */
export function readPage(file: URL, publicUrl: string | undefined, version: string): Page | undefined {
  let template: string
  try {
    template = readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  const path = publicUrl === undefined ? '/' : new URL(publicUrl).pathname
  const withBase = template
    .replace('{{base}}', escapeAttribute(path.endsWith('/') ? path : `${path}/`))
    .replace('{{version}}', escapeAttribute(version))
  return {
    render: (styleNonce, hasSession) =>
      withBase.replace('{{nonce}}', styleNonce).replace('{{session}}', hasSession ? 'yes' : 'no'),
  }
}

function escapeAttribute(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')
}
