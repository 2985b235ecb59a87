import { definePlugin } from 'svc/kernel'
// For its types only: it declares the extension point `kms.backend`.
import 'svc/plugins/kms/api'
import { Type } from 'typebox'
import { createKeyring } from './keyring.ts'

export default definePlugin({
  name: 'example-kms',
  version: '0.1.0',
  config: Type.Object({
    // Read from SVC_EXAMPLE_KMS_FILE as well: the name of the plugin, then that of the key.
    file: Type.Optional(
      Type.String({
        format: 'path',
        description: 'The file with the keys. `create.ts` creates it; the server does not start without it.',
      }),
    ),
  }),
  setup({ config, contribute }) {
    const { file } = config
    contribute('kms.backend', 'keyring', {
      isConfigured: file !== undefined,
      // The keys lie on this machine: nothing has to be waited for, and nothing that was opened has to be remembered.
      kind: 'local',
      create: () => createKeyring(file!),
    })
  },
})
