import { NativeSelect, Switch, Text } from '@mantine/core'
import { asRead, callTagged } from '../../api/client.ts'
import { useMay } from '../../app/signed-in.ts'
import { useAskFirst } from '../../parts/ask-first.tsx'
import { choicesOf } from '../../parts/choices.ts'
import { Setting } from '../../parts/setting.tsx'
import { texts } from '../../texts/index.ts'
import { ClosedEverywhere } from './closed-everywhere.tsx'
import type { Values } from './settings.tsx'

const words = texts.server

export function BlockPublicEverywhere() {
  const mayChange = [useMay('s3:PutAccountPublicAccessBlock'), useMay('admin:ConfigUpdate')].includes(true)
  const { ask, question } = useAskFirst()
  return (
    <>
      <Setting
        title={words.blockPublic}
        hint={words.blockPublicHint}
        queryKey={['block-public']}
        stale={[
          ['buckets'],
          ['bucket'],
          ['bucket-setting'],
          ['access-rules'],
          ['config'],
          ['distributions'],
          ['distribution'],
        ]}
        load={signal => callTagged('getBlockPublic', { signal })}
        save={async ({ document: { enabled, mode }, etag }, { document: stored }) => {
          if (stored.enabled && !enabled && !(await ask(opensEverywhere))) return 'stay'
          const isOfMode = mode !== stored.mode
          const body = { ...((enabled !== stored.enabled || !isOfMode) && { enabled }), ...(isOfMode && { mode }) }
          return callTagged('setBlockPublic', { body, ...asRead(etag) })
        }}
      >
        {({ document: block, etag }, change, { document: stored }, errors) => (
          <>
            <Switch
              label={words.blockPublicOn}
              checked={block.enabled}
              disabled={!mayChange}
              onChange={event => change({ document: { ...block, enabled: event.currentTarget.checked }, etag })}
            />
            {block.enabled && !stored.enabled && <ClosedEverywhere />}
            {block.enabled && (
              <NativeSelect
                label={words.blockMode}
                data={choicesOf(words.blockModes)}
                value={block.mode}
                error={errors.mode}
                disabled={!mayChange}
                onChange={event =>
                  change({ document: { ...block, mode: event.currentTarget.value as typeof block.mode }, etag })
                }
              />
            )}
          </>
        )}
      </Setting>
      {question}
    </>
  )
}

/** Whether these settings of this name are those that block public access. */
export const blocksPublic = (name: string, values: Values | undefined): boolean =>
  name === 'access' && values?.block_public === 'on'

/** Before public access is not blocked any more. */
export const opensEverywhere = {
  title: words.opensTitle,
  action: words.opensConfirm,
  text: <Text size="sm">{words.opensText}</Text>,
}
