/** The service of the S3 protocol for plugins that write the same objects, or create links to them. */
import type { Contribution } from 'svc/kernel'
import type { HttpService } from 'svc/plugins/http/api'
import { encryptionAsked } from 'svc/plugins/policy/api'
import { refuseAcl } from './acl.ts'
import type { S3Attribute, S3Service } from './api.ts'
import { readAttributes } from './metadata.ts'
import { refuseMissingFeature } from './not-implemented.ts'

export interface S3ServiceOptions {
  /** To be called after set-up. */
  readonly attributes: () => readonly Contribution<S3Attribute>[]
  readonly http: Pick<HttpService, 'listeners'>
  /** Empty if not configured. */
  readonly serverUrl: string
  readonly apiSettings: S3Service['apiSettings']
  readonly isRootDenied: S3Service['isRootDenied']
  readonly serveBucket: S3Service['serveBucket']
  readonly rehearseBucket: S3Service['rehearseBucket']
}

export function createS3Service(options: S3ServiceOptions): S3Service {
  const { attributes, http, serverUrl, apiSettings, isRootDenied, serveBucket, rehearseBucket } = options
  return {
    apiSettings,
    isRootDenied,
    serveBucket,
    rehearseBucket,

    readAttributes(request) {
      const { headers } = request
      const contributed = attributes().map(({ value }) => value)
      refuseMissingFeature(headers, undefined, new Set(contributed.flatMap(({ headers: served }) => served)))
      refuseAcl(headers, 'object', () => false)
      return Object.assign({}, readAttributes(headers), ...contributed.map(attribute => attribute.read(request)))
    },

    unnamedKmsKey(headers) {
      const { algorithm, kmsKeyId } = encryptionAsked(headers)
      if (algorithm !== 'aws:kms' || kmsKeyId !== undefined) return undefined
      return attributes()
        .find(({ value }) => value.defaultKmsKeyId !== undefined)
        ?.value.defaultKmsKeyId?.()
    },

    endpointFor({ host, secure }) {
      if (serverUrl !== '') return serverUrl.replace(/\/$/, '')
      const listener = http.listeners().find(({ name }) => name === 's3')
      // A proxy that terminates TLS in front of one listener is assumed to do so for the other, too.
      const isSecure = secure || listener?.secure === true
      return `${isSecure ? 'https' : 'http'}://${host.replace(/:\d+$/, '')}:${listener?.port ?? 9000}`
    },
  }
}
