/** The AWS SDK, set up for a test server: no retries, so that every failure is seen. */
import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3'
import { accessKey, region, secretKey, type TestServer } from './server.ts'

export function createClient(server: TestServer, settings: S3ClientConfig = {}): S3Client {
  return new S3Client({
    endpoint: server.endpoint,
    region,
    forcePathStyle: true,
    maxAttempts: 1,
    credentials: { accessKeyId: accessKey, secretAccessKey: secretKey },
    ...settings,
  })
}
