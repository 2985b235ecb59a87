/** The file of SVC_ACME_CA_CERT, looked at when the server starts: without it every order would fail, weeks later perhaps. */
import { X509Certificate } from 'node:crypto'
import { readTlsFiles } from 'svc/plugins/http-client/api'

/** Rejects with a sentence if the file is named, and cannot be used. */
export async function requireAuthorityFile(path: string | undefined): Promise<void> {
  if (path === undefined) return
  const refuse = (problem: string): never => {
    throw new Error(
      `SVC_ACME_CA_CERT is ${path}: ${problem}. Name a PEM file with the CA of SVC_ACME_DIRECTORY, or leave it out for a public authority.`,
    )
  }
  const { ca } = await readTlsFiles({
    authoritiesFile: path,
    certificateFile: '',
    keyFile: '',
    isVerified: true,
  }).catch(error => refuse((error as Error).message))
  try {
    new X509Certificate(ca!)
  } catch {
    // The parser's own message is about bytes.
    refuse('it holds no certificate')
  }
}
