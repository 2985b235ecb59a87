/** Certificates from files. Loaded with the form for them. */
export const pem = {
  chooseFiles: 'Choose files',
  dropPem: 'Or drop the files of the certificate and its key here (PEM), or paste them below.',
  pemRead: (hasCertificate: boolean, hasKey: boolean) =>
    hasCertificate && hasKey
      ? 'The certificate and the key are below.'
      : hasCertificate
        ? 'The certificate is below. Its key is in another file.'
        : 'The key is below. The certificate is in another file.',
  noPem: (names: string) => `Neither a certificate nor a key in PEM: ${names}`,
}
