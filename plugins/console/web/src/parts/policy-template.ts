/** What a new policy begins with: to be able to read one bucket. */
export const policyTemplate = {
  Version: '2012-10-17',
  Statement: [
    {
      Effect: 'Allow',
      Action: ['s3:GetObject', 's3:ListBucket'],
      Resource: ['arn:aws:s3:::BUCKET', 'arn:aws:s3:::BUCKET/*'],
    },
  ],
}
