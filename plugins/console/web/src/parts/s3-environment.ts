/** Variables by which the AWS CLI and SDKs find this server, for a shell. */
import type { S3Place } from '../api/session.ts'

export const environmentOf = ({ endpoint, region }: S3Place): string =>
  `export AWS_ENDPOINT_URL=${endpoint}\nexport AWS_DEFAULT_REGION=${region}`
