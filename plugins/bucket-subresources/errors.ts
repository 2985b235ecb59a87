import { defineErrors } from 'svc/kernel'

/** How S3 says that something is not configured. Terraform and SDKs look at these codes. */
export const settingErrors = defineErrors({
  NoSuchConfiguration: { status: 404, title: 'The specified configuration does not exist.', verbatim: true },
  NoSuchWebsiteConfiguration: {
    status: 404,
    title: 'The specified bucket does not have a website configuration',
    verbatim: true,
  },
  ReplicationConfigurationNotFoundError: {
    status: 404,
    title: 'The replication configuration was not found',
    verbatim: true,
  },
})
