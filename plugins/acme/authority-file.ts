/** The file of SVC_ACME_CA_CERT, looked at when the server starts: without it every order would fail, weeks later perhaps. */
import { readTlsFiles } from 'svc/plugins/http-client/api'

/** Rejects with a sentence if the file is named, and cannot be used. */
export async function requireAuthorityFile(path: string | undefined): Promise<void> {
  if (path === undefined) return
  const tls = { authoritiesFile: path, certificateFile: '', keyFile: '', isVerified: true }
  await readTlsFiles(tls).catch(error => {
    throw new Error(
      `SVC_ACME_CA_CERT is ${path}: ${(error as Error).message}. Name a PEM file with the CA of SVC_ACME_DIRECTORY, or leave it out for a public authority.`,
    )
  })
}
