import { Switch, Text } from '@mantine/core'
import { call } from '../../api/client.ts'
import { texts } from '../../texts/index.ts'
import { BucketSetting } from './bucket-setting.tsx'

export function BlockPublic({ bucket }: { bucket: string }) {
  const params = { bucket }
  return (
    <BucketSetting
      bucket={bucket}
      id="block-public"
      title={texts.bucket.block}
      hint={texts.bucket.blockHint}
      load={signal => call('getBucketBlockPublic', { params, signal })}
      save={({ enabled }) => call('setBucketBlockPublic', { params, body: { enabled } })}
    >
      {(block, change) => (
        <>
          <Switch
            label={texts.bucket.ownBlock}
            checked={block.enabled}
            onChange={event => change({ ...block, enabled: event.currentTarget.checked })}
          />
          {block.cluster && <Text size="sm">{texts.bucket.clusterBlocks}</Text>}
        </>
      )}
    </BucketSetting>
  )
}
